//! Tools for recalling memories and storing messages.

use std::sync::Arc;

use hub::{Caller, RelatedMemory};
use memory::capture::{self, CaptureError};
use memory::messages::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::admin::memory::entities::EntitySummary;
use crate::admin::memory::recall::Corrections;
use crate::mcp::context::ToolContext;
use crate::mcp::tool::{Effect, Tool, ToolError, tool};

/// Channel of messages that a tool stores.
const CHANNEL: &str = "mcp";

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "recall",
            Effect::Reads,
            "Recall what the persona would know when answering a text: core blocks, mood, the events, thoughts, people and earlier \
             messages about it, each with every part of its score, and the daily and significant memories that other programs wrote \
             about it. What was corrected since is marked as no longer current.",
            recall,
        )
        .with_aliases(&[("query", "text")]),
        tool(
            "remember",
            Effect::Adds,
            "Store a message verbatim. It is consolidated when the session ends: events with their evidence, people, mood. \
             role is its author: user or persona.",
            remember,
        )
        .with_aliases(&[("content", "text")]),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct RecallArgs {
    /// Text to recall memories for.
    #[schemars(length(min = 1))]
    text: String,
    /// Also return candidates that were not used.
    #[serde(default)]
    explain: bool,
}

#[derive(Serialize)]
struct RecallOutput {
    success: bool,
    core_blocks: Value,
    mood: Value,
    candidates: Vec<memory::recall::Candidate>,
    /// Texts of other programs about the query, found as by memory_search.
    documents: Vec<RelatedMemory>,
    entities: Vec<EntitySummary>,
    support: f64,
    nothing_found: bool,
    /// Values that are no longer current: `former` values that the text asks about, `held_back` ones with their
    /// places, and `fresh` corrections that are not memories yet.
    corrected: Corrections,
    elapsed_ms: memory::recall::RecallTimings,
}

async fn recall(
    context: Arc<ToolContext>,
    caller: Caller,
    question: RecallArgs,
) -> Result<RecallOutput, ToolError> {
    capture::check(&question.text).map_err(|error| ToolError::Invalid(format!("text: {error}")))?;
    let remembered = context.runtime.recall().recall_for_text(caller.scope, question.text, None).await?;
    let (recalled, blocks) = (remembered.recalled, remembered.core_blocks);
    let documents = remembered.documents.related;
    let mut candidates = recalled.candidates;
    if !question.explain {
        candidates.retain(|candidate| candidate.used);
    }
    Ok(RecallOutput {
        success: true,
        core_blocks: json!({"persona": blocks.persona, "user": blocks.user, "style": blocks.style}),
        mood: json!(remembered.mood),
        candidates,
        nothing_found: recalled.nothing_found && documents.is_empty(),
        documents,
        entities: recalled.entities.into_iter().map(EntitySummary::from).collect(),
        support: recalled.support,
        corrected: recalled.corrected.into(),
        elapsed_ms: recalled.elapsed,
    })
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Speaker {
    /// The message is by the user.
    #[default]
    User,
    /// The message is by the persona.
    Persona,
}

#[derive(Deserialize, JsonSchema)]
struct RememberArgs {
    /// The message, exactly as written.
    #[schemars(length(min = 1))]
    text: String,
    /// The author of the message.
    #[serde(default)]
    role: Speaker,
}

#[derive(Serialize)]
struct RememberOutput {
    success: bool,
    message: String,
    message_id: String,
    session_id: String,
}

async fn remember(
    context: Arc<ToolContext>,
    caller: Caller,
    said: RememberArgs,
) -> Result<RememberOutput, ToolError> {
    let role = match said.role {
        Speaker::User => Role::User,
        Speaker::Persona => Role::Persona,
    };
    capture::check(&said.text).map_err(|error| ToolError::Invalid(format!("text: {error}")))?;
    let captured = context.runtime.messages().remember(caller.scope, CHANNEL, role, said.text).await;
    let message = captured.map_err(|error| match error {
        CaptureError::Store(error) => ToolError::from(error),
        other => ToolError::Invalid(format!("text: {other}")),
    })?;
    Ok(RememberOutput {
        success: true,
        message: "Stored. Consolidated when the session ends".to_owned(),
        message_id: message.id.to_string(),
        session_id: message.session_id.to_string(),
    })
}
