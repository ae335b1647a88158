//! Port for channels to other platforms: received positions, and messages that wait for delivery.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::identifiers::MessageId;
use crate::messages::Message;
use crate::ports::StoreError;
use crate::scope::UserId;

/// Position in a platform's numbering of updates, so that none is processed twice and none is missed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceivedPosition {
    /// One sequence for a whole source: everything up to this number was received.
    Sequence {
        /// The source of the numbers, such as `telegram:BOT`: another bot of the same channel has its own numbers.
        source: String,
        number: i64,
    },
    /// Numbers that grow with time within a conversation, and may arrive in another order.
    Conversation {
        /// The conversation on the platform.
        conversation: String,
        /// The number of the message, greater than 0.
        number: i64,
        /// Distance below the newest number to which numbers are remembered; older ones count as received.
        overlap: i64,
    },
}

/// A write for a channel, in the transaction of the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelWrite {
    /// The message was received on the channel.
    Received {
        /// The conversation on the platform in which the user is reached from now on; `None` if others read it too.
        reached_in: Option<String>,
        /// Position in the channel's updates, including this message.
        position: ReceivedPosition,
    },
    /// The message has to be delivered on the channel.
    Deliver {
        /// The conversation on the platform.
        conversation: String,
    },
}

/// A message that waits for delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// The message's number in the outbox.
    pub number: i64,
    pub message_id: MessageId,
    /// The conversation on the platform.
    pub conversation: String,
    pub text: String,
    /// Number of pieces already sent.
    pub pieces_sent: u32,
    /// The piece that was being sent when the program ended, if any. It may have arrived.
    pub doubtful_piece: Option<u32>,
    /// The platform's id of the last message delivered in the conversation, if known.
    pub last_sent: Option<String>,
    /// Failed attempts so far.
    pub attempts: u32,
    /// Time at which the message was written.
    pub created_at: Timestamp,
}

/// The result of an attempt to deliver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryStep {
    /// The piece with this number will be sent next.
    Sending(u32),
    /// A piece was sent.
    Sent {
        /// Number of pieces that were sent so far.
        pieces: u32,
        /// True if this was the message's last piece.
        is_whole: bool,
        /// The platform's id of the piece, if it gives one.
        sent_as: Option<String>,
    },
    /// The next attempt is at this time.
    PutOff(Timestamp, String),
    /// There are no more attempts, unless a person requests one.
    GivenUp(String),
}

/// Counts of a channel's waiting messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelCounts {
    /// Messages that wait for delivery.
    pub waiting: u64,
    /// Messages that could not be delivered.
    pub undeliverable: u64,
    /// Accounts that are linked to users.
    pub linked: u64,
    /// The reason for the last undeliverable message.
    pub last_failure: Option<String>,
}

/// Storage of a channel's positions and outbox.
#[async_trait]
pub trait ChannelStore: Send + Sync {
    /// Position up to which a sequence was received; `None` if it never was.
    async fn sequence_position(&self, source: &str) -> Result<Option<i64>, StoreError>;
    /// Sets the position up to which a sequence was received; it may be lower, because platforms restart their
    /// numbers.
    async fn set_sequence_position(&self, source: &str, number: i64) -> Result<(), StoreError>;
    /// The newest number received in each conversation of a channel that numbers by conversation, with the conversation.
    async fn conversation_positions(&self, channel_id: &str) -> Result<Vec<(String, i64)>, StoreError>;
    /// True if an update with this position was processed.
    async fn is_received(&self, channel_id: &str, position: &ReceivedPosition) -> Result<bool, StoreError>;
    /// Notes an update that left no message. A position never moves back.
    async fn advance_channel(&self, channel_id: &str, position: ReceivedPosition) -> Result<(), StoreError>;
    /// The message with this id on a channel.
    async fn message_by_external_ref(
        &self,
        channel_id: &str,
        external_ref: &str,
    ) -> Result<Option<Message>, StoreError>;
    /// The platform's conversation in which a user is reached.
    async fn conversation_of(&self, channel_id: &str, user: &UserId) -> Result<Option<String>, StoreError>;
    /// True if an unknown account may get an answer now, which is once in a while. Notes `at` as the time of the
    /// answer.
    async fn admit_stranger_answer(
        &self,
        channel_id: &str,
        external_id: &str,
        at: Timestamp,
        not_since: Timestamp,
    ) -> Result<bool, StoreError>;
    /// The oldest waiting message of each conversation that is due; later ones of the conversation wait.
    async fn outbox_due(
        &self,
        channel_id: &str,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<OutgoingMessage>, StoreError>;
    /// Time at which the next deliverable message is due; `None` if nothing waits.
    async fn outbox_next(&self, channel_id: &str) -> Result<Option<Timestamp>, StoreError>;
    /// Stores the result of an attempt.
    async fn outbox_step(&self, number: i64, step: DeliveryStep) -> Result<(), StoreError>;
    /// Makes undeliverable messages wait again; returns their number.
    async fn retry_undeliverable(&self, channel_id: &str, now: Timestamp) -> Result<u64, StoreError>;
    /// Counts of the messages that wait for a channel.
    async fn channel_counts(&self, channel_id: &str) -> Result<ChannelCounts, StoreError>;
}
