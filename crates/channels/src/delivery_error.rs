//! Why a platform did not accept a message, or did not give a file.

use std::time::Duration;

/// Why a piece was not delivered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// The platform asks for a pause of this length.
    #[error("the platform's rate limit asks to wait {} s", .0.as_secs())]
    Wait(Duration),
    /// A later attempt may succeed.
    #[error("{0}")]
    Transient(String),
    /// The platform will never accept messages for this conversation.
    #[error("{0}")]
    Permanent(String),
    /// The platform refuses the bot's token: nothing works until a person has changed it.
    #[error("{0}")]
    Unauthorized(String),
}
