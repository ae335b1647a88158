//! Tools for synchronisation with other instances.

use hub::api::sync::{SyncPull, SyncPush};

use super::of_hub;
use crate::mcp::tool::Tool;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        of_hub!(
            sync_pull,
            Notes,
            SyncPull,
            "Get all identity documents and memories, or with `since` (the versionVector of the last \
                answer's newSyncToken) only what is new, including deletions."
        ),
        of_hub!(
            sync_push,
            Changes,
            SyncPush,
            "Push changes of identity documents and memories. `results` reports for each: applied, known, \
                conflict (both versions are kept until a person decides) or refused with the reason."
        ),
        of_hub!(
            sync_status,
            Reads,
            "Get the hub's version, the instances that have connected to it, and the number of open conflicts."
        ),
    ]
}
