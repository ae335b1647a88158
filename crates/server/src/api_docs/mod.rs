//! The API document (OpenAPI 3.1), built from the routes, and a page for people built from the document.

mod build;
mod page;

use std::sync::OnceLock;

use axum::Json;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse, Response};
use serde_json::Value;

use crate::auth::Admin;
use crate::routes;

/// The OpenAPI 3.1 document.
pub fn openapi() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| build::document(&routes::list_routes()))
}

/// Handler of `GET /api/openapi.json`. Needs no token.
pub(crate) async fn json() -> Response {
    Json(openapi()).into_response()
}

pub(crate) async fn page(_: Admin) -> Html<&'static str> {
    static PAGE: OnceLock<String> = OnceLock::new();
    Html(PAGE.get_or_init(|| page::render(openapi())))
}

pub(crate) async fn stylesheet(_: Admin) -> Response {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], page::STYLE).into_response()
}
