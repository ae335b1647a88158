//! The port to language models: requests and answers.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};

use crate::LlmError;

/// A source of answers: a language model, or the offline provider.
#[async_trait]
pub trait Provider: Send + Sync {
    /// `"openai"`, `"anthropic"` or `"offline"`.
    fn name(&self) -> &'static str;

    /// The name of the model used for this tier.
    fn model(&self, tier: ModelTier) -> String;

    /// Host and port that requests go to, for display; `None` if no request leaves the process.
    fn endpoint(&self) -> Option<String> {
        None
    }

    /// Maximum tokens of a request and its answer; `None` if the endpoint does not report it.
    fn context_tokens(&self) -> Option<u32> {
        None
    }

    /// Sends a request and waits for the complete answer.
    ///
    /// # Errors
    ///
    /// See [`LlmError`]. Errors that may pass were already retried `max_retries` times.
    async fn complete(&self, request: Request) -> Result<Completion, LlmError>;

    /// Sends a request and streams the answer: any number of [`StreamEvent::Delta`], then exactly one
    /// [`StreamEvent::Finished`]; or an error, after which nothing follows.
    ///
    /// Returns once the first text has arrived, so an earlier error is the outer `Err` (and was retried if that may
    /// help). An error inside the stream comes after some text and is never retried. Dropping the stream closes the
    /// connection.
    ///
    /// # Errors
    ///
    /// See [`LlmError`].
    async fn stream(
        &self,
        request: Request,
    ) -> Result<BoxStream<'static, Result<StreamEvent, LlmError>>, LlmError>;
}

/// The class of model that a task needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelTier {
    Small,
    /// Reflection, slow cycle, roll-ups.
    Medium,
    /// The conversation itself, proactive messages.
    Large,
}

impl ModelTier {
    /// `"small"`, `"medium"` or `"large"`, as in configuration and the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ModelTier::Small => "small",
            ModelTier::Medium => "medium",
            ModelTier::Large => "large",
        }
    }
}

/// A request to a language model.
#[derive(Debug, Clone)]
pub struct Request {
    /// The task's name in the contract table: `"reply"`, `"extraction"`, `"reflection"`, …
    pub task: String,
    /// The tier of the model to use.
    pub tier: ModelTier,
    pub system: String,
    pub user: String,
    /// The form of the answer.
    pub answer: AnswerFormat,
    /// Sampling temperature; `None` for the model's default.
    pub temperature: Option<f32>,
    /// Maximum tokens of the answer; `None` for the provider's default.
    pub max_tokens: Option<u32>,
    /// The values in the prompt as data. The offline provider answers from them; network providers ignore them.
    pub inputs: serde_json::Value,
}

/// The requested form of an answer. It is not guaranteed: the caller still parses and checks.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerFormat {
    Text,
    Json {
        /// The contract's name, sent together with the schema.
        name: String,
        /// JSON schema of the object.
        schema: serde_json::Value,
    },
}

/// Cost of an answer, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens, including cached ones.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// The part of `input_tokens` that came from the provider's cache.
    pub cached_tokens: u64,
    /// True if the provider reported the counts. Otherwise they are estimated from the text's length.
    pub reported: bool,
}

/// A complete answer with its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// The text of the answer.
    pub text: String,
    pub usage: Usage,
    /// The model that answered, as the endpoint names it.
    pub model: String,
    /// [`Provider::name`] of who answered.
    pub provider: String,
    /// Time from the first attempt to the last byte, including waits between attempts.
    pub latency: Duration,
}

/// One piece of a streamed answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// The next piece of text; never empty.
    Delta(String),
    /// The end of a complete answer.
    Finished {
        usage: Usage,
        /// The model that answered, as the endpoint names it.
        model: String,
    },
}

/// Pauses and randomness, passed in so that a test or a simulated year needs no real time.
pub trait RetryTimer: Send + Sync {
    /// Returns after the duration.
    fn pause(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// A number in `[0, 1)` that spreads retries of many callers.
    fn jitter(&self) -> f64;
}
