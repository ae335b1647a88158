//! Server events: names and fields are part of the HTTP API and the same on every channel.

use jiff::Timestamp;
use memory::Scope;
use memory::consolidate::ConsolidationEvent;
use memory::entities::Entity;
use memory::forget::ForgetSummary;
use memory::identifiers::{EntityId, ErasureId, MessageId, NodeId, SessionId, TurnId};
use memory::messages::Message;
use memory::mood::Mood;
use memory::nodes::{NewNode, Node};
use serde_json::{Value, json};

use crate::events::bodies::{
    ImportProgress, MessageDeleted, MessageEdited, MoodUpdate, ReplyDone, SessionBoundary, SettingsUpdated,
    Token, TurnError, TurnFailed, TypingStarted, UserAppended, VoiceReady, VoiceSentence,
};
use crate::events::memory_bodies::{
    ConflictOpened, EntityConfirmed, EntityDescribed, EventCreated, MemoryForgotten, NodeUpdated,
    ThoughtCreated, WorkFailed,
};

/// Name of the event about an import.
pub(crate) const IMPORT_PROGRESS: &str = "import.progress";

/// An event with the memory it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct WireEvent {
    /// The memory it is about; only subscribers that may see it receive the event.
    pub scope: Scope,
    /// Name on the wire, as `chat.message.done`.
    pub name: &'static str,
    /// Fields on the wire.
    pub data: Value,
}

impl WireEvent {
    /// The event with what every event carries: whose memory it is in; and if it is of a talk, where it came from and
    /// in which turn, null where there is none.
    pub fn new(scope: Scope, name: &'static str, mut data: Value) -> Self {
        if let Some(fields) = data.as_object_mut() {
            fields.insert("persona_id".to_owned(), json!(scope.persona));
            fields.insert("user_id".to_owned(), json!(scope.user));
            if name.starts_with("chat.") {
                fields.entry("source_channel_id").or_insert(Value::Null);
                fields.entry("turn_id").or_insert(Value::Null);
            }
        }
        Self { scope, name, data }
    }
}

