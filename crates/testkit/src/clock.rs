//! A clock that only moves when a test moves it.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use memory::ports::Clock;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::task::yield_now;

/// Number of times [`SimulatedClock::advance`] lets other tasks run before and after each step.
const YIELDS_PER_STEP: usize = 32;

/// A [`Clock`] that only moves by [`advance`](Self::advance). Clones share one time.
///
/// Like a real machine it has two times: the wall clock, which [`set`](Self::set) can change, and the elapsed time,
/// which wakes sleepers. A change of the wall clock wakes nobody.
#[derive(Clone)]
pub struct SimulatedClock {
    shared: Arc<SharedState>,
}

struct SharedState {
    state: Mutex<State>,
    fell_asleep: Notify,
}

struct State {
    wall: Timestamp,
    passed: Duration,
    /// Sleepers by (deadline, order of starting to sleep).
    sleepers: BTreeMap<(Duration, u64), Sleeper>,
    sleeps: u64,
}

struct Sleeper {
    length: Duration,
    waker: oneshot::Sender<()>,
}

impl SimulatedClock {
    /// A clock that shows `start`.
    #[must_use]
    pub fn new(start: Timestamp) -> Self {
        let state = State { wall: start, passed: Duration::ZERO, sleepers: BTreeMap::new(), sleeps: 0 };
        Self { shared: Arc::new(SharedState { state: Mutex::new(state), fell_asleep: Notify::new() }) }
    }

    /// Advances by `duration`. Sleepers wake in the order of their deadlines, each seeing the time of its own
    /// deadline, and tasks may run between two deadlines, so a loop that sleeps repeatedly wakes as often as it
    /// should.
    ///
    /// Tasks that wait for anything else (a socket, a thread) are not waited for; use
    /// [`wait_for_sleepers`](Self::wait_for_sleepers) if they must have come back first.
    pub async fn advance(&self, duration: Duration) {
        let target = self.shared.state.lock().passed.saturating_add(duration);
        let_others_run().await;
        loop {
            let due = self.shared.state.lock().step_towards(target);
            let Some(sleeper) = due else { break };
            // The sleeper may have been dropped meanwhile.
            let _ = sleeper.waker.send(());
            let_others_run().await;
        }
        let_others_run().await;
    }

    /// Sets the wall clock, as an administrator or a time server would. No time elapses and nobody wakes.
    pub fn set(&self, now: Timestamp) {
        self.shared.state.lock().wall = now;
    }

    /// Number of running sleeps.
    #[must_use]
    pub fn sleepers(&self) -> usize {
        self.shared.state.lock().sleepers.len()
    }

    /// Number of running sleeps of exactly `length`: a loop is recognised by its interval.
    #[must_use]
    pub fn sleepers_for(&self, length: Duration) -> usize {
        self.shared.state.lock().sleepers.values().filter(|sleeper| sleeper.length == length).count()
    }

    /// Waits until another sleep begins.
    pub async fn next_sleep(&self) {
        self.shared.fell_asleep.notified().await;
    }

    /// Waits until at least `count` sleeps are running.
    pub async fn wait_for_sleepers(&self, count: usize) {
        loop {
            let fell_asleep = self.shared.fell_asleep.notified();
            tokio::pin!(fell_asleep);
            fell_asleep.as_mut().enable();
            if self.sleepers() >= count {
                return;
            }
            fell_asleep.await;
        }
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        self.shared.state.lock().wall
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        if duration.is_zero() {
            return Box::pin(yield_now());
        }
        let (waker, woken) = oneshot::channel();
        let mut state = self.shared.state.lock();
        let key = (state.passed.saturating_add(duration), state.sleeps);
        state.sleeps += 1;
        state.sleepers.insert(key, Sleeper { length: duration, waker });
        drop(state);
        self.shared.fell_asleep.notify_waiters();
        let asleep = Asleep { shared: Arc::clone(&self.shared), key };
        Box::pin(async move {
            let _asleep = asleep;
            // The sender lives in the clock, which `wait_for_sleepers` holds.
            let _ = woken.await;
        })
    }
}

impl SharedState {}

impl State {
    /// Moves to the next deadline up to `target` and returns its sleeper; without one, moves to `target`.
    fn step_towards(&mut self, target: Duration) -> Option<Sleeper> {
        let due = self.sleepers.first_entry().filter(|entry| entry.key().0 <= target);
        let (moment, sleeper) = match due {
            Some(entry) => {
                let ((deadline, _), sleeper) = entry.remove_entry();
                (deadline, Some(sleeper))
            }
            None => (target, None),
        };
        let step = moment.saturating_sub(self.passed);
        self.passed += step;
        let step = SignedDuration::try_from(step).unwrap_or(SignedDuration::MAX);
        self.wall = self.wall.saturating_add(step).unwrap_or(Timestamp::MAX);
        sleeper
    }
}

/// Removes a sleep from the list when its future ends or is dropped.
struct Asleep {
    shared: Arc<SharedState>,
    key: (Duration, u64),
}

impl Drop for Asleep {
    fn drop(&mut self) {
        self.shared.state.lock().sleepers.remove(&self.key);
    }
}

/// Yields at once, unlike tokio's `yield_now`, which asks the system for events at each of these.
async fn let_others_run() {
    let mut yields_left = YIELDS_PER_STEP;
    poll_fn(|context| {
        let is_over = yields_left == 0;
        yields_left = yields_left.saturating_sub(1);
        if is_over {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
