//! The interface described by itself: an OpenAPI document made of the types that handlers read and write, and a page for
//! people made of the document.

mod operation;
mod shape;
mod build;
mod chat;
mod persona;
mod memory;
mod work;
mod hub;
mod program;
mod page;

use std::sync::LazyLock;

use axum::Json;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse};
use serde_json::Value;

use crate::auth::Admin;
use operation::Operation;

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| build::document(&operations()));
static PAGE: LazyLock<String> = LazyLock::new(|| page::render(&DOCUMENT));

/// Every operation of the interface, in the order of the page.
fn operations() -> Vec<Operation> {
    let mut operations = chat::operations();
    operations.extend(persona::operations());
    operations.extend(memory::operations());
    operations.extend(work::operations());
    operations.extend(hub::operations());
    operations.extend(program::operations());
    operations
}

/// The OpenAPI 3.1 document.
pub fn openapi() -> &'static Value {
    &DOCUMENT
}

/// `GET /api/openapi.json`: open to all.
pub(crate) async fn json() -> Json<&'static Value> {
    Json(&DOCUMENT)
}

/// `GET /api/docs`
pub(crate) async fn page(_: Admin) -> Html<&'static str> {
    Html(&PAGE)
}

/// `GET /api/docs/style.css`
pub(crate) async fn style(_: Admin) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], page::STYLE)
}
