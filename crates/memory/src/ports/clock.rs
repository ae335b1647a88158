//! Time and identifiers, passed in so that a year can be lived in seconds and a run can be repeated.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

/// The one source of time and of waiting.
pub trait Clock: Send + Sync {
    /// The present moment.
    fn now(&self) -> Timestamp;

    /// Waits; on a simulated clock until somebody moves it.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// The one source of identifiers.
pub trait IdGenerator: Send + Sync {
    /// A new UUIDv7 of time `at`. Those of one source sort in the order of their making.
    fn next(&self, at: Timestamp) -> Uuid;
}
