//! The language model: what answers, what is offered, a try, and the choice. Its key comes in here and never goes out.

use std::convert::Infallible;

use async_trait::async_trait;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::ConfigAuthor;
use crate::auth::{Admin, Principal};
use crate::extract::{self, run_detached};
use crate::problem::Problem;
use crate::state::{App, LlmState};

/// The path for trying a model.
pub(crate) const TRY_PATH: &str = "/api/admin/model/try";
/// Longest address, name or key, in bytes.
const FIELD_LENGTH_MAX: usize = 2_048;

/// Finds, tries and chooses language models. The server itself speaks with none.
#[async_trait]
pub trait ModelSetup: Send + Sync {
    async fn show(&self) -> Result<ModelConfiguration, ModelSetupError>;
    /// The model servers that answer on this machine.
    async fn local_servers(&self) -> Vec<LocalModelServer>;
    /// The models that an endpoint offers, by name.
    async fn list(&self, choice: ModelChoice) -> Result<Vec<String>, ModelSetupError>;
    /// Asks a model for one sentence. Nothing is stored.
    async fn try_out(
        &self,
        choice: ModelChoice,
        language: String,
    ) -> Result<BoxStream<'static, ModelTryEvent>, ModelSetupError>;
    /// Makes a model the one that answers, from now on.
    async fn choose(&self, choice: ModelChoice) -> Result<ModelConfiguration, ModelSetupError>;
    /// Asks the endpoint whether it answers.
    async fn check(&self) -> ModelCheckResponse;
}

/// A model that could answer.
#[derive(Clone, Deserialize, JsonSchema)]
pub struct ModelChoice {
    /// `auto`, `openai` (any compatible endpoint), `anthropic` or `offline`.
    pub provider: String,
    /// The endpoint's address, as `https://host/v1`; empty for the provider's own.
    #[serde(default)]
    pub base_url: String,
    /// Its name at the endpoint; empty for the provider's default.
    #[serde(default)]
    pub model: String,
    /// The endpoint's key. Without it the one in the environment is used, else the one that was entered for this address.
    /// Empty: delete the one that was entered.
    pub key: Option<String>,
}

/// The configuration of the language model.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelConfiguration {
    /// The provider, as configured.
    pub provider: String,
    /// Empty for the provider's own.
    pub base_url: String,
    /// Empty for the provider's default.
    pub model: String,
    /// The state of its key.
    pub key: ModelKey,
    /// Variables that are set, and are sent to the provider's own address.
    pub environment_keys: Vec<EnvironmentKey>,
    /// Settings that the environment sets, so that a choice made here does nothing for them.
    pub overridden_by_environment: Vec<String>,
    /// The model that answers now.
    pub answering: LlmState,
}

/// Facts about a key, without the key.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelKey {
    /// The place that it comes from.
    pub source: KeySource,
    /// The environment variable that is read before the entered key; empty where none is.
    pub variable: String,
    /// The last characters of a key that was entered; empty of a short one.
    pub end: String,
}

/// An environment variable that holds a provider's key.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EnvironmentKey {
    /// Either `openai` or `anthropic`.
    pub provider: String,
    /// The name of the variable.
    pub variable: String,
}

/// The place that a key comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeySource {
    /// The environment of the program.
    Environment,
    /// The page; kept in `secrets.toml`.
    Entered,
    /// There is none for this address.
    None,
}

/// A model server on this machine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LocalModelServer {
    /// `Ollama`, `LM Studio` or `llama.cpp`.
    pub name: String,
    /// The address of the server.
    pub base_url: String,
    /// Its models that hold conversations; may be empty.
    pub models: Vec<String>,
}

/// Progress of trying a model.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ModelTryEvent {
    /// The next part of the answer.
    Piece {
        /// They follow those before.
        text: String,
    },
    /// The answer is complete.
    Done {
        /// The model, as the endpoint names it.
        model: String,
        /// From the question to the first words, in milliseconds.
        first_words_ms: u64,
        /// From the question to the last words, in milliseconds.
        whole_ms: u64,
        /// Speed of the answer after its first part; null for an answer of one part.
        tokens_per_second: Option<f64>,
    },
    /// The answer was cut off.
    Failed {
        /// A sentence for a person.
        detail: String,
        /// As of a refusal before the first words.
        code: &'static str,
    },
}

/// Result of checking the language model.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelCheckResponse {
    /// True if it does.
    pub ok: bool,
    /// A sentence for a person.
    pub detail: String,
    /// The model that answers now.
    pub llm: LlmState,
}

/// An error in a choice of model.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{detail}")]
pub struct ModelSetupError {
    pub fault: ModelFault,
    /// A sentence for a person.
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFault {
    /// The key is missing or refused.
    Key,
    /// The address is none, or nobody answers there.
    Address,
    Model,
    /// The files of the home can't be read or written.
    Files,
}

impl ModelFault {
    /// A word for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Key => "model_key",
            Self::Address => "model_address",
            Self::Model => "model_name",
            Self::Files => "model_files",
        }
    }
}

impl From<ModelSetupError> for Problem {
    fn from(error: ModelSetupError) -> Self {
        match error.fault {
            ModelFault::Files => Self::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, error.detail),
            _ => Self::unprocessable(error.detail),
        }
        .with_code(error.fault.code())
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
    /// The language in which it shall answer, `en` or `zh`.
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

/// `GET /api/admin/model/local`: asks the customary ports of model servers on this machine, and nothing else.
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
    let events = app.parts.model_setup.try_out(asked.choice, asked.language).await?;
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

/// A choice says who receives every word, and may send a key there: only the owner in a browser makes one.
fn check_choice(principal: &Principal, choice: &ModelChoice) -> Result<(), Problem> {
    if ConfigAuthor::of(principal) != ConfigAuthor::Login {
        return Err(Problem::forbidden(
            "the language model receives your words: no token chooses it. Log in on the page, or set [llm] in config.toml. \
             Nothing was changed",
        ));
    }
    let fields =
        [&choice.provider, &choice.base_url, &choice.model, choice.key.as_ref().unwrap_or(&choice.model)];
    if fields.iter().any(|field| field.len() > FIELD_LENGTH_MAX || field.chars().any(char::is_control)) {
        return Err(Problem::unprocessable(format!(
            "an address, a name and a key have at most {FIELD_LENGTH_MAX} bytes and one line; nothing was changed"
        )));
    }
    Ok(())
}
