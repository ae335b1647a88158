//! Background work of the hub: reads edited files, writes diaries, writes roll-ups.

use std::time::Duration;

use jiff::civil::Time;
use jiff::{SignedDuration, Timestamp};

use crate::error::HubError;
use crate::service::Hub;

/// Interval of checks for files that a person has edited: the longest delay until an edit is noticed.
const READ_EVERY: Duration = Duration::from_secs(30);
/// Shortest time between two rewrites of corrected events in the diary: many corrections in a row make one version of a day.
const CORRECT_EVERY: SignedDuration = SignedDuration::from_mins(1);

/// Schedule of the hub's background work.
#[derive(Clone, Copy, Debug)]
pub struct WorkingHours {
    /// Time of day at which finished periods are summarised, in the persona's zone.
    pub rollup_at: Time,
    /// True to summarise, at the start of the program, periods that ended while it was off.
    pub catch_up: bool,
}

/// Times at which each part of the background work ran last, or will run.
struct RunTimes {
    next_roll_up: Timestamp,
    last_read: Timestamp,
    last_correction: Option<Timestamp>,
}

/// Background work of the hub: reads edited files, writes diaries and roll-ups.
pub struct HubWork {
    hub: Hub,
    rollup_at: Time,
    progress: RunTimes,
}

impl HubWork {
    /// Runs the work that is due and returns the time until the next is due. Failures are logged and retried.
    pub async fn run_once(&mut self) -> Duration {
        if let Err(error) = self.hub.work_once(&mut self.progress, self.rollup_at).await {
            tracing::warn!(%error, "the hub's background work failed; retrying");
        }
        let until = |at: Timestamp| at.duration_since(self.hub.now());
        let retry = self.hub.shared_parts().failures.next_attempt_at().map_or(SignedDuration::MAX, until);
        let due = until(self.progress.next_roll_up).min(retry).max(SignedDuration::from_secs(1));
        Duration::try_from(due).unwrap_or(READ_EVERY).min(READ_EVERY)
    }
}

impl Hub {
    /// Makes the database and the files agree, and deletes old snapshots. Call it before anything else at the start.
    ///
    /// # Errors
    ///
    /// When the database fails. A folder that can't be used is only logged: the hub works without it.
    pub async fn start(&self) -> Result<(), HubError> {
        self.shared_parts().parts.store.set_own_instance(&self.instance_id()).await?;
        self.read_tree().await?;
        self.prune_snapshots().await?;
        Ok(())
    }

    async fn read_tree(&self) -> Result<(), HubError> {
        match self.reconcile().await {
            Ok(found) if found.taken > 0 => {
                tracing::info!(taken = found.taken, "documents that were edited as files were imported");
                Ok(())
            }
            Ok(_) => Ok(()),
            Err(HubError::Mirror(error)) => {
                tracing::warn!(%error, "the folder of documents can't be used; documents are served from \
                    the database");
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Creates the background work with this schedule.
    pub async fn background_work(&self, hours: WorkingHours) -> HubWork {
        let next_roll_up =
            if hours.catch_up { self.now() } else { self.next_occurrence(hours.rollup_at).await };
        let progress = RunTimes { next_roll_up, last_read: self.now(), last_correction: None };
        HubWork { hub: self.clone(), rollup_at: hours.rollup_at, progress }
    }

    /// Returns when background work may be due before its scheduled time.
    pub async fn background_work_waits(&self) {
        self.shared_parts().written.notified().await;
    }

    /// Wakes the background work after a session was consolidated.
    pub fn wake(&self) {
        self.shared_parts().written.notify_one();
    }

    /// Returns when documents were written since the last call, so that chunks may need vectors.
    pub async fn documents_written(&self) {
        self.shared_parts().unembedded.notified().await;
    }

    async fn work_once(&self, progress: &mut RunTimes, rollup_at: Time) -> Result<(), HubError> {
        let now = self.now();
        let may_correct = progress.last_correction.is_none_or(|at| now.duration_since(at) >= CORRECT_EVERY);
        if may_correct && self.correct_diary().await? > 0 {
            progress.last_correction = Some(now);
        }
        self.write_diary().await?;
        let since = self.now().duration_since(progress.last_read);
        if Duration::try_from(since).is_ok_and(|since| since >= READ_EVERY) {
            self.read_tree().await?;
            progress.last_read = self.now();
        }
        let now = self.now();
        if now >= progress.next_roll_up {
            self.prune_snapshots().await?;
            self.roll_up().await?;
            progress.next_roll_up = self.next_occurrence(rollup_at).await;
        } else if self.shared_parts().failures.next_attempt_at().is_some_and(|at| at <= now) {
            self.roll_up().await?;
        }
        Ok(())
    }

    /// The next time at which a clock in the persona's zone shows this time of day.
    async fn next_occurrence(&self, time: Time) -> Timestamp {
        let zone = self
            .persona_zone(&self.settings().default_scope)
            .await
            .unwrap_or_else(|_| self.settings().zone.clone());
        let now = self.now().to_zoned(zone.clone());
        let today = now.date();
        [today, today.saturating_add(jiff::Span::new().days(1))]
            .into_iter()
            .filter_map(|day| day.to_datetime(time).to_zoned(zone.clone()).ok())
            .map(|moment| moment.timestamp())
            .find(|moment| *moment > now.timestamp())
            .unwrap_or_else(|| now.timestamp())
    }
}
