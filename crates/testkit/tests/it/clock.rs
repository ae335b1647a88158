use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use memory::ports::Clock;
use testkit::SimulatedClock;

const SECOND: Duration = Duration::from_secs(1);

fn start() -> Timestamp {
    "2026-03-05T15:00:00Z".parse().unwrap()
}

/// Records name and time whenever it wakes, `times` times.
fn sleeper(clock: &SimulatedClock, log: &Log, name: &'static str, every: Duration, times: usize) {
    let (clock, log) = (clock.clone(), Arc::clone(log));
    tokio::spawn(async move {
        for _ in 0..times {
            clock.sleep(every).await;
            let passed = clock.now().duration_since(start()).as_secs();
            log.lock().unwrap().push((name, passed));
        }
    });
}

type Log = Arc<Mutex<Vec<(&'static str, i64)>>>;

#[tokio::test]
async fn sleepers_wake_in_the_order_of_their_deadlines_at_their_own_time() {
    let (clock, log) = (SimulatedClock::new(start()), Log::default());
    sleeper(&clock, &log, "slow", 25 * SECOND, 1);
    sleeper(&clock, &log, "fast", 10 * SECOND, 5);
    clock.advance(30 * SECOND).await;
    assert_eq!(*log.lock().unwrap(), [("fast", 10), ("fast", 20), ("slow", 25), ("fast", 30)]);
    assert_eq!(clock.now(), start() + jiff::SignedDuration::from_secs(30));
    assert_eq!(clock.sleepers(), 1, "the fast one sleeps on");
}

#[tokio::test]
async fn nobody_wakes_early() {
    let (clock, log) = (SimulatedClock::new(start()), Log::default());
    sleeper(&clock, &log, "sleeper", 10 * SECOND, 1);
    clock.advance(10 * SECOND - Duration::from_nanos(1)).await;
    assert_eq!(*log.lock().unwrap(), []);
    clock.advance(Duration::from_nanos(1)).await;
    assert_eq!(log.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_jump_of_the_wall_clock_wakes_nobody_and_delays_nobody() {
    let (clock, log) = (SimulatedClock::new(start()), Log::default());
    sleeper(&clock, &log, "sleeper", 60 * SECOND, 1);
    clock.wait_for_sleepers(1).await;
    let later: Timestamp = "2027-01-01T00:00:00Z".parse().unwrap();
    clock.set(later);
    clock.advance(59 * SECOND).await;
    assert_eq!((clock.now(), log.lock().unwrap().len()), (later + jiff::SignedDuration::from_secs(59), 0));
    clock.set("2020-01-01T00:00:00Z".parse().unwrap());
    clock.advance(SECOND).await;
    assert_eq!(log.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_sleep_that_is_given_up_is_off_the_list() {
    let clock = SimulatedClock::new(start());
    let sleep = clock.sleep(SECOND);
    assert_eq!(clock.sleepers(), 1);
    drop(sleep);
    assert_eq!(clock.sleepers(), 0);
    clock.sleep(Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_test_can_wait_until_others_are_asleep() {
    let (clock, log) = (SimulatedClock::new(start()), Log::default());
    for _ in 0..20 {
        sleeper(&clock, &log, "one of many", SECOND, 1);
    }
    clock.wait_for_sleepers(20).await;
    assert_eq!(clock.sleepers(), 20);
}

#[tokio::test]
async fn a_loop_is_known_by_its_interval() {
    let clock = SimulatedClock::new(start());
    let (_short, _long) = (clock.sleep(SECOND), clock.sleep(60 * SECOND));
    assert_eq!([SECOND, 60 * SECOND, 2 * SECOND].map(|length| clock.sleepers_for(length)), [1, 1, 0]);
    clock.advance(SECOND).await;
    assert_eq!(clock.sleepers_for(SECOND), 0);
}

#[tokio::test]
async fn the_longest_wait_does_not_overflow() {
    let clock = SimulatedClock::new(start());
    let sleep = clock.sleep(Duration::MAX);
    clock.advance(Duration::MAX).await;
    assert_eq!(clock.now(), Timestamp::MAX);
    sleep.await;
}
