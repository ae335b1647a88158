//! Time limits whose errors name what was limited.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::LlmError;

/// A point in time by which an answer has to arrive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    at: Instant,
    allowed: Duration,
    awaited: &'static str,
}

impl Deadline {
    /// Creates a deadline of `allowed` from `start`; `awaited` completes the error text "… did not …".
    pub(super) fn new(start: Instant, allowed: Duration, awaited: &'static str) -> Deadline {
        Deadline { at: start + allowed, allowed, awaited }
    }

    pub(super) fn earlier_of(self, other: Deadline) -> Deadline {
        if other.at < self.at { other } else { self }
    }

    /// Waits for `future`, or fails with [`LlmError::Transient`] at the deadline.
    pub(super) async fn limit<F: Future>(self, host: &str, future: F) -> Result<F::Output, LlmError> {
        timeout_at(self.at, future).await.map_err(|_elapsed| {
            LlmError::transient(format!(
                "The language model at {host} did not {} within {:?}. Nothing was lost; try again, or allow more time under [llm].",
                self.awaited, self.allowed
            ))
        })
    }
}
