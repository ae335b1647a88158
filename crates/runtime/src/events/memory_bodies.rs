//! Data of the server events about memory and background work.

use jiff::Timestamp;
use memory::entities::{Entity, EntityKind, MergeStatus};
use memory::forget::ForgetSummary;
use memory::identifiers::{EntityId, ErasureId, MessageId, NodeId, SessionId, TurnId};
use memory::nodes::{NewNode, Node, NodeKind, RelationalTag, Subject};
use memory::sessions::Session;
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
    /// Time of the last message of the session.
    pub(crate) said_at: Timestamp,
    pub(crate) created_at: Timestamp,
}

impl EventCreated {
    pub(crate) fn new(
        session_id: SessionId,
        node: NewNode,
        said_at: Timestamp,
        created_at: Timestamp,
    ) -> Self {
        Self {
            event_id: node.id,
            kind: node.kind,
            description: node.description,
            emotional_impact: node.emotional_impact,
            session_id,
            said_at,
            created_at,
        }
    }
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

impl ThoughtCreated {
    pub(crate) fn new(
        source: &'static str,
        session_id: Option<SessionId>,
        node: NewNode,
        created_at: Timestamp,
    ) -> Self {
        Self {
            thought_id: node.id,
            kind: node.kind,
            subject: node.subject,
            description: node.description,
            emotional_impact: node.emotional_impact,
            source,
            session_id,
            filling_event_ids: node.filling,
            created_at,
        }
    }
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

impl EntityConfirmed {
    pub(crate) fn new(entity: Entity) -> Self {
        Self {
            entity_id: entity.id,
            canonical_name: entity.canonical_name,
            kind: entity.kind,
            merge_status: entity.merge_status,
            created_at: entity.created_at,
        }
    }
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

impl EntityDescribed {
    pub(crate) fn new(entity: Entity) -> Self {
        Self {
            entity_id: entity.id,
            canonical_name: entity.canonical_name,
            kind: entity.kind,
            description: entity.description,
            source: if entity.owner_override { "owner" } else { "slow_tick" },
            updated_at: entity.updated_at,
        }
    }
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

impl NodeUpdated {
    pub(crate) fn new(node: Node, change: &'static str) -> Self {
        Self {
            node_id: node.id,
            kind: node.kind,
            subject: node.subject,
            description: node.description,
            emotional_impact: node.emotional_impact,
            relational_tags: node.relational_tags,
            pinned: node.pinned,
            superseded_by: node.superseded_by,
            session_id: node.source_session_id,
            change,
        }
    }
}

/// Ids of what was deleted, or of memories that an edited message no longer supports. With `all`, everything was
/// deleted.
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
    /// Null if the deletion has no receipt.
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
    pub(crate) fn from_edit(
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

    /// Everything was forgotten if `removed` is empty.
    pub(crate) fn of_removal(receipt: Option<ErasureId>, removed: ForgetSummary) -> Self {
        Self {
            all: removed.is_empty(),
            message_ids: removed.messages.into_iter().collect(),
            entity_ids: removed.entities.into_iter().collect(),
            node_ids: None,
            edited_message_ids: None,
            receipt_id: Some(receipt),
            event_ids: Some(removed.events.into_iter().collect()),
            thought_ids: Some(removed.thoughts.into_iter().collect()),
            intention_ids: Some(removed.intentions.into_iter().collect()),
            expectation_ids: Some(removed.expectations.into_iter().collect()),
            shortened_session_ids: Some(removed.sessions.into_iter().collect()),
            turn_ids: Some(removed.turns.into_iter().collect()),
            rewritten_ids: Some(removed.rewritten.into_iter().collect()),
        }
    }
}

/// Background work failed or is paused.
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
    /// Time at which paused work continues, for the spending cap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resumes_at: Option<Timestamp>,
}

impl WorkFailed {
    /// A session failed permanently.
    pub(crate) fn session(session: Session) -> Self {
        Self {
            kind: "session",
            session_id: Some(session.id),
            reason: session.last_error,
            attempts: Some(session.attempts),
            resumes_at: None,
        }
    }

    /// Background work waits because the daily spending cap is reached.
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
