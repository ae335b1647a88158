//! Settings of channels, by their names in the earlier API.

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::admin::program::audit::AuditObject;
use crate::auth::Admin;
use crate::extract;
use crate::ports::configuration::ConfigAuthor;
use crate::problem::Problem;
use crate::state::App;

/// Maximum delay for further messages, in milliseconds.
const DEBOUNCE_MAX: u64 = 600_000;

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
    /// Can only be changed in the file; see `GET /api/admin/config`.
    token_env: Option<String>,
    /// Ids as texts or numbers.
    allowed_user_ids: Option<Vec<String>>,
    debounce_ms: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ChannelChangeResponse {
    updated_fields: Vec<String>,
    reload_triggered: bool,
    restart_required: bool,
}

/// Handler of `PATCH /api/admin/channels {web?: {host?, port?, debounce_ms?}, discord?: {enabled?, allowed_user_ids?,
/// debounce_ms?}}`.
pub(crate) async fn change(
    State(app): State<App>,
    Admin(principal): Admin,
    extract::Json(wanted): extract::Json<Value>,
) -> Result<(Extension<AuditObject>, Json<ChannelChangeResponse>), Problem> {
    let changes = requested_changes(&wanted)?;
    let names: Map<String, Value> =
        changes.iter().map(|(_, key, value)| (key.clone(), value.clone())).collect();
    let author = ConfigAuthor::from_principal(&principal);
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

/// The requested changes, each by its current key.
fn requested_changes(wanted: &Value) -> Result<Vec<(String, String, Value)>, Problem> {
    let channels = wanted.as_object().filter(|channels| !channels.is_empty());
    let channels = channels
        .ok_or_else(|| Problem::bad_request("send an object of channels, as {\"web\": {\"port\": 7777}}"))?;
    let mut changes = Vec::new();
    for (channel, fields) in channels {
        match channel.as_str() {
            "web" | "discord" | "telegram" => {}
            "imessage" => {
                let detail = "this version does not support the channel imessage; nothing was changed. Use \
                    the web UI instead";
                return Err(Problem::new(StatusCode::NOT_IMPLEMENTED, detail).with_code("not_built"));
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
                Problem::unprocessable(format!("debounce_ms: must be a number from 0 to {DEBOUNCE_MAX}"))
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

/// Converts ids to texts, as clients of the earlier API send them as numbers.
fn ids_as_text(ids: &Value) -> Option<Value> {
    let text = |id: &Value| id.as_u64().map_or_else(|| id.clone(), |id| json!(id.to_string()));
    Some(ids.as_array()?.iter().map(text).collect())
}
