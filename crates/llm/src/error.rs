//! Errors of language models.

use std::time::Duration;

/// Errors, by how a caller reacts. `message` is for a person and never contains a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// The endpoint limits calls. Repeat the request after `retry_after` (or a backoff).
    #[error("{message}")]
    RateLimited {
        /// Time that the endpoint asked to wait.
        retry_after: Option<Duration>,
        message: String,
    },
    /// The prompt exceeds the model's context. Send less.
    #[error("{message}")]
    TooLong { message: String },
    /// The model or its filter refused. The same request would be refused again.
    #[error("{message}")]
    Refused { message: String },
    /// The key is missing or not accepted, or the account has no credit. A person has to act.
    #[error("{message}")]
    Auth { message: String },
    /// The endpoint is down, slow, or broke the connection. The same request may succeed later.
    #[error("{message}")]
    Transient { message: String },
    /// The same request will fail again: settings, an unknown model, an unreadable or oversized answer.
    #[error("{message}")]
    Fatal { message: String },
}

impl LlmError {
    /// Stable name for logs, the ledger and the API: `rate_limited`, `too_long`, `refused`, `auth`, `transient` or
    /// `fatal`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            LlmError::RateLimited { .. } => "rate_limited",
            LlmError::TooLong { .. } => "too_long",
            LlmError::Refused { .. } => "refused",
            LlmError::Auth { .. } => "auth",
            LlmError::Transient { .. } => "transient",
            LlmError::Fatal { .. } => "fatal",
        }
    }

    /// True if the same request may succeed later: [`LlmError::RateLimited`] and [`LlmError::Transient`].
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, LlmError::RateLimited { .. } | LlmError::Transient { .. })
    }

    /// Replaces the message of the error.
    pub(crate) fn map_message(mut self, change: impl FnOnce(&str) -> String) -> LlmError {
        let (LlmError::RateLimited { message, .. }
        | LlmError::TooLong { message }
        | LlmError::Refused { message }
        | LlmError::Auth { message }
        | LlmError::Transient { message }
        | LlmError::Fatal { message }) = &mut self;
        *message = change(message);
        self
    }

    pub(crate) fn transient(message: impl Into<String>) -> LlmError {
        LlmError::Transient { message: message.into() }
    }

    /// A [`LlmError::Fatal`], for requests that would fail again.
    pub fn fatal_error(message: impl Into<String>) -> LlmError {
        LlmError::Fatal { message: message.into() }
    }
}
