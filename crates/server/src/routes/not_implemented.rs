//! Paths that this version does not serve yet. Each answers 501 with what works instead.

use axum::http::StatusCode;

use super::route::{Route, Tag};
use crate::problem::Problem;

const COPY: &str = "stop the daemon and copy its home folder";

pub(super) fn routes() -> Vec<Route> {
    let backups = ["backups", COPY];
    vec![missing("get", "/api/admin/backups", backups), missing("post", "/api/admin/backups", backups)]
}

fn missing(method: &str, path: &'static str, [what, instead]: [&'static str; 2]) -> Route {
    let (tag, summary) = (Tag("not built"), "Not in this version yet");
    let handler = move || async move { problem(what, instead) };
    let route = match method {
        "get" => tag.get(path, summary, handler),
        "post" => tag.post(path, summary, handler),
        _ => tag.delete(path, summary, handler),
    };
    route.fails_with(&[501])
}

/// The error for a feature that this version does not have.
pub(crate) fn problem(what: &str, instead: &str) -> Problem {
    let detail = format!("this version has no {what} yet; nothing was changed. Until then: {instead}");
    Problem::new(StatusCode::NOT_IMPLEMENTED, detail).with_code("not_built")
}
