//! Telegram: direct messages by long polling.

mod api;
mod entities;

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::ports::{Backoff, ReceivedPosition};
use runtime::ExternalMessage;
use secrecy::SecretString;

use crate::channel::{
    Channel, ChannelState, DeliveredPiece, Inbound, Piece, Shutdown, Update, UpdateKind, with_quote,
};
use crate::delivery_error::DeliveryError;
use crate::voice_message::{RECORDING_BYTES_MAX, VoiceMessage, fetch};
use api::{Api, ApiError, Message, POLL_SECONDS, UpdateContent};
use entities::FormattedText;

pub const TELEGRAM_API: &str = "https://api.telegram.org";
/// Longest message of the platform, in UTF-16 units.
const PIECE_LENGTH_MAX: usize = 4_096;
/// Waits after failures to receive. A broken connection is back within a second or two; a minute at most, so that the bot is back soon
/// after an outage of hours.
const BACKOFF: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(60) };
/// Wait after the platform has refused the token, or another program receives with it. Only a person can change either.
const PAUSE_AFTER_REFUSAL: Duration = Duration::from_secs(60);
/// Maximum distance below the position at which an answer counts as a repetition: twice the number of updates in one
/// answer. After a week without updates the next id is random, so an answer that ends further below starts a new
/// sequence.
const REPEATED_DISTANCE_MAX: i64 = 200;

/// A request for updates.
#[derive(Clone, Copy)]
struct PollRequest {
    /// Time for which the platform may hold the request open, in seconds.
    seconds: u64,
    /// True if the request confirms the updates received before it.
    confirms: bool,
}

/// A word that all of the platform's refusals of a formatting contain.
const FORMATTING_REFUSAL: &str = "entit";

/// Settings of the connection to Telegram.
pub struct TelegramSettings {
    /// Empty for the platform's own address.
    pub api_base: String,
    pub token: SecretString,
}

/// Why the channel can't be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelegramError {
    /// The HTTP client can't be built.
    #[error("no HTTP client: {0}")]
    Client(String),
    /// The address can't be used.
    #[error("channels.telegram.api_base: {0}")]
    Address(String),
}

pub struct Telegram {
    api: Api,
}

impl Telegram {
    /// Sets the channel up. Nothing is sent yet.
    ///
    /// # Errors
    /// [`TelegramError`].
    pub fn new(settings: TelegramSettings) -> Result<Self, TelegramError> {
        let base =
            if settings.api_base.is_empty() { TELEGRAM_API } else { settings.api_base.trim_end_matches('/') };
        Ok(Self { api: Api::new(base, settings.token)? })
    }

    /// The host that the channel connects to.
    pub fn host(&self) -> &str {
        self.api.host()
    }

    /// Takes over the position of earlier versions, which had one for all bots. Without it, updates that were stored
    /// but not confirmed would be stored again, also those whose messages were erased since.
    async fn adopt_position(&self, inbound: &dyn Inbound) -> Result<(), Shutdown> {
        let source = self.api.update_sequence_name();
        if inbound.read_position(&source).await?.is_none()
            && let Some(position) = inbound.read_position(self.id()).await?
        {
            inbound.set_position(&source, position).await?;
        }
        Ok(())
    }

    /// Stores the updates of one request. Returns true if all of them were known, which means that the platform does
    /// not know the position.
    async fn poll(
        &self,
        inbound: &dyn Inbound,
        poll: PollRequest,
    ) -> Result<Result<bool, ApiError>, Shutdown> {
        let source = self.api.update_sequence_name();
        let position = inbound.read_position(&source).await?;
        let offset = position.filter(|_| poll.confirms).map(|position| position + 1);
        let updates = tokio::select! {
            updates = self.api.updates(offset, poll.seconds) => updates,
            stopped = inbound.wait_for_stop() => return Err(stopped),
        };
        let mut updates = match updates {
            Ok(updates) => updates,
            Err(error) => return Ok(Err(error)),
        };
        inbound.set_state(ChannelState::Ready);
        updates.sort_by_key(|update| update.id);
        let (Some(first), Some(last)) = (updates.first(), updates.last()) else { return Ok(Ok(false)) };
        let is_restarted = position.is_some_and(|position| last.id < position - REPEATED_DISTANCE_MAX);
        let before = if is_restarted { Some(first.id - 1) } else { position };
        if is_restarted {
            tracing::info!("Telegram numbers its updates from the start");
            inbound.set_position(&source, first.id - 1).await?;
        }
        let is_new = before.is_none_or(|before| last.id > before);
        for update in updates {
            let position = ReceivedPosition::Sequence { source: source.clone(), number: update.id };
            let kind = match update.content {
                Some(content) => to_update_kind(content),
                None => {
                    inbound.note_unreadable();
                    UpdateKind::Other
                }
            };
            inbound.accept_update(Update { position: Some(position), kind }).await?;
        }
        Ok(Ok(!is_new))
    }
}

