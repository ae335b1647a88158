//! Time and identifiers, passed in so that a year can be lived in seconds and a run can be repeated.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

/// The one source of time and of waiting.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;

    /// Waits; on a simulated clock until somebody moves it.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// Waits between tries that fail: the first one, then each time twice as long, up to the longest. So what has
/// just come back is not overrun by those who waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The wait after the first failure.
    pub first: Duration,
    /// No wait is longer.
    pub longest: Duration,
}

impl Backoff {
    /// The wait after a failure that came after `failures` others in a row.
    pub fn wait_after_failures(self, failures: u32) -> Duration {
        self.first.saturating_mul(2_u32.saturating_pow(failures)).min(self.longest)
    }
}

/// The one source of identifiers.
pub trait IdGenerator: Send + Sync {
    /// A new UUIDv7 of time `at`. Those of one source sort in the order of their making.
    fn next(&self, at: Timestamp) -> Uuid;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let backoff = Backoff { first: Duration::from_secs(2), longest: Duration::from_secs(60) };
        let waits: Vec<u64> =
            [0, 1, 2, 4, 5, 40, u32::MAX].map(|n| backoff.wait_after_failures(n).as_secs()).into();
        assert_eq!(waits, [2, 4, 8, 32, 60, 60, 60]);
    }
}
