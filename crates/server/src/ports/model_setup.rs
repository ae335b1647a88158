//! The port to language models: which one answers, what is offered, a try, and the choice.

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Finds, tries and chooses language models. The server itself speaks with none.
#[async_trait]
pub trait ModelSetup: Send + Sync {
    async fn show(&self) -> Result<ModelConfiguration, ModelSetupError>;
    /// The model servers that answer on this machine.
    async fn local_servers(&self) -> Vec<LocalModelServer>;
    /// The models that an endpoint offers, by name.
    async fn list(&self, choice: ModelChoice) -> Result<Vec<String>, ModelSetupError>;
    /// Asks a model for one sentence. Nothing is stored.
    async fn test_model(
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
    /// The model's name at the endpoint; empty for the provider's default.
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
    /// The place that the key comes from.
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
    /// The server's models that hold conversations; may be empty.
    pub models: Vec<String>,
}

/// Progress of trying a model.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ModelTryEvent {
    /// The next part of the answer.
    Piece {
        /// Text that follows the pieces before.
        text: String,
    },
    /// The answer is complete.
    Done {
        /// The model, as the endpoint names it.
        model: String,
        /// Milliseconds from the question to the first words.
        first_words_ms: u64,
        /// Milliseconds from the question to the last words.
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
    /// The address is invalid, or no server answers there.
    Address,
    Model,
    /// The files of the home can't be read or written.
    Files,
}

impl ModelFault {
    /// A word for programs.
    pub fn error_code(self) -> &'static str {
        match self {
            Self::Key => "model_key",
            Self::Address => "model_address",
            Self::Model => "model_name",
            Self::Files => "model_files",
        }
    }
}

/// Models that answer at the moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ActiveModels {
    /// State of the language model.
    pub llm: LlmState,
    /// State of the embedding model.
    pub embedding: EmbeddingState,
}

/// State of the language model that answers.
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

/// State of the embedding model that answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EmbeddingState {
    /// Either `local` or `openai`.
    pub provider: Option<String>,
    /// The name of the model.
    pub model: Option<String>,
    /// True if memory works on words alone.
    pub words_only: bool,
}
