//! The part of Discord's REST API that a companion needs.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use memory::ports::Clock;
use outgoing::mask_key;
use reqwest::multipart::Form;
use reqwest::{Method, StatusCode, Url};
use runtime::ExternalMessage;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::limits::{Limits, Route, parse_seconds};
use super::message::{Message, VOICE_MESSAGE_FLAG};
use crate::address;
use crate::delivery_error::DeliveryError;
use crate::voice_message::{RECORDING_BYTES_MAX, VoiceMessage, fetch};

/// Most messages in one answer of the history API. The platform allows no more.
pub(super) const HISTORY_PAGE: usize = 100;
/// Time limit for an answer. A longer wait would hold up the other messages of the conversation.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Wait when the platform names none. The next answer may name one.
const WAIT_DEFAULT: Duration = Duration::from_secs(5);
/// Message flag that turns off link previews.
const NO_PREVIEWS: u32 = 1 << 2;
/// Hosts of files in messages.
const FILE_HOSTS: [&str; 2] = ["discordapp.com", "discordapp.net"];
/// Kind of a conversation between two.
const DIRECT_CHANNEL_KIND: u8 = 1;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ApiError {
    #[error(
        "Discord rejects the bot's token; reset it in the developer portal and enter the new one under \
            Settings > Channels"
    )]
    Refused,
    #[error("Discord's rate limit asks to wait {} s", .0.as_secs())]
    Wait(Duration),
    #[error("Discord rejected the request: {0}")]
    Rejected(String),
    #[error("Discord can't be reached: {0}")]
    Unreachable(String),
    #[error("Discord failed with status {0}")]
    Broken(u16),
}

/// The address of the gateway, and the number of sessions that may still start.
#[derive(Deserialize)]
pub(super) struct GatewayInfo {
    pub(super) url: String,
    pub(super) session_start_limit: Option<SessionStarts>,
}

#[derive(Deserialize)]
pub(super) struct SessionStarts {
    pub(super) remaining: u64,
    /// Milliseconds until more sessions may start.
    pub(super) reset_after: u64,
}

#[derive(Deserialize)]
struct ChannelInfo {
    #[serde(rename = "type")]
    kind: u8,
}

#[derive(Deserialize)]
struct Bot {
    username: String,
}

#[derive(Deserialize)]
struct CreatedMessage {
    id: String,
}

#[derive(Default, Deserialize)]
struct Refusal {
    message: Option<String>,
    #[serde(default)]
    code: u64,
    retry_after: Option<f64>,
    #[serde(default)]
    global: bool,
}

struct Call<'a> {
    method: Method,
    route: Route,
    path: &'a [&'a str],
    query: Option<String>,
    body: Body,
}

enum Body {
    Empty,
    Json(Value),
    Form(Form),
}

pub(super) struct RestClient {
    client: reqwest::Client,
    base: Url,
    token: SecretString,
    clock: Arc<dyn Clock>,
    limits: Limits,
}

impl RestClient {
    pub(super) fn new(
        client: reqwest::Client,
        base: Url,
        token: SecretString,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { client, base, token, clock, limits: Limits::default() }
    }

    pub(super) fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// The bot's name on the platform.
    pub(super) async fn bot_name(&self) -> Result<String, ApiError> {
        let bot: Bot = self.call(get("GET /users/@me", "", &["users", "@me"])).await?;
        Ok(bot.username)
    }

    pub(super) async fn gateway(&self) -> Result<GatewayInfo, ApiError> {
        self.call(get("GET /gateway/bot", "", &["gateway", "bot"])).await
    }

