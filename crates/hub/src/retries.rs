//! Retries of failed work: after 1 s, 2 s, 4 s, … at most an hour.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use memory::ports::Backoff;
use parking_lot::Mutex;

/// Waits between attempts, at most an hour: nobody waits for this work, and a model without credit usually stays so
/// for hours.
const BACKOFF: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(3600) };

/// Failed work, with the number of attempts and the time of the next one. It is not stored, because a restart is an
/// attempt.
pub(crate) struct Retries<Work> {
    waiting: Mutex<BTreeMap<Work, (u32, Timestamp)>>,
}

impl<Work> Default for Retries<Work> {
    fn default() -> Self {
        Self { waiting: Mutex::default() }
    }
}

impl<Work: Ord> Retries<Work> {
    pub(crate) fn record_failure(&self, work: Work, now: Timestamp) {
        let mut waiting = self.waiting.lock();
        let entry = waiting.entry(work).or_insert((0, now));
        *entry = next_attempt(*entry, now);
    }

    /// Delays work that is due but can't be done now: otherwise it would always be the next to try.
    pub(crate) fn delay_blocked_work(&self, now: Timestamp, can_be_tried: impl Fn(&Work) -> bool) {
        let mut waiting = self.waiting.lock();
        for (_, entry) in waiting.iter_mut().filter(|(work, (_, at))| *at <= now && !can_be_tried(work)) {
            *entry = next_attempt(*entry, now);
        }
    }

    pub(crate) fn forget(&self, work: &Work) {
        self.waiting.lock().remove(work);
    }

    pub(crate) fn is_delayed(&self, work: &Work, now: Timestamp) -> bool {
        let waiting = self.waiting.lock();
        waiting.get(work).is_some_and(|(_, at)| *at > now)
    }

    /// The work that is not due yet.
    pub(crate) fn waiting_work(&self, now: Timestamp) -> Vec<Work>
    where
        Work: Clone,
    {
        let waiting = self.waiting.lock();
        waiting.iter().filter(|(_, (_, at))| *at > now).map(|(work, _)| work.clone()).collect()
    }

    /// Time of the next attempt.
    pub(crate) fn next_attempt_at(&self) -> Option<Timestamp> {
        let waiting = self.waiting.lock();
        waiting.values().map(|(_, at)| *at).min()
    }
}

/// The time of the next attempt. Each wait is twice as long as the one before.
fn next_attempt((failures, _): (u32, Timestamp), now: Timestamp) -> (u32, Timestamp) {
    let wait =
        SignedDuration::try_from(BACKOFF.wait_after_failures(failures)).unwrap_or(SignedDuration::ZERO);
    (failures.saturating_add(1), now.checked_add(wait).unwrap_or(now))
}
