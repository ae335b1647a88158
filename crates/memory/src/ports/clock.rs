//! Time and identifiers, passed in so that a simulated year takes seconds and a run can be repeated.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

/// Source of the current time and of delays.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;

    /// Waits for a duration; a simulated clock waits until it is advanced.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// Waits between failed attempts: the first one, then twice as long each time, up to the longest. So a service that
/// has recovered is not overrun by everybody who waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The wait after the first failure.
    pub first: Duration,
    /// No wait is longer than this.
    pub longest: Duration,
}

impl Backoff {
    /// The wait after a failure that follows `failures` others in a row.
    pub fn wait_after_failures(self, failures: u32) -> Duration {
        self.first.saturating_mul(2_u32.saturating_pow(failures)).min(self.longest)
    }
}

/// Source of new, unique identifiers.
pub trait IdGenerator: Send + Sync {
    /// A new UUIDv7 for time `at`. Those of one source sort in the order of creation.
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
