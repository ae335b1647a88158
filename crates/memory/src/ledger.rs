//! What a model call cost and what a reply rested on.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identifiers::{NodeId, TurnId};
use crate::recall::Candidate;

/// One call to a language model, for the cost ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelCall {
    /// When it began.
    pub at: Timestamp,
    /// The task: `reply`, `extraction`, `reflection`, …
    pub task: String,
    /// `small`, `medium` or `large`.
    pub tier: String,
    /// The provider's name.
    pub provider: String,
    /// The model's name.
    pub model: String,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Tokens that the provider had cached.
    pub cached_tokens: u64,
    /// How long it took, in milliseconds.
    pub latency_ms: u64,
    /// `ok`, or the kind of the error.
    pub outcome: String,
    /// The turn it served, if any.
    pub turn_id: Option<TurnId>,
}

/// Tokens of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenUsage {
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Tokens that the provider had cached.
    pub cached_tokens: u64,
}

/// Why the persona said that: stored with each reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// The turn.
    pub turn_id: TurnId,
    /// When the reply was stored.
    pub created_at: Timestamp,
    /// The model that spoke.
    pub model: String,
    /// What it cost in tokens.
    pub usage: TokenUsage,
    /// Digest of the prompt as sent.
    pub prompt_hash: String,
    /// The memories in the prompt, with each term of their scores.
    pub used: Vec<Candidate>,
    /// Nodes that were in the prompt whatever the text.
    pub pinned: Vec<NodeId>,
    /// Sections that the token budget cut or shortened.
    pub cut: Vec<String>,
}