#[async_trait]
impl Channel for Telegram {
    fn id(&self) -> &'static str {
        "telegram"
    }

    fn name(&self) -> &'static str {
        "Telegram"
    }

    fn piece_length_max(&self) -> usize {
        PIECE_LENGTH_MAX
    }

    fn recognises_repeats(&self) -> bool {
        false
    }

    async fn check(&self) -> Result<String, String> {
        self.api.bot_name().await.map_err(|error| error.to_string())
    }

    async fn receive(&self, inbound: &dyn Inbound) -> Shutdown {
        if let Err(stopped) = self.adopt_position(inbound).await {
            return stopped;
        }
        let mut failures: u32 = 0;
        // The first request does not wait, because the channel's state is unknown until it is answered. It also
        // confirms nothing, because the platform's numbers may have restarted below the received ones.
        let mut poll = PollRequest { seconds: 0, confirms: false };
        loop {
            let wait = match self.poll(inbound, poll).await {
                Err(stopped) => return stopped,
                Ok(Ok(false)) => {
                    failures = 0;
                    poll = PollRequest { seconds: POLL_SECONDS, confirms: true };
                    continue;
                }
                Ok(Ok(true)) => {
                    poll.confirms = true;
                    BACKOFF.wait_after_failures(failures)
                }
                Ok(Err(error)) => {
                    inbound.set_state(ChannelState::Failed(error.to_string()));
                    poll.seconds = 0;
                    match error {
                        ApiError::Wait(wait) => wait,
                        ApiError::Refused | ApiError::Conflict => PAUSE_AFTER_REFUSAL,
                        _ => BACKOFF.wait_after_failures(failures),
                    }
                }
            };
            failures = failures.saturating_add(1);
            if let Err(stopped) = inbound.wait(wait).await {
                return stopped;
            }
        }
    }

    async fn deliver(&self, piece: Piece<'_>) -> Result<DeliveredPiece, DeliveryError> {
        let mut text = entities::format(piece.text);
        // Numbering a list's items can make it longer than its Markdown; a text with only a comment is shown empty.
        if text.text.trim().is_empty() || text.text.encode_utf16().count() > PIECE_LENGTH_MAX {
            text = FormattedText { text: piece.text.to_owned(), entities: Vec::new() };
        }
        let sent = match self.api.send_message(piece.conversation, &text).await {
            // It is better to send the text with its Markdown than not at all.
            Err(ApiError::Rejected { description }) if description.contains(FORMATTING_REFUSAL) => {
                let plain = FormattedText { text: piece.text.to_owned(), entities: Vec::new() };
                self.api.send_message(piece.conversation, &plain).await
            }
            sent => sent,
        };
        Ok(delivered_piece(sent?))
    }

    async fn deliver_voice(
        &self,
        piece: Piece<'_>,
        sound: &VoiceMessage,
    ) -> Result<DeliveredPiece, DeliveryError> {
        Ok(delivered_piece(self.api.send_voice(piece.conversation, sound).await?))
    }

    async fn fetch_recording(&self, recording: &str) -> Result<Vec<u8>, DeliveryError> {
        let address = self.api.address_of_file(recording).await?;
        fetch(self.api.client(), address, RECORDING_BYTES_MAX).await
    }

    async fn show_typing(&self, conversation: &str) {
        if let Err(error) = self.api.send_typing(conversation).await {
            tracing::debug!("the typing indicator could not be sent: {error}");
        }
    }
}

fn delivered_piece(number: i64) -> DeliveredPiece {
    DeliveredPiece { sent_as: Some(number.to_string()) }
}

impl From<ApiError> for DeliveryError {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::Wait(wait) => Self::Wait(wait),
            ApiError::Refused => Self::Unauthorized(error.to_string()),
            error @ ApiError::Rejected { .. } => Self::Permanent(error.to_string()),
            error => Self::Transient(error.to_string()),
        }
    }
}

fn to_update_kind(update: UpdateContent) -> UpdateKind {
    let kind =
        match (update.message, update.edited_message) {
            (Some(message), _) => {
                let (recording, written_at) =
                    (message.recording_id(), Timestamp::from_second(message.date).ok());
                direct_message(message).map(|(sender, external, text)| UpdateKind::Written {
                    sender,
                    external,
                    is_direct: true,
                    text,
                    recording,
                    written_at,
                })
            }
            // The text of a voice message is our transcript; only its caption can be edited.
            (None, Some(message)) if message.recording_id().is_some() => None,
            (None, Some(message)) => direct_message(message)
                .map(|(sender, external, text)| UpdateKind::Edited { sender, external, text }),
            (None, None) => None,
        };
    kind.unwrap_or(UpdateKind::Other)
}

/// A message of a person in a direct conversation. Attachments are named, as they can't be read.
fn direct_message(message: Message) -> Option<(String, ExternalMessage, String)> {
    let sender = message.from.as_ref().filter(|sender| !sender.is_bot)?.id.to_string();
    if message.chat.kind != "private" {
        return None;
    }
    let external = ExternalMessage {
        conversation: message.chat.id.to_string(),
        message: message.message_id.to_string(),
    };
    let attachment = message.attachment();
    let quoted = message.replied_text().map(str::to_owned);
    let words = message.text.or(message.caption).unwrap_or_default();
    let words = match attachment {
        Some(name) if words.is_empty() => name,
        Some(name) => format!("{name} {words}"),
        None => words,
    };
    Some((sender, external, with_quote(quoted.as_deref(), words)))
}
