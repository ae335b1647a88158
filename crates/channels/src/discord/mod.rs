//! Discord: direct messages, and mentions in servers, over the gateway; replies over REST.

mod gateway;
mod lanes;
mod limits;
mod message;
mod rest;
mod socket;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use jiff::SignedDuration;
use memory::ports::{Backoff, Clock};
use outgoing::client_builder;
use reqwest::Url;
use runtime::ExternalMessage;
use secrecy::SecretString;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{self, Receiver};

use crate::address::{self, AddressError};
use crate::channel::{Channel, DeliveredPiece, Inbound, Piece, PieceOrigin, Shutdown, Update, UpdateKind};
use crate::delivery_error::DeliveryError;
use crate::voice_message::VoiceMessage;
use gateway::{Gateway, GatewayEvent};
use lanes::{Task, TaskQueues, catch_up_task, event_task};
use message::{Message, PASTE_BYTES_MAX, SNOWFLAKE_OVERLAP, external_message, first_number_at, nonce};
use rest::{ApiError, HISTORY_PAGE, RestClient};

pub const DISCORD_API: &str = "https://discord.com/api/v10";
/// Longest message of the platform. The platform counts characters, of which a text never has more than UTF-16 units.
const PIECE_LENGTH_MAX: usize = 2_000;
/// User agent in the form that the platform requires of bots; it blocks others before they reach the API.
const USER_AGENT: &str = concat!("DiscordBot (https://echovessel.example, ", env!("CARGO_PKG_VERSION"), ")");
/// Time for a connection to the platform. It takes well under a second; on a bad network the next attempt does better
/// than a longer wait.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Events that wait to be taken; when there are so many, no more are read.
const WAITING_EVENTS_MAX: usize = 1_024;
/// Conversations whose history is read side by side. More would only wait for the platform's global rate limit.
const HISTORIES_AT_ONCE: usize = 8;
/// Maximum pages of a conversation's history that are read after a gap. They hold 5,000 messages.
const PAGES_MAX: usize = 50;
/// Period of history to read for an allowed account without stored messages: what it wrote before the bot was set up
/// may be years old.
const FIRST_HISTORY_PERIOD: SignedDuration = SignedDuration::from_hours(24);
/// Maximum conversations to open at a start: the platform treats many as spam.
const OPENED_CONVERSATIONS_MAX: usize = 20;
/// Maximum attempts to fetch a paste. If all fail, the message is answered without it.
const PASTE_ATTEMPTS: u32 = 5;
/// Waits between attempts to read a history or a file; a minute at most, as people wait for what is behind them.
const BACKOFF: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(60) };

/// Settings of the connection to Discord.
pub struct DiscordSettings {
    /// Empty for the platform's own address.
    pub api_base: String,
    /// Empty for the address that the API names.
    pub gateway_url: String,
    pub token: SecretString,
    /// Time, for heartbeats and limits.
    pub clock: Arc<dyn Clock>,
}

/// Why the channel can't be set up.
#[derive(Debug, thiserror::Error)]
pub enum DiscordError {
    /// The HTTP client can't be built.
    #[error("no HTTP client: {0}")]
    Client(String),
    /// An address can't be used.
    #[error("channels.discord.{0}: {1}")]
    Address(&'static str, String),
}

pub struct Discord {
    rest: RestClient,
    gateway: Gateway,
    /// Number of histories that may be read at the same time.
    reading: Semaphore,
}

impl Discord {
    /// Sets the channel up. Nothing is sent yet.
    ///
    /// # Errors
    /// [`DiscordError`].
    pub fn new(settings: DiscordSettings) -> Result<Self, DiscordError> {
        let DiscordSettings { api_base, gateway_url, token, clock } = settings;
        let refused =
            |key: &'static str| move |error: AddressError| DiscordError::Address(key, error.to_string());
        let base = if api_base.is_empty() { DISCORD_API } else { &api_base };
        let base = address::check_address(base).map_err(refused("api_base"))?;
        let given = Some(gateway_url.as_str()).filter(|url| !url.is_empty());
        let gateway: Option<Url> =
            given.map(address::check_address).transpose().map_err(refused("gateway_url"))?;
        let client = client_builder().user_agent(USER_AGENT).connect_timeout(CONNECT_TIMEOUT).build();
        let client = client.map_err(|error| DiscordError::Client(error.without_url().to_string()))?;
        let rest = RestClient::new(client.clone(), base, token.clone(), clock.clone());
        let gateway = Gateway::new(client, gateway, token, clock);
        Ok(Self { rest, gateway, reading: Semaphore::new(HISTORIES_AT_ONCE) })
    }

