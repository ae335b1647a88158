//! Prompts that a chat program writes for the model itself, as a title for a chat.

use memory::ledger::TokenUsage;
use memory::ports::MindError;

use crate::runtime::Runtime;

/// The answer to a prompt that the persona knows nothing of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UtilityAnswer {
    /// Names this answer alone.
    pub id: String,
    /// The answer.
    pub text: String,
    /// What it took.
    pub usage: TokenUsage,
}

impl Runtime {
    /// Answers a prompt without memory and without the persona. Stored is only what it cost.
    ///
    /// # Errors
    /// When the day's spending cap is reached, no language model is configured, or the model fails.
    pub async fn answer_utility(&self, prompt: &str) -> Result<UtilityAnswer, MindError> {
        if self.mind().is_offline() {
            return Err(MindError::Permanent("no language model is configured".to_owned()));
        }
        if !self.runtime().may_spend().await {
            let reason =
                "the day's spending cap is reached, or what was spent is not known (llm.daily_spend_cap)";
            return Err(MindError::Transient(reason.to_owned()));
        }
        let (text, usage) = self.mind().answer_utility(prompt).await?;
        let runtime = self.runtime();
        let id = runtime.ids().next(runtime.clock().now()).to_string();
        Ok(UtilityAnswer { id, text, usage })
    }
}
