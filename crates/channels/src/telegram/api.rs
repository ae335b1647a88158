//! The part of Telegram's Bot API that a companion needs.

use std::time::Duration;

use outgoing::{client_builder, mask_key};
use reqwest::multipart::Form;
use reqwest::{RequestBuilder, StatusCode, Url};
use runtime::VOICE_MESSAGE;
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::TelegramError;
use super::entities::FormattedText;
use crate::address;
use crate::voice_message::VoiceMessage;

/// Time for which the platform holds a request for updates, in seconds. Some proxies end a connection that is silent
/// for half a minute.
pub(super) const POLL_SECONDS: u64 = 25;
/// Time that any other answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Time limit for sending a voice message, which takes longer than a text on a slow line.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(60);
/// Time for a connection to the platform. It takes well under a second; on a bad network the next attempt does better
/// than a longer wait.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Wait when the platform names none. The next answer may name one.
const WAIT_DEFAULT: Duration = Duration::from_secs(5);
const ATTACHMENTS: [(&str, &str); 8] = [
    ("photo", "photo"),
    ("audio", "audio"),
    ("video", "video"),
    ("video_note", "video message"),
    ("document", "file"),
    ("animation", "animation"),
    ("location", "location"),
    ("contact", "contact"),
];

/// Why a call failed. No error text contains the address, because the address contains the token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ApiError {
    #[error(
        "Telegram rejects the bot's token; get a new one from BotFather and enter it under Settings > Channels"
    )]
    Refused,
    #[error("another program uses this bot's token; stop it, or create a separate bot for it")]
    Conflict,
    #[error("Telegram's rate limit asks to wait {} s", .0.as_secs())]
    Wait(Duration),
    #[error("Telegram rejected the request: {description}")]
    Rejected { description: String },
    #[error("Telegram can't be reached: {0}")]
    Unreachable(String),
    #[error("Telegram failed with status {0}")]
    Broken(u16),
}

#[derive(Deserialize)]
struct Answer<T> {
    ok: bool,
    result: Option<T>,
    description: Option<String>,
    parameters: Option<Parameters>,
}

#[derive(Deserialize)]
struct Bot {
    username: String,
}

#[derive(Deserialize)]
struct SentMessage {
    message_id: i64,
}

#[derive(Deserialize)]
struct File {
    file_path: Option<String>,
}

#[derive(Deserialize)]
struct Recording {
    file_id: String,
}

#[derive(Deserialize)]
struct Parameters {
    retry_after: Option<u64>,
}

/// An update as it came.
pub(super) struct RawUpdate {
    pub(super) id: i64,
    /// None if the content has an unknown form.
    pub(super) content: Option<UpdateContent>,
}

#[derive(Deserialize)]
pub(super) struct UpdateContent {
    pub(super) message: Option<Message>,
    pub(super) edited_message: Option<Message>,
}

#[derive(Deserialize)]
pub(super) struct Message {
    pub(super) message_id: i64,
    /// Seconds since 1970 (Unix time).
    #[serde(default)]
    pub(super) date: i64,
    pub(super) from: Option<Sender>,
    pub(super) chat: Chat,
    pub(super) text: Option<String>,
    pub(super) caption: Option<String>,
    sticker: Option<Sticker>,
    voice: Option<Recording>,
    reply_to_message: Option<RepliedMessage>,
    /// The part of the message that the person chose to reply to.
    quote: Option<Quote>,
    #[serde(flatten)]
    rest: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
pub(super) struct Sender {
    pub(super) id: i64,
    pub(super) is_bot: bool,
}

#[derive(Deserialize)]
pub(super) struct Chat {
    pub(super) id: i64,
    #[serde(rename = "type")]
    pub(super) kind: String,
}

#[derive(Deserialize)]
struct Sticker {
    emoji: Option<String>,
}

#[derive(Deserialize)]
struct RepliedMessage {
    text: Option<String>,
    caption: Option<String>,
}

#[derive(Deserialize)]
struct Quote {
    text: String,
}

impl Message {
    /// The text that the message replies to.
    pub(super) fn replied_text(&self) -> Option<&str> {
        let whole = self.reply_to_message.as_ref();
        let whole = whole.and_then(|message| message.text.as_deref().or(message.caption.as_deref()));
        self.quote.as_ref().map(|quote| quote.text.as_str()).or(whole)
    }

    /// The platform's id of a voice message's recording.
    pub(super) fn recording_id(&self) -> Option<String> {
        self.voice.as_ref().map(|voice| voice.file_id.clone())
    }

    /// The attachment's name in brackets.
    pub(super) fn attachment(&self) -> Option<String> {
        if let Some(sticker) = &self.sticker {
            let emoji = sticker.emoji.as_deref().unwrap_or_default();
            return Some(format!("[{}]", format!("sticker {emoji}").trim()));
        }
        if self.voice.is_some() {
            return Some(VOICE_MESSAGE.to_owned());
        }
        let found = ATTACHMENTS.iter().find(|(field, _)| self.rest.contains_key(*field));
        found.map(|(_, name)| format!("[{name}]"))
    }
}

pub(super) struct Api {
    client: reqwest::Client,
    base: Url,
    token: SecretString,
}

impl Api {
    pub(super) fn new(base: &str, token: SecretString) -> Result<Self, TelegramError> {
        let base = address::check_address(base).map_err(|error| TelegramError::Address(error.to_string()))?;
        let client = client_builder().connect_timeout(CONNECT_TIMEOUT).build();
        let client = client.map_err(|error| TelegramError::Client(error.without_url().to_string()))?;
        Ok(Self { client, base, token })
    }

