//! As much of Telegram's Bot API as a companion needs.

use std::time::Duration;

use reqwest::{StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::TelegramError;
use crate::address;

/// How long the platform holds a question for updates, in seconds.
pub(super) const POLL_SECONDS: u64 = 25;
/// How long any other answer may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Wait when the platform names none.
const WAIT_DEFAULT: Duration = Duration::from_secs(5);
const ATTACHMENTS: [(&str, &str); 9] = [
    ("photo", "photo"),
    ("voice", "voice message"),
    ("audio", "audio"),
    ("video", "video"),
    ("video_note", "video message"),
    ("document", "file"),
    ("animation", "animation"),
    ("location", "location"),
    ("contact", "contact"),
];

/// Why a call failed. No text holds the address, which contains the token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ApiError {
    #[error("Telegram refuses the bot's token; get a new one from BotFather and set it in the environment")]
    Refused,
    #[error("another program receives with this bot's token; stop it, or give it a bot of its own")]
    Conflict,
    #[error("Telegram asks to wait {} s", .0.as_secs())]
    Wait(Duration),
    #[error("Telegram does not take it: {description}")]
    Rejected { description: String },
    #[error("Telegram can't be reached: {0}")]
    Unreachable(String),
    #[error("Telegram has a problem (status {0})")]
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
struct Parameters {
    retry_after: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct RawUpdate {
    pub(super) update_id: i64,
    pub(super) message: Option<Message>,
    pub(super) edited_message: Option<Message>,
}

#[derive(Deserialize)]
pub(super) struct Message {
    pub(super) message_id: i64,
    pub(super) from: Option<Sender>,
    pub(super) chat: Chat,
    pub(super) text: Option<String>,
    pub(super) caption: Option<String>,
    sticker: Option<Sticker>,
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

impl Message {
    /// What is attached, by its name.
    pub(super) fn attachment(&self) -> Option<String> {
        if let Some(sticker) = &self.sticker {
            return Some(
                format!("sticker {}", sticker.emoji.as_deref().unwrap_or_default()).trim().to_owned(),
            );
        }
        let found = ATTACHMENTS.iter().find(|(field, _)| self.rest.contains_key(*field));
        found.map(|(_, name)| (*name).to_owned())
    }
}

pub(super) struct Api {
    client: reqwest::Client,
    base: Url,
    token: SecretString,
}

impl Api {
    pub(super) fn new(base: &str, token: SecretString) -> Result<Self, TelegramError> {
        let base = address::checked(base).map_err(|error| TelegramError::Address(error.to_string()))?;
        let client = reqwest::Client::builder().connect_timeout(CONNECT_WITHIN).build();
        let client = client.map_err(|error| TelegramError::Client(error.without_url().to_string()))?;
        Ok(Self { client, base, token })
    }

    pub(super) fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// The bot's name on the platform.
    pub(super) async fn bot_name(&self) -> Result<String, ApiError> {
        self.call::<Bot>("getMe", &json!({}), ANSWER_WITHIN).await.map(|bot| format!("@{}", bot.username))
    }

    /// Waits so many seconds for updates from a position on; an empty list when none came in time.
    pub(super) async fn updates(
        &self,
        offset: Option<i64>,
        seconds: u64,
    ) -> Result<Vec<RawUpdate>, ApiError> {
        let asked =
            json!({"offset": offset, "timeout": seconds, "allowed_updates": ["message", "edited_message"]});
        self.call("getUpdates", &asked, Duration::from_secs(seconds) + ANSWER_WITHIN).await
    }

    /// Sends a message; gives its number in the chat.
    pub(super) async fn send_message(&self, chat: &str, text: &str) -> Result<i64, ApiError> {
        let asked = json!({"chat_id": chat, "text": text, "link_preview_options": {"is_disabled": true}});
        self.call::<SentMessage>("sendMessage", &asked, ANSWER_WITHIN).await.map(|sent| sent.message_id)
    }

    pub(super) async fn send_typing(&self, chat: &str) -> Result<(), ApiError> {
        let asked = json!({"chat_id": chat, "action": "typing"});
        self.call::<Value>("sendChatAction", &asked, ANSWER_WITHIN).await.map(|_| ())
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        asked: &impl Serialize,
        within: Duration,
    ) -> Result<T, ApiError> {
        let unreachable = |error: reqwest::Error| ApiError::Unreachable(error.without_url().to_string());
        let path = format!("/bot{}/{method}", self.token.expose_secret());
        let mut address = self.base.clone();
        address.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        let sent = self.client.post(address).json(asked).timeout(within).send().await.map_err(unreachable)?;
        let status = sent.status();
        let answer: Option<Answer<T>> =
            serde_json::from_slice(&sent.bytes().await.map_err(unreachable)?).ok();
        match answer {
            Some(Answer { ok: true, result: Some(result), .. }) => Ok(result),
            answer => Err(refusal(status, answer.map(|answer| (answer.description, answer.parameters)))),
        }
    }
}

fn refusal(status: StatusCode, answer: Option<(Option<String>, Option<Parameters>)>) -> ApiError {
    let (description, parameters) = answer.unwrap_or_default();
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::NOT_FOUND => ApiError::Refused,
        StatusCode::CONFLICT => ApiError::Conflict,
        StatusCode::TOO_MANY_REQUESTS => {
            let seconds = parameters.and_then(|parameters| parameters.retry_after);
            ApiError::Wait(seconds.map_or(WAIT_DEFAULT, Duration::from_secs))
        }
        StatusCode::BAD_REQUEST | StatusCode::FORBIDDEN => {
            ApiError::Rejected { description: description.unwrap_or_else(|| status.to_string()) }
        }
        status => ApiError::Broken(status.as_u16()),
    }
}
