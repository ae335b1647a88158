//! Background work: sessions, traces, costs, channels.

use super::route::{Route, Tag};
use crate::admin::imports::{character, export, import_list, runs};
use crate::admin::work::{backups, channel_setup, channels, cost, failed_work, proactive, sessions, traces};

pub(super) fn routes() -> Vec<Route> {
    [work_routes(), imports(), copy_routes()].into_iter().flatten().collect()
}

fn imports() -> Vec<Route> {
    let tag = Tag("imports");
    vec![
        tag.post(runs::PATH, "Upload files and preview their content", runs::upload)
            .takes_form::<runs::ImportForm>(),
        tag.get(runs::PATH, "List imports, newest first", runs::list),
        tag.get("/api/admin/imports/{id}", "Get an import", runs::show),
        tag.get(
            "/api/admin/imports/{id}/list.csv",
            "Save the list of what an import found",
            import_list::save,
        )
        .returns_media("text/csv"),
        tag.post(
            "/api/admin/imports/{id}/start",
            "Import an upload with its mapping, and create memories",
            runs::start,
        )
        .add_error_statuses(&[409]),
        tag.post("/api/admin/imports/{id}/pause", "Pause an import", runs::pause).add_error_statuses(&[409]),
        tag.post("/api/admin/imports/{id}/resume", "Resume an import", runs::resume)
            .add_error_statuses(&[409]),
        tag.post("/api/admin/imports/{id}/undo", "Erase all of an import, with receipts", runs::undo)
            .add_error_statuses(&[409]),
        tag.get("/api/admin/imports/{id}/character", "Draft the character in an upload", character::show),
        tag.post(
            "/api/admin/imports/{id}/character",
            "Save the character in an upload as a persona",
            character::save,
        )
        .add_error_statuses(&[409]),
        tag.get(
            export::PATH,
            "Export the memory, the conversation of one user, or the persona as a character card",
            export::export,
        )
        .returns_media("application/zip")
        .returns_media("image/png")
        .returns_media("text/markdown; charset=utf-8")
        .returns_media("application/jsonl")
        .returns_media("application/json")
        .add_error_statuses(&[404, 422]),
    ]
}

fn copy_routes() -> Vec<Route> {
    let tag = Tag("backups");
    vec![
        tag.get("/api/admin/backups", "List backups, newest first", backups::list).add_error_statuses(&[503]),
        tag.post("/api/admin/backups", "Create a backup now", backups::create).add_error_statuses(&[503]),
    ]
}

fn work_routes() -> Vec<Route> {
    let tag = Tag("work");
    vec![
        tag.get("/api/admin/sessions", "List sessions, newest first", sessions::list),
        tag.get(
            "/api/admin/sessions/failed",
            "List sessions that failed to consolidate",
            sessions::list_failed_sessions,
        ),
        tag.post("/api/admin/sessions/{id}/close", "Close a session now", sessions::close),
        tag.post("/api/admin/sessions/{id}/retry", "Retry a failed session", sessions::retry)
            .add_error_statuses(&[409]),
        tag.get(
            "/api/admin/sessions/{id}/consolidate-trace",
            "Get the trace of a consolidation",
            traces::session,
        ),
        tag.get("/api/admin/turns", "List turns with times and tokens, newest first", traces::turns),
        tag.get("/api/admin/turns/{id}", "Get the trace of a turn", traces::turn),
        tag.get("/api/admin/slow-tick/transcripts", "List slow cycles, newest first", traces::transcripts),
        tag.get(
            "/api/admin/slow-tick/transcripts/{id}",
            "Get the transcript of a slow cycle",
            traces::transcript,
        )
        .add_error_statuses(&[400]),
        tag.get("/api/admin/cost/summary", "Sum up the cost of language models", cost::summary),
        tag.get("/api/admin/cost/recent", "List the last calls of language models", cost::recent),
        tag.get("/api/admin/work/failed", "List failed sessions and turns", failed_work::list_failed_work),
        tag.get("/api/admin/proactive", "List decisions to write proactively or not", proactive::list),
        tag.post("/api/admin/proactive/mute", "Mute proactive messages to a user", proactive::mute)
            .add_error_statuses(&[404]),
        tag.get("/api/admin/channels", "List channels", channels::list),
        tag.put(
            "/api/admin/channels/{id}",
            "Set up a bot: check its token, connect it",
            channel_setup::set_up,
        )
        .add_error_statuses(&[404, 500]),
        tag.delete(
            "/api/admin/channels/{id}",
            "Switch a bot off and delete its token",
            channel_setup::switch_off,
        )
        .add_error_statuses(&[500]),
        tag.post(
            "/api/admin/channels/{id}/link-code",
            "Create a code that links an account",
            channels::link_code,
        ),
        tag.post("/api/admin/channels/{id}/test", "Test a channel's connection", channels::test),
        tag.post("/api/admin/channels/{id}/retry", "Retry undeliverable messages", channels::retry),
    ]
}
