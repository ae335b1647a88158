//! Parts shared by complete and streamed replies.

use axum::http::StatusCode;
use memory::ledger::TokenUsage;
use schemars::JsonSchema;
use serde::Serialize;

use crate::problem::Problem;

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum AssistantRole {
    Assistant,
}

/// Reason of the end of a reply: `length` if the model was interrupted.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum FinishReason {
    Stop,
    Length,
}

impl FinishReason {
    pub(super) fn from_incomplete(incomplete: bool) -> Self {
        if incomplete { Self::Length } else { Self::Stop }
    }
}

/// Tokens of a reply.
#[derive(Serialize, JsonSchema)]
pub(super) struct UsageBody {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    prompt_tokens_details: PromptTokens,
}

#[derive(Serialize, JsonSchema)]
struct PromptTokens {
    cached_tokens: u64,
}

impl From<TokenUsage> for UsageBody {
    fn from(usage: TokenUsage) -> Self {
        Self {
            prompt_tokens: usage.input_tokens,
            completion_tokens: usage.output_tokens,
            total_tokens: usage.input_tokens + usage.output_tokens,
            prompt_tokens_details: PromptTokens { cached_tokens: usage.cached_tokens },
        }
    }
}

/// The error for a missing reply: 503 if another request may help, 502 if a person has to act first.
pub(super) fn no_reply(reason: String, retryable: bool) -> Problem {
    let status = if retryable { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::BAD_GATEWAY };
    Problem::new(status, reason).with_code("no_reply")
}

pub(super) fn interrupted_reply() -> Problem {
    Problem::unavailable(
        "EchoVessel is stopping; the message is saved and gets its reply after the next start",
    )
}
