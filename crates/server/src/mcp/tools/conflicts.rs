//! Versions that wait for a person's choice.

use hub::api::conflicts::{ConflictQuery, ConflictResolve};

use super::of_hub;
use crate::mcp::tool::Tool;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        of_hub!(
            conflict_list,
            Reads,
            ConflictQuery,
            "Documents of which two versions were written at the same time: the one that is shown and the one that is kept \
             beside it."
        ),
        of_hub!(
            conflict_resolve,
            Changes,
            ConflictResolve,
            "Settles a conflict as a person decided: shown, kept, merge (with the merged content) or dismiss. Ask the person \
             first."
        ),
    ]
}
