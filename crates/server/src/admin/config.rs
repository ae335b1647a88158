//! The configuration over HTTP: what is set, and changes while the program runs.

use std::collections::BTreeMap;

use async_trait::async_trait;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::audit::AuditObject;
use super::voice::VoiceProgram;
use crate::auth::{Admin, Principal};
use crate::extract;
use crate::problem::Problem;
use crate::state::App;

/// Reads and changes what a person can set. The server knows nothing of the keys.
#[async_trait]
pub trait Configuration: Send + Sync {
    /// All that is set, as `GET /api/admin/config` answers it.
    async fn show(&self) -> Result<Value, ConfigurationError>;
    /// Sets keys, given as `{section: {key: value}}` or `{"section.key": value}`: in the file, and for the running
    /// program where it can.
    async fn change(&self, wanted: Value, author: ConfigAuthor) -> Result<ConfigUpdate, ConfigurationError>;
    /// Reads the file again.
    async fn reload(&self) -> Result<ConfigUpdate, ConfigurationError>;
    /// Local programs that can speak or hear.
    async fn voice_programs(&self) -> Vec<VoiceProgram> {
        Vec::new()
    }
    /// Has one of them speak, or hear.
    async fn use_voice_program(&self, name: &str) -> Result<ConfigUpdate, ConfigurationError> {
        Err(ConfigurationError::NotAKey(format!("{name} is not installed")))
    }
}

/// Author of a configuration change over HTTP, by the trust in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigAuthor {
    /// A named token with the scope `admin`.
    NamedToken,
    /// The owner's token, which programs hold too.
    OwnerToken,
    /// The owner in a browser.
    Login,
}

impl ConfigAuthor {
    pub(super) fn of(principal: &Principal) -> Self {
        match (principal.is_owner(), principal.login.is_some()) {
            (false, _) => Self::NamedToken,
            (true, false) => Self::OwnerToken,
            (true, true) => Self::Login,
        }
    }
}

/// The result of a change or a reload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigUpdate {
    /// The keys that were asked for, by the names that they were asked by; sorted.
    pub updated_fields: Vec<String>,
    /// Keys whose new values hold now; sorted.
    pub reloaded: Vec<String>,
    /// Keys whose new values wait for a restart; sorted.
    pub restart_required: Vec<String>,
    /// Keys that the environment sets, so that the file's values do nothing; sorted.
    pub overridden: Vec<String>,
}

/// Why the configuration stays as it was.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ConfigurationError {
    /// The request names no key that can be set.
    #[error("{0}")]
    NotAKey(String),
    /// This author may not change this key; the text says who may.
    #[error("{0}")]
    Protected(String),
    /// A value does not fit, or the file is not right.
    #[error("{0}")]
    BadValue(String),
    /// The file could not be written.
    #[error("{0}")]
    Unwritable(String),
}

/// All settings by section, and each with its default and whether it can change while the program runs.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes what `Configuration::show` returns")]
pub(crate) struct ConfigResponse {
    #[schemars(skip_serializing_if = "Option::is_none")]
    llm: Option<Map<String, Value>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    persona: Option<Map<String, Value>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    memory: Option<Map<String, Value>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    consolidate: Option<Map<String, Value>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    system: Option<BTreeMap<String, SystemValue>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    channels: Option<Map<String, Value>>,
    settings: BTreeMap<String, SettingBody>,
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes what `Configuration::show` returns")]
enum SystemValue {
    Text(String),
    Number(i64),
    Unset(()),
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes what `Configuration::show` returns")]
struct SettingBody {
    value: Value,
    default: Value,
    /// True if a change holds without a restart.
    live: bool,
    /// The value that holds after a restart.
    #[schemars(skip_serializing_if = "Option::is_none")]
    pending: Option<Value>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ConfigChangeResponse {
    updated_fields: Vec<String>,
    reload_triggered: bool,
    reloaded: Vec<String>,
    restart_required: Vec<String>,
    overridden_by_environment: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ReloadResponse {
    ok: bool,
    reloaded: Vec<String>,
    restart_required: Vec<String>,
}

/// Handler of `GET /api/admin/config`.
pub(crate) async fn show(State(app): State<App>, Admin(_): Admin) -> Result<Response, Problem> {
    Ok(Json(app.parts.configuration.show().await?).into_response())
}

pub(crate) async fn change(
    State(app): State<App>,
    Admin(principal): Admin,
    extract::Json(wanted): extract::Json<Value>,
) -> Result<(Extension<AuditObject>, Json<ConfigChangeResponse>), Problem> {
    let author = ConfigAuthor::of(&principal);
    let work = async move { Ok(app.parts.configuration.change(wanted, author).await?) };
    let changed = extract::run_detached(work).await?;
    let object = AuditObject(changed.updated_fields.join(" "));
    let answer = ConfigChangeResponse {
        updated_fields: changed.updated_fields,
        reload_triggered: true,
        reloaded: changed.reloaded,
        restart_required: changed.restart_required,
        overridden_by_environment: changed.overridden,
    };
    Ok((Extension(object), Json(answer)))
}

pub(crate) async fn reload(
    State(app): State<App>,
    Admin(_): Admin,
) -> Result<(Extension<AuditObject>, Json<ReloadResponse>), Problem> {
    let work = async move { Ok(app.parts.configuration.reload().await?) };
    let changed = extract::run_detached(work).await?;
    let object = AuditObject(changed.reloaded.join(" "));
    let answer =
        ReloadResponse { ok: true, reloaded: changed.reloaded, restart_required: changed.restart_required };
    Ok((Extension(object), Json(answer)))
}

impl From<ConfigurationError> for Problem {
    fn from(error: ConfigurationError) -> Self {
        let detail = error.to_string();
        match error {
            ConfigurationError::NotAKey(_) => Self::bad_request(detail),
            ConfigurationError::Protected(_) => Self::forbidden(detail),
            ConfigurationError::BadValue(_) => Self::unprocessable(detail),
            ConfigurationError::Unwritable(_) => {
                tracing::error!("{detail}");
                Self::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, detail)
            }
        }
    }
}
