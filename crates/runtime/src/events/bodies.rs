//! Data of the server events, as the event stream sends it.

use jiff::Timestamp;
use memory::identifiers::{ImportId, MessageId, SessionId, TurnId};
use memory::messages::Message;
use memory::mood::Mood;
use memory::ports::{Appearance, ImportRun};
use memory::sessions::Session;
use schemars::JsonSchema;
use serde::Serialize;

use crate::imports::registry::{ImportState, ImportStatusReport};

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct ImportProgress {
    run_id: ImportId,
    state: ImportState,
    /// Size of all files; `null` once they are deleted.
    total: Option<u64>,
    found: u64,
    recorded: u64,
    documents: u64,
    already_there: u64,
    /// Number of memories saved by the other program that wait for a person.
    proposed: u64,
    skipped: u64,
    sessions: u64,
    /// Number of sessions that are not consolidated yet.
    sessions_waiting: u64,
}

impl ImportProgress {
    pub(crate) fn from_report(report: &ImportStatusReport, run: &ImportRun) -> Self {
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
    /// The client's id of the message.
    pub(crate) external_ref: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct TypingStarted {
    /// Id of the reply until it is stored: the turn's id.
    pub(crate) message_id: TurnId,
    pub(crate) turn_id: TurnId,
    pub(crate) source_channel_id: String,
}

impl TypingStarted {
    pub(crate) fn new(turn_id: TurnId, source_channel_id: String) -> Self {
        Self { message_id: turn_id, turn_id, source_channel_id }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Token {
    /// Id of the reply until it is stored: the turn's id.
    pub(crate) message_id: TurnId,
    pub(crate) turn_id: TurnId,
    pub(crate) source_channel_id: String,
    pub(crate) delta: String,
}

impl Token {
    pub(crate) fn new(turn_id: TurnId, source_channel_id: String, delta: String) -> Self {
        Self { message_id: turn_id, turn_id, source_channel_id, delta }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct ReplyDone {
    /// The same id as while typing: the turn's id; for a proactive message, its own.
    pub(crate) message_id: TurnId,
    pub(crate) stored_message_id: MessageId,
    /// `null` for a proactive message.
    pub(crate) turn_id: Option<TurnId>,
    pub(crate) in_reply_to_turn_id: Option<TurnId>,
    /// The client's id of the last message that is answered.
    pub(crate) in_reply_to: Option<String>,
    pub(crate) source_channel_id: String,
    pub(crate) content: String,
    /// Always `text` for such replies.
    pub(crate) delivery: &'static str,
    /// True if the model was interrupted.
    pub(crate) incomplete: bool,
}

impl ReplyDone {
    /// The reply has one id from typing to done, as clients expect; the stored row has its own.
    pub(crate) fn new(message: &Message, in_reply_to: Option<String>, incomplete: bool) -> Self {
        Self {
            message_id: bubble_id(message),
            stored_message_id: message.id,
            turn_id: message.turn_id,
            in_reply_to_turn_id: message.turn_id,
            in_reply_to,
            source_channel_id: message.channel_id.clone(),
            content: message.content.clone(),
            delivery: "text",
            incomplete,
        }
    }
}

fn bubble_id(message: &Message) -> TurnId {
    message.turn_id.unwrap_or(TurnId(message.id.0))
}

/// The audio of a sentence is available while the reply is still being written.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct VoiceSentence {
    /// Id of the reply until it is stored: the turn's id.
    pub(crate) message_id: TurnId,
    pub(crate) turn_id: TurnId,
    pub(crate) source_channel_id: String,
    /// Zero-based index of the sentence in the reply.
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

/// The audio of the whole reply is available.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct VoiceReady {
    /// The id of the reply in `chat.message.done`.
    pub(crate) message_id: TurnId,
    pub(crate) stored_message_id: MessageId,
    /// `null` for a proactive message.
    pub(crate) turn_id: Option<TurnId>,
    pub(crate) source_channel_id: String,
    pub(crate) url: String,
    pub(crate) duration_seconds: f64,
    /// True if the audio existed before.
    pub(crate) cached: bool,
}

impl VoiceReady {
    pub(crate) fn new(message: &Message, duration_seconds: f64) -> Self {
        Self {
            message_id: bubble_id(message),
            stored_message_id: message.id,
            turn_id: message.turn_id,
            source_channel_id: message.channel_id.clone(),
            url: format!("/api/chat/voice/{}.mp3", message.id),
            duration_seconds,
            // The sound was just made.
            cached: false,
        }
    }
}

/// A turn ended without a reply.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TurnFailed {
    pub(crate) turn_id: TurnId,
    pub(crate) source_channel_id: String,
    pub(crate) reason: String,
    pub(crate) retryable: bool,
    pub(crate) user_message_ids: Vec<MessageId>,
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

impl MoodUpdate {
    pub(crate) fn new(mood: Mood) -> Self {
        let summary = match &mood.last_user_signal {
            Some(signal) => format!("{} · {}/10 · {signal}", mood.mood, mood.energy),
            None => format!("{} · {}/10", mood.mood, mood.energy),
        };
        Self {
            source_channel_id: None,
            turn_id: None,
            mood_summary: summary,
            mood: mood.mood,
            energy: mood.energy,
            last_user_signal: mood.last_user_signal,
            updated_at: mood.updated_at,
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct SessionBoundary {
    pub(crate) source_channel_id: String,
    pub(crate) turn_id: Option<TurnId>,
    pub(crate) closed_session_id: Option<SessionId>,
    pub(crate) new_session_id: Option<SessionId>,
    pub(crate) at: Timestamp,
    /// Number of events; absent until the session is consolidated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) events_count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) thoughts_count: Option<u32>,
}

impl SessionBoundary {
    pub(crate) fn opened(session: &Session) -> Self {
        Self {
            source_channel_id: session.channel_id.clone(),
            turn_id: None,
            closed_session_id: None,
            new_session_id: Some(session.id),
            at: session.first_message_at,
            events_count: None,
            thoughts_count: None,
        }
    }

    /// The session is consolidated, with this number of events and thoughts.
    pub(crate) fn closed(session: &Session, events: u32, thoughts: u32) -> Self {
        Self {
            source_channel_id: session.channel_id.clone(),
            turn_id: None,
            closed_session_id: Some(session.id),
            new_session_id: None,
            at: session.closed_at.unwrap_or(session.last_message_at),
            events_count: Some(events),
            thoughts_count: Some(thoughts),
        }
    }
}

/// A browser was logged in, or a token was created. Sent to administrators.
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

/// Settings changed: keys of the configuration, or name, voice and avatar of a persona.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct SettingsUpdated {
    /// Always null; kept for clients.
    pub source_channel_id: Option<String>,
    /// Always null; kept for clients.
    pub turn_id: Option<TurnId>,
    /// Keys whose new values apply now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_fields: Option<Vec<String>>,
    /// The same as `updated_fields`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_fields: Option<Vec<String>>,
    /// Keys whose new values apply after a restart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_required: Option<Vec<String>>,
    /// True if replies are spoken.
    pub voice_enabled: bool,
    /// True if the persona has a picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_avatar: Option<bool>,
    /// The name of the persona.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
}

impl SettingsUpdated {
    pub(crate) fn of_appearance(appearance: &Appearance, display_name: String) -> Self {
        Self {
            voice_enabled: appearance.voice_enabled,
            has_avatar: Some(appearance.has_avatar),
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
