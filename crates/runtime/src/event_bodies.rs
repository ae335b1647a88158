//! Data of the server events, as the event stream sends it.

use jiff::Timestamp;
use memory::entities::{EntityKind, MergeStatus};
use memory::identifiers::{EntityId, ErasureId, MessageId, NodeId, SessionId, TurnId};
use memory::nodes::{NodeKind, RelationalTag, Subject};
use memory::{PersonaId, UserId};
use schemars::JsonSchema;
use serde::Serialize;

/// The data of each event of the stream, by the event's name.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "names the events in the API document")]
pub struct EventStream {
    #[serde(rename = "chat.message.user_appended")]
    user_appended: Scoped<UserAppended>,
    #[serde(rename = "chat.message.typing_started")]
    typing_started: Scoped<TypingStarted>,
    #[serde(rename = "chat.message.token")]
    token: Scoped<Token>,
    #[serde(rename = "chat.message.done")]
    done: Scoped<ReplyDone>,
    #[serde(rename = "chat.message.voice_sentence")]
    voice_sentence: Scoped<VoiceSentence>,
    #[serde(rename = "chat.message.voice_ready")]
    voice_ready: Scoped<VoiceReady>,
    #[serde(rename = "chat.message.failed")]
    failed: Scoped<TurnFailed>,
    #[serde(rename = "chat.message.error")]
    error: Scoped<TurnError>,
    #[serde(rename = "chat.message.edited")]
    edited: Scoped<MessageEdited>,
    #[serde(rename = "chat.message.deleted")]
    deleted: Scoped<MessageDeleted>,
    #[serde(rename = "chat.mood.update")]
    mood: Scoped<MoodUpdate>,
    #[serde(rename = "chat.session.boundary")]
    boundary: Scoped<SessionBoundary>,
    #[serde(rename = "chat.settings.updated")]
    settings: Scoped<SettingsUpdated>,
    #[serde(rename = "memory.event.created")]
    event: Scoped<EventCreated>,
    #[serde(rename = "memory.thought.created")]
    thought: Scoped<ThoughtCreated>,
    #[serde(rename = "memory.entity.confirmed")]
    entity: Scoped<EntityConfirmed>,
    #[serde(rename = "memory.entity.description_updated")]
    entity_described: Scoped<EntityDescribed>,
    #[serde(rename = "memory.node.updated")]
    node: Scoped<NodeUpdated>,
    #[serde(rename = "memory.forgotten")]
    forgotten: Scoped<MemoryForgotten>,
    #[serde(rename = "work.failed")]
    work_failed: Scoped<WorkFailed>,
    #[serde(rename = "sync.conflict")]
    conflict: Scoped<ConflictOpened>,
    #[serde(rename = "chat.connection.ready")]
    ready: ConnectionReady,
    #[serde(rename = "chat.connection.heartbeat")]
    heartbeat: Empty,
    #[serde(rename = "chat.connection.lagged")]
    lagged: Empty,
}

/// What every event about a scope carries.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "`WireEvent::new` adds these fields")]
struct Scoped<T> {
    persona_id: PersonaId,
    user_id: UserId,
    #[serde(flatten)]
    data: T,
}

/// First event of a connection.
#[derive(Serialize, JsonSchema)]
pub struct ConnectionReady {
    /// Channel of messages sent by this client.
    pub channel_id: &'static str,
}

