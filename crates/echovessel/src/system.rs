//! Implementations of the ports by the operating system: clock, identifiers and randomness. Only this file reads
//! these.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use memory::ports::{Clock, IdGenerator};
use parking_lot::Mutex;
use rand::Rng as _;
use tokio::sync::watch;
use uuid::{Builder, ContextV7, Uuid};

/// The system's clock, rounded to the microseconds of the database, so that a time is the same before and after it
/// was stored.
#[derive(Debug, Default)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else is passed")]
    fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else is passed")]
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// The system's clock with a movable offset: half an hour can pass in an instant.
#[derive(Debug)]
pub(crate) struct SkippableClock {
    ahead: watch::Sender<Duration>,
}

impl SkippableClock {
    /// A clock that shows the system's time.
    pub(crate) fn new() -> Self {
        Self { ahead: watch::Sender::new(Duration::ZERO) }
    }

    /// Advances the clock, and wakes everybody whose time has come.
    pub(crate) fn advance(&self, by: Duration) {
        self.ahead.send_modify(|ahead| *ahead += by);
    }
}

impl Clock for SkippableClock {
    fn now(&self) -> Timestamp {
        let ahead = *self.ahead.borrow();
        let now = SystemClock.now();
        now.checked_add(ahead).unwrap_or(now)
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let mut ahead = self.ahead.subscribe();
        let start = *ahead.borrow_and_update();
        Box::pin(async move {
            let mut left = duration;
            let mut seen = start;
            loop {
                let began = SystemClock.now();
                tokio::select! {
                    () = SystemClock.sleep(left) => return,
                    changed = ahead.changed() => {
                        if changed.is_err() {
                            return;
                        }
                        let now = *ahead.borrow_and_update();
                        let passed = SystemClock.now().duration_since(began).unsigned_abs() + (now - seen);
                        seen = now;
                        left = left.saturating_sub(passed);
                    }
                }
            }
        })
    }
}

/// Makes UUIDv7 with a counter, so that ids of one process sort by creation.
#[derive(Default)]
pub(crate) struct SystemIdGenerator {
    context: Mutex<ContextV7>,
}

impl IdGenerator for SystemIdGenerator {
    fn next(&self, at: Timestamp) -> Uuid {
        let context = self.context.lock();
        let seconds = u64::try_from(at.as_second()).unwrap_or_default();
        let nanoseconds = u32::try_from(at.subsec_nanosecond()).unwrap_or_default();
        Uuid::new_v7(uuid::Timestamp::from_unix(&*context, seconds, nanoseconds))
    }
}

/// A random identifier, for records whose order does not matter.
pub(crate) fn random_uuid() -> Uuid {
    let [bytes @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = random_bytes();
    Builder::from_random_bytes(bytes).into_uuid()
}

/// 32 bytes of the system's random source.
#[expect(clippy::disallowed_methods, reason = "this is the randomness that everybody else is passed")]
pub(crate) fn random_bytes() -> [u8; 32] {
    let mut bytes = [0; 32];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

/// Waits between retries of model calls, with random jitter.
pub(crate) struct SystemRetryTimer;

impl llm::RetryTimer for SystemRetryTimer {
    fn pause(&self, duration: Duration) -> BoxFuture<'static, ()> {
        SystemClock.sleep(duration).boxed()
    }

    fn jitter(&self) -> f64 {
        let bytes = random_bytes();
        f64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])) / (f64::from(u32::MAX) + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_creation_time() {
        let (ids, at) = (SystemIdGenerator::default(), SystemClock.now());
        let made: Vec<Uuid> = (0..2_000).map(|_| ids.next(at)).collect();
        assert!(made.is_sorted_by(|a, b| a < b));
    }

    #[tokio::test]
    async fn a_clock_jump_wakes_waiting_tasks() {
        let clock = SkippableClock::new();
        let before = clock.now();
        let waiting = clock.sleep(Duration::from_secs(3_600));
        clock.advance(Duration::from_secs(1_800));
        clock.advance(Duration::from_secs(1_801));
        waiting.await;
        assert!(clock.now().duration_since(before).as_secs() >= 3_600);
    }
}