/// Something worth telling. It has happened and is durable, except for tokens, which are on their way.
#[derive(Clone, Debug)]
pub enum ServerEvent {
    /// The user's line is durable.
    UserAppended {
        message_id: MessageId,
        turn_id: TurnId,
        channel_id: String,
        content: String,
        received_at: Timestamp,
        /// The client's own name for it.
        external_ref: Option<String>,
    },
    /// A turn was resumed.
    TypingStarted {
        turn_id: TurnId,
        channel_id: String,
    },
    /// A piece of the reply.
    Token {
        turn_id: TurnId,
        channel_id: String,
        delta: String,
    },
    /// The reply is durable.
    Done {
        message_id: MessageId,
        /// The turn; none for a message that nobody asked for.
        turn_id: Option<TurnId>,
        channel_id: String,
        content: String,
        /// The client's name for the last line of the burst.
        in_reply_to: Option<String>,
        /// True if the model was cut off.
        incomplete: bool,
    },
    /// A sentence of a reply can be heard.
    VoiceSentence {
        turn_id: TurnId,
        channel_id: String,
        /// Zero-based place in the reply.
        index: u32,
        duration_seconds: f64,
    },
    /// The whole reply can be heard.
    VoiceReady {
        message_id: MessageId,
        /// The turn; none for a message that the persona sent proactively.
        turn_id: Option<TurnId>,
        channel_id: String,
        duration_seconds: f64,
    },
    /// No reply will come.
    TurnFailed {
        turn_id: TurnId,
        /// The channel that did not get it.
        channel_id: String,
        /// Why, for a person.
        reason: String,
        /// True if it may be asked for again.
        retryable: bool,
        /// The user's lines, which are safe.
        user_message_ids: Vec<MessageId>,
    },
    /// The same for clients of the legacy API, which know no other event that ends a turn without a reply.
    TurnError {
        turn_id: TurnId,
        /// The channel that did not get its reply.
        channel_id: String,
        /// Why, for a person.
        reason: String,
    },
    /// A session began or ended.
    SessionBoundary {
        channel_id: String,
        /// The one that ended.
        closed: Option<SessionId>,
        /// The one that began.
        opened: Option<SessionId>,
        at: Timestamp,
        /// Events and thoughts of the one that ended, once it is closed for good.
        formed: Option<(u32, u32)>,
    },
    /// Keys of the configuration have new values.
    SettingsUpdated {
        /// The keys that hold now, as `recall.k`.
        updated_fields: Vec<String>,
        /// Keys that wait for a restart.
        restart_required: Vec<String>,
        /// True if a person wants to hear the persona.
        voice_enabled: bool,
    },
    /// Name, picture or voice of a persona were changed.
    AppearanceChanged {
        /// True if a person wants to hear the persona.
        voice_enabled: bool,
        has_avatar: bool,
        display_name: String,
    },
    Formed(ConsolidationEvent),
    /// A memory was corrected, pinned, or is current again.
    NodeUpdated {
        /// As it stands now.
        node: Box<Node>,
        /// The kind of change: `correction`, `pin`, `unpin`, `undo`, or `withdrawal` of its evidence.
        change: &'static str,
    },
    /// Memories are gone with the words that they rested on.
    Withdrawn {
        node_ids: Vec<NodeId>,
        /// Named things that no memory is about any more.
        entity_ids: Vec<EntityId>,
        /// The messages whose words changed.
        message_ids: Vec<MessageId>,
    },
    /// A message of the user has new words.
    MessageEdited {
        /// As it stands now.
        message: Box<Message>,
        at: Timestamp,
    },
    /// A message is gone: another reply took its place.
    MessageDeleted {
        message_id: MessageId,
        turn_id: Option<TurnId>,
        channel_id: String,
    },
    /// The description of an entity was written.
    EntityDescribed {
        /// The entity as it stands.
        entity: Box<Entity>,
    },
    /// Work in the background waits until a moment.
    WorkPaused {
        /// Why, for a person.
        reason: String,
        resumes_at: Timestamp,
    },
    Forgotten {
        /// The receipt, if it was erased.
        receipt: Option<ErasureId>,
        /// Ids of the erased rows; empty if everything was erased.
        taken: Box<ForgetSummary>,
    },
    /// An import has come further.
    ImportProgress(Box<ImportProgress>),
    /// Two versions of a document stand beside each other until a person decides.
    ConflictOpened {
        conflict_id: String,
        /// The document's category or granularity.
        kind: &'static str,
        filename: String,
        at: Timestamp,
    },
}

impl ServerEvent {
    /// The event as it goes over the wire.
    pub fn into_wire(self, scope: Scope) -> WireEvent {
        let (name, data) = self.name_and_data();
        WireEvent::new(scope, name, data)
    }

    /// The event that follows directly, for clients that do not know this one.
    pub(crate) fn legacy_event(&self) -> Option<Self> {
        let Self::TurnFailed { turn_id, channel_id, reason, .. } = self else { return None };
        Some(Self::TurnError { turn_id: *turn_id, channel_id: channel_id.clone(), reason: reason.clone() })
    }

