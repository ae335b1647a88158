//! The web UI, embedded in the program. A debug build reads it from `web/dist` each time.

use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::problem::Problem;

/// Page of a program that was built without the web UI.
const NO_PAGE: &str = include_str!("ui/no_page.html");
/// Prefix of files whose names contain a digest of their content.
const HASHED: &str = "assets/";

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct WebAssets;

/// Serves a file of the web UI; for any other path the page itself, which has its own routes.
pub(crate) fn serve_page(method: &Method, path: &str, headers: &HeaderMap) -> Response {
    if !matches!(*method, Method::GET | Method::HEAD) {
        let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this path does not accept this method");
        return ([(ALLOW, HeaderValue::from_static("GET,HEAD"))], problem).into_response();
    }
    let name = path.trim_start_matches('/');
    if let Some(file) = Some(name).filter(|name| !name.is_empty()).and_then(WebAssets::get) {
        return respond_with_file(name, &file, headers);
    }
    if name.starts_with(HASHED) {
        return Problem::not_found("file not found").into_response();
    }
    match WebAssets::get("index.html") {
        Some(index) => respond_with_file("index.html", &index, headers),
        None => Html(NO_PAGE).into_response(),
    }
}

fn respond_with_file(name: &str, file: &EmbeddedFile, headers: &HeaderMap) -> Response {
    let digest: String =
        file.metadata.sha256_hash().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{digest}\"");
    let caching = if name.starts_with(HASHED) { "public, max-age=31536000, immutable" } else { "no-cache" };
    let known = headers.get(IF_NONE_MATCH).is_some_and(|value| value.as_bytes() == tag.as_bytes());
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        file.data.clone().into_owned().into_response()
    };
    let kind = match file.metadata.mimetype() {
        text if text.starts_with("text/") && !text.contains("charset") => format!("{text}; charset=utf-8"),
        other => other.to_owned(),
    };
    let fields = [(CONTENT_TYPE, kind), (CACHE_CONTROL, caching.to_owned()), (ETAG, tag)];
    for (header, value) in fields {
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(header, value);
        }
    }
    response
}
