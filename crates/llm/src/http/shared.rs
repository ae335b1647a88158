//! State shared by all attempts of a provider, and the parsing of an answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use outgoing::mask_key;
use parking_lot::Mutex;
use reqwest::Client;
use secrecy::SecretString;
use tokio::sync::Semaphore;

use super::{Capabilities, MAX_ANSWER_BYTES, Protocol};
use crate::{LlmError, ModelTier, Request, RetryTimer, TierModels, Usage};

pub(super) struct SharedState<P> {
    pub(super) protocol: P,
    pub(super) client: Client,
    pub(super) models: TierModels,
    pub(super) secret: Option<SecretString>,
    pub(super) limits: Limits,
    /// Limits concurrent calls; further ones wait here rather than be refused by the provider.
    pub(super) in_flight: Arc<Semaphore>,
    pub(super) pauses: Arc<dyn RetryTimer>,
    /// Capabilities by model: one address may serve models with different abilities.
    pub(super) accepted: Mutex<HashMap<String, Capabilities>>,
}

/// The time limits of one attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) first_token: Duration,
    pub(super) idle: Duration,
    pub(super) whole: Duration,
    pub(super) max_retries: u32,
}

impl<P: Protocol> SharedState<P> {
    pub(super) fn model(&self, tier: ModelTier) -> &str {
        self.models.for_tier(tier)
    }

    pub(super) fn too_large_error(&self) -> LlmError {
        LlmError::fatal_error(format!(
            "The response of the language model at {} is too large (over {} KiB) and was discarded. Nothing \
                was lost; choose another model if it happens again.",
            self.protocol.host(),
            MAX_ANSWER_BYTES / 1024
        ))
    }

    /// Removes the key from a text, as an endpoint may repeat it.
    pub(super) fn without_secret(&self, error: LlmError) -> LlmError {
        error.map_message(|message| mask_key(message, self.secret.as_ref()))
    }
}

/// Estimates tokens for an endpoint that reports none: one for each ideograph, one for each four other characters.
/// That is too coarse for bills, but enough for a daily cap.
pub(super) fn estimate_tokens(request: &Request, text: &str) -> Usage {
    Usage {
        input_tokens: estimated_tokens(&request.system) + estimated_tokens(&request.user),
        output_tokens: estimated_tokens(text),
        cached_tokens: 0,
        reported: false,
    }
}

pub(super) fn estimated_tokens(text: &str) -> u64 {
    let wide = text.chars().filter(|letter| *letter >= '\u{2e80}').count();
    let narrow = text.chars().count() - wide;
    u64::try_from(wide + narrow.div_ceil(4)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_counts_ideographs_one_by_one() {
        assert_eq!(estimated_tokens("我养了只白猫"), 6);
        assert_eq!(estimated_tokens("a white cat"), 3);
        assert_eq!(estimated_tokens(""), 0);
    }
}
