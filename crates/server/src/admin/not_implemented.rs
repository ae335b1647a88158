//! Paths of the interface that this version does not serve yet: each says so, and what serves instead.

use axum::http::StatusCode;
use axum::routing::{MethodRouter, any};

use crate::problem::Problem;
use crate::state::App;

/// A path, its methods, what it belongs to, and what helps meanwhile.
pub(crate) struct NotImplemented {
    pub(crate) path: &'static str,
    pub(crate) methods: &'static [&'static str],
    what: &'static str,
    instead: &'static str,
}

const fn path(
    path: &'static str,
    methods: &'static [&'static str],
    what: &'static str,
    instead: &'static str,
) -> NotImplemented {
    NotImplemented { path, methods, what, instead }
}

const VOICE: &str = "replies come as text";
const COPY: &str = "stop the daemon and copy its home folder";

/// All of them.
pub(crate) const PATHS: [NotImplemented; 15] = [
    path("/api/chat/voice/{file}", &["GET"], "voice", VOICE),
    path("/api/admin/voice/samples", &["GET", "POST"], "voice", VOICE),
    path("/api/admin/voice/samples/{sample_id}", &["DELETE"], "voice", VOICE),
    path("/api/admin/voice/clone", &["POST"], "voice", VOICE),
    path("/api/admin/voice/preview", &["POST"], "voice", VOICE),
    path("/api/admin/voice/activate", &["POST"], "voice", VOICE),
    path("/api/admin/import/upload", &["POST"], "imports", "paste what matters into the chat"),
    path("/api/admin/import/upload_text", &["POST"], "imports", "paste what matters into the chat"),
    path("/api/admin/import/estimate", &["POST"], "imports", "paste what matters into the chat"),
    path("/api/admin/import/start", &["POST"], "imports", "paste what matters into the chat"),
    path("/api/admin/import/cancel", &["POST"], "imports", "there is no import to cancel"),
    path("/api/admin/import/events", &["GET"], "imports", "there is no import to watch"),
    path("/api/admin/export", &["GET", "POST"], "exports", COPY),
    path("/api/admin/backups", &["GET", "POST"], "backups", COPY),
    path("/api/admin/proactive/decisions", &["GET"], "messages of the persona's own accord", "write first"),
];

/// The refusal of something that this version does not have.
pub(crate) fn problem(what: &str, instead: &str) -> Problem {
    let detail = format!("this version has no {what} yet; nothing was done. Until then: {instead}");
    Problem::new(StatusCode::NOT_IMPLEMENTED, detail).with_code("not_built")
}

/// The paths with their answer.
pub(crate) fn routes() -> Vec<(&'static str, MethodRouter<App>)> {
    let route = |entry: &'static NotImplemented| {
        let answer = move || async move { problem(entry.what, entry.instead) };
        let mut router: Option<MethodRouter<App>> = None;
        for method in entry.methods {
            router = Some(match (router.unwrap_or_default(), *method) {
                (router, "GET") => router.get(answer),
                (router, "POST") => router.post(answer),
                (router, _) => router.delete(answer),
            });
        }
        (entry.path, router.unwrap_or_else(|| any(answer)))
    };
    PATHS.iter().map(route).collect()
}
