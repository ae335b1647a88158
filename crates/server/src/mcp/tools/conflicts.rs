//! Tools for conflicts between versions.

use hub::api::conflicts::{ConflictQuery, ConflictResolve};

use super::of_hub;
use crate::mcp::tool::Tool;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        of_hub!(
            conflict_list,
            Reads,
            ConflictQuery,
            "List documents with two concurrent versions: the current one and the other one."
        ),
        of_hub!(
            conflict_resolve,
            Changes,
            ConflictResolve,
            "Resolve a conflict as the owner decided: shown, kept, merge (with the merged content) or dismiss. Ask the \
             owner first."
        ),
    ]
}
