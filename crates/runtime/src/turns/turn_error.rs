//! Reasons for which a turn has no reply.

use memory::capture::CaptureError;
use memory::messages::MESSAGE_LENGTH_MAX;
use memory::ports::StoreError;
use mind::{LlmError, PromptError};

/// Why a turn has no reply. The user's messages are stored in each case.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TurnError {
    #[error(transparent)]
    Model(#[from] LlmError),
    #[error("the language model's reply was empty")]
    Silent,
    #[error("the turn took longer than allowed (limits.turn_timeout)")]
    OutOfTime,
    #[error("The reply was stopped before it began. Your message is saved; ask for a new reply at any time.")]
    Stopped,
    #[error("the reply exceeded {MESSAGE_LENGTH_MAX} characters; the text up to there is saved")]
    Endless,
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error(
        "something that this reply may be based on was erased meanwhile, so the reply was not saved; ask again"
    )]
    Forgotten,
    #[error("the message to reply to was deleted")]
    NothingToAnswer,
    #[error("an internal error stopped the reply; your message is saved, ask again")]
    Defect,
}

impl TurnError {
    /// True if the database was unreachable: the turn stays pending, and is answered later.
    pub(crate) fn is_outage(&self) -> bool {
        let (Self::Store(error) | Self::Capture(CaptureError::Store(error))) = self else { return false };
        matches!(error, StoreError::Busy(_) | StoreError::Unconfirmed(_))
    }

    /// The reason without the endpoint's own message, which may quote what a person said.
    pub(crate) fn log_description(&self) -> String {
        match self {
            Self::Model(error) => format!("the language model failed ({})", error.kind()),
            error => error.to_string(),
        }
    }
}