    /// The hosts that the Discord channel connects to.
    pub fn hosts(&self) -> Vec<&str> {
        let api = self.rest.host();
        let gateway = match self.gateway.host() {
            Some(host) => Some(host),
            None if api == "discord.com" => Some("gateway.discord.gg"),
            None => None,
        };
        let files = (api == "discord.com").then_some("cdn.discordapp.com");
        [Some(api), gateway.filter(|host| *host != api), files].into_iter().flatten().collect()
    }

    async fn process_events(&self, inbound: &dyn Inbound, mut events: Receiver<GatewayEvent>) -> Shutdown {
        let mut bot: Arc<str> = Arc::from("");
        let (mut lanes, mut running) = (TaskQueues::default(), FuturesUnordered::new());
        let mut opening = FuturesUnordered::new();
        loop {
            let works: Vec<(String, Task)> = tokio::select! {
                Some(received) = events.recv(), if lanes.waiting < WAITING_EVENTS_MAX => match received {
                    GatewayEvent::Began { bot: id } => {
                        bot = Arc::from(id);
                        opening.push(self.conversations_without_messages(inbound));
                        match inbound.conversation_positions().await {
                            Ok(positions) => positions.into_iter().map(catch_up_task).collect(),
                            Err(stopped) => return stopped,
                        }
                    }
                    GatewayEvent::Event { name, data } => Vec::from_iter(event_task(name, data)),
                },
                Some((conversation, done)) = running.next() => {
                    let conversation: String = conversation;
                    if let Err(stopped) = done {
                        return stopped;
                    }
                    if let Some(work) = lanes.end_work(&conversation) {
                        running.push(self.run_task(inbound, bot.clone(), conversation, work));
                    }
                    continue;
                }
                Some(unheard) = opening.next() => match unheard {
                    Ok(unheard) => unheard.into_iter().map(catch_up_task).collect(),
                    Err(stopped) => return stopped,
                },
                stopped = inbound.wait_for_stop() => return stopped,
            };
            for (conversation, work) in works {
                if let Some(work) = lanes.begin_work(&conversation, work) {
                    running.push(self.run_task(inbound, bot.clone(), conversation, work));
                }
            }
        }
    }

    /// Conversations of allowed accounts without stored messages, each with the message id from which its history is
    /// read. The period is the one for which other platforms store missed messages.
    async fn conversations_without_messages(
        &self,
        inbound: &dyn Inbound,
    ) -> Result<Vec<(String, i64)>, Shutdown> {
        let mut unheard = Vec::new();
        let earliest = first_number_at((inbound.clock().now() - FIRST_HISTORY_PERIOD).as_millisecond())
            + SNOWFLAKE_OVERLAP;
        for account in inbound.allowed_accounts() {
            if unheard.len() < OPENED_CONVERSATIONS_MAX && !inbound.is_account_linked(account).await? {
                let conversation = request_until_answered(inbound, || self.rest.open_direct(account)).await?;
                unheard.extend(conversation.map(|conversation| (conversation, earliest)));
            }
        }
        Ok(unheard)
    }

    async fn run_task(
        &self,
        inbound: &dyn Inbound,
        bot: Arc<str>,
        conversation: String,
        work: Task,
    ) -> (String, Result<(), Shutdown>) {
        let done = match work {
            Task::CatchUp { newest } => {
                match self.catch_up_conversation(inbound, &bot, &conversation, newest).await {
                    Ok(()) => self.accept_missed_edits(inbound, &bot, &conversation).await,
                    stopped => stopped,
                }
            }
            Task::Event { name, data } => self.accept_event(inbound, &bot, &name, data).await,
        };
        (conversation, done)
    }