    /// Sends a message and returns its id. The platform does not send a message whose nonce it saw in the last
    /// minutes.
    pub(super) async fn create_message(
        &self,
        channel: &str,
        text: &str,
        nonce: Option<&str>,
    ) -> Result<String, ApiError> {
        let mut body = json!({"content": text, "flags": NO_PREVIEWS, "allowed_mentions": {"parse": []}});
        if let Some(nonce) = nonce {
            body["nonce"] = json!(nonce);
            body["enforce_nonce"] = json!(true);
        }
        let path = ["channels", channel, "messages"];
        let sent: CreatedMessage =
            self.call(post("POST /channels/messages", channel, &path, Body::Json(body))).await?;
        Ok(sent.id)
    }

    /// Sends a voice message and returns its id.
    pub(super) async fn create_voice_message(
        &self,
        channel: &str,
        sound: &VoiceMessage,
        nonce: Option<&str>,
    ) -> Result<String, ApiError> {
        let mut body = json!({"flags": VOICE_MESSAGE_FLAG, "attachments": [{
            "id": "0", "filename": "voice-message.ogg", "duration_secs": sound.seconds,
            "waveform": BASE64_STANDARD.encode(&sound.waveform),
        }]});
        if let Some(nonce) = nonce {
            body["nonce"] = json!(nonce);
            body["enforce_nonce"] = json!(true);
        }
        let form = Form::new().text("payload_json", body.to_string()).part("files[0]", sound.to_form_part());
        let path = ["channels", channel, "messages"];
        let sent: CreatedMessage =
            self.call(post("POST /channels/messages", channel, &path, Body::Form(form))).await?;
        Ok(sent.id)
    }

    /// The file of a voice message.
    pub(super) async fn download_recording(
        &self,
        external: &ExternalMessage,
    ) -> Result<Vec<u8>, DeliveryError> {
        let ExternalMessage { conversation, message } = external;
        let path = ["channels", conversation, "messages", message];
        let message: Message = self.call(get("GET /channels/messages/id", conversation, &path)).await?;
        self.download_attachment(message.address_of_recording().unwrap_or_default(), RECORDING_BYTES_MAX)
            .await
    }

    /// A file that is attached to a message.
    pub(super) async fn download_attachment(
        &self,
        address: &str,
        bytes_max: usize,
    ) -> Result<Vec<u8>, DeliveryError> {
        let address =
            address::check_address(address).ok().filter(|address| self.is_platform_address(address));
        let nowhere = || DeliveryError::Permanent("the file has no usable address".to_owned());
        fetch(&self.client, address.ok_or_else(nowhere)?, bytes_max).await
    }

    /// True if files may be fetched from this address: it is at one of the platform's own hosts, or at the host of
    /// its API.
    fn is_platform_address(&self, address: &Url) -> bool {
        let host = address.host_str().unwrap_or_default();
        host == self.host()
            || FILE_HOSTS.iter().any(|known| host.strip_suffix(known).is_some_and(|rest| rest.ends_with('.')))
    }

    /// The messages after `after`, or the newest ones; oldest first, at most [`HISTORY_PAGE`].
    pub(super) async fn messages(&self, channel: &str, after: Option<i64>) -> Result<Vec<Message>, ApiError> {
        let path = ["channels", channel, "messages"];
        let mut call = get("GET /channels/messages", channel, &path);
        let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
        call.query = Some(format!("limit={HISTORY_PAGE}{after}"));
        let mut messages: Vec<Message> = self.call(call).await?;
        messages.sort_by_key(Message::number);
        Ok(messages)
    }

    /// The direct conversation with an account. It is opened if there is none, which the account does not notice.
    pub(super) async fn open_direct(&self, account: &str) -> Result<String, ApiError> {
        let path = ["users", "@me", "channels"];
        let body = Body::Json(json!({"recipient_id": account}));
        let opened: CreatedMessage = self.call(post("POST /users/@me/channels", "", &path, body)).await?;
        Ok(opened.id)
    }

    /// True if only two take part in a conversation.
    pub(super) async fn is_direct(&self, channel: &str) -> Result<bool, ApiError> {
        let info: ChannelInfo = self.call(get("GET /channels", channel, &["channels", channel])).await?;
        Ok(info.kind == DIRECT_CHANNEL_KIND)
    }

