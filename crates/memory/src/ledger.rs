//! Costs of model calls, and receipts of replies.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identifiers::{NodeId, SessionId, TurnId};
use crate::recall::{Candidate, OmittedValue};

/// Number of tokens that a price is for, as in the price lists of providers.
const PRICED_TOKENS: f64 = 1_000_000.0;

/// Price of a model, in US dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Price of input tokens that the provider had cached.
    pub cached: f64,
}

impl Price {
    /// US dollars for a call: `((input − cached)·input price + cached·cached price + output·output price) / 10⁶`. The
    /// input includes the cached tokens.
    pub fn cost_in_dollars(&self, usage: TokenUsage) -> f64 {
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let fresh = usage.input_tokens - cached;
        (fresh as f64 * self.input + cached as f64 * self.cached + usage.output_tokens as f64 * self.output)
            / PRICED_TOKENS
    }
}

/// Prices of models, by prefixes of their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices(pub Vec<(String, Price)>);

impl Prices {
    /// The price of a model: that of its name, else of the longest listed prefix, so that a dated release
    /// (`gpt-x-2026-03-05`) gets the price of its family. The offline provider costs nothing.
    pub fn price_of_model(&self, provider: &str, model: &str) -> Option<Price> {
        if provider == "offline" {
            return Some(Price::default());
        }
        let fitting =
            self.0.iter().filter(|(name, _)| model.strip_prefix(name.as_str()).is_some_and(is_release));
        fitting.max_by_key(|(name, _)| name.len()).map(|(_, price)| *price)
    }
}

/// True if the rest of a name after the family is a date or release, such as `-2026-03-05`, `-1106` or `@20260305`. A
/// single digit is another version.
fn is_release(rest: &str) -> bool {
    let date = rest.strip_prefix(['-', '@']).unwrap_or_default();
    rest.is_empty() || rest == "-latest" || date.bytes().take_while(u8::is_ascii_digit).count() >= 4
}

/// One call to a language model, for the cost ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelCall {
    /// Time at which the call began.
    pub at: Timestamp,
    /// The task: `reply`, `extraction`, `reflection`, …
    pub task: String,
    /// `small`, `medium` or `large`.
    pub tier: String,
    /// Name of the provider, as configured.
    pub provider: String,
    /// Name of the model that answered.
    pub model: String,
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Tokens that the provider had cached.
    pub cached_tokens: u64,
    /// Duration of the call, in milliseconds.
    pub latency_ms: u64,
    /// `ok`, or the kind of the error.
    pub outcome: String,
    /// The turn that the call was for, if any.
    pub turn_id: Option<TurnId>,
    /// The session that the call was for, if any.
    pub session_id: Option<SessionId>,
    /// Digest of the prompt and of its templates.
    pub prompt_hash: String,
    /// Cost in US dollars; `None` if the price of the model is unknown.
    pub cost_usd: Option<f64>,
}

impl ModelCall {
    pub fn usage(&self) -> TokenUsage {
        TokenUsage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cached_tokens: self.cached_tokens,
        }
    }
}

/// Costs of one task within a quarter of an hour.
#[derive(Clone, Debug, PartialEq)]
pub struct CallSum {
    /// Start of the quarter of an hour.
    pub quarter: Timestamp,
    pub task: String,
    pub calls: u64,
    /// Calls of models without a known price.
    pub unpriced_calls: u64,
    /// Input, output and cached tokens.
    pub usage: TokenUsage,
    /// US dollars, as far as prices are known.
    pub cost_usd: f64,
}

/// Tokens of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenUsage {
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Tokens that the provider had cached.
    pub cached_tokens: u64,
}

/// A document in a prompt: a memory of another instance, or an entry of a lorebook. It contains no text of the
/// document, so that nothing stays when the document is erased.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsedDocument {
    /// `daily`, `significant` or `lore`.
    pub kind: String,
    /// The day that a memory is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The instance that wrote the document.
    pub source_instance: String,
    /// Relevance to the message, from 0 to 1, on the scale of recall.
    pub relevance: f64,
    /// SHA-256 of the name of an entry's document, in hexadecimal, because the name contains words of the entry. Not
    /// shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub digest: Option<String>,
    /// The document's file name; looked up when the receipt is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// The document's lines about the message; looked up when the receipt is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
}

/// Receipt of a reply: what the reply was based on. Stored with each reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplyReceipt {
    /// The id of the turn.
    pub turn_id: TurnId,
    /// Time at which the reply was stored.
    pub created_at: Timestamp,
    /// The model that wrote the reply.
    pub model: String,
    /// Tokens that the reply cost.
    pub usage: TokenUsage,
    /// Digest of the prompt that was sent.
    pub prompt_hash: String,
    /// The memories in the prompt, with each term of their scores.
    pub used: Vec<Candidate>,
    /// Documents of other instances in the prompt because they are about the message.
    #[serde(default)]
    pub documents: Vec<UsedDocument>,
    /// Number of earlier messages of the conversation in the prompt.
    #[serde(default)]
    pub conversation: u32,
    /// Pinned nodes, which are in every prompt.
    pub pinned: Vec<NodeId>,
    /// Sections that were cut or shortened to fit the token limit.
    pub cut: Vec<String>,
    /// Values that were left out because they were replaced or corrected.
    #[serde(default)]
    pub held_back: Vec<OmittedValue>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_costs_by_the_million_and_cached_tokens_cost_their_own() {
        let price = Price { input: 2.0, output: 8.0, cached: 0.5 };
        let usage = TokenUsage { input_tokens: 1_000_000, output_tokens: 250_000, cached_tokens: 400_000 };
        assert!((price.cost_in_dollars(usage) - (1.2 + 0.2 + 2.0)).abs() < 1e-12);
        let odd = TokenUsage { input_tokens: 10, output_tokens: 0, cached_tokens: 1_000 };
        assert!((price.cost_in_dollars(odd) - 0.000_005).abs() < 1e-12, "never more cached than sent");
    }

    #[test]
    fn a_dated_release_is_found_by_its_family_and_a_namesake_is_not() {
        let price = |input| Price { input, ..Price::default() };
        let prices = Prices(vec![("gpt-x".to_owned(), price(2.0)), ("gpt-x-mini".to_owned(), price(1.0))]);
        assert_eq!(prices.price_of_model("openai", "gpt-x-2026-03-05"), Some(price(2.0)));
        assert_eq!(prices.price_of_model("openai", "gpt-x-mini-2026-03-05"), Some(price(1.0)));
        for namesake in ["gpt-xl", "gpt-x-large", "gpt-x-5"] {
            assert_eq!(prices.price_of_model("openai", namesake), None, "{namesake}");
        }
        assert_eq!(prices.price_of_model("offline", "offline"), Some(Price::default()));
    }
}
