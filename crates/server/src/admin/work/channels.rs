//! The channels: their state, linked accounts and undelivered messages.

use axum::Json;
use axum::extract::{Path, State};
use jiff::Timestamp;
use runtime::ChannelStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::Admin;
use crate::extract;
use crate::ports::model_setup::ModelKey;
use crate::problem::Problem;
use crate::state::App;

/// All listed channels, with their names, and true if one needs no set-up. iMessage is listed for clients of the
/// earlier API, which look for it.
const CHANNELS: [(&str, &str, bool); 5] = [
    ("web", "Web", true),
    ("discord", "Discord", false),
    ("imessage", "iMessage", false),
    ("openai", "OpenAI API", true),
    ("telegram", "Telegram", false),
];

#[derive(Serialize, JsonSchema)]
pub(crate) struct Channel {
    channel_id: String,
    name: String,
    /// True if the channel accepts messages.
    enabled: bool,
    /// True if the channel receives and delivers now.
    ready: bool,
    /// `off`, `connecting`, `ready` or `failed`.
    state: &'static str,
    /// The current error, with the remedy.
    error: Option<String>,
    /// Accounts that are linked to users.
    linked: u64,
    /// Number of messages that wait for delivery.
    waiting: u64,
    /// Messages that could not be delivered within a day.
    undeliverable: u64,
    /// The bot's token; absent for channels that have no bot.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<ModelKey>,
}

impl From<ChannelStatus> for Channel {
    fn from(status: ChannelStatus) -> Self {
        Self {
            ready: status.state == "ready",
            channel_id: status.channel_id,
            name: status.name,
            enabled: true,
            state: status.state,
            error: status.error,
            linked: status.linked,
            waiting: status.waiting,
            undeliverable: status.undeliverable,
            token: None,
        }
    }
}

/// State of the channels of this version.
pub(crate) async fn list_channels(app: &App) -> Result<Vec<Channel>, Problem> {
    let connected = match app.runtime().channels() {
        Some(channels) => channels.statuses().await?,
        None => Vec::new(),
    };
    // The list does not depend on the tokens: the page shows it first.
    let mut tokens = app.parts.channel_setup.tokens().await.unwrap_or_else(|error| {
        tracing::warn!("the tokens of bots can't be read: {error}");
        Vec::new()
    });
    let known = CHANNELS.into_iter().map(|(channel_id, name, is_part)| {
        let status = connected.iter().find(|status| status.channel_id == channel_id);
        let channel = status.cloned().map(Channel::from).unwrap_or_else(|| Channel {
            channel_id: channel_id.to_owned(),
            name: name.to_owned(),
            enabled: is_part,
            ready: is_part,
            state: if is_part { "ready" } else { "off" },
            error: None,
            linked: 0,
            waiting: 0,
            undeliverable: 0,
            token: None,
        });
        let place = tokens.iter().position(|(id, _)| *id == channel_id);
        Channel { token: place.map(|place| tokens.swap_remove(place).1), ..channel }
    });
    Ok(known.collect())
}

pub(crate) async fn list(State(app): State<App>, Admin(_): Admin) -> Result<Json<Vec<Channel>>, Problem> {
    list_channels(&app).await.map(Json)
}

#[derive(Default, Deserialize, JsonSchema)]
pub(crate) struct LinkCodeRequest {
    /// The user who writes from the account; `self` by default.
    user_id: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct LinkCodeResponse {
    /// The one-time code that the account has to send to the bot.
    code: String,
    expires_at: Timestamp,
}

/// Handler of `POST /api/admin/channels/{id}/link-code {user_id?}`.
pub(crate) async fn link_code(
    State(app): State<App>,
    Admin(principal): Admin,
    Path(id): Path<String>,
    extract::OptionalJson(wanted): extract::OptionalJson<LinkCodeRequest>,
) -> Result<Json<LinkCodeResponse>, Problem> {
    let user = app.scope(&principal, None, wanted.user_id).await?.user;
    let channels = app.runtime().channels().ok_or_else(no_channel)?;
    let code = channels.link_code(&id, user).ok_or_else(no_channel)?;
    Ok(Json(LinkCodeResponse { code: code.code, expires_at: code.expires_at }))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct RetryResponse {
    /// Number of messages that will be delivered again.
    retried: u64,
}

/// Handler of `POST /api/admin/channels/{id}/retry`: tries undeliverable messages again.
pub(crate) async fn retry(
    State(app): State<App>,
    Admin(_): Admin,
    Path(id): Path<String>,
) -> Result<Json<RetryResponse>, Problem> {
    let channels = app.runtime().channels().ok_or_else(no_channel)?;
    let retried = channels.retry(&id).await?.ok_or_else(no_channel)?;
    Ok(Json(RetryResponse { retried }))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct CheckResponse {
    /// True if the platform accepts the bot's token.
    ok: bool,
    /// The bot's name on the platform.
    account: Option<String>,
    /// The error, with the remedy.
    error: Option<String>,
}

/// Handler of `POST /api/admin/channels/{id}/test`: asks the platform for the bot's name.
pub(crate) async fn test(
    State(app): State<App>,
    Admin(_): Admin,
    Path(id): Path<String>,
) -> Result<Json<CheckResponse>, Problem> {
    let channels = app.runtime().channels().ok_or_else(no_channel)?;
    let (account, error) = match channels.check(&id).await.ok_or_else(no_channel)? {
        Ok(account) => (Some(account), None),
        Err(error) => (None, Some(error)),
    };
    Ok(Json(CheckResponse { ok: error.is_none(), account, error }))
}

fn no_channel() -> Problem {
    Problem::not_found(
        "this channel is not enabled; set it up under Settings > Channels, or enable it in config.toml and restart",
    )
}
