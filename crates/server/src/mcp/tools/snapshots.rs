//! Tools for snapshots of identity documents.

use hub::api::snapshots::{SnapshotQuery, SnapshotRef};

use super::of_hub;
use crate::mcp::tool::Tool;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        of_hub!(snapshot_create, Adds, "Copy every identity document into a snapshot."),
        of_hub!(snapshot_list, Reads, SnapshotQuery, "List snapshots, newest first."),
        of_hub!(snapshot_get, Reads, SnapshotRef, "Get the text of a snapshot."),
        of_hub!(
            snapshot_restore,
            Changes,
            SnapshotRef,
            "Restore a snapshot as a new version of its document."
        ),
    ]
}
