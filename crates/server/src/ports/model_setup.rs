//! The port to language models: state, choices, a trial, and selecting one.

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Finds, tries and selects language models. The server itself connects to none.
#[async_trait]
pub trait ModelSetup: Send + Sync {
    async fn show(&self) -> Result<ModelConfiguration, ModelSetupError>;
    /// The model servers found on this machine.
    async fn local_servers(&self) -> Vec<LocalModelServer>;
    /// The models of an endpoint, by name.
    async fn list(&self, choice: ModelChoice) -> Result<Vec<String>, ModelSetupError>;
    /// Asks a model for a sentence. Nothing is stored.
    async fn test_model(
        &self,
        choice: ModelChoice,
        language: String,
    ) -> Result<BoxStream<'static, ModelTryEvent>, ModelSetupError>;
    /// Selects the model to use from now on.
    async fn choose(&self, choice: ModelChoice) -> Result<ModelConfiguration, ModelSetupError>;
    /// Checks if the endpoint answers.
    async fn check(&self) -> ModelCheckResponse;
}

/// A model to try or select.
#[derive(Clone, Deserialize, JsonSchema)]
pub struct ModelChoice {
    /// `auto`, `openai` (any compatible endpoint), `anthropic` or `offline`.
    pub provider: String,
    /// The endpoint's address, such as `https://host/v1`; empty for the provider's own.
    #[serde(default)]
    pub base_url: String,
    /// The model's name at the endpoint; empty for the provider's default.
    #[serde(default)]
    pub model: String,
    /// The endpoint's key. If absent, the one in the environment is used, else the one entered for this address.
    /// Empty: delete the entered one.
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
    /// Environment variables that are set and sent to the provider's own address.
    pub environment_keys: Vec<EnvironmentKey>,
    /// Settings that environment variables override, so that a selection has no effect on them.
    pub overridden_by_environment: Vec<String>,
    /// The model in use now.
    pub answering: LlmState,
}

/// Facts about a key, without the key.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelKey {
    /// The place that the key comes from.
    pub source: KeySource,
    /// The environment variable that is preferred to the entered key; empty if there is none.
    pub variable: String,
    /// The last characters of an entered key; empty for a short one.
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
    /// Entered in the web UI; stored in `secrets.toml`.
    Entered,
    /// No key is set for this address.
    None,
}

/// A model server on this machine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LocalModelServer {
    /// `Ollama`, `LM Studio` or `llama.cpp`.
    pub name: String,
    /// The address of the server.
    pub base_url: String,
    /// The server's chat models; may be empty.
    pub models: Vec<String>,
}

/// Progress of trying a model.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ModelTryEvent {
    /// The next piece of the answer.
    Piece {
        /// The text of the piece.
        text: String,
    },
    /// The answer is complete.
    Done {
        /// The model, as the endpoint names it.
        model: String,
        /// Milliseconds from the request to the first token.
        first_words_ms: u64,
        /// Milliseconds from the request to the end.
        whole_ms: u64,
        /// Speed of the answer after its first piece; null for an answer of one piece.
        tokens_per_second: Option<f64>,
    },
    /// The answer was interrupted.
    Failed {
        /// The reason, for a person.
        detail: String,
        /// Stable name of the reason, as for a refusal before the answer.
        code: &'static str,
    },
}

/// Result of checking the language model.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelCheckResponse {
    /// True if the endpoint answers.
    pub ok: bool,
    /// The result, for a person.
    pub detail: String,
    /// The model in use now.
    pub llm: LlmState,
}

/// Why a model can't be used.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{detail}")]
pub struct ModelSetupError {
    pub fault: ModelFault,
    /// The reason, for a person.
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFault {
    /// The key is missing or refused.
    Key,
    /// The address is invalid, or there is no server.
    Address,
    Model,
    /// The files of the home can't be read or written.
    Files,
}

impl ModelFault {
    /// The error code for programs.
    pub fn error_code(self) -> &'static str {
        match self {
            Self::Key => "model_key",
            Self::Address => "model_address",
            Self::Model => "model_name",
            Self::Files => "model_files",
        }
    }
}

/// The models in use now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ActiveModels {
    /// State of the language model.
    pub llm: LlmState,
    /// State of the embedding model.
    pub embedding: EmbeddingState,
}

/// State of the current language model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LlmState {
    /// `openai`, `anthropic` or `offline`.
    pub provider: String,
    /// The model of the conversation.
    pub model: Option<String>,
    /// True if no model is available and replies are scripted.
    pub offline: bool,
    /// A notice about the state of the language model, for the user.
    pub notice: Option<String>,
}

/// State of the current embedding model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EmbeddingState {
    /// Either `local` or `openai`.
    pub provider: Option<String>,
    /// The name of the model.
    pub model: Option<String>,
    /// True if memory uses words only.
    pub words_only: bool,
}
