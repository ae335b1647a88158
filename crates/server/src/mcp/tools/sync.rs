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
            "All identity documents and memories, or with `since` (the versionVector of the last answer's newSyncToken) what \
             is new, deletions too."
        ),
        of_hub!(
            sync_push,
            Changes,
            SyncPush,
            "Brings changes of identity documents and memories. `results` says of each: applied, known, conflict (both \
             versions are kept until a person decides) or refused with the reason."
        ),
        of_hub!(
            sync_status,
            Reads,
            "Where the hub stands, which instances have spoken with it, how many conflicts wait."
        ),
    ]
}
