//! The hub: documents, versions, conflicts, search.

use super::route::{Route, Tag};
use crate::admin::hub::{documents, sync};

pub(super) fn routes() -> Vec<Route> {
    let tag = Tag("hub");
    let document = "/api/hub/documents/{kind}/{filename}";
    let versions = "/api/hub/documents/{kind}/{filename}/versions";
    let lore = "/api/hub/documents/custom/lore/{filename}";
    let lore_versions = "/api/hub/documents/custom/lore/{filename}/versions";
    vec![
        tag.get("/api/hub/documents", "List documents", documents::list),
        tag.get(document, "Get a document", documents::read),
        tag.put(document, "Write a document", documents::write).add_error_statuses(&[409]),
        tag.delete(document, "Delete a document; its versions are kept", documents::remove),
        tag.get(versions, "List a document's versions, newest first", documents::versions),
        tag.post(
            "/api/hub/documents/{kind}/{filename}/versions/{version}/restore",
            "Restore a version",
            documents::restore,
        )
        .add_error_statuses(&[409]),
        tag.get(lore, "Get a lorebook entry", documents::read),
        tag.put(lore, "Write a lorebook entry", documents::write).add_error_statuses(&[409]),
        tag.delete(lore, "Delete a lorebook entry; its versions are kept", documents::remove),
        tag.get(lore_versions, "List a lorebook entry's versions, newest first", documents::versions),
        tag.post(
            "/api/hub/documents/custom/lore/{filename}/versions/{version}/restore",
            "Restore a version of a lorebook entry",
            documents::restore,
        )
        .add_error_statuses(&[409]),
        tag.get("/api/hub/rollups", "List periods that wait for a roll-up", documents::pending_periods),
        tag.post("/api/hub/rollups/{kind}/{filename}", "Write a roll-up now", documents::rewrite_rollup)
            .add_error_statuses(&[409, 502]),
        tag.get("/api/hub/conflicts", "List conflicts", documents::conflicts),
        tag.post("/api/hub/conflicts/{id}", "Resolve a conflict", documents::resolve),
        tag.get("/api/hub/search", "Search diary documents, best first", documents::search),
        tag.get("/api/hub/status", "Get sync status", documents::status),
        tag.get("/api/sync", "Get the sync state of this home with its hub", sync::sync_overview),
        tag.post("/api/sync/now", "Sync with the hub now", sync::exchange),
    ]
}
