//! The port to the channels beyond this program: which there are, whether they can deliver, and the ids of their messages. The
//! crate `channels` implements it.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use memory::UserId;
use memory::ports::{ChannelWrite, ReceivedPosition, StoreError};

use crate::runtime::{Runtime, RuntimeInner};
use crate::turns::inbox::{AcceptError, AcceptedMessage, IncomingMessage};
use crate::turns::turn_event::TurnEvent;
use crate::voice::files::VoiceNote;
use crate::voice::notes::FetchError;
use tokio::sync::mpsc;

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
    /// Messages on their way.
    pub waiting: u64,
    /// Messages that could not be delivered.
    pub undeliverable: u64,
}

/// A code that links an account to a user, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkCode {
    /// The text that the account has to send.
    pub code: String,
    pub expires_at: Timestamp,
}

/// The channels beyond this program.
#[async_trait::async_trait]
pub trait OutboundChannels: Send + Sync {
    /// True if a message on this channel has to be delivered by it.
    fn is_outbound(&self, channel_id: &str) -> bool;
    /// True if it can deliver now.
    fn can_deliver(&self, channel_id: &str) -> bool;
    /// Tells that something waits to be delivered.
    fn wake(&self, channel_id: &str);
    /// The platform's conversation in which a user is reached.
    async fn conversation_of(&self, channel_id: &str, user: &UserId) -> Result<Option<String>, StoreError>;
    /// The state of each channel.
    async fn statuses(&self) -> Result<Vec<ChannelStatus>, StoreError>;
    /// A new code that links an account on this channel to a user; none for an unknown channel.
    fn link_code(&self, channel_id: &str, user: UserId) -> Option<LinkCode>;
    /// Asks the platform who the bot is: its name there, or what is wrong with the way to fix it. None for an unknown
    /// channel.
    async fn check(&self, channel_id: &str) -> Option<Result<String, String>>;
    /// The file of a voice message, as its platform has it.
    async fn fetch_recording(&self, note: &VoiceNote) -> Result<Vec<u8>, FetchError>;
    /// Lets what could not be delivered wait again; none for an unknown channel.
    async fn retry(&self, channel_id: &str) -> Result<Option<u64>, StoreError>;
}

/// The platform's ids of a message: its conversation, and the message in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalMessage {
    /// The conversation; it holds no `/`.
    pub conversation: String,
    /// The message in it.
    pub message: String,
}

impl fmt::Display for ExternalMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.conversation, self.message)
    }
}

impl ExternalMessage {
    /// Reads what its `Display` wrote; none for other texts.
    pub fn parse(text: &str) -> Option<Self> {
        let (conversation, message) = text.split_once('/')?;
        Some(Self { conversation: conversation.to_owned(), message: message.to_owned() })
    }
}

/// Delivery of a message by its channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelReceipt {
    /// Up to where the channel is received with it.
    pub position: ReceivedPosition,
    /// True if nobody else reads the conversation, so that the user can be reached there.
    pub is_direct: bool,
    /// The platform's id of a voice message's recording; the text is [`crate::VOICE_MESSAGE`] until it is
    /// transcribed. It is transcribed before the reply, if a listener is configured.
    pub recording: Option<String>,
}

/// Delivery of a message, for the inbox.
pub(crate) struct Arrival {
    pub(crate) channel_write: ChannelWrite,
    /// The recording to transcribe before the reply.
    pub(crate) voice_note: Option<VoiceNote>,
}

impl Runtime {
    /// The channels beyond this program.
    pub fn channels(&self) -> Option<&Arc<dyn OutboundChannels>> {
        self.runtime.channels.as_ref()
    }

    /// Like [`Runtime::accept_and_subscribe`] for a message of a channel beyond this program: it and the channel's new
    /// position are written in one transaction.
    ///
    /// # Errors
    /// [`AcceptError`]; nothing was written.
    pub async fn accept_from_channel(
        &self,
        channel_id: &str,
        scope: memory::Scope,
        content: String,
        external: &ExternalMessage,
        receipt: ChannelReceipt,
    ) -> Result<(AcceptedMessage, mpsc::UnboundedReceiver<TurnEvent>), AcceptError> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let reached_in = receipt.is_direct.then(|| external.conversation.clone());
        let channel_write = ChannelWrite::Received { reached_in, position: receipt.position };
        let recording = receipt.recording.filter(|_| self.runtime.listening_voice().is_some());
        let voice_note =
            recording.map(|recording| VoiceNote { channel_id: channel_id.to_owned(), recording });
        let incoming = IncomingMessage {
            scope,
            channel_id: channel_id.to_owned(),
            content,
            external_ref: Some(external.to_string()),
        };
        let arrival = Arrival { channel_write, voice_note };
        let accepted = self.runtime.accept(incoming, Some(arrival), Some(sender)).await?;
        Ok((accepted, receiver))
    }
}

impl RuntimeInner {
    /// The outbox write for a reply, with the platform's id of the message that it answers.
    pub(crate) fn delivery_of(&self, channel_id: &str, in_reply_to: Option<&str>) -> Option<ChannelWrite> {
        self.channels.as_ref().filter(|channels| channels.is_outbound(channel_id))?;
        let external = ExternalMessage::parse(in_reply_to?)?;
        Some(ChannelWrite::Deliver { conversation: external.conversation })
    }

    /// Tells the channel that a message waits for it.
    pub(crate) fn wake_channel(&self, channel_id: &str) {
        if let Some(channels) = self.channels.as_ref() {
            channels.wake(channel_id);
        }
    }
}
