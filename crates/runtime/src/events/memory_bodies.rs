//! Data of the server events about memory and background work.

use jiff::Timestamp;
use memory::entities::{EntityKind, MergeStatus};
use memory::identifiers::{EntityId, ErasureId, MessageId, NodeId, SessionId, TurnId};
use memory::nodes::{NodeKind, RelationalTag, Subject};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct EventCreated {
    pub(crate) event_id: NodeId,
    #[serde(rename = "type")]
    pub(crate) kind: NodeKind,
    pub(crate) description: String,
    pub(crate) emotional_impact: i8,
    pub(crate) session_id: SessionId,
    /// Time at which the conversation ended in which it was said.
    pub(crate) said_at: Timestamp,
    pub(crate) created_at: Timestamp,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct ThoughtCreated {
    pub(crate) thought_id: NodeId,
    #[serde(rename = "type")]
    pub(crate) kind: NodeKind,
    pub(crate) subject: Subject,
    pub(crate) description: String,
    pub(crate) emotional_impact: i8,
    /// `reflection`, `slow_tick` or `import`.
    pub(crate) source: &'static str,
    /// Null for a thought of a slow cycle.
    pub(crate) session_id: Option<SessionId>,
    pub(crate) filling_event_ids: Vec<NodeId>,
    pub(crate) created_at: Timestamp,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct EntityConfirmed {
    pub(crate) entity_id: EntityId,
    pub(crate) canonical_name: String,
    pub(crate) kind: EntityKind,
    pub(crate) merge_status: MergeStatus,
    pub(crate) created_at: Timestamp,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct EntityDescribed {
    pub(crate) entity_id: EntityId,
    pub(crate) canonical_name: String,
    pub(crate) kind: EntityKind,
    pub(crate) description: Option<String>,
    /// Either `owner` or `slow_tick`.
    pub(crate) source: &'static str,
    pub(crate) updated_at: Timestamp,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct NodeUpdated {
    pub(crate) node_id: NodeId,
    #[serde(rename = "type")]
    pub(crate) kind: NodeKind,
    pub(crate) subject: Subject,
    pub(crate) description: String,
    pub(crate) emotional_impact: i8,
    pub(crate) relational_tags: Vec<RelationalTag>,
    pub(crate) pinned: bool,
    pub(crate) superseded_by: Option<NodeId>,
    pub(crate) session_id: Option<SessionId>,
    /// `correction`, `pin`, `unpin`, `undo` or `withdrawal`.
    pub(crate) change: &'static str,
}

/// Ids of what was deleted, or of what an edited message no longer supports. With `all`, everything was deleted.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct MemoryForgotten {
    pub(crate) message_ids: Vec<MessageId>,
    pub(crate) entity_ids: Vec<EntityId>,
    pub(crate) all: bool,
    /// Memories that only edited messages supported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) node_ids: Option<Vec<NodeId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) edited_message_ids: Option<Vec<MessageId>>,
    /// Null when nothing was erased with a receipt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) receipt_id: Option<Option<ErasureId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) event_ids: Option<Vec<NodeId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) thought_ids: Option<Vec<NodeId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) intention_ids: Option<Vec<NodeId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expectation_ids: Option<Vec<NodeId>>,
    /// Sessions that lost messages and were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shortened_session_ids: Option<Vec<SessionId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) turn_ids: Option<Vec<TurnId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rewritten_ids: Option<Vec<NodeId>>,
}

impl MemoryForgotten {
    /// Memories that edited messages no longer support.
    pub(crate) fn of_edit(
        node_ids: Vec<NodeId>,
        entity_ids: Vec<EntityId>,
        edited_message_ids: Vec<MessageId>,
    ) -> Self {
        Self {
            node_ids: Some(node_ids),
            entity_ids,
            edited_message_ids: Some(edited_message_ids),
            ..Self::default()
        }
    }
}

/// Work in the background failed or is paused.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct WorkFailed {
    /// Either `session` or `spend_cap`.
    pub(crate) kind: &'static str,
    pub(crate) session_id: Option<SessionId>,
    pub(crate) reason: Option<String>,
    /// Attempts so far, for a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attempts: Option<u32>,
    /// Of the spending cap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resumes_at: Option<Timestamp>,
}

impl WorkFailed {
    /// Background work waits because the day's spending cap is reached.
    pub(crate) fn paused(reason: String, resumes_at: Timestamp) -> Self {
        Self {
            kind: "spend_cap",
            session_id: None,
            reason: Some(reason),
            attempts: None,
            resumes_at: Some(resumes_at),
        }
    }
}

/// Two versions of a document differ until the owner resolves them.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct ConflictOpened {
    pub(crate) conflict_id: String,
    pub(crate) kind: &'static str,
    pub(crate) filename: String,
    pub(crate) created_at: Timestamp,
}