    fn name_and_data(self) -> (&'static str, Value) {
        match self {
            Self::UserAppended { message_id, turn_id, channel_id, content, received_at, external_ref } => (
                "chat.message.user_appended",
                json!(UserAppended::new(message_id, turn_id, channel_id, content, received_at, external_ref)),
            ),
            Self::TypingStarted { turn_id, channel_id } => (
                "chat.message.typing_started",
                json!(TypingStarted { message_id: turn_id, turn_id, source_channel_id: channel_id }),
            ),
            Self::Token { turn_id, channel_id, delta } => (
                "chat.message.token",
                json!(Token { message_id: turn_id, turn_id, source_channel_id: channel_id, delta }),
            ),
            Self::Done { message_id, turn_id, channel_id, content, in_reply_to, incomplete } => (
                "chat.message.done",
                json!(ReplyDone::new(message_id, turn_id, channel_id, content, in_reply_to, incomplete)),
            ),
            Self::VoiceSentence { turn_id, channel_id, index, duration_seconds } => (
                "chat.message.voice_sentence",
                json!(VoiceSentence::new(turn_id, channel_id, index, duration_seconds)),
            ),
            Self::VoiceReady { message_id, turn_id, channel_id, duration_seconds } => (
                "chat.message.voice_ready",
                json!(VoiceReady::new(message_id, turn_id, channel_id, duration_seconds)),
            ),
            Self::TurnFailed { turn_id, channel_id, reason, retryable, user_message_ids } => (
                "chat.message.failed",
                json!(TurnFailed::new(turn_id, channel_id, reason, retryable, user_message_ids)),
            ),
            Self::TurnError { turn_id, channel_id, reason } => {
                ("chat.message.error", json!(TurnError::new(turn_id, channel_id, reason)))
            }
            Self::SessionBoundary { channel_id, closed, opened, at, formed } => {
                ("chat.session.boundary", json!(SessionBoundary::new(channel_id, closed, opened, at, formed)))
            }
            Self::MessageEdited { message, at } => {
                ("chat.message.edited", json!(MessageEdited::new(*message, at)))
            }
            Self::MessageDeleted { message_id, turn_id, channel_id } => (
                "chat.message.deleted",
                json!(MessageDeleted { message_id, turn_id, source_channel_id: channel_id }),
            ),
            Self::SettingsUpdated { updated_fields, restart_required, voice_enabled } => (
                "chat.settings.updated",
                json!(SettingsUpdated::of_configuration(updated_fields, restart_required, voice_enabled)),
            ),
            Self::AppearanceChanged { voice_enabled, has_avatar, display_name } => (
                "chat.settings.updated",
                json!(SettingsUpdated::of_appearance(voice_enabled, has_avatar, display_name)),
            ),
            Self::WorkPaused { reason, resumes_at } => {
                ("work.failed", json!(WorkFailed::paused(reason, resumes_at)))
            }
            Self::Formed(formed) => formed_name_and_data(formed),
            Self::NodeUpdated { node, change } => ("memory.node.updated", json!(updated_node(*node, change))),
            Self::EntityDescribed { entity } => {
                let source = if entity.owner_override { "owner" } else { "slow_tick" };
                ("memory.entity.description_updated", json!(described_entity(*entity, source)))
            }
            Self::Withdrawn { node_ids, entity_ids, message_ids } => {
                ("memory.forgotten", json!(MemoryForgotten::of_edit(node_ids, entity_ids, message_ids)))
            }
            Self::Forgotten { receipt, taken } => {
                ("memory.forgotten", json!(forgotten_body(receipt, *taken)))
            }
            Self::ImportProgress(progress) => (IMPORT_PROGRESS, json!(progress)),
            Self::ConflictOpened { conflict_id, kind, filename, at } => {
                ("sync.conflict", json!(ConflictOpened { conflict_id, kind, filename, created_at: at }))
            }
        }
    }
}

