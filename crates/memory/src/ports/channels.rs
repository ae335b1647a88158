//! What channels beyond this program ask of storage: what was received, what waits to be delivered.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::identifiers::MessageId;
use crate::messages::Message;
use crate::ports::StoreError;
use crate::scope::UserId;

/// The numbering of a platform's updates, so that none is processed twice and none is missed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceivedPosition {
    /// One sequence of a whole source: all up to this number was taken.
    Sequence {
        /// The source of the numbers, as `telegram:BOT`: another bot of the same channel has its own numbers.
        source: String,
        number: i64,
    },
    /// Numbers that grow with time, which may arrive in another order.
    Conversation {
        /// The conversation on the platform.
        conversation: String,
        /// The number of the message, greater than 0.
        number: i64,
        /// Numbers are remembered down to this far below the newest; what is older counts as received.
        overlap: i64,
    },
}

/// A write for a channel beyond this program, in the transaction of the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelWrite {
    /// The message was received on the channel.
    Received {
        /// The conversation on the platform where the user is reached from now on; none if others read it too.
        reached_in: Option<String>,
        /// Position up to which the channel is received, with this message.
        position: ReceivedPosition,
    },
    /// The message has to be delivered on the channel.
    Deliver {
        /// The conversation on the platform.
        conversation: String,
    },
}

/// A message that waits to be delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// The message's number in the outbox.
    pub number: i64,
    pub message_id: MessageId,
    /// The conversation on the platform.
    pub conversation: String,
    pub text: String,
    /// Number of its pieces that were sent.
    pub pieces_sent: u32,
    /// The piece that was being sent when the program ended, if so: it may have arrived.
    pub doubtful_piece: Option<u32>,
    /// The platform's name of what was delivered last in the conversation, where it is known.
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
        /// The platform's name of the piece, where it gives one.
        sent_as: Option<String>,
    },
    /// The message is tried again at a moment.
    PutOff(Timestamp, String),
    /// The message is not tried again, unless a person asks for it.
    GivenUp(String),
}

/// Counts of a channel's waiting messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelCounts {
    /// Messages on their way.
    pub waiting: u64,
    /// Messages that could not be delivered.
    pub undeliverable: u64,
    /// Accounts that are linked to users.
    pub linked: u64,
    /// Why the last of the undeliverable ones could not be delivered.
    pub last_failure: Option<String>,
}

/// Receiving and delivering, durably.
#[async_trait]
pub trait ChannelStore: Send + Sync {
    /// Position up to which a sequence was received; none before the first time.
    async fn sequence_position(&self, source: &str) -> Result<Option<i64>, StoreError>;
    /// Sets up to where a sequence was received, also to a lower number: platforms start their numbers again.
    async fn set_sequence_position(&self, source: &str, number: i64) -> Result<(), StoreError>;
    /// The newest number received in each conversation of a channel that numbers by conversation, with the conversation.
    async fn conversation_positions(&self, channel_id: &str) -> Result<Vec<(String, i64)>, StoreError>;
    /// True if something of this position was taken already.
    async fn is_received(&self, channel_id: &str, position: &ReceivedPosition) -> Result<bool, StoreError>;
    /// Notes that something was taken that left no message. A position never moves back.
    async fn advance_channel(&self, channel_id: &str, position: ReceivedPosition) -> Result<(), StoreError>;
    /// The message that a channel knows by this name.
    async fn message_by_external_ref(
        &self,
        channel_id: &str,
        external_ref: &str,
    ) -> Result<Option<Message>, StoreError>;
    /// The platform's conversation in which a user is reached.
    async fn conversation_of(&self, channel_id: &str, user: &UserId) -> Result<Option<String>, StoreError>;
    /// True if an unknown account gets an answer now: once in a while. Notes `at` as the time of the answer.
    async fn admit_stranger_answer(
        &self,
        channel_id: &str,
        external_id: &str,
        at: Timestamp,
        not_since: Timestamp,
    ) -> Result<bool, StoreError>;
    /// The oldest waiting message of each conversation that is due; later ones of a conversation wait behind it.
    async fn outbox_due(
        &self,
        channel_id: &str,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<OutgoingMessage>, StoreError>;
    /// Time at which the next deliverable message is due; none if nothing waits.
    async fn outbox_next(&self, channel_id: &str) -> Result<Option<Timestamp>, StoreError>;
    /// Writes what becomes of an attempt.
    async fn outbox_step(&self, number: i64, step: DeliveryStep) -> Result<(), StoreError>;
    /// Lets what could not be delivered wait again; says how many.
    async fn retry_undeliverable(&self, channel_id: &str, now: Timestamp) -> Result<u64, StoreError>;
    /// Counts of the messages that wait for a channel.
    async fn channel_counts(&self, channel_id: &str) -> Result<ChannelCounts, StoreError>;
}
