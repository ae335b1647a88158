//! Rate limits of tokens and addresses.

use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::Clock as _;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use jiff::Timestamp;
use memory::ports::Clock;
use parking_lot::{Mutex, RwLock};

/// Maximum clients that are counted; beyond that the least recently active are dropped.
const CLIENTS_MAX: usize = 20_000;

/// Rate limits of a client: requests per second on average, and at once. Zero means no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowance {
    pub(crate) per_second: u32,
    pub(crate) burst: u32,
}

/// Counts the requests of each token and each address. Changes with the settings.
pub(crate) struct Limits {
    time: MonotonicClock,
    /// Read at each request, and written only if the settings have changed.
    present: RwLock<(Allowance, Option<Arc<Buckets>>)>,
}

type Bucket<K> = RateLimiter<K, HashMapStateStore<K>, MonotonicClock, NoOpMiddleware<Nanos>>;

struct Buckets {
    tokens: Bucket<String>,
    addresses: Bucket<IpAddr>,
}

impl Limits {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let time = MonotonicClock(Arc::new(Watch { clock, seen: Mutex::new(None) }));
        Self { time, present: RwLock::new((Allowance { per_second: 0, burst: 0 }, None)) }
    }

    /// Counts a request of this address; if the limit is reached, returns when to try again.
    pub(crate) fn take_request_of_address(
        &self,
        allowance: Allowance,
        address: IpAddr,
    ) -> Result<(), Duration> {
        self.buckets_for(allowance)
            .map_or(Ok(()), |buckets| take_token(&buckets.addresses, &address, &self.time))
    }

    /// Counts a request of this token; if the limit is reached, returns when to try again.
    pub(crate) fn take_request_of_token(&self, allowance: Allowance, name: &str) -> Result<(), Duration> {
        self.buckets_for(allowance)
            .map_or(Ok(()), |buckets| take_token(&buckets.tokens, &name.to_owned(), &self.time))
    }

    fn buckets_for(&self, allowance: Allowance) -> Option<Arc<Buckets>> {
        {
            let present = self.present.read();
            if present.0 == allowance {
                return present.1.clone();
            }
        }
        let made = self.create_buckets(allowance).map(Arc::new);
        *self.present.write() = (allowance, made.clone());
        made
    }

    fn create_buckets(&self, allowance: Allowance) -> Option<Buckets> {
        let per_second = NonZeroU32::new(allowance.per_second)?;
        let burst = NonZeroU32::new(allowance.burst).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(per_second).allow_burst(burst);
        Some(Buckets {
            tokens: RateLimiter::hashmap_with_clock(quota, self.time.clone()),
            addresses: RateLimiter::hashmap_with_clock(quota, self.time.clone()),
        })
    }
}

fn take_token<K: Hash + Eq + Clone>(
    bucket: &Bucket<K>,
    client: &K,
    time: &MonotonicClock,
) -> Result<(), Duration> {
    if bucket.len() > CLIENTS_MAX {
        bucket.retain_recent();
    }
    bucket.check_key(client).map_err(|until| until.wait_time_from(time.now()))
}

/// Elapsed time by the shared clock. If the clock is set back, the time stands still for a moment rather than lock
/// everybody out until the clock has caught up.
#[derive(Clone)]
struct MonotonicClock(Arc<Watch>);

struct Watch {
    clock: Arc<dyn Clock>,
    /// Time of the last reading, with the time elapsed by then.
    seen: Mutex<Option<(Timestamp, Duration)>>,
}

/// Start of the elapsed time: above zero, so that a bucket can be refilled at once.
const CLOCK_START: Duration = Duration::from_secs(3_600);

impl governor::clock::Clock for MonotonicClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        let now = self.0.clock.now();
        let mut seen = self.0.seen.lock();
        let (before, elapsed) = seen.unwrap_or((now, CLOCK_START));
        let step = Duration::try_from(now.duration_since(before)).unwrap_or_default();
        let elapsed = elapsed.saturating_add(step);
        *seen = Some((now, elapsed));
        Nanos::from(elapsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::SimulatedClock;

    const ALLOWANCE: Allowance = Allowance { per_second: 2, burst: 3 };

    fn clock() -> SimulatedClock {
        SimulatedClock::new("2026-05-02T19:04:11Z".parse().unwrap())
    }

    #[tokio::test]
    async fn a_burst_is_taken_and_then_so_many_a_second() {
        let clock = clock();
        let limits = Limits::new(Arc::new(clock.clone()));
        let take = || limits.take_request_of_token(ALLOWANCE, "phone");
        for _ in 0..3 {
            assert_eq!(take(), Ok(()));
        }
        assert_eq!(take(), Err(Duration::from_millis(500)));
        assert_eq!(limits.take_request_of_token(ALLOWANCE, "laptop"), Ok(()), "another token has its own");
        let address = "192.0.2.7".parse().unwrap();
        assert_eq!(limits.take_request_of_address(ALLOWANCE, address), Ok(()));
        clock.advance(Duration::from_millis(500)).await;
        assert_eq!(take(), Ok(()));
        assert!(take().is_err());
    }

    #[tokio::test]
    async fn a_change_holds_from_the_next_request_on() {
        let clock = clock();
        let limits = Limits::new(Arc::new(clock.clone()));
        while limits.take_request_of_token(ALLOWANCE, "phone").is_ok() {}
        let wide = Allowance { per_second: 100, burst: 100 };
        assert_eq!(limits.take_request_of_token(wide, "phone"), Ok(()));
        let none = Allowance { per_second: 0, burst: 0 };
        for _ in 0..1_000 {
            assert_eq!(limits.take_request_of_token(none, "phone"), Ok(()), "0 limits nothing");
        }
    }
}
