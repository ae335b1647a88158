//! Data of the server events, as the event stream sends it.

use jiff::Timestamp;
use memory::identifiers::{ImportId, MessageId, SessionId, TurnId};
use memory::messages::Message;
use memory::ports::ImportRun;
use memory::{PersonaId, UserId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::events::memory_bodies::{
    ConflictOpened, EntityConfirmed, EntityDescribed, EventCreated, MemoryForgotten, NodeUpdated,
    ThoughtCreated, WorkFailed,
};
use crate::imports::registry::{ImportState, ImportStatusReport};

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
    #[serde(rename = "import.progress")]
    import: Scoped<ImportProgress>,
    #[serde(rename = "sync.conflict")]
    conflict: Scoped<ConflictOpened>,
    #[serde(rename = "access.created")]
    access: Scoped<AccessCreated>,
    #[serde(rename = "chat.connection.ready")]
    ready: ConnectionReady,
    #[serde(rename = "chat.connection.heartbeat")]
    heartbeat: Empty,
    #[serde(rename = "chat.connection.lagged")]
    lagged: Empty,
}

/// Fields of every event about a scope.
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

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ImportProgress {
    run_id: ImportId,
    state: ImportState,
    /// Everything that there is to read; `null` once the files are gone.
    total: Option<u64>,
    found: u64,
    recorded: u64,
    documents: u64,
    already_there: u64,
    /// Saved memories of the other program that wait for a person.
    proposed: u64,
    skipped: u64,
    sessions: u64,
    /// Sessions of which no memory was made yet.
    sessions_waiting: u64,
}

impl ImportProgress {
    pub(crate) fn of(report: &ImportStatusReport, run: &ImportRun) -> Self {
        Self {
            run_id: run.run_id,
            state: report.state,
            total: report.upload.as_ref().map(|upload| upload.look.found),
            found: run.found,
            recorded: run.recorded,
            documents: run.documents,
            already_there: run.already_there,
            proposed: run.proposed,
            skipped: run.skipped,
            sessions: run.sessions,
            sessions_waiting: run.sessions_waiting,
        }
    }
}

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

impl UserAppended {
    pub(crate) fn new(
        message_id: MessageId,
        turn_id: TurnId,
        source_channel_id: String,
        content: String,
        received_at: Timestamp,
        external_ref: Option<String>,
    ) -> Self {
        Self { message_id, turn_id, source_channel_id, content, received_at, external_ref }
    }
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
    /// Always `text` for such replies.
    pub(crate) delivery: &'static str,
    /// True if the model was cut off.
    pub(crate) incomplete: bool,
}

impl ReplyDone {
    /// One bubble keeps one id from typing to done, as clients expect; the stored row has its own.
    pub(crate) fn new(
        stored_message_id: MessageId,
        turn_id: Option<TurnId>,
        source_channel_id: String,
        content: String,
        in_reply_to: Option<String>,
        incomplete: bool,
    ) -> Self {
        Self {
            message_id: turn_id.unwrap_or(TurnId(stored_message_id.0)),
            stored_message_id,
            turn_id,
            in_reply_to_turn_id: turn_id,
            in_reply_to,
            source_channel_id,
            content,
            delivery: "text",
            incomplete,
        }
    }
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

/// The whole reply can be heard.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct VoiceReady {
    /// The same as in `chat.message.done`.
    pub(crate) message_id: TurnId,
    pub(crate) stored_message_id: MessageId,
    /// `null` for a message that nobody asked for.
    pub(crate) turn_id: Option<TurnId>,
    pub(crate) source_channel_id: String,
    pub(crate) url: String,
    pub(crate) duration_seconds: f64,
    /// True if the sound was there already.
    pub(crate) cached: bool,
}

impl VoiceReady {
    pub(crate) fn new(
        message_id: MessageId,
        turn_id: Option<TurnId>,
        channel_id: String,
        duration_seconds: f64,
    ) -> Self {
        Self {
            message_id: turn_id.unwrap_or(TurnId(message_id.0)),
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

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct TurnFailed {
    pub(crate) turn_id: TurnId,
    pub(crate) source_channel_id: String,
    pub(crate) reason: String,
    pub(crate) retryable: bool,
    pub(crate) user_message_ids: Vec<MessageId>,
}

impl TurnFailed {
    pub(crate) fn new(
        turn_id: TurnId,
        source_channel_id: String,
        reason: String,
        retryable: bool,
        user_message_ids: Vec<MessageId>,
    ) -> Self {
        Self { turn_id, source_channel_id, reason, retryable, user_message_ids }
    }
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

impl TurnError {
    /// The message has the id of the bubble that typing began.
    pub(crate) fn new(turn_id: TurnId, source_channel_id: String, error: String) -> Self {
        Self { message_id: turn_id, turn_id, source_channel_id, error }
    }
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

impl MessageEdited {
    pub(crate) fn new(message: Message, edited_at: Timestamp) -> Self {
        Self {
            message_id: message.id,
            turn_id: message.turn_id,
            source_channel_id: message.channel_id,
            content: message.content,
            edited_at,
        }
    }
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
    /// On a scale from 0 to 10.
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

impl SessionBoundary {
    /// `formed` counts the events and thoughts of a session that was consolidated.
    pub(crate) fn new(
        source_channel_id: String,
        closed_session_id: Option<SessionId>,
        new_session_id: Option<SessionId>,
        at: Timestamp,
        formed: Option<(u32, u32)>,
    ) -> Self {
        let (events_count, thoughts_count) = formed.unzip();
        Self {
            source_channel_id,
            turn_id: None,
            closed_session_id,
            new_session_id,
            at,
            events_count,
            thoughts_count,
        }
    }
}

/// A browser was logged in, or a token was created. Sent to those who administer.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct AccessCreated {
    /// The kind of access that was created.
    pub kind: AccessKind,
    /// The browser and its system, or the name of the token.
    pub name: String,
    /// The address of the browser that logged in.
    pub address: Option<String>,
}

/// A kind of access to the program.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
pub enum AccessKind {
    /// A browser that opened a login link.
    Login,
    /// A token with a name.
    Token,
}

impl AccessCreated {
    /// Name of the event.
    pub const NAME: &'static str = "access.created";
}

/// Settings changed: keys of the configuration, or name, voice and avatar of a persona.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct SettingsUpdated {
    /// Always null; kept for clients.
    pub source_channel_id: Option<String>,
    /// Always null; kept for clients.
    pub turn_id: Option<TurnId>,
    /// Keys whose new values hold now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_fields: Option<Vec<String>>,
    /// The same as `updated_fields`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_fields: Option<Vec<String>>,
    /// Keys whose new values hold after a restart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_required: Option<Vec<String>>,
    /// True if replies are to be spoken.
    pub voice_enabled: bool,
    /// True if the persona has a picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_avatar: Option<bool>,
    /// The name of the persona.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
}

impl SettingsUpdated {
    pub(crate) fn of_appearance(voice_enabled: bool, has_avatar: bool, display_name: String) -> Self {
        Self {
            voice_enabled,
            has_avatar: Some(has_avatar),
            display_name: Some(display_name),
            ..Self::default()
        }
    }

    pub(crate) fn of_configuration(
        updated_fields: Vec<String>,
        restart_required: Vec<String>,
        voice_enabled: bool,
    ) -> Self {
        Self {
            changed_fields: Some(updated_fields.clone()),
            updated_fields: Some(updated_fields),
            restart_required: Some(restart_required),
            voice_enabled,
            ..Self::default()
        }
    }
}
