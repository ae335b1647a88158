//! L2: every message of both sides, verbatim. All other layers depend on it.

use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identifiers::{MessageId, SessionId, TurnId};
use crate::scope::Scope;

/// Maximum length of a message, in characters. In Chinese that many have as many tokens as a whole session.
pub const MESSAGE_LENGTH_MAX: usize = 20_000;

/// The speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person who uses the program.
    User,
    /// The persona that the user talks with.
    Persona,
    /// Somebody else, in an imported conversation. Their messages are no evidence about the user.
    Other,
}

/// A message as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// The id of the message.
    pub id: MessageId,
    /// Row number, which grows with each commit. It never leaves the process.
    pub seq: i64,
    /// The memory that the message belongs to.
    pub scope: Scope,
    /// The session that the message belongs to.
    pub session_id: SessionId,
    /// The message's turn; `None` for a proactive message.
    pub turn_id: Option<TurnId>,
    /// The channel of the message: opaque, and never in a prompt.
    pub channel_id: String,
    /// The speaker of the message.
    pub role: Role,
    /// The speaker's name, for [`Role::Other`] only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// The text, exactly as written.
    pub content: String,
    /// Estimated number of tokens.
    pub token_count: u32,
    /// The day of the message in the user's zone.
    pub day: Date,
    /// Time of the message.
    pub created_at: Timestamp,
    /// True if the model was interrupted before the end.
    pub incomplete: bool,
    /// The language model that wrote the message in another program, if it was imported. The model of a reply is in
    /// its receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Position of a version in its conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionPlace {
    /// An alternative to the message.
    Alternative,
    /// The version belongs to another branch, and follows the message.
    AfterMessage,
    /// The version belongs to another branch, and follows the version with this index in the message's list.
    AfterVersion(usize),
}

/// Another text of a message: an imported one that was not shown, or the text before an edit.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageVersion {
    /// The speaker. In another branch of a conversation it may differ from the speaker of the message.
    pub role: Role,
    /// The speaker's name, for [`Role::Other`] only.
    pub speaker: Option<String>,
    /// The text, exactly as written.
    pub content: String,
    /// Time of the version, if known.
    pub said_at: Option<Timestamp>,
    /// The language model that wrote the version, if known.
    pub model: Option<String>,
    /// Time at which the message replaced this version; for an imported one the time of the message.
    pub replaced_at: Timestamp,
    pub place: VersionPlace,
}

/// The state of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TurnStatus {
    /// The user's messages are stored, and there is no reply yet.
    Pending,
    /// The reply is stored.
    Answered,
    /// The turn failed: it gets no reply unless a person retries it.
    Failed,
}

/// A stored turn, so that a crash before the reply loses nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// The turn's id, created by its first message.
    pub id: TurnId,
    /// The memory that the turn belongs to.
    pub scope: Scope,
    /// The channel that gets the reply.
    pub channel_id: String,
    /// The state of the turn.
    pub status: TurnStatus,
    /// Time at which the turn's first message arrived.
    pub started_at: Timestamp,
    /// Time at which the turn's last message arrived.
    pub last_message_at: Timestamp,
    /// Reason of the failure, for a person.
    pub reason: Option<String>,
}
