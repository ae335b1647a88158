//! Tools for correcting a memory, and undoing that.

use std::sync::Arc;

use hub::Caller;
use memory::corrections::{ChangeKind, CorrectError};
use memory::identifiers::NodeId;
use memory::nodes::Node;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::context::ToolContext;
use crate::mcp::tool::{Effect, Tool, ToolError, tool};

const UNKNOWN_MEMORY_ERROR: &str = "no memory has this id; nothing was changed. recall shows ids";

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "correct",
            Effect::Changes,
            "Correct a memory with the text that the user says is right. The previous text stays in its \
                history, marked as wrong; correct_undo restores it. Needs the user's own token and the \
                user's own words: ask first. Save what the user says in a conversation with remember \
                instead.",
            correct,
        )
        .with_aliases(&[("description", "text")]),
        tool(
            "correct_undo",
            Effect::Changes,
            "Undo the last change of a memory: a correction, a replacement by a newer memory, or a merged \
                repetition.",
            undo,
        ),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct CorrectArgs {
    /// The memory's id, as recall shows it.
    id: String,
    /// The new text of the memory.
    #[schemars(length(min = 1))]
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct UndoArgs {
    /// The id of the memory.
    id: String,
}

#[derive(Serialize)]
struct CorrectResponse {
    success: bool,
    message: &'static str,
    memory: Node,
}

#[derive(Serialize)]
struct UndoResponse {
    success: bool,
    undone: ChangeKind,
    memory: Node,
    /// The memory that was restored besides it, if any.
    restored: Option<Node>,
}

async fn correct(
    context: Arc<ToolContext>,
    caller: Caller,
    asked: CorrectArgs,
) -> Result<CorrectResponse, ToolError> {
    let id = check_own_memory(&context, &caller, &asked.id).await?;
    let corrected =
        context.runtime.changes().correct_node(id, &asked.text).await.map_err(|error| match error {
            CorrectError::Store(error) => error.into(),
            other => ToolError::Invalid(format!("text: {other}")),
        })?;
    let memory = corrected.ok_or_else(|| ToolError::Refused(UNKNOWN_MEMORY_ERROR.to_owned()))?;
    Ok(CorrectResponse { success: true, message: "corrected; correct_undo reverts it", memory })
}

async fn undo(context: Arc<ToolContext>, caller: Caller, asked: UndoArgs) -> Result<UndoResponse, ToolError> {
    let id = check_own_memory(&context, &caller, &asked.id).await?;
    let undone = context.runtime.changes().undo_node(id).await?;
    let undone = undone.ok_or_else(|| ToolError::Refused("this memory has no change to undo".to_owned()))?;
    Ok(UndoResponse { success: true, undone: undone.kind, memory: undone.node, restored: undone.restored })
}

/// Parses the id of a memory in the caller's scope. A program that acts for itself can't correct memories, because a
/// correction counts as the user's word.
async fn check_own_memory(context: &ToolContext, caller: &Caller, id: &str) -> Result<NodeId, ToolError> {
    if caller.is_bound {
        return Err(ToolError::Refused(
            "a token that is bound to an instance can't correct memories; nothing was changed. Save what \
                the user says with remember, or use the user's own token"
                .to_owned(),
        ));
    }
    let not_there = || ToolError::Refused(UNKNOWN_MEMORY_ERROR.to_owned());
    let id: NodeId = id.parse().map_err(|_| not_there())?;
    let scope = context.runtime.store().scope_of_node(id).await?;
    scope.filter(|scope| *scope == caller.scope).map(|_| id).ok_or_else(not_there)
}
