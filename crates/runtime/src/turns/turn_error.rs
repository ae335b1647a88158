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
    #[error("the language model said nothing")]
    Silent,
    #[error("the turn took longer than allowed (limits.turn_timeout)")]
    OutOfTime,
    #[error("it was stopped before the first word; what you said is safe, ask again when you like")]
    Stopped,
    #[error("the reply grew beyond {MESSAGE_LENGTH_MAX} characters; what was said up to there is kept")]
    Endless,
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error(
        "something that this reply may have rested on was forgotten meanwhile, so it was not kept; ask again"
    )]
    Forgotten,
    #[error("what was to be answered here was deleted")]
    NothingToAnswer,
    #[error("a defect of EchoVessel stopped the turn; what you said is safe, ask again")]
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
