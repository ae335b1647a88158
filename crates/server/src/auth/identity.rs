//! The credentials of a request, and the identity that they prove.

use std::net::IpAddr;

use axum::http::{HeaderMap, Method};

use super::principal::Principal;

/// The identity proven by the credentials of a request.
#[derive(Default)]
pub(super) struct Identity {
    pub(super) principal: Option<Principal>,
    /// True if the login's cookie is there without the page's key.
    pub(super) is_half_login: bool,
    /// A `Set-Cookie` value that extends the browser's cookie.
    pub(super) renewed_cookie: Option<String>,
}

/// A request without its body, which can't be shared between threads.
#[derive(Clone, Copy)]
pub(super) struct RequestHead<'a> {
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
    pub(super) headers: &'a HeaderMap,
    pub(super) address: IpAddr,
}
