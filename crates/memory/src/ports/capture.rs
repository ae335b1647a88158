//! Capture: how a message becomes durable.

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::civil::Date;

use crate::forget::Withdrawal;
use crate::identifiers::{MessageId, SessionId, TurnId};
use crate::ledger::ReplyReceipt;
use crate::messages::{Message, Role};
use crate::ports::{ChannelWrite, StoreError};
use crate::scope::Scope;
use crate::sessions::{Session, SessionPolicy};

/// A message about to be captured.
#[derive(Clone, Debug, PartialEq)]
pub struct NewMessage {
    pub id: MessageId,
    /// The id of the session that is opened if one is needed.
    pub session_id_if_new: SessionId,
    pub scope: Scope,
    pub channel_id: String,
    pub turn_id: Option<TurnId>,
    pub role: Role,
    /// The name of the one who said it, for [`Role::Other`] alone.
    pub speaker: Option<String>,
    /// The text, word by word.
    pub content: String,
    /// Estimated, not counted by the model.
    pub token_count: u32,
    /// The message's index terms, as [`crate::text::index_terms`] gives them.
    pub terms: String,
    /// The day in the user's zone.
    pub day: Date,
    /// Time at which the message was said.
    pub created_at: Timestamp,
    /// True if the model was cut off.
    pub incomplete: bool,
    /// The client's own id of the message.
    pub external_ref: Option<String>,
    /// A write to the channel's outbox or position, in the same transaction.
    pub channel_write: Option<ChannelWrite>,
}

/// The result of storing a message.
#[derive(Clone, Debug, PartialEq)]
pub struct CapturedMessage {
    /// The message as stored.
    pub message: Message,
    /// The session that the message opened.
    pub opened: Option<Session>,
    /// The sessions that the message ended; now `closing`.
    pub ended: Vec<Session>,
    /// The turn's earlier reply, which this one took the place of, and what had rested on it.
    pub replaced: Option<Withdrawal>,
}

/// Writes a message (L2) with all that belongs to it.
#[async_trait]
pub trait CaptureStore: Send + Sync {
    /// Captures a message: session found or opened (see [`crate::sessions`]), counters, words, turn; one
    /// transaction, durable on return. A user's message makes its turn pending. A persona's message goes into the
    /// turn's session while that is open, and its receipt makes the turn answered. A second reply of a turn
    /// that brings a receipt takes the first one's place, in the session of the first one; what rested on the first is withdrawn.
    async fn capture(
        &self,
        message: NewMessage,
        policy: SessionPolicy,
        receipt: Option<ReplyReceipt>,
    ) -> Result<CapturedMessage, StoreError>;
}
