//! Memory: reading, correcting and forgetting it.

use super::route::{Route, Tag};
use crate::admin::memory::{corrections, entities, erase, forget, moods, nodes, recall, search, timeline};

pub(super) fn routes() -> Vec<Route> {
    [reading_routes(), correction_routes(), entities(), forgetting_routes()].into_iter().flatten().collect()
}

fn reading_routes() -> Vec<Route> {
    let tag = Tag("memory");
    vec![
        tag.post("/api/admin/memory/recall", "Recall memories for a text, with scores", recall::recall)
            .add_error_statuses(&[404]),
        tag.get("/api/admin/memory/events", "List events, newest first", nodes::events),
        tag.get("/api/admin/memory/thoughts", "List thoughts, newest first", nodes::thoughts),
        tag.get(
            "/api/admin/memory/intentions",
            "List the persona's promises, newest first",
            nodes::intentions,
        ),
        tag.get("/api/admin/memory/expectations", "List expectations, newest first", nodes::expectations),
        tag.get("/api/admin/memory/mood/history", "List moods, newest first", moods::history),
        tag.get(
            "/api/admin/memory/search",
            "Search memories by words and by meaning, best first",
            search::search,
        ),
        tag.get("/api/admin/memory/timeline", "List what was remembered, newest first", timeline::timeline),
        tag.get("/api/admin/memory/thoughts/{id}/trace", "List what supports a thought", forget::trace),
        tag.get(
            "/api/admin/memory/events/{id}/dependents",
            "List what depends on an event",
            forget::dependents,
        ),
        tag.get("/api/admin/memory/rejected", "List rejected memories, newest first", nodes::list_rejected),
    ]
}

fn correction_routes() -> Vec<Route> {
    let tag = Tag("memory");
    vec![
        tag.patch(
            "/api/admin/memory/nodes/{id}",
            "Correct or pin a memory; its old text stays in its history",
            corrections::correct,
        ),
        tag.get("/api/admin/memory/nodes/{id}/history", "List a memory's versions", corrections::history),
        tag.post("/api/admin/memory/nodes/{id}/undo", "Undo the last change of a memory", corrections::undo)
            .add_error_statuses(&[409]),
        tag.post(
            "/api/admin/memory/rejected/{id}/approve",
            "Approve a rejected memory",
            corrections::approve,
        )
        .add_error_statuses(&[409]),
        tag.post(
            "/api/admin/memory/rejected/approve-all",
            "Accept all proposals of an import",
            corrections::approve_all,
        )
        .add_error_statuses(&[404, 409]),
        tag.post(
            "/api/admin/memory/rejected/{id}/dismiss",
            "Dismiss a rejected memory",
            corrections::dismiss,
        )
        .add_error_statuses(&[409]),
    ]
}

fn entities() -> Vec<Route> {
    let tag = Tag("entities");
    let path = "/api/admin/memory/entities";
    let one = "/api/admin/memory/entities/{id}";
    vec![
        tag.get(path, "List entities, undecided ones first, then newest changes", entities::entities),
        tag.post(path, "Create an entity", entities::create).add_error_statuses(&[409]),
        tag.get(one, "Get an entity", entities::entity),
        tag.patch(one, "Update an entity", entities::edit).add_error_statuses(&[409]),
        tag.post("/api/admin/memory/entities/{id}/merge", "Merge entities", entities::merge)
            .add_error_statuses(&[409]),
        tag.post(
            "/api/admin/memory/entities/{id}/confirm-separate",
            "Mark entities as distinct",
            entities::confirm_separate,
        )
        .add_error_statuses(&[409]),
        tag.post("/api/admin/memory/entities/{id}/undo", "Undo the last change of an entity", entities::undo)
            .add_error_statuses(&[409]),
    ]
}

fn forgetting_routes() -> Vec<Route> {
    let tag = Tag("forgetting");
    let appends = "/api/admin/memory/core-blocks/{label}/appends";
    let append = "/api/admin/memory/core-blocks/{label}/appends/{append_id}";
    vec![
        tag.post("/api/admin/memory/preview-delete", "Preview a deletion", forget::preview)
            .add_error_statuses(&[404]),
        tag.delete("/api/admin/memory/events/{id}", "Delete an event or an intention", forget::delete_event),
        tag.delete(
            "/api/admin/memory/thoughts/{id}",
            "Delete a thought or an expectation",
            forget::delete_thought,
        ),
        tag.delete("/api/admin/memory/intentions/{id}", "Delete an intention", forget::delete_intention),
        tag.delete(
            "/api/admin/memory/expectations/{id}",
            "Delete an expectation",
            forget::delete_expectation,
        ),
        tag.delete(
            "/api/admin/memory/messages/{id}",
            "Delete a message and what only it supports",
            forget::delete_message,
        ),
        tag.delete(
            "/api/admin/memory/sessions/{id}",
            "Delete all messages of a session",
            forget::delete_session,
        ),
        tag.get(appends, "List edits of a core block, newest first", forget::list_block_edits),
        tag.delete(append, "Delete an edit of a core block", forget::delete_append),
        tag.post("/api/admin/memory/erase", "Erase data permanently, with a receipt", erase::erase)
            .add_error_statuses(&[404, 409]),
        tag.get("/api/admin/memory/receipts", "List erasure receipts, newest first", erase::receipts),
        tag.post("/api/admin/reset", "Reset a persona", erase::reset).add_error_statuses(&[404]),
    ]
}