    /// Stores what was written in a conversation while the bot was not connected.
    async fn catch_up_conversation(
        &self,
        inbound: &dyn Inbound,
        bot: &str,
        conversation: &str,
        newest: i64,
    ) -> Result<(), Shutdown> {
        let mut after = (newest - SNOWFLAKE_OVERLAP).max(0);
        let mut is_direct = None;
        for _ in 0..PAGES_MAX {
            let page = {
                let _one_of_few = self.reading.acquire().await;
                request_until_answered(inbound, || self.rest.messages(conversation, Some(after))).await?
            };
            let Some(page) = page else { return Ok(()) };
            let Some(last) = page.last() else { return Ok(()) };
            after = after.max(last.number());
            if is_direct.is_none() && page.iter().any(Message::is_by_person) {
                is_direct = request_until_answered(inbound, || self.rest.is_direct(conversation)).await?;
            }
            let (is_last, passed_over) = (page.len() < HISTORY_PAGE, last.to_skipped_update());
            for message in page {
                self.accept_new_message(inbound, bot, message, is_direct == Some(true)).await?;
            }
            if is_last {
                return Ok(());
            }
            // Later messages are read from here on, also after another interruption.
            inbound.accept_update(passed_over).await?;
        }
        tracing::warn!(
            channel = "discord",
            "a conversation has more missed messages than the limit; older \
            ones were not read"
        );
        Ok(())
    }

    /// Stores edits of the newest messages made while the bot was not connected. Known ones change nothing.
    async fn accept_missed_edits(
        &self,
        inbound: &dyn Inbound,
        bot: &str,
        conversation: &str,
    ) -> Result<(), Shutdown> {
        let page = {
            let _one_of_few = self.reading.acquire().await;
            request_until_answered(inbound, || self.rest.messages(conversation, None)).await?
        };
        let edited =
            page.into_iter().flatten().filter(|message| message.is_edited() && message.is_by_person());
        for message in edited {
            self.accept_edited_message(inbound, bot, message).await?;
        }
        Ok(())
    }

