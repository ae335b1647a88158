//! The hub: documents, versions, conflicts, search.

use super::route::{Route, Tag};
use crate::admin::{hub, sync};

pub(super) fn routes() -> Vec<Route> {
    let tag = Tag("hub");
    let document = "/api/hub/documents/{kind}/{filename}";
    let versions = "/api/hub/documents/{kind}/{filename}/versions";
    let lore = "/api/hub/documents/custom/lore/{filename}";
    let lore_versions = "/api/hub/documents/custom/lore/{filename}/versions";
    vec![
        tag.get("/api/hub/documents", "List documents", hub::list),
        tag.get(document, "Get a document", hub::read),
        tag.put(document, "Write a document", hub::write).fails_with(&[409]),
        tag.delete(document, "Delete a document; its versions are kept", hub::remove),
        tag.get(versions, "List a document's versions, newest first", hub::versions),
        tag.post(
            "/api/hub/documents/{kind}/{filename}/versions/{version}/restore",
            "Restore a version",
            hub::restore,
        )
        .fails_with(&[409]),
        tag.get(lore, "Get a lorebook entry", hub::read),
        tag.put(lore, "Write a lorebook entry", hub::write).fails_with(&[409]),
        tag.delete(lore, "Delete a lorebook entry; its versions are kept", hub::remove),
        tag.get(lore_versions, "List a lorebook entry's versions, newest first", hub::versions),
        tag.post(
            "/api/hub/documents/custom/lore/{filename}/versions/{version}/restore",
            "Restore a version of a lorebook entry",
            hub::restore,
        )
        .fails_with(&[409]),
        tag.get("/api/hub/rollups", "List periods that wait for a roll-up", hub::pending_periods),
        tag.post("/api/hub/rollups/{kind}/{filename}", "Write a roll-up now", hub::rewrite_rollup)
            .fails_with(&[409, 502]),
        tag.get("/api/hub/conflicts", "List conflicts", hub::conflicts),
        tag.post("/api/hub/conflicts/{id}", "Resolve a conflict", hub::resolve),
        tag.get("/api/hub/search", "Search diary documents, best first", hub::search),
        tag.get("/api/hub/status", "Get sync status", hub::status),
        tag.get("/api/sync", "Get how this home stands with its hub", sync::standing),
        tag.post("/api/sync/now", "Exchange with the hub now", sync::exchange),
    ]
}