    pub(super) async fn show_typing(&self, channel: &str) -> Result<(), ApiError> {
        let path = ["channels", channel, "typing"];
        self.call::<Option<Value>>(post("POST /channels/typing", channel, &path, Body::Empty))
            .await
            .map(|_| ())
    }

    async fn call<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T, ApiError> {
        if let Some(wait) = self.limits.time_until_allowed(&call.route, self.clock.now()) {
            return Err(ApiError::Wait(wait));
        }
        let mut address = self.base.clone();
        if let Ok(mut segments) = address.path_segments_mut() {
            segments.pop_if_empty().extend(call.path);
        }
        address.set_query(call.query.as_deref());
        let mut request = self
            .client
            .request(call.method, address)
            .header("authorization", format!("Bot {}", self.token.expose_secret()))
            .timeout(ANSWER_TIMEOUT);
        request = match call.body {
            Body::Json(body) => request.json(&body),
            Body::Form(form) => request.multipart(form),
            Body::Empty => request,
        };
        let unreachable = |error: reqwest::Error| ApiError::Unreachable(error.without_url().to_string());
        let answer = request.send().await.map_err(unreachable)?;
        let (status, now) = (answer.status(), self.clock.now());
        self.limits.note_limits(&call.route, answer.headers(), now);
        let retry_after =
            answer.headers().get("retry-after").and_then(|value| parse_seconds(value.to_str().ok()?));
        let bytes = answer.bytes().await.map_err(unreachable)?;
        if status.is_success() {
            let text = if bytes.is_empty() { b"null" } else { bytes.as_ref() };
            return serde_json::from_slice(text).map_err(|_| ApiError::Broken(status.as_u16()));
        }
        let refusal: Option<Refusal> = serde_json::from_slice(&bytes).ok();
        if status == StatusCode::TOO_MANY_REQUESTS {
            let refusal = refusal.unwrap_or_default();
            let said = refusal.retry_after.and_then(|wait| Duration::try_from_secs_f64(wait).ok());
            let wait = said.or(retry_after).unwrap_or(WAIT_DEFAULT);
            self.limits.note_refusal(&call.route, refusal.global, wait, now);
            return Err(ApiError::Wait(wait));
        }
        Err(match refusal {
            Some(Refusal { message, code, .. }) => {
                let message = message.unwrap_or_else(|| status.to_string());
                error_of_status(status, code, &mask_key(&message, Some(&self.token)))
            }
            // The body is an HTML page of a proxy before the platform.
            None if status != StatusCode::UNAUTHORIZED => ApiError::Broken(status.as_u16()),
            None => ApiError::Refused,
        })
    }
}

/// Error code of Cloudflare, in front of Discord: it blocks the request as one of a misbehaving program. Unlike other
/// client errors it says nothing about the request itself.
const BLOCKED_BY_CLOUDFLARE: u64 = 40_333;

fn error_of_status(status: StatusCode, code: u64, message: &str) -> ApiError {
    match status {
        StatusCode::UNAUTHORIZED => ApiError::Refused,
        StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT | StatusCode::TOO_EARLY => {
            ApiError::Broken(status.as_u16())
        }
        status if status.is_client_error() && code != BLOCKED_BY_CLOUDFLARE => {
            ApiError::Rejected(if code == 0 { message.to_owned() } else { format!("{message} ({code})") })
        }
        status => ApiError::Broken(status.as_u16()),
    }
}

fn get<'a>(template: &'static str, channel: &str, path: &'a [&'a str]) -> Call<'a> {
    let route = Route { template, channel: channel.to_owned() };
    Call { method: Method::GET, route, path, query: None, body: Body::Empty }
}

fn post<'a>(template: &'static str, channel: &str, path: &'a [&'a str], body: Body) -> Call<'a> {
    Call { method: Method::POST, body, ..get(template, channel, path) }
}