    /// Processes an event of the gateway; one of an unknown kind is skipped.
    async fn accept_event(
        &self,
        inbound: &dyn Inbound,
        bot: &str,
        name: &str,
        data: Value,
    ) -> Result<(), Shutdown> {
        match name {
            "MESSAGE_CREATE" | "MESSAGE_UPDATE" => {
                let Ok(message) = serde_json::from_value::<Message>(data) else { return Ok(()) };
                if name == "MESSAGE_UPDATE" {
                    return self.accept_edited_message(inbound, bot, message).await;
                }
                let is_direct = !message.is_in_server();
                self.accept_new_message(inbound, bot, message, is_direct).await
            }
            "MESSAGE_DELETE" | "MESSAGE_DELETE_BULK" => {
                let channel = data["channel_id"].as_str().unwrap_or_default();
                let several = data["ids"].as_array().map(Vec::as_slice).unwrap_or_default();
                for id in several.iter().chain([&data["id"]]).filter_map(Value::as_str) {
                    let kind = UpdateKind::Deleted { external: external_message(channel, id) };
                    inbound.accept_update(Update { position: None, kind }).await?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn accept_new_message(
        &self,
        inbound: &dyn Inbound,
        bot: &str,
        mut message: Message,
        is_direct: bool,
    ) -> Result<(), Shutdown> {
        if message.to_update(bot, is_direct).is_some() {
            self.read_pastes(inbound, &mut message).await?;
        }
        match message.to_update(bot, is_direct) {
            Some(update) => inbound.accept_update(update).await,
            None => Ok(()),
        }
    }

    async fn accept_edited_message(
        &self,
        inbound: &dyn Inbound,
        bot: &str,
        mut message: Message,
    ) -> Result<(), Shutdown> {
        if message.to_edit_update(bot).is_some() {
            self.read_pastes(inbound, &mut message).await?;
        }
        // An event of an old message may arrive when its file is no longer available: then the stored text stays.
        if message.pasted_files().any(|paste| paste.text.is_none()) {
            return Ok(());
        }
        match message.to_edit_update(bot) {
            Some(update) => inbound.accept_update(update).await,
            None => Ok(()),
        }
    }

    /// Reads the texts of pasted files. A file that can't be read is named, like other attachments.
    async fn read_pastes(&self, inbound: &dyn Inbound, message: &mut Message) -> Result<(), Shutdown> {
        for paste in message.pasted_files() {
            for attempt in 0..PASTE_ATTEMPTS {
                let wait = match self.rest.download_attachment(paste.address, PASTE_BYTES_MAX).await {
                    Ok(bytes) => {
                        *paste.text = String::from_utf8(bytes).ok();
                        break;
                    }
                    Err(DeliveryError::Wait(wait)) => wait,
                    Err(DeliveryError::Transient(_)) => BACKOFF.wait_after_failures(attempt),
                    Err(_) => break,
                };
                inbound.wait(wait).await?;
            }
        }
        Ok(())
    }

    /// The platform's id of a piece that may have been delivered; `None` if it was not.
    async fn find_delivered_piece(
        &self,
        piece: Piece<'_>,
        origin: PieceOrigin<'_>,
        nonce: &str,
    ) -> Result<Option<String>, ApiError> {
        let after = origin.sent_before.and_then(|id| id.parse().ok());
        let later = self.rest.messages(piece.conversation, after).await?;
        let written_at = origin.written_at.as_millisecond();
        let found = later.iter().find(|message| message.is_delivered_piece(nonce, piece.text, written_at));
        Ok(found.map(|message| message.number().to_string()))
    }

    async fn send(
        &self,
        piece: Piece<'_>,
        sound: Option<&VoiceMessage>,
    ) -> Result<DeliveredPiece, DeliveryError> {
        let id = self.send_once(piece, sound).await?;
        Ok(DeliveredPiece { sent_as: Some(id) })
    }

    async fn send_once(&self, piece: Piece<'_>, sound: Option<&VoiceMessage>) -> Result<String, ApiError> {
        let create = async |nonce: Option<&str>| match sound {
            Some(sound) => self.rest.create_voice_message(piece.conversation, sound, nonce).await,
            None => self.rest.create_message(piece.conversation, piece.text, nonce).await,
        };
        let Some(origin) = piece.origin else { return create(None).await };
        let nonce = nonce(origin);
        // The platform remembers a nonce for some minutes, and the attempt may be older.
        if origin.is_doubtful
            && let Some(id) = self.find_delivered_piece(piece, origin, &nonce).await?
        {
            return Ok(id);
        }
        create(Some(&nonce)).await
    }
}

#[async_trait]
impl Channel for Discord {
    fn id(&self) -> &'static str {
        "discord"
    }

    fn name(&self) -> &'static str {
        "Discord"
    }

    fn piece_length_max(&self) -> usize {
        PIECE_LENGTH_MAX
    }

    fn recognises_repeats(&self) -> bool {
        true
    }

    async fn check(&self) -> Result<String, String> {
        self.rest.bot_name().await.map_err(|error| error.to_string())
    }

    async fn receive(&self, inbound: &dyn Inbound) -> Shutdown {
        let (sender, receiver) = mpsc::channel(WAITING_EVENTS_MAX);
        tokio::select! {
            stopped = self.gateway.run(&self.rest, inbound, sender) => stopped,
            stopped = self.process_events(inbound, receiver) => stopped,
        }
    }

    async fn deliver(&self, piece: Piece<'_>) -> Result<DeliveredPiece, DeliveryError> {
        self.send(piece, None).await
    }

    async fn deliver_voice(
        &self,
        piece: Piece<'_>,
        sound: &VoiceMessage,
    ) -> Result<DeliveredPiece, DeliveryError> {
        self.send(piece, Some(sound)).await
    }

    async fn fetch_recording(&self, recording: &str) -> Result<Vec<u8>, DeliveryError> {
        let external = ExternalMessage::parse(recording);
        let external = external.ok_or_else(|| DeliveryError::Permanent("it has no name".to_owned()))?;
        self.rest.download_recording(&external).await
    }

    async fn show_typing(&self, conversation: &str) {
        if let Err(error) = self.rest.show_typing(conversation).await {
            tracing::debug!("the typing indicator could not be sent: {error}");
        }
    }
}

impl From<ApiError> for DeliveryError {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::Wait(wait) => Self::Wait(wait),
            ApiError::Refused => Self::Unauthorized(error.to_string()),
            error @ ApiError::Rejected(_) => Self::Permanent(error.to_string()),
            error => Self::Transient(error.to_string()),
        }
    }
}

/// Repeats a request until the platform answers; `None` if it refuses because the conversation no longer exists.
async fn request_until_answered<T, W>(
    inbound: &dyn Inbound,
    ask: impl Fn() -> W,
) -> Result<Option<T>, Shutdown>
where
    W: Future<Output = Result<T, ApiError>>,
{
    let mut failures = 0;
    loop {
        let wait = match ask().await {
            Ok(answer) => return Ok(Some(answer)),
            Err(ApiError::Rejected(_)) => return Ok(None),
            Err(ApiError::Wait(wait)) => wait,
            Err(error) => {
                tracing::warn!(channel = "discord", "missed messages can't be read yet: {error}");
                BACKOFF.wait_after_failures(failures)
            }
        };
        failures += 1;
        inbound.wait(wait).await?;
    }
}
