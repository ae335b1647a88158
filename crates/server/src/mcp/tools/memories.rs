//! What was lived.

use std::sync::Arc;

use hub::api::memories::{
    MemoryConsolidate, MemoryCreate, MemoryGrep, MemoryList, MemoryRef, MemorySearch, MemoryUpdate,
};
use hub::{Caller, HubError};
use serde::Serialize;

use super::of_hub;
use crate::mcp::context::ToolContext;
use crate::mcp::tool::{Effect, NoArgs, Tool, tool};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        of_hub!(
            memory_create,
            Changes,
            MemoryCreate,
            "Writes a memory. daily (date YYYY-MM-DD): `- ` bullets, each ending with [chat:ID] [via:INSTANCE], are merged \
             into this instance's day; a bullet that the same chat has told already is not repeated. significant (date and \
             slug): an event that is kept for ever. weekly (YYYY-Www), monthly (YYYY-MM), yearly (YYYY) replace the \
             summary, which stays as a version."
        ),
        of_hub!(
            memory_search,
            Reads,
            MemorySearch,
            "Memories about a text, by meaning and words, the best first, with the parts of their score and an excerpt."
        ),
        of_hub!(
            memory_grep,
            Reads,
            MemoryGrep,
            "Memories that hold words exactly, in any script, with the place where they stand."
        ),
        of_hub!(memory_list, Reads, MemoryList, "Memories, the newest first, with a preview of each."),
        of_hub!(
            memory_read,
            Reads,
            MemoryRef,
            "One memory whole. Of a daily say instanceId, of a significant one its slug, where there are several."
        ),
        of_hub!(
            memory_update,
            Changes,
            MemoryUpdate,
            "Corrects a memory: content takes the place of its text, which stays as a version. Of a daily say instanceId, \
             of a significant one its slug."
        ),
        of_hub!(
            memory_delete,
            Destroys,
            MemoryRef,
            "Deletes a memory and leaves a tombstone, so that no instance brings it back. Summaries that were made from it \
             are made anew, and what the graph knew from it alone is withdrawn."
        ),
        of_hub!(
            memory_consolidate,
            Changes,
            MemoryConsolidate,
            "Writes weekly, monthly or yearly summaries now: of one period (granularity and targetDate), of all that is \
             behind at a granularity, or of all (all: true)."
        )
        .long(),
        of_hub!(
            memory_embedding_purge,
            Changes,
            "Takes the vectors of memories away. Until they are made anew, memories are found by words."
        ),
        of_hub!(
            memory_embedding_rebuild,
            Changes,
            "Makes the vectors of all memories anew."
        )
        .long(),
        tool(
            "embedding_rebuild_all",
            Effect::Changes,
            "Makes the vectors of all memories and of all nodes of the graph anew.",
            rebuild_all,
        )
        .long(),
    ]
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AllRebuilt {
    success: bool,
    memories_rebuilt: u64,
    memories_failed: u64,
    memories_total: u64,
    nodes_rebuilt: u64,
    nodes_failed: u64,
    nodes_total: u64,
    message: String,
}

async fn rebuild_all(context: Arc<ToolContext>, caller: Caller, _: NoArgs) -> Result<AllRebuilt, HubError> {
    let memories = context.hub.memory_embedding_rebuild(&caller).await?;
    let (nodes_rebuilt, nodes_failed, nodes_total) = context.graph.rebuild_vectors(&caller.scope).await?;
    Ok(AllRebuilt {
        success: memories.failed + nodes_failed == 0,
        memories_rebuilt: memories.rebuilt,
        memories_failed: memories.failed,
        memories_total: memories.total,
        nodes_rebuilt,
        nodes_failed,
        nodes_total,
        message: format!(
            "{} of {} memories and {nodes_rebuilt} of {nodes_total} nodes have vectors",
            memories.rebuilt, memories.total
        ),
    })
}