fn updated_node(node: Node, change: &'static str) -> NodeUpdated {
    NodeUpdated {
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

fn described_entity(entity: Entity, source: &'static str) -> EntityDescribed {
    EntityDescribed {
        entity_id: entity.id,
        canonical_name: entity.canonical_name,
        kind: entity.kind,
        description: entity.description,
        source,
        updated_at: entity.updated_at,
    }
}

fn forgotten_body(receipt: Option<ErasureId>, taken: ForgetSummary) -> MemoryForgotten {
    MemoryForgotten {
        all: taken.is_empty(),
        message_ids: taken.messages.into_iter().collect(),
        entity_ids: taken.entities.into_iter().collect(),
        node_ids: None,
        edited_message_ids: None,
        receipt_id: Some(receipt),
        event_ids: Some(taken.events.into_iter().collect()),
        thought_ids: Some(taken.thoughts.into_iter().collect()),
        intention_ids: Some(taken.intentions.into_iter().collect()),
        expectation_ids: Some(taken.expectations.into_iter().collect()),
        shortened_session_ids: Some(taken.sessions.into_iter().collect()),
        turn_ids: Some(taken.turns.into_iter().collect()),
        rewritten_ids: Some(taken.rewritten.into_iter().collect()),
    }
}

fn formed_name_and_data(formed: ConsolidationEvent) -> (&'static str, Value) {
    match formed {
        ConsolidationEvent::Event { session_id, node, said_at, at, .. } => (
            "memory.event.created",
            json!(EventCreated {
                event_id: node.id,
                kind: node.kind,
                description: node.description,
                emotional_impact: node.emotional_impact,
                session_id,
                said_at,
                created_at: at,
            }),
        ),
        ConsolidationEvent::Thought { session_id, is_imported, node, at, .. } => {
            let source = if is_imported { "import" } else { "reflection" };
            ("memory.thought.created", json!(thought_body(source, Some(session_id), *node, at)))
        }
        ConsolidationEvent::SlowThought { node, at, .. } => {
            ("memory.thought.created", json!(thought_body("slow_tick", None, *node, at)))
        }
        ConsolidationEvent::Described { entity, .. } => {
            ("memory.entity.description_updated", json!(described_entity(*entity, "slow_tick")))
        }
        ConsolidationEvent::Entity { entity, .. } => (
            "memory.entity.confirmed",
            json!(EntityConfirmed {
                entity_id: entity.id,
                canonical_name: entity.canonical_name,
                kind: entity.kind,
                merge_status: entity.merge_status,
                created_at: entity.created_at,
            }),
        ),
        ConsolidationEvent::Mood { mood, .. } => ("chat.mood.update", json!(mood_update(mood))),
        ConsolidationEvent::Closed { session, events, thoughts } => {
            let (closed, at) = (Some(session.id), session.closed_at.unwrap_or(session.last_message_at));
            let (channel_id, formed) = (session.channel_id, Some((events, thoughts)));
            ServerEvent::SessionBoundary { channel_id, closed, opened: None, at, formed }.name_and_data()
        }
        ConsolidationEvent::Failed { session } => (
            "work.failed",
            json!(WorkFailed {
                kind: "session",
                session_id: Some(session.id),
                reason: session.last_error,
                attempts: Some(session.attempts),
                resumes_at: None,
            }),
        ),
    }
}

/// A thought of the slow cycle comes from no session.
fn thought_body(
    source: &'static str,
    session_id: Option<SessionId>,
    node: NewNode,
    at: Timestamp,
) -> ThoughtCreated {
    ThoughtCreated {
        thought_id: node.id,
        kind: node.kind,
        subject: node.subject,
        description: node.description,
        emotional_impact: node.emotional_impact,
        source,
        session_id,
        filling_event_ids: node.filling,
        created_at: at,
    }
}

fn mood_update(mood: Mood) -> MoodUpdate {
    let summary = match &mood.last_user_signal {
        Some(signal) => format!("{} · {}/10 · {signal}", mood.mood, mood.energy),
        None => format!("{} · {}/10", mood.mood, mood.energy),
    };
    MoodUpdate {
        source_channel_id: None,
        turn_id: None,
        mood_summary: summary,
        mood: mood.mood,
        energy: mood.energy,
        last_user_signal: mood.last_user_signal,
        updated_at: mood.updated_at,
    }
}

/// The memory that something formed in.
pub(crate) fn scope_of(formed: &ConsolidationEvent) -> Scope {
    match formed {
        ConsolidationEvent::Event { scope, .. }
        | ConsolidationEvent::Entity { scope, .. }
        | ConsolidationEvent::Mood { scope, .. }
        | ConsolidationEvent::Thought { scope, .. }
        | ConsolidationEvent::SlowThought { scope, .. }
        | ConsolidationEvent::Described { scope, .. } => scope.clone(),
        ConsolidationEvent::Closed { session, .. } | ConsolidationEvent::Failed { session } => {
            session.scope.clone()
        }
    }
}
