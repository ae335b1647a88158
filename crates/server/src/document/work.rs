//! Work: sessions, what failed, and what is not built.

use super::operation::{Operation, operation};
use crate::admin::not_built;
use crate::admin::{channels, sessions, work};

const TAG: &str = "work";

const TAKEN: &str = "{ok: bool, session_id: id, status: text}";
const FAILED: &str = "{count: int, next_cursor: id|null, items: [{id: id, channel_id: text, persona_id: text, \
    user_id: text, message_count: int, started_at: time, close_trigger: text|null, attempts: int, last_error: text|null}]}";

pub(super) fn operations() -> Vec<Operation> {
    let on = |method, path, summary| operation(TAG, method, path, summary);
    let mut operations = vec![
        on("get", "/api/admin/sessions", "Sessions, newest first")
            .asks::<sessions::Page>()
            .in_scope()
            .answers::<sessions::List>(),
        on("get", "/api/admin/sessions/failed", "Sessions that did not become memory")
            .asks::<sessions::FailedPage>()
            .answers_shape(200, FAILED)
            .refuses(&[404]),
        on("post", "/api/admin/sessions/{id}/close", "Ends a session now").answers_shape(202, TAKEN),
        on("post", "/api/admin/sessions/{id}/retry", "Takes a failed session up again")
            .answers_shape(202, TAKEN)
            .refuses(&[409]),
        on("get", "/api/admin/work/failed", "All work that failed and waits for a person")
            .asks::<work::Page>()
            .answers::<work::Failed>(),
        on("get", "/api/admin/channels", "By which ways words come in").answers::<channels::List>(),
        on("patch", "/api/admin/channels", "Changes a channel's settings")
            .takes_shape("{web?: {host?: text, port?: int, debounce_ms?: int}}")
            .answers_shape(200, "{updated_fields: [text], reload_triggered: bool, restart_required: bool}")
            .refuses(&[500, 501]),
    ];
    operations.extend(not_built::PATHS.iter().flat_map(|entry| {
        let method = |method: &&'static str| match *method {
            "GET" => "get",
            "POST" => "post",
            _ => "delete",
        };
        entry.methods.iter().map(move |name| {
            operation("not built", method(name), entry.path, "Not in this version yet").refuses(&[501])
        })
    }));
    operations
}
