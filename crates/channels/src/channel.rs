//! The port that a platform implements.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::identifiers::MessageId;
use memory::ports::{Clock, ReceivedPosition};
use runtime::ExternalMessage;

use crate::delivery_error::DeliveryError;
use crate::voice_message::VoiceMessage;

/// State of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ChannelState {
    /// The channel is not connected yet.
    #[default]
    Connecting,
    /// The channel receives and delivers.
    Ready,
    /// The channel does not work for now. The text says why and how to fix it.
    Failed(String),
}

/// A piece that was delivered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveredPiece {
    /// The platform's id of the delivered message; `None` if the platform gives none.
    pub sent_as: Option<String>,
}

/// A part of a message, short enough for one message of the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The conversation on the platform.
    pub conversation: &'a str,
    pub text: &'a str,
    /// The message and the number of its piece; `None` for a notice of the program, which is sent at most once.
    pub origin: Option<PieceOrigin<'a>>,
}

/// The part of a message that is delivered; the same at each attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceOrigin<'a> {
    pub message: MessageId,
    /// Zero-based number of the piece in its message.
    pub number: u32,
    /// Time at which the message was written.
    pub written_at: Timestamp,
    /// True if an earlier attempt may have delivered this piece.
    pub is_doubtful: bool,
    /// The platform's id of the message delivered before it in the conversation, if known.
    pub sent_before: Option<&'a str>,
}

/// Something that happened on the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// Position among all updates of the channel; `None` if processing the update twice does no harm.
    pub position: Option<ReceivedPosition>,
    pub kind: UpdateKind,
}

/// An event on the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateKind {
    /// A person wrote to the persona.
    Written {
        sender: String,
        external: ExternalMessage,
        /// True if nobody else reads the conversation.
        is_direct: bool,
        /// The message's text; attachments are named in it.
        text: String,
        /// The platform's id of a voice message's recording.
        recording: Option<String>,
        /// Time at the platform, to the second. Set by platforms that can send one message under two positions.
        written_at: Option<Timestamp>,
    },
    /// A person changed a message.
    Edited { sender: String, external: ExternalMessage, text: String },
    /// A message is gone.
    Deleted { external: ExternalMessage },
    /// An update that the persona does not answer: from a bot, from a group, or of a kind that is not read.
    Other,
}

/// The program stops, or the channel is disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shutdown;

/// Stores what a channel receives, and answers its questions. A method that returns [`Shutdown`] retries until
/// storage accepts the write.
#[async_trait]
pub trait Inbound: Send + Sync {
    fn clock(&self) -> &dyn Clock;
    /// Returns when the program stops or the channel is disconnected.
    async fn wait_for_stop(&self) -> Shutdown;
    /// Reports the state of the channel.
    fn set_state(&self, state: ChannelState);
    /// The accounts that may write without a code.
    fn allowed_accounts(&self) -> &[String];
    /// True if the account is linked to a user.
    ///
    /// # Errors
    ///
    /// [`Shutdown`].
    async fn is_account_linked(&self, account: &str) -> Result<bool, Shutdown>;
    /// Returns the position up to which a sequence was received. Retries until storage answers.
    ///
    /// # Errors
    ///
    /// [`Shutdown`].
    async fn read_position(&self, source: &str) -> Result<Option<i64>, Shutdown>;
    /// Sets the position up to which a sequence was received; the new position may be lower. Retries until storage
    /// answers.
    ///
    /// # Errors
    ///
    /// [`Shutdown`].
    async fn set_position(&self, source: &str, number: i64) -> Result<(), Shutdown>;
    /// Counts an update that can't be read. Nothing of it is logged: it may hold a person's text.
    fn note_unreadable(&self);
    /// Returns the number of the newest message received in each conversation. Retries until storage answers.
    ///
    /// # Errors
    ///
    /// [`Shutdown`].
    async fn conversation_positions(&self) -> Result<Vec<(String, i64)>, Shutdown>;
    /// Stores an update. Once this returns, the update is durable and may be acknowledged; a repeated one changes
    /// nothing.
    ///
    /// # Errors
    ///
    /// [`Shutdown`]: it was not stored.
    async fn accept_update(&self, update: Update) -> Result<(), Shutdown>;
    /// Waits.
    ///
    /// # Errors
    /// [`Shutdown`].
    async fn wait(&self, wait: Duration) -> Result<(), Shutdown>;
}

/// A platform where people talk with the persona.
#[async_trait]
pub trait Channel: Send + Sync + 'static {
    /// The channel's id, as in messages and in the configuration.
    fn id(&self) -> &'static str;
    /// The channel's name for people.
    fn name(&self) -> &'static str;
    /// Longest piece that can be delivered, in UTF-16 units.
    fn piece_length_max(&self) -> usize;
    /// True if the platform recognises a piece that it got already, so that one that may have arrived can be sent again.
    fn recognises_repeats(&self) -> bool;
    /// Asks the platform who the bot is.
    ///
    /// # Errors
    /// What is wrong, in plain words with the way to fix it.
    async fn check(&self) -> Result<String, String>;
    /// Receives until the program stops. Failures are reported to `inbound` and waited out.
    async fn receive(&self, inbound: &dyn Inbound) -> Shutdown;
    /// Delivers a piece.
    ///
    /// # Errors
    /// [`DeliveryError`]; except for a broken connection nothing was delivered.
    async fn deliver(&self, piece: Piece<'_>) -> Result<DeliveredPiece, DeliveryError>;
    /// Delivers a message as sound; the piece has no text.
    ///
    /// # Errors
    /// As [`Channel::deliver`].
    async fn deliver_voice(
        &self,
        piece: Piece<'_>,
        sound: &VoiceMessage,
    ) -> Result<DeliveredPiece, DeliveryError>;
    /// Fetches the recording of a voice message, by the name that [`UpdateKind::Written`] gave it.
    ///
    /// # Errors
    /// [`DeliveryError`]: whether a later try may succeed.
    async fn fetch_recording(&self, recording: &str) -> Result<Vec<u8>, DeliveryError>;
    /// Shows that the persona is writing, for some seconds. A failure does not matter.
    async fn show_typing(&self, conversation: &str);
}

/// Longest part of a message that is shown where it is replied to, in characters. It reminds the model of the message, which is
/// in its window anyway.
const QUOTE_LENGTH_MAX: usize = 200;

/// Puts a quote of the message that is replied to before a text, in brackets like everything that the person did not
/// write.
pub(crate) fn with_quote(quoted: Option<&str>, words: String) -> String {
    let quoted = quoted.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")).unwrap_or_default();
    if quoted.is_empty() {
        return words;
    }
    let shown = match quoted.char_indices().nth(QUOTE_LENGTH_MAX) {
        Some((end, _)) => format!("{}…", &quoted[..end]),
        None => quoted,
    };
    format!("[in reply to: {}] {words}", shown.replace(['[', ']'], ""))
}
