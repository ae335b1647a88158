//! Tools for diary documents.

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
            "Write a memory. daily (date YYYY-MM-DD): `- ` bullets, each ending with [chat:ID] [via:INSTANCE], are merged \
             into this instance's day; a bullet already written for the same chat is not repeated. significant (date and \
             slug): an event that is kept permanently. weekly (YYYY-Www), monthly (YYYY-MM), yearly (YYYY) replace the \
             summary; the old one is kept as a version."
        ),
        of_hub!(
            memory_search,
            Reads,
            MemorySearch,
            "Search memories by meaning and words, best first, with score and excerpt; isMeant tells which are about the query."
        ),
        of_hub!(
            memory_grep,
            Reads,
            MemoryGrep,
            "Find memories that contain exact words, in any script, with their positions."
        ),
        of_hub!(memory_list, Reads, MemoryList, "List memories, newest first, with previews."),
        of_hub!(
            memory_read,
            Reads,
            MemoryRef,
            "Read one memory. Where there are several, name a daily by instanceId and a significant one by slug."
        ),
        of_hub!(
            memory_update,
            Changes,
            MemoryUpdate,
            "Replace a memory's text with content; the old text is kept as a version. Name a daily by instanceId, a \
             significant one by slug."
        ),
        of_hub!(
            memory_delete,
            Destroys,
            MemoryRef,
            "Delete a memory and leave a tombstone, so that no instance restores it. Summaries made from it are rewritten, \
             and what the graph learned only from it is withdrawn."
        ),
        of_hub!(
            memory_consolidate,
            Changes,
            MemoryConsolidate,
            "Write weekly, monthly or yearly summaries now: of one period (granularity and targetDate), of all pending \
             periods of a granularity, or of all (all: true)."
        )
        .long_running(),
        of_hub!(
            memory_embedding_purge,
            Changes,
            "Delete the vectors of memories. Until they are rebuilt, memories are found by words only."
        ),
        of_hub!(
            memory_embedding_rebuild,
            Changes,
            "Rebuild the vectors of all memories."
        )
        .long_running(),
        tool(
            "embedding_rebuild_all",
            Effect::Changes,
            "Rebuild the vectors of all memories and graph nodes.",
            rebuild_all,
        )
        .long_running(),
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
