//! Reports each call to a language model exactly once, however it ends.

use std::sync::Arc;

use llm::{ModelTier, Usage};
use memory::identifiers::{SessionId, TurnId};
use memory::ledger::{ModelCall, TokenUsage};
use memory::ports::Clock;

/// Receives every call, including failed and abandoned ones. Must not block: it is called between tokens.
pub trait CallObserver: Send + Sync {
    /// A call has ended.
    fn observe(&self, call: ModelCall);
}

/// Outcome of a call whose answer is complete.
pub const OUTCOME_OK: &str = "ok";
/// Outcome of a call whose answer was unusable.
pub(crate) const OUTCOME_MALFORMED: &str = "malformed";
/// Outcome of a call whose caller did not wait for its end.
pub(crate) const OUTCOME_ABANDONED: &str = "abandoned";

/// The task of a call and its prompt.
#[derive(Clone, Debug, Default)]
pub struct Purpose {
    /// The turn, if any.
    pub turn_id: Option<TurnId>,
    /// The session, if any.
    pub session_id: Option<SessionId>,
    /// Digest of the prompt; empty if there is none.
    pub prompt_hash: String,
}

/// A call in progress. If it is dropped before [`Self::report_end`], it is reported as abandoned.
pub struct CallInFlight {
    observer: Arc<dyn CallObserver>,
    clock: Arc<dyn Clock>,
    call: Option<ModelCall>,
}

impl CallInFlight {
    /// Starts recording a call. `input_tokens` is an estimate, used until the provider reports the count.
    pub fn begin(
        observer: Arc<dyn CallObserver>,
        clock: Arc<dyn Clock>,
        provider: &dyn llm::Provider,
        request: &llm::Request,
        purpose: Purpose,
    ) -> Self {
        let tier: ModelTier = request.tier;
        let call = ModelCall {
            at: clock.now(),
            task: request.task.clone(),
            tier: tier.as_str().to_owned(),
            provider: provider.name().to_owned(),
            model: provider.model(tier),
            input_tokens: estimate_tokens(&request.system) + estimate_tokens(&request.user),
            output_tokens: 0,
            cached_tokens: 0,
            latency_ms: 0,
            outcome: String::new(),
            turn_id: purpose.turn_id,
            session_id: purpose.session_id,
            prompt_hash: purpose.prompt_hash,
            cost_usd: None,
        };
        Self { observer, clock, call: Some(call) }
    }

    /// Adds a piece of the answer to the estimated output tokens.
    pub(crate) fn count_output(&mut self, text: &str) {
        if let Some(call) = &mut self.call {
            call.output_tokens += estimate_tokens(text);
        }
    }

    /// Replaces the estimates by the provider's own numbers.
    pub fn set_reported_usage(&mut self, usage: Usage, model: &str) {
        if let Some(call) = &mut self.call {
            call.input_tokens = usage.input_tokens;
            call.output_tokens = usage.output_tokens;
            call.cached_tokens = usage.cached_tokens;
            model.clone_into(&mut call.model);
        }
    }

    /// Tokens so far, as reported or estimated.
    pub(crate) fn usage(&self) -> TokenUsage {
        self.call.as_ref().map_or_else(TokenUsage::default, ModelCall::usage)
    }

    /// Ends the recording and reports the call to the observer; later calls do nothing.
    pub fn report_end(&mut self, outcome: &str) {
        if let Some(mut call) = self.call.take() {
            let elapsed = self.clock.now().duration_since(call.at);
            call.latency_ms = u64::try_from(elapsed.as_millis()).unwrap_or(0);
            outcome.clone_into(&mut call.outcome);
            self.observer.observe(call);
        }
    }
}

impl Drop for CallInFlight {
    fn drop(&mut self) {
        self.report_end(OUTCOME_ABANDONED);
    }
}

fn estimate_tokens(text: &str) -> u64 {
    u64::from(memory::text::estimate_tokens(text))
}
