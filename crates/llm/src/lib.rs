//! Providers of language models: OpenAI-compatible, Anthropic, and the port that the offline provider implements.
//!
//! [`connect()`] takes [`ProviderSettings`] and returns a [`Provider`]. A provider answers a [`Request`] in one of
//! two ways: [`Provider::complete`] waits for the whole answer, [`Provider::stream`] streams it. Every failure is an
//! [`LlmError`] whose kind tells the caller what to do.
//!
//! Every provider guarantees:
//! - time is bounded (connect, first token, idle between tokens, whole attempt), and so is memory
//!   ([`MAX_ANSWER_BYTES`], [`MAX_EVENT_BYTES`]);
//! - a retry happens only before the first streamed token, and only for errors that may pass;
//! - no secret is ever part of an error, a log line or a `Debug` print;
//! - a stream that ends without its protocol's end mark is an error after the deltas, so that the caller can use the
//!   text and knows that it is incomplete.

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
