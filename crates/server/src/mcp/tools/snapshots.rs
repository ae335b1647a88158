//! Snapshots of identity documents.

use hub::api::snapshots::{SnapshotQuery, SnapshotRef};

use super::of_hub;
use crate::mcp::tool::Tool;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        of_hub!(snapshot_create, Adds, "Keeps a copy of every identity document."),
        of_hub!(snapshot_list, Reads, SnapshotQuery, "Snapshots, the newest first."),
        of_hub!(snapshot_get, Reads, SnapshotRef, "The text of a snapshot."),
        of_hub!(
            snapshot_restore,
            Changes,
            SnapshotRef,
            "Writes a snapshot's text as a new version of its document."
        ),
    ]
}
