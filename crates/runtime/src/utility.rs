//! Prompts that a chat program writes for the model itself, for example to get a title for the chat.

use memory::identifiers::TurnId;
use memory::ledger::TokenUsage;
use memory::ports::MindError;

use crate::core::RuntimeCore;

/// The answer to a prompt that does not involve the persona.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UtilityAnswer {
    pub text: String,
    pub usage: TokenUsage,
}

/// Why a prompt was not answered. Nothing was stored.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum UtilityError {
    /// Only the offline provider is available.
    #[error(
        "no language model is configured: choose one under [llm], or switch such tasks off in the program \
            that sends them"
    )]
    NoModel,
    /// The day's spending cap is reached.
    #[error(
        "the daily spending cap is reached, or today's spending is unknown: raise llm.daily_spend_cap, or \
            wait until tomorrow"
    )]
    SpendingCap,
    #[error(transparent)]
    Model(#[from] MindError),
}

impl UtilityError {
    /// True if the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::SpendingCap | Self::Model(MindError::Transient(_)))
    }

    /// The reason without text of the prompt or the answer.
    pub fn log_description(&self) -> String {
        match self {
            Self::NoModel | Self::SpendingCap => self.to_string(),
            Self::Model(error) => error.log_description().to_owned(),
        }
    }
}

impl RuntimeCore {
    /// Answers a prompt without memory and without the persona. Only its cost is stored, under `id`.
    ///
    /// # Errors
    ///
    /// When the day's spending cap is reached, no language model is configured, or the model fails.
    pub async fn answer_utility(&self, prompt: &str, id: TurnId) -> Result<UtilityAnswer, UtilityError> {
        if self.mind().is_offline() {
            return Err(UtilityError::NoModel);
        }
        if !self.may_spend().await {
            return Err(UtilityError::SpendingCap);
        }
        let (text, usage) = self.mind().answer_utility(prompt, id).await?;
        Ok(UtilityAnswer { text, usage })
    }
}
