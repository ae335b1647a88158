//! Channels, and the settings of them that can change.

use axum::extract::{Path, State};
use axum::{Extension, Json};
use jiff::Timestamp;
use runtime::ChannelStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::audit::AuditObject;
use crate::auth::Admin;
use crate::extract;
use crate::ports::configuration::ConfigAuthor;
use crate::ports::model_setup::ModelKey;
use crate::problem::Problem;
use crate::routes::not_implemented;
use crate::state::App;

/// Longest wait for the rest of a burst that the compatible interface can set, in milliseconds.
const DEBOUNCE_MAX: u64 = 600_000;

/// Channels that other programs may know, in the order of the legacy API, and whether they are part of this one.
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
    /// True if it accepts messages.
    enabled: bool,
    /// True if it receives and delivers now.
    ready: bool,
    /// `off`, `connecting`, `ready` or `failed`.
    state: &'static str,
    /// The present error, with the remedy.
    error: Option<String>,
    /// Accounts that are linked to users.
    linked: u64,
    /// Messages on their way.
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
pub(super) async fn list_channels(app: &App) -> Result<Vec<Channel>, Problem> {
    let connected = match app.runtime().channels() {
        Some(channels) => channels.statuses().await?,
        None => Vec::new(),
    };
    // The list is complete without them: the page shows it first.
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
    /// The code that the account has to send to the bot, once.
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
    /// Messages that are delivered again.
    retried: u64,
}

/// `POST /api/admin/channels/{id}/retry`: what could not be delivered is tried again.
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
    /// True if the platform knows the bot's token.
    ok: bool,
    /// The bot's name there.
    account: Option<String>,
    /// The error, with the remedy.
    error: Option<String>,
}

/// `POST /api/admin/channels/{id}/test`: asks the platform who the bot is.
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

#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes what `changes` reads, which names what it can't take")]
pub(crate) struct ChannelChangeRequest {
    web: Option<WebChannelChange>,
    discord: Option<BotChannelChange>,
    telegram: Option<BotChannelChange>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes what `changes` reads, which names what it can't take")]
struct WebChannelChange {
    host: Option<String>,
    port: Option<u16>,
    debounce_ms: Option<u64>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes what `changes` reads, which names what it can't take")]
struct BotChannelChange {
    enabled: Option<bool>,
    /// Only in the file; see `GET /api/admin/config`.
    token_env: Option<String>,
    /// Numbers are taken too.
    allowed_user_ids: Option<Vec<String>>,
    debounce_ms: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ChannelChangeResponse {
    updated_fields: Vec<String>,
    reload_triggered: bool,
    restart_required: bool,
}

/// `PATCH /api/admin/channels {web?: {host?, port?, debounce_ms?}, discord?: {enabled?, allowed_user_ids?, debounce_ms?}}`: as in
/// the legacy API.
pub(crate) async fn change(
    State(app): State<App>,
    Admin(principal): Admin,
    extract::Json(wanted): extract::Json<Value>,
) -> Result<(Extension<AuditObject>, Json<ChannelChangeResponse>), Problem> {
    let changes = wanted_changes(&wanted)?;
    let names: Map<String, Value> =
        changes.iter().map(|(_, key, value)| (key.clone(), value.clone())).collect();
    let author = ConfigAuthor::of(&principal);
    let work = async move { Ok(app.parts.configuration.change(Value::Object(names), author).await?) };
    let changed = extract::run_detached(work).await?;
    let mut updated: Vec<String> = changes.into_iter().map(|(asked, ..)| asked).collect();
    updated.sort();
    let object = AuditObject(updated.join(" "));
    let answer = ChannelChangeResponse {
        updated_fields: updated,
        reload_triggered: !changed.reloaded.is_empty(),
        restart_required: !changed.restart_required.is_empty(),
    };
    Ok((Extension(object), Json(answer)))
}

/// For each field as asked: our key and its value.
fn wanted_changes(wanted: &Value) -> Result<Vec<(String, String, Value)>, Problem> {
    let channels = wanted.as_object().filter(|channels| !channels.is_empty());
    let channels = channels
        .ok_or_else(|| Problem::bad_request("send an object of channels, as {\"web\": {\"port\": 7777}}"))?;
    let mut changes = Vec::new();
    for (channel, fields) in channels {
        match channel.as_str() {
            "web" | "discord" | "telegram" => {}
            "imessage" => {
                return Err(not_implemented::not_implemented(
                    &format!("channel {channel}"),
                    "use the web UI",
                ));
            }
            _ => {
                return Err(Problem::bad_request(format!(
                    "channel {channel} not found; nothing was changed"
                )));
            }
        }
        let fields = fields.as_object().filter(|fields| !fields.is_empty());
        let fields =
            fields.ok_or_else(|| Problem::bad_request(format!("{channel}: send an object of fields")))?;
        for (field, value) in fields {
            let (key, value) = setting_of(channel, field, value)?;
            changes.push((format!("channels.{channel}.{field}"), key, value));
        }
    }
    Ok(changes)
}

fn setting_of(channel: &str, field: &str, value: &Value) -> Result<(String, Value), Problem> {
    let of_channel = |key: &str| format!("channels.{channel}.{key}");
    match (channel, field) {
        ("web", "host" | "port") => Ok((format!("server.{field}"), value.clone())),
        (_, "debounce_ms") => {
            let wait = value.as_u64().filter(|wait| *wait <= DEBOUNCE_MAX);
            let wait = wait.ok_or_else(|| {
                Problem::unprocessable(format!("debounce_ms: a number from 0 to {DEBOUNCE_MAX}"))
            })?;
            Ok((of_channel("debounce"), json!(format!("{wait}ms"))))
        }
        ("web", "enabled" | "static_dir") => {
            Err(Problem::bad_request(format!("web.{field}: can't be changed; the web UI is always served")))
        }
        ("discord" | "telegram", "enabled" | "token_env") => Ok((of_channel(field), value.clone())),
        ("discord" | "telegram", "allowed_user_ids") => {
            Ok((of_channel(field), ids_as_text(value).unwrap_or_else(|| value.clone())))
        }
        _ => Err(Problem::bad_request(format!("{channel} has no field {field}; nothing was changed"))),
    }
}

/// Programs of the legacy API send ids as numbers.
fn ids_as_text(ids: &Value) -> Option<Value> {
    let text = |id: &Value| id.as_u64().map_or_else(|| id.clone(), |id| json!(id.to_string()));
    Some(ids.as_array()?.iter().map(text).collect())
}
