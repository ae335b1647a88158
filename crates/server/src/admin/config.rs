//! The configuration over HTTP: what is set, and changes while the program runs.

use async_trait::async_trait;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::audit::AuditObject;
use crate::auth::Admin;
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
    async fn change(&self, wanted: Value) -> Result<ConfigUpdate, ConfigurationError>;
    /// Reads the file anew.
    async fn reload(&self) -> Result<ConfigUpdate, ConfigurationError>;
}

/// What a change or a reload did.
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
    /// What was asked names no key that can be set.
    #[error("{0}")]
    NotAKey(String),
    /// A value does not fit, or the file is not right.
    #[error("{0}")]
    BadValue(String),
    /// The file could not be written.
    #[error("{0}")]
    Unwritable(String),
}

/// `GET /api/admin/config`
pub(crate) async fn show(State(app): State<App>, Admin(_): Admin) -> Result<Json<Value>, Problem> {
    Ok(Json(app.parts.configuration.show().await?))
}

/// `PATCH /api/admin/config`
pub(crate) async fn change(
    State(app): State<App>,
    Admin(_): Admin,
    extract::Json(wanted): extract::Json<Value>,
) -> Result<Response, Problem> {
    let work = async move { Ok(app.parts.configuration.change(wanted).await?) };
    let changed = extract::run_detached(work).await?;
    let object = AuditObject(changed.updated_fields.join(" "));
    let answer = json!({
        "updated_fields": changed.updated_fields, "reload_triggered": true, "reloaded": changed.reloaded,
        "restart_required": changed.restart_required, "overridden_by_environment": changed.overridden,
    });
    Ok((axum::Extension(object), Json(answer)).into_response())
}

/// `POST /api/admin/reload`
pub(crate) async fn reload(State(app): State<App>, Admin(_): Admin) -> Result<Response, Problem> {
    let work = async move { Ok(app.parts.configuration.reload().await?) };
    let changed = extract::run_detached(work).await?;
    let object = AuditObject(changed.reloaded.join(" "));
    let answer = json!({
        "ok": true, "reloaded": changed.reloaded, "restart_required": changed.restart_required,
    });
    Ok((axum::Extension(object), Json(answer)).into_response())
}

impl From<ConfigurationError> for Problem {
    fn from(error: ConfigurationError) -> Self {
        let detail = error.to_string();
        match error {
            ConfigurationError::NotAKey(_) => Self::bad_request(detail),
            ConfigurationError::BadValue(_) => Self::unprocessable(detail),
            ConfigurationError::Unwritable(_) => {
                tracing::error!("{detail}");
                Self::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, detail)
            }
        }
    }
}
