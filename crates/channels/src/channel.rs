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
    /// The channel does not work for now: why, in plain words with the way to fix it.
    Failed(String),
}

/// A piece that was delivered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveredPiece {
    /// The platform's name of the delivered message; none where the platform gives none.
    pub sent_as: Option<String>,
}

/// A part of a message, short enough for one message of the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The conversation on the platform.
    pub conversation: &'a str,
    pub text: &'a str,
    /// The message and the number of its piece; `None` for a notice of the program, which is sent once at most.
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
    /// The platform's name of what was delivered before it in the conversation, where it is known.
    pub sent_before: Option<&'a str>,
}

/// Something that happened on the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// Position among all updates of the channel; none if processing it twice does no harm.
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
    /// An update that is not for the persona: of a bot, a group, or a kind that is not read.
    Other,
}

/// The program stops, or the channel is disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shutdown;

/// Reports and questions of a channel that receives. Everything that returns [`Shutdown`] waits for storage that refuses.
#[async_trait]
pub trait Inbound: Send + Sync {
    fn clock(&self) -> &dyn Clock;
    /// Returns when the program stops or the channel is disconnected.
    async fn wait_for_stop(&self) -> Shutdown;
    /// Reports the state of the channel.
    fn set_state(&self, state: ChannelState);
    /// The accounts that may write without a code.
    fn allowed_accounts(&self) -> &[String];
    /// True if an account is a user already.
    ///
    /// # Errors
    /// [`Shutdown`].
    async fn is_account_linked(&self, account: &str) -> Result<bool, Shutdown>;
    /// Up to where a sequence was received. Waits for storage that refuses.
    ///
    /// # Errors
    /// [`Shutdown`].
    async fn read_position(&self, source: &str) -> Result<Option<i64>, Shutdown>;
    /// Sets up to where a sequence was received, also to a lower number. Waits for storage that refuses.
    ///
    /// # Errors
    /// [`Shutdown`].
    async fn set_position(&self, source: &str, number: i64) -> Result<(), Shutdown>;
    /// Counts something that the platform brought and that can't be read. Nothing of it is shown: it may hold words.
    fn note_unreadable(&self);
    /// The newest number received in each conversation. Waits for storage that refuses.
    ///
    /// # Errors
    /// [`Shutdown`].
    async fn conversation_positions(&self) -> Result<Vec<(String, i64)>, Shutdown>;
    /// Takes an update; when it returns, it is durable and may be acknowledged. One that was taken already is passed over.
    ///
    /// # Errors
    /// [`Shutdown`]: it was not taken.
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

/// Words with what they reply to before them, in brackets like everything that the person did not write.
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
