//! The configuration over HTTP: current values, and changes while the program runs.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::admin::program::audit::AuditObject;
use crate::auth::{Admin, Principal};
use crate::extract;
use crate::legacy::config::{LegacySections, add_sections, rename_keys};
use crate::ports::configuration::{ConfigAuthor, ConfigurationError};
use crate::problem::Problem;
use crate::state::App;

impl ConfigAuthor {
    pub(crate) fn from_principal(principal: &Principal) -> Self {
        match (principal.is_owner(), principal.login.is_some()) {
            (false, _) => Self::NamedToken,
            (true, false) => Self::OwnerToken,
            (true, true) => Self::Login,
        }
    }
}

/// All settings by section, and each with its default and whether it can change while the program runs.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes what `show` returns")]
pub(crate) struct ConfigResponse {
    #[serde(flatten)]
    legacy: LegacySections,
    settings: BTreeMap<String, SettingBody>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes what `Configuration::settings` returns")]
struct SettingBody {
    value: Value,
    default: Value,
    /// True if a change takes effect without a restart.
    live: bool,
    /// The value after a restart.
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
    let mut config = json!({"settings": app.parts.configuration.settings().await?});
    add_sections(&app, &mut config).await?;
    Ok(Json(config).into_response())
}

pub(crate) async fn change(
    State(app): State<App>,
    Admin(principal): Admin,
    extract::Json(mut wanted): extract::Json<Value>,
) -> Result<(Extension<AuditObject>, Json<ConfigChangeResponse>), Problem> {
    let author = ConfigAuthor::from_principal(&principal);
    let earlier_names = rename_keys(&mut wanted);
    let work = async move { Ok(app.parts.configuration.change(wanted, author).await?) };
    let mut changed = extract::run_detached(work).await?;
    for field in &mut changed.updated_fields {
        if let Some(earlier) = earlier_names.get(field.as_str()) {
            (*earlier).clone_into(field);
        }
    }
    changed.updated_fields.sort();
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
