//! L2: every message of both sides, verbatim. The ground truth the other layers depend on.

use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identifiers::{MessageId, SessionId, TurnId};
use crate::scope::Scope;

/// Longest message that is accepted, in characters. In Chinese it is a session's worth of tokens.
pub const MESSAGE_LENGTH_MAX: usize = 20_000;

/// The speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person who uses the program.
    User,
    /// The persona, as its model speaks.
    Persona,
    /// Somebody else, in a conversation that was imported. What they say proves nothing about the user.
    Other,
}

/// A message as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// The id of the message.
    pub id: MessageId,
    /// The store's own number of the row: grows with each commit. Never leaves the process.
    pub seq: i64,
    /// The memory that the message belongs to.
    pub scope: Scope,
    /// The session that the message belongs to.
    pub session_id: SessionId,
    /// The turn it belongs to; none for a message that the persona sent proactively.
    pub turn_id: Option<TurnId>,
    /// The channel that the message was sent on: opaque, never in a prompt.
    pub channel_id: String,
    /// The speaker of the message.
    pub role: Role,
    /// The name of the one who said it, for [`Role::Other`] alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// The text, word by word.
    pub content: String,
    /// Estimated, not counted by the model.
    pub token_count: u32,
    /// The day it was said on, in the user's zone.
    pub day: Date,
    /// Time at which the message was said.
    pub created_at: Timestamp,
    /// True if the model was cut off while saying it.
    pub incomplete: bool,
    /// The language model that wrote it in another program, if it was imported from there. A reply's own model is in its
    /// receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Place of a version in its conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionPlace {
    /// The version could be shown in the message's place.
    Alternative,
    /// The version belongs to a branch and follows the message.
    AfterMessage,
    /// The version belongs to a branch and follows another version: the index in the list of the message's versions.
    AfterVersion(usize),
}

/// Another text of a message: one that was not shown in the program that it was imported from, or the text before an edit.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageVersion {
    /// The speaker. In another branch of a conversation it can differ from that of the message.
    pub role: Role,
    /// The name of the one who said it, for [`Role::Other`] alone.
    pub speaker: Option<String>,
    /// The text, word by word.
    pub content: String,
    /// Time at which the version was said, if that is known.
    pub said_at: Option<Timestamp>,
    /// The language model that wrote it, if that is known.
    pub model: Option<String>,
    /// Time at which the message took its place; for an imported one the time of the message.
    pub replaced_at: Timestamp,
    pub place: VersionPlace,
}

/// The state of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TurnStatus {
    /// The user spoke; no reply yet.
    Pending,
    /// The reply is durable.
    Answered,
    /// The turn failed: it gets no reply unless a person retries it.
    Failed,
}

/// A turn as stored: what survives a crash between the user's words and the reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// The turn's id, minted by the burst's first message.
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
