//! The port: what is asked of a language model and what comes back.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};

use crate::LlmError;

/// A language model that answers.
#[async_trait]
pub trait Provider: Send + Sync {
    /// `"openai"`, `"anthropic"` or `"offline"`.
    fn name(&self) -> &'static str;

    /// The model that answers requests of this tier.
    fn model(&self, tier: ModelTier) -> String;

    /// Host and port that requests go to, for display; `None` if no request leaves the process.
    fn endpoint(&self) -> Option<String> {
        None
    }

    /// Most tokens of a request and its answer; `None` where the endpoint does not say it.
    fn context_tokens(&self) -> Option<u32> {
        None
    }

    /// Asks and waits for the whole answer.
    ///
    /// # Errors
    /// See [`LlmError`]. Errors that may pass were already retried `max_retries` times.
    async fn complete(&self, request: Request) -> Result<Completion, LlmError>;

    /// Asks and gives the answer as it is said: any number of [`StreamEvent::Delta`], then exactly one
    /// [`StreamEvent::Finished`]; or an error, after which nothing follows.
    ///
    /// Returns when the first words are there, so an error before them is the outer `Err` (and was
    /// retried when that may help). An error inside the stream comes after words were said and is never
    /// retried. Dropping the stream closes the connection.
    ///
    /// # Errors
    /// See [`LlmError`].
    async fn stream(
        &self,
        request: Request,
    ) -> Result<BoxStream<'static, Result<StreamEvent, LlmError>>, LlmError>;
}

/// The ability that a task needs.
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

/// One question to a language model.
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
    /// Sampling temperature; the model's own when absent.
    pub temperature: Option<f32>,
    /// Upper bound on the answer's tokens; the provider's own when absent.
    pub max_tokens: Option<u32>,
    /// The values of the prompt as data. Network providers ignore it; the offline provider answers from it.
    pub inputs: serde_json::Value,
}

/// The form an answer is asked in. It is a wish: the caller still parses and checks.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerFormat {
    Text,
    Json {
        /// The contract's name, sent along with the schema.
        name: String,
        /// JSON schema of the object.
        schema: serde_json::Value,
    },
}

/// Cost of an answer, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, cached ones included.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// The part of `input_tokens` that came from the provider's cache.
    pub cached_tokens: u64,
    /// True if the provider counted. When false, the numbers are an estimate from the text's length.
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
    /// From the first attempt to the last byte, waits between attempts included.
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

/// Waits and randomness, passed in so that a test or a simulated year needs no real time.
pub trait RetryTimer: Send + Sync {
    /// Completes when the duration has passed.
    fn pause(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// A number in `[0, 1)` that spreads retries of many callers.
    fn jitter(&self) -> f64;
}
