//! Port for storing messages.

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

/// A message to store.
#[derive(Clone, Debug, PartialEq)]
pub struct NewMessage {
    pub id: MessageId,
    /// The id of the session that is opened if one is needed.
    pub session_id_if_new: SessionId,
    pub scope: Scope,
    pub channel_id: String,
    pub turn_id: Option<TurnId>,
    pub role: Role,
    /// The speaker's name, for [`Role::Other`] only.
    pub speaker: Option<String>,
    /// The text, exactly as written.
    pub content: String,
    /// Estimated number of tokens.
    pub token_count: u32,
    /// The message's index terms, as [`crate::text::index_terms`] gives them.
    pub terms: String,
    /// The day of the message in the user's zone.
    pub day: Date,
    /// Time of the message.
    pub created_at: Timestamp,
    /// True if the model was interrupted.
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
    /// The turn's earlier reply, which this one replaced, and the memories that depended on it.
    pub replaced: Option<Withdrawal>,
}

/// Stores messages (L2) with everything that belongs to them.
#[async_trait]
pub trait CaptureStore: Send + Sync {
    /// Stores a message: finds or opens its session (see [`crate::sessions`]) and writes counters, terms and turn in
    /// one transaction, which is durable on return. A user's message makes its turn pending. A persona's message goes
    /// into the turn's session while that is open, and its receipt makes the turn answered. A second reply with a
    /// receipt replaces the first one in the first one's session; memories that depended on the first are withdrawn.
    async fn capture(
        &self,
        message: NewMessage,
        policy: SessionPolicy,
        receipt: Option<ReplyReceipt>,
    ) -> Result<CapturedMessage, StoreError>;
}
