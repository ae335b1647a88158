//! Channels, and the settings of them that can change.

use axum::extract::State;
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::audit::AuditObject;
use crate::auth::Admin;
use crate::extract;
use crate::problem::Problem;
use crate::routes::not_implemented;
use crate::state::App;

/// Longest wait for the rest of a burst that the compatible interface can set, in milliseconds.
const DEBOUNCE_MAX: u64 = 600_000;

#[derive(Serialize, JsonSchema)]
pub(crate) struct Channel {
    channel_id: &'static str,
    name: &'static str,
    /// Whether it accepts messages.
    enabled: bool,
    ready: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ChannelList {
    channels: Vec<Channel>,
}

/// The channels of this version; the first three in the order of the compatible interface.
pub(super) fn all() -> Vec<Channel> {
    let channel = |channel_id, name, here| Channel { channel_id, name, enabled: here, ready: here };
    vec![
        channel("web", "Web", true),
        channel("discord", "Discord", false),
        channel("imessage", "iMessage", false),
        channel("openai", "OpenAI API", true),
    ]
}

/// `GET /api/admin/channels`
pub(crate) async fn list(State(_): State<App>, Admin(_): Admin) -> Json<ChannelList> {
    Json(ChannelList { channels: all() })
}

/// Changes per channel.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes what `changes` reads, which names what it can't take")]
pub(crate) struct ChannelChangeRequest {
    web: Option<WebChannelChange>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes what `changes` reads, which names what it can't take")]
struct WebChannelChange {
    host: Option<String>,
    port: Option<u16>,
    debounce_ms: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ChannelChangeResponse {
    updated_fields: Vec<String>,
    reload_triggered: bool,
    restart_required: bool,
}

/// `PATCH /api/admin/channels {web: {host?, port?, debounce_ms?}}`: as the compatible interface has it.
pub(crate) async fn change(
    State(app): State<App>,
    Admin(_): Admin,
    extract::Json(wanted): extract::Json<Value>,
) -> Result<(Extension<AuditObject>, Json<ChannelChangeResponse>), Problem> {
    let changes = changes(&wanted)?;
    let names: Map<String, Value> =
        changes.iter().map(|(_, key, value)| (key.clone(), value.clone())).collect();
    let work = async move { Ok(app.parts.configuration.change(Value::Object(names)).await?) };
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
fn changes(wanted: &Value) -> Result<Vec<(String, String, Value)>, Problem> {
    let channels = wanted.as_object().filter(|channels| !channels.is_empty());
    let channels = channels
        .ok_or_else(|| Problem::bad_request("send an object of channels, as {\"web\": {\"port\": 7777}}"))?;
    let mut changes = Vec::new();
    for (channel, fields) in channels {
        match channel.as_str() {
            "web" => {}
            "discord" | "imessage" | "telegram" => {
                return Err(not_implemented::problem(&format!("channel {channel}"), "use the web UI"));
            }
            _ => {
                return Err(Problem::bad_request(format!(
                    "channel {channel} not found; nothing was changed"
                )));
            }
        }
        let fields = fields.as_object().filter(|fields| !fields.is_empty());
        let fields = fields.ok_or_else(|| Problem::bad_request("web: send an object of fields"))?;
        for (field, value) in fields {
            let (key, value) = setting_of(field, value)?;
            changes.push((format!("channels.web.{field}"), key.to_owned(), value));
        }
    }
    Ok(changes)
}

fn setting_of(field: &str, value: &Value) -> Result<(&'static str, Value), Problem> {
    match field {
        "host" => Ok(("server.host", value.clone())),
        "port" => Ok(("server.port", value.clone())),
        "debounce_ms" => {
            let wait = value.as_u64().filter(|wait| *wait <= DEBOUNCE_MAX);
            let wait = wait.ok_or_else(|| {
                Problem::unprocessable(format!("debounce_ms: a number from 0 to {DEBOUNCE_MAX}"))
            })?;
            Ok(("channels.web.debounce", json!(format!("{wait}ms"))))
        }
        "enabled" | "static_dir" => {
            Err(Problem::bad_request(format!("web.{field}: can't be changed; the web UI is always served")))
        }
        _ => Err(Problem::bad_request(format!("web has no field {field}; nothing was changed"))),
    }
}
