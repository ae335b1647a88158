//! The credentials of a request, and the identity that they prove.

use std::net::IpAddr;

use axum::http::{HeaderMap, Method};

use super::principal::Principal;

/// The identity that the credentials of a request prove.
#[derive(Default)]
pub(super) struct Identity {
    pub(super) principal: Option<Principal>,
    /// True if there is a login's cookie without the page's half.
    pub(super) is_half_login: bool,
    /// A `Set-Cookie` value that makes the browser's cookie last longer.
    pub(super) renewed_cookie: Option<String>,
}

/// A request without its body, which no other thread may look at.
#[derive(Clone, Copy)]
pub(super) struct RequestHead<'a> {
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
    pub(super) headers: &'a HeaderMap,
    pub(super) address: IpAddr,
}
