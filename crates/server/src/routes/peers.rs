//! Peers: exchange of changes, their state, and conflicts of every kind.

use super::route::{Route, Tag};
use crate::admin::peers;
use crate::sync;

pub(super) fn routes() -> Vec<Route> {
    let tag = Tag("sync");
    vec![
        tag.post(sync::PATH, "Exchange changes with a peer (JSON in gzip, both ways)", sync::exchange)
            .returns_media(sync::MEDIA)
            .fails_with(&[413, 422]),
        tag.get("/api/admin/sync", "List peers and what waits for each", peers::status),
        tag.post("/api/admin/sync/now", "Exchange with every peer now", peers::now),
        tag.post("/api/admin/sync/peers", "Add a peer or change its address", peers::add),
        tag.delete("/api/admin/sync/peers/{name}", "Remove a peer", peers::remove),
        tag.get("/api/admin/conflicts", "List conflicts of every kind, newest first", peers::conflicts),
        tag.post("/api/admin/conflicts/{id}", "Resolve a conflict of any kind", peers::resolve),
    ]
}
