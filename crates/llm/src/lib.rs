//! Language-model providers: OpenAI-compatible, Anthropic, and the port that the offline provider implements.
//!
//! [`connect()`] reads [`ProviderSettings`] and returns one [`Provider`]. A provider answers a
//! [`Request`] in one of two ways: [`Provider::complete`] waits for the whole answer,
//! [`Provider::stream`] gives it as it is said. Every failure is an [`LlmError`] whose kind tells the
//! caller what to do next.
//!
//! What every provider promises:
//! - time is bounded (connect, first token, idle between tokens, whole attempt), and so is memory
//!   ([`MAX_ANSWER_BYTES`], [`MAX_EVENT_BYTES`]);
//! - a retry happens only before the first streamed token, and only for errors that may pass;
//! - no secret is ever part of an error, a log line or a `Debug` print;
//! - a stream that ends without its protocol's own end mark is an error after the deltas, so the caller
//!   keeps what was said and knows that it is not all.

mod provider;

mod connect;
mod key;
mod models;
mod sampled;
mod settings;

mod anthropic;
mod openai;

mod error;
mod http;

pub use connect::connect;
pub use error::LlmError;
pub use http::{MAX_ANSWER_BYTES, MAX_EVENT_BYTES};
pub use models::{LocalServer, can_chat, list_models, local_servers};
pub use provider::{AnswerFormat, Completion, ModelTier, Provider, Request, RetryTimer, StreamEvent, Usage};
pub use settings::{LocalEndpoint, OFFLINE, ProviderKind, ProviderSettings, TierModels};
