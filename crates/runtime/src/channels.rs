//! The port to channels on other platforms: their list, their state, and ids of their messages. The crate `channels`
//! implements it.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use memory::UserId;
use memory::ports::{ChannelWrite, ReceivedPosition, StoreError};
use serde::{Deserialize, Serialize};

/// State of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelStatus {
    /// The id that messages of this channel have.
    pub channel_id: String,
    /// The name that is shown to people.
    pub name: String,
    /// `connecting`, `ready` or `failed`.
    pub state: &'static str,
    /// An error in plain words, with the remedy.
    pub error: Option<String>,
    /// Accounts that are linked to users.
    pub linked: u64,
    /// Number of messages that wait for delivery.
    pub waiting: u64,
    /// Messages that could not be delivered.
    pub undeliverable: u64,
}

/// A one-time code that links an account to a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkCode {
    /// The text that the account has to send.
    pub code: String,
    pub expires_at: Timestamp,
}

/// A voice message that is still on its platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoiceNote {
    /// The channel that downloads the voice message.
    pub channel_id: String,
    /// The platform's id of the recording.
    pub recording: String,
}

/// Why a recording could not be fetched. The texts are for people and contain no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// A later attempt may succeed.
    #[error("{0}")]
    Passing(String),
    /// The file can't be fetched, now or later.
    #[error("{0}")]
    Permanent(String),
}

/// The channels to other platforms.
#[async_trait::async_trait]
pub trait OutboundChannels: Send + Sync {
    /// True if messages on this channel are delivered by it.
    fn is_outbound(&self, channel_id: &str) -> bool;
    /// True if the channel can deliver messages now.
    fn can_deliver(&self, channel_id: &str) -> bool;
    /// Notifies a channel that a message waits for delivery.
    fn wake(&self, channel_id: &str);
    /// The platform's conversation in which the user is reached.
    async fn conversation_of(&self, channel_id: &str, user: &UserId) -> Result<Option<String>, StoreError>;
    /// The state of each channel.
    async fn statuses(&self) -> Result<Vec<ChannelStatus>, StoreError>;
    /// A new code that links an account on this channel to a user; `None` for an unknown channel.
    fn link_code(&self, channel_id: &str, user: UserId) -> Option<LinkCode>;
    /// Asks the platform for the bot's name; the error says what is wrong and how to fix it. `None` for an unknown
    /// channel.
    async fn check(&self, channel_id: &str) -> Option<Result<String, String>>;
    /// Downloads the file of a voice message from its platform.
    async fn fetch_recording(&self, note: &VoiceNote) -> Result<Vec<u8>, FetchError>;
    /// Makes undeliverable messages wait again; `None` for an unknown channel.
    async fn retry(&self, channel_id: &str) -> Result<Option<u64>, StoreError>;
}

/// The platform's ids of a message and its conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalMessage {
    /// The id of the conversation; it contains no `/`.
    pub conversation: String,
    /// The message's id within the conversation.
    pub message: String,
}

impl fmt::Display for ExternalMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.conversation, self.message)
    }
}

impl ExternalMessage {
    /// Parses the output of `Display`; `None` for other texts.
    pub fn parse(text: &str) -> Option<Self> {
        let (conversation, message) = text.split_once('/')?;
        Some(Self { conversation: conversation.to_owned(), message: message.to_owned() })
    }
}

/// Data about a message that a channel received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelReceipt {
    /// Position in the channel's updates, including this message.
    pub position: ReceivedPosition,
    /// True if nobody else reads the conversation, so that the user can be reached in it.
    pub is_direct: bool,
    /// The platform's id of a voice message's recording; the text is [`crate::VOICE_MESSAGE`] until it is
    /// transcribed, which happens before the reply if transcription is configured.
    pub recording: Option<String>,
}

/// The channels to other platforms, if there are any.
#[derive(Clone)]
pub(crate) struct Outbound(Option<Arc<dyn OutboundChannels>>);

impl Outbound {
    pub(crate) fn new(channels: Option<Arc<dyn OutboundChannels>>) -> Self {
        Self(channels)
    }

    pub(crate) fn channels(&self) -> Option<&Arc<dyn OutboundChannels>> {
        self.0.as_ref()
    }

    /// True if messages on this channel are delivered by it.
    pub(crate) fn is_outbound(&self, channel_id: &str) -> bool {
        self.0.as_ref().is_some_and(|channels| channels.is_outbound(channel_id))
    }

    /// The outbox write for a reply, with the platform's id of the message that it answers.
    pub(crate) fn delivery_of(&self, channel_id: &str, in_reply_to: Option<&str>) -> Option<ChannelWrite> {
        if !self.is_outbound(channel_id) {
            return None;
        }
        let external = ExternalMessage::parse(in_reply_to?)?;
        Some(ChannelWrite::Deliver { conversation: external.conversation })
    }

    /// Notifies the channel that a message waits for it.
    pub(crate) fn wake(&self, channel_id: &str) {
        if let Some(channels) = &self.0 {
            channels.wake(channel_id);
        }
    }
}