    pub(super) fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// The bot's name on the platform.
    pub(super) async fn bot_name(&self) -> Result<String, ApiError> {
        self.call::<Bot>("getMe", &json!({}), ANSWER_TIMEOUT).await.map(|bot| format!("@{}", bot.username))
    }

    /// Waits `POLL_SECONDS` at most for updates after a position; an empty list if none arrived.
    pub(super) async fn updates(
        &self,
        offset: Option<i64>,
        seconds: u64,
    ) -> Result<Vec<RawUpdate>, ApiError> {
        let asked =
            json!({"offset": offset, "timeout": seconds, "allowed_updates": ["message", "edited_message"]});
        let updates: Vec<Value> =
            self.call("getUpdates", &asked, Duration::from_secs(seconds) + ANSWER_TIMEOUT).await?;
        let read = |update: Value| {
            let id = update["update_id"].as_i64()?;
            Some(RawUpdate { id, content: serde_json::from_value(update).ok() })
        };
        Ok(updates.into_iter().filter_map(read).collect())
    }

    /// The name of the bot's sequence of updates. Each bot has its own; a token begins with the id of its bot.
    pub(super) fn update_sequence_name(&self) -> String {
        let bot = self.token.expose_secret().split(':').next().unwrap_or_default();
        let is_number = !bot.is_empty() && bot.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { format!("telegram:{bot}") } else { "telegram".to_owned() }
    }

    /// Sends a voice message; gives its number in the chat.
    pub(super) async fn send_voice(&self, chat: &str, sound: &VoiceMessage) -> Result<i64, ApiError> {
        let form = Form::new()
            .text("chat_id", chat.to_owned())
            .text("duration", format!("{:.0}", sound.seconds.ceil()))
            .part("voice", sound.to_form_part());
        let sent = self.call_with_timeout("sendVoice", UPLOAD_TIMEOUT, |request| request.multipart(form));
        sent.await.map(|sent: SentMessage| sent.message_id)
    }

    /// The address of a file. It contains the token.
    pub(super) async fn address_of_file(&self, file_id: &str) -> Result<Url, ApiError> {
        let file: File = self.call("getFile", &json!({"file_id": file_id}), ANSWER_TIMEOUT).await?;
        let path = file.file_path.filter(|path| !path.contains(".."));
        let path =
            path.ok_or_else(|| ApiError::Rejected { description: "the file has no path".to_owned() })?;
        Ok(self.address(&format!("/file/bot{}/{path}", self.token.expose_secret())))
    }

    pub(super) fn client(&self) -> &reqwest::Client {
        &self.client
    }

    /// Sends a message; returns its number in the chat.
    pub(super) async fn send_message(&self, chat: &str, text: &FormattedText) -> Result<i64, ApiError> {
        let mut asked =
            json!({"chat_id": chat, "text": text.text, "link_preview_options": {"is_disabled": true}});
        if !text.entities.is_empty() {
            asked["entities"] = json!(text.entities);
        }
        self.call::<SentMessage>("sendMessage", &asked, ANSWER_TIMEOUT).await.map(|sent| sent.message_id)
    }

    pub(super) async fn send_typing(&self, chat: &str) -> Result<(), ApiError> {
        let asked = json!({"chat_id": chat, "action": "typing"});
        self.call::<Value>("sendChatAction", &asked, ANSWER_TIMEOUT).await.map(|_| ())
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        asked: &impl Serialize,
        within: Duration,
    ) -> Result<T, ApiError> {
        self.call_with_timeout(method, within, |request| request.json(asked)).await
    }

    fn address(&self, path: &str) -> Url {
        let mut address = self.base.clone();
        address.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        address
    }

    async fn call_with_timeout<T: DeserializeOwned>(
        &self,
        method: &str,
        within: Duration,
        with: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<T, ApiError> {
        let unreachable = |error: reqwest::Error| ApiError::Unreachable(error.without_url().to_string());
        let address = self.address(&format!("/bot{}/{method}", self.token.expose_secret()));
        let sent = with(self.client.post(address).timeout(within)).send().await.map_err(unreachable)?;
        let status = sent.status();
        let answer: Option<Answer<T>> =
            serde_json::from_slice(&sent.bytes().await.map_err(unreachable)?).ok();
        match answer {
            Some(Answer { ok: true, result: Some(result), .. }) => Ok(result),
            Some(Answer { description, parameters, .. }) => {
                let description = description.unwrap_or_else(|| status.to_string());
                Err(error_of_answer(status, mask_key(&description, Some(&self.token)), parameters))
            }
            // The body is an HTML page of a proxy before the platform.
            None if status == StatusCode::TOO_MANY_REQUESTS => Err(ApiError::Wait(WAIT_DEFAULT)),
            None => Err(ApiError::Broken(status.as_u16())),
        }
    }
}

fn error_of_answer(status: StatusCode, description: String, parameters: Option<Parameters>) -> ApiError {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::NOT_FOUND => ApiError::Refused,
        StatusCode::CONFLICT => ApiError::Conflict,
        StatusCode::TOO_MANY_REQUESTS => {
            let seconds = parameters.and_then(|parameters| parameters.retry_after);
            ApiError::Wait(seconds.map_or(WAIT_DEFAULT, Duration::from_secs))
        }
        StatusCode::BAD_REQUEST | StatusCode::FORBIDDEN => ApiError::Rejected { description },
        status => ApiError::Broken(status.as_u16()),
    }
}
