//! What this version does not have yet is answered 501, with what works instead.

use axum::http::StatusCode;

use crate::problem::Problem;

/// The error for a feature that this version does not have.
pub(crate) fn not_implemented(what: &str, instead: &str) -> Problem {
    let detail = format!("this version has no {what} yet; nothing was changed. Until then: {instead}");
    Problem::new(StatusCode::NOT_IMPLEMENTED, detail).with_code("not_built")
}
