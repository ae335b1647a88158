//! Decides if and when a request is repeated.

use std::time::Duration;

use crate::LlmError;

/// First and longest pause before a retry; each is twice the one before. They are short because a person may be
/// waiting.
const FIRST_BACKOFF: Duration = Duration::from_millis(500);
const BACKOFF_MAX: Duration = Duration::from_secs(8);

/// Longest wait, asked for by an endpoint, that is made here. A longer one is returned to the caller, who can report
/// it to a person.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);

/// The pause before retry number `retry` (0 is the first), or `None` if a retry is pointless.
///
/// The backoff doubles from 0.5 s to 8 s. `jitter` in `[0, 1)` spreads it over its upper half. An endpoint's own
/// `retry_after` is a lower bound, spread by the same amount.
pub(super) fn pause_before_retry(retry: u32, error: &LlmError, jitter: f64) -> Option<Duration> {
    if !error.is_transient() {
        return None;
    }
    let backoff = FIRST_BACKOFF.saturating_mul(2_u32.saturating_pow(retry)).min(BACKOFF_MAX);
    let half = backoff / 2;
    let spread = half.mul_f64(jitter.clamp(0.0, 1.0));
    match error {
        LlmError::RateLimited { retry_after: Some(after), .. } if *after > RETRY_AFTER_MAX => None,
        LlmError::RateLimited { retry_after: Some(after), .. } => Some((*after).max(half) + spread),
        _ => Some(half + spread),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate_limited(seconds: u64) -> LlmError {
        LlmError::RateLimited { retry_after: Some(Duration::from_secs(seconds)), message: String::new() }
    }

    #[test]
    fn backoff_doubles_up_to_its_bound() {
        let error = LlmError::transient("down");
        let waits: Vec<_> = [0, 1, 2, 3, 4, 5, 99]
            .iter()
            .filter_map(|retry| pause_before_retry(*retry, &error, 0.0))
            .collect();
        assert_eq!(waits, [250, 500, 1000, 2000, 4000, 4000, 4000].map(Duration::from_millis));
        assert_eq!(pause_before_retry(0, &error, 0.5), Some(Duration::from_millis(375)));
    }

    #[test]
    fn the_requested_wait_is_a_lower_bound() {
        assert_eq!(pause_before_retry(0, &rate_limited(7), 0.0), Some(Duration::from_secs(7)));
        assert_eq!(pause_before_retry(0, &rate_limited(31), 0.0), None);
    }

    #[test]
    fn only_errors_that_may_pass_are_retried() {
        for error in [
            LlmError::TooLong { message: String::new() },
            LlmError::Refused { message: String::new() },
            LlmError::Auth { message: String::new() },
            LlmError::fatal_error(""),
        ] {
            assert_eq!(pause_before_retry(0, &error, 0.0), None, "{}", error.kind());
        }
    }
}
