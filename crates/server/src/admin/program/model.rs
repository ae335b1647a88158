//! The language model: state, choices, a trial, and selecting one. Keys are accepted here and never returned.

use std::convert::Infallible;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::{Admin, Principal};
use crate::extract::{self, run_detached};
use crate::ports::configuration::ConfigAuthor;
use crate::ports::model_setup::{
    LocalModelServer, ModelCheckResponse, ModelChoice, ModelConfiguration, ModelFault, ModelSetupError,
};
use crate::problem::Problem;
use crate::state::App;

/// The path for trying a model.
pub(crate) const TRY_PATH: &str = "/api/admin/model/try";
/// Maximum bytes of an address, name or key. Keys of some providers have hundreds.
const FIELD_LENGTH_MAX: usize = 2_048;

impl From<ModelSetupError> for Problem {
    fn from(error: ModelSetupError) -> Self {
        match error.fault {
            ModelFault::Files => Self::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, error.detail),
            _ => Self::unprocessable(error.detail),
        }
        .with_code(error.fault.error_code())
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct LocalModelServers {
    servers: Vec<LocalModelServer>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct OfferedModels {
    models: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ModelTryRequest {
    #[serde(flatten)]
    choice: ModelChoice,
    /// The language of the trial's answer, `en` or `zh`.
    #[serde(default)]
    language: String,
}

/// Handler of `GET /api/admin/model`.
pub(crate) async fn show(
    State(app): State<App>,
    Admin(_): Admin,
) -> Result<Json<ModelConfiguration>, Problem> {
    Ok(Json(app.parts.model_setup.show().await?))
}

/// Handler of `GET /api/admin/model/local`: asks the default ports of model servers on this machine only.
pub(crate) async fn local_servers(State(app): State<App>, Admin(_): Admin) -> Json<LocalModelServers> {
    Json(LocalModelServers { servers: app.parts.model_setup.local_servers().await })
}

pub(crate) async fn list(
    State(app): State<App>,
    Admin(principal): Admin,
    extract::Json(choice): extract::Json<ModelChoice>,
) -> Result<Json<OfferedModels>, Problem> {
    check_choice(&principal, &choice)?;
    Ok(Json(OfferedModels { models: app.parts.model_setup.list(choice).await? }))
}

pub(crate) async fn try_out(
    State(app): State<App>,
    Admin(principal): Admin,
    extract::Json(asked): extract::Json<ModelTryRequest>,
) -> Result<Response, Problem> {
    check_choice(&principal, &asked.choice)?;
    let events = app.parts.model_setup.test_model(asked.choice, asked.language).await?;
    let frames = events.filter_map(async |event| {
        let data = serde_json::to_string(&event).ok()?;
        Some(Ok::<_, Infallible>(Event::default().event("model.try").data(data)))
    });
    let headers = [(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"))];
    Ok((headers, Sse::new(frames)).into_response())
}

pub(crate) async fn choose(
    State(app): State<App>,
    Admin(principal): Admin,
    extract::Json(choice): extract::Json<ModelChoice>,
) -> Result<Json<ModelConfiguration>, Problem> {
    check_choice(&principal, &choice)?;
    let work = async move { Ok(app.parts.model_setup.choose(choice).await?) };
    Ok(Json(run_detached(work).await?))
}

pub(crate) async fn check(State(app): State<App>, Admin(_): Admin) -> Json<ModelCheckResponse> {
    Json(app.parts.model_setup.check().await)
}

/// Refuses a choice by anybody but the owner in a browser: it determines who receives all messages, and may send a
/// key there.
fn check_choice(principal: &Principal, choice: &ModelChoice) -> Result<(), Problem> {
    if ConfigAuthor::from_principal(principal) != ConfigAuthor::Login {
        return Err(Problem::forbidden(
            "the language model receives your messages, so no token can choose it. Sign in to the web UI, \
                or set [llm] in config.toml. Nothing was changed",
        ));
    }
    let fields =
        [&choice.provider, &choice.base_url, &choice.model, choice.key.as_ref().unwrap_or(&choice.model)];
    if fields.iter().any(|field| field.len() > FIELD_LENGTH_MAX || field.chars().any(char::is_control)) {
        return Err(Problem::unprocessable(format!(
            "an address, a name and a key are one line of at most {FIELD_LENGTH_MAX} bytes; nothing was changed"
        )));
    }
    Ok(())
}