/// An event without data.
#[derive(Serialize, JsonSchema)]
pub struct Empty {}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct UserAppended {
    pub(crate) message_id: MessageId,
    pub(crate) turn_id: TurnId,
    pub(crate) source_channel_id: String,
    pub(crate) content: String,
    pub(crate) received_at: Timestamp,
    /// The client's own name for the message.
    pub(crate) external_ref: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct TypingStarted {
    /// Names the reply until it is stored: the turn's id.
    pub(crate) message_id: TurnId,
    pub(crate) turn_id: TurnId,
    pub(crate) source_channel_id: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Token {
    /// Names the reply until it is stored: the turn's id.
    pub(crate) message_id: TurnId,
    pub(crate) turn_id: TurnId,
    pub(crate) source_channel_id: String,
    pub(crate) delta: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct ReplyDone {
    /// The same as while typing: the turn's id; that of the message where nobody asked for it.
    pub(crate) message_id: TurnId,
    pub(crate) stored_message_id: MessageId,
    /// `null` for a message that nobody asked for.
    pub(crate) turn_id: Option<TurnId>,
    pub(crate) in_reply_to_turn_id: Option<TurnId>,
    /// The client's name for the last message of the burst.
    pub(crate) in_reply_to: Option<String>,
    pub(crate) source_channel_id: String,
    pub(crate) content: String,
    /// `text`.
    pub(crate) delivery: &'static str,
    /// Whether the model was cut off.
    pub(crate) incomplete: bool,
}

/// A sentence of a reply that is still being written can be heard.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct VoiceSentence {
    /// Names the reply until it is stored: the turn's id.
    pub(crate) message_id: TurnId,
    pub(crate) turn_id: TurnId,
    pub(crate) source_channel_id: String,
    /// Zero-based place in the reply.
    pub(crate) index: u32,
    pub(crate) url: String,
    pub(crate) duration_seconds: f64,
}

/// The whole reply can be heard.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct VoiceReady {
    /// The same as in `chat.message.done`: the turn's id.
    pub(crate) message_id: TurnId,
    pub(crate) stored_message_id: MessageId,
    pub(crate) turn_id: TurnId,
    pub(crate) source_channel_id: String,
    pub(crate) url: String,
    pub(crate) duration_seconds: f64,
    /// Whether the sound was there already.
    pub(crate) cached: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct TurnFailed {
    pub(crate) turn_id: TurnId,
    pub(crate) source_channel_id: String,
    pub(crate) reason: String,
    pub(crate) retryable: bool,
    pub(crate) user_message_ids: Vec<MessageId>,
}

/// The same as `chat.message.failed` for clients of the legacy API.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct TurnError {
    pub(crate) message_id: TurnId,
    pub(crate) turn_id: TurnId,
    pub(crate) source_channel_id: String,
    pub(crate) error: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct MessageEdited {
    pub(crate) message_id: MessageId,
    pub(crate) turn_id: Option<TurnId>,
    pub(crate) source_channel_id: String,
    pub(crate) content: String,
    pub(crate) edited_at: Timestamp,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct MessageDeleted {
    pub(crate) message_id: MessageId,
    pub(crate) turn_id: Option<TurnId>,
    pub(crate) source_channel_id: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct MoodUpdate {
    pub(crate) source_channel_id: Option<String>,
    pub(crate) turn_id: Option<TurnId>,
    pub(crate) mood_summary: String,
    pub(crate) mood: String,
    /// 0 to 10.
    pub(crate) energy: u8,
    pub(crate) last_user_signal: Option<String>,
    pub(crate) updated_at: Timestamp,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct SessionBoundary {
    pub(crate) source_channel_id: String,
    pub(crate) turn_id: Option<TurnId>,
    pub(crate) closed_session_id: Option<SessionId>,
    pub(crate) new_session_id: Option<SessionId>,
    pub(crate) at: Timestamp,
    /// Only once the session is consolidated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) events_count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) thoughts_count: Option<u32>,
}

/// Settings changed: keys of the configuration, or name, voice and avatar of a persona.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct SettingsUpdated {
    /// Always null.
    pub source_channel_id: Option<String>,
    /// Always null.
    pub turn_id: Option<TurnId>,
    /// Keys whose new values hold now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_fields: Option<Vec<String>>,
    /// Keys whose new values hold after a restart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_required: Option<Vec<String>>,
    /// Whether replies are to be spoken.
    pub voice_enabled: bool,
    /// Of the persona.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_avatar: Option<bool>,
    /// Of the persona.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct EventCreated {
    pub(crate) event_id: NodeId,
    #[serde(rename = "type")]
    pub(crate) kind: NodeKind,
    pub(crate) description: String,
    pub(crate) emotional_impact: i8,
    pub(crate) session_id: SessionId,
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
    /// `reflection` or `slow_tick`.
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
    /// `owner` or `slow_tick`.
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

/// Work in the background failed or is paused.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct WorkFailed {
    /// `session` or `spend_cap`.
    pub(crate) kind: &'static str,
    pub(crate) session_id: Option<SessionId>,
    pub(crate) reason: Option<String>,
    /// Of a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attempts: Option<u32>,
    /// Of the spending cap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resumes_at: Option<Timestamp>,
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

impl VoiceSentence {
    pub(crate) fn new(turn_id: TurnId, channel_id: String, index: u32, duration_seconds: f64) -> Self {
        Self {
            message_id: turn_id,
            turn_id,
            source_channel_id: channel_id,
            index,
            url: format!("/api/chat/voice/live/{turn_id}/{index}"),
            duration_seconds,
        }
    }
}

impl VoiceReady {
    pub(crate) fn new(
        message_id: MessageId,
        turn_id: TurnId,
        channel_id: String,
        duration_seconds: f64,
    ) -> Self {
        Self {
            message_id: turn_id,
            stored_message_id: message_id,
            turn_id,
            source_channel_id: channel_id,
            url: format!("/api/chat/voice/{message_id}.mp3"),
            duration_seconds,
            // It was spoken just now.
            cached: false,
        }
    }
}
