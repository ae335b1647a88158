//! Telegram: direct messages by long polling.

mod api;

use std::time::Duration;

use async_trait::async_trait;
use memory::ports::{Backoff, ReceivedPosition};
use runtime::ExternalMessage;
use secrecy::SecretString;

use crate::channel::{Channel, ChannelState, Delivered, DeliveryError, Piece, Update, UpdateKind};
use crate::inbound::{ChannelInbox, Stopped};
use crate::voice_message::{VoiceMessage, fetch};
use api::{Api, ApiError, Message, POLL_SECONDS, RawUpdate};

/// The platform's address.
const API_BASE: &str = "https://api.telegram.org";
/// Longest message of the platform, in UTF-16 units.
const PIECE_LENGTH_MAX: usize = 4_096;
/// Waits after failures to receive.
const BACKOFF: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(60) };
/// Wait after the platform has refused the token, or another program receives with it.
const WAIT_REFUSED: Duration = Duration::from_secs(60);

/// What is needed to reach Telegram.
pub struct TelegramSettings {
    /// Empty for the platform's own address.
    pub api_base: String,
    /// The bot's token.
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

/// The channel.
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
            if settings.api_base.is_empty() { API_BASE } else { settings.api_base.trim_end_matches('/') };
        Ok(Self { api: Api::new(base, settings.token)? })
    }

    /// The host that it speaks with.
    pub fn host(&self) -> &str {
        self.api.host()
    }

    async fn poll(&self, inbound: &ChannelInbox, seconds: u64) -> Result<Result<(), ApiError>, Stopped> {
        let offset = inbound.position().await?.map(|position| position + 1);
        let updates = tokio::select! {
            updates = self.api.updates(offset, seconds) => updates,
            stopped = inbound.stopped() => return Err(stopped),
        };
        let mut updates = match updates {
            Ok(updates) => updates,
            Err(error) => return Ok(Err(error)),
        };
        inbound.set_state(ChannelState::Ready);
        updates.sort_by_key(|update| update.update_id);
        for update in updates {
            inbound.take(read(update)).await?;
        }
        Ok(Ok(()))
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

    async fn receive(&self, inbound: &ChannelInbox) -> Stopped {
        let mut failures: u32 = 0;
        // The first request does not wait: until it is answered nobody knows whether the channel works.
        let mut seconds = 0;
        loop {
            let error = match self.poll(inbound, seconds).await {
                Err(stopped) => return stopped,
                Ok(Ok(())) => {
                    (failures, seconds) = (0, POLL_SECONDS);
                    continue;
                }
                Ok(Err(error)) => error,
            };
            let wait = match &error {
                ApiError::Wait(wait) => *wait,
                ApiError::Refused | ApiError::Conflict => WAIT_REFUSED,
                _ => BACKOFF.wait_after(failures),
            };
            (failures, seconds) = (failures.saturating_add(1), 0);
            inbound.set_state(ChannelState::Failed(error.to_string()));
            if let Err(stopped) = inbound.rest(wait).await {
                return stopped;
            }
        }
    }

    async fn deliver(&self, piece: Piece<'_>) -> Result<Delivered, DeliveryError> {
        Ok(delivered(self.api.send_message(piece.conversation, piece.text).await?))
    }

    async fn deliver_voice(
        &self,
        piece: Piece<'_>,
        sound: &VoiceMessage,
    ) -> Result<Delivered, DeliveryError> {
        Ok(delivered(self.api.send_voice(piece.conversation, sound).await?))
    }

    async fn fetch_recording(&self, recording: &str) -> Result<Vec<u8>, DeliveryError> {
        fetch(self.api.client(), self.api.address_of_file(recording).await?).await
    }

    async fn show_typing(&self, conversation: &str) {
        if let Err(error) = self.api.send_typing(conversation).await {
            tracing::debug!("Telegram does not show that a reply is on its way: {error}");
        }
    }
}

fn delivered(number: i64) -> Delivered {
    Delivered { sent_as: Some(number.to_string()) }
}

impl From<ApiError> for DeliveryError {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::Wait(wait) => Self::Wait(wait),
            error @ ApiError::Rejected { .. } => Self::Permanent(error.to_string()),
            error => Self::Transient(error.to_string()),
        }
    }
}

fn read(update: RawUpdate) -> Update {
    let kind = match (update.message, update.edited_message) {
        (Some(message), _) => {
            let recording = message.recording();
            direct(message).map(|(sender, external, text)| UpdateKind::Written {
                sender,
                external,
                is_direct: true,
                text,
                recording,
            })
        }
        // The words of a voice message are ours; only its caption can be changed.
        (None, Some(message)) if message.recording().is_some() => None,
        (None, Some(message)) => {
            direct(message).map(|(sender, external, text)| UpdateKind::Edited { sender, external, text })
        }
        (None, None) => None,
    };
    let position = Some(ReceivedPosition::Channel(update.update_id));
    Update { position, kind: kind.unwrap_or(UpdateKind::Other) }
}

/// A message of a person in a direct conversation. Attachments are named, as they can't be read.
fn direct(message: Message) -> Option<(String, ExternalMessage, String)> {
    let sender = message.from.as_ref().filter(|sender| !sender.is_bot)?.id.to_string();
    if message.chat.kind != "private" {
        return None;
    }
    let external = ExternalMessage {
        conversation: message.chat.id.to_string(),
        message: message.message_id.to_string(),
    };
    let attachment = message.attachment();
    let words = message.text.or(message.caption).unwrap_or_default();
    let text = match attachment {
        Some(name) if words.is_empty() => name,
        Some(name) => format!("{name} {words}"),
        None => words,
    };
    Some((sender, external, text))
}
