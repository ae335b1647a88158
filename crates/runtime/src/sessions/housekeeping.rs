//! Hourly housekeeping: expired traces and uploads are deleted, and overdue expectations are settled.

use jiff::{SignedDuration, Timestamp};

use crate::sessions::Sessions;

/// Interval of the checks. What they remove was stored for days, so an hour more does not matter.
const CHECK_INTERVAL: SignedDuration = SignedDuration::from_hours(1);

/// Time of the last check.
#[derive(Debug, Default)]
pub(crate) struct Housekeeping {
    last: Option<Timestamp>,
}

impl Housekeeping {
    /// Runs the checks, unless that was done within the hour.
    pub(crate) async fn check_if_due(&mut self, sessions: &Sessions) {
        let core = &sessions.core;
        let now = core.clock().now();
        if self.last.is_some_and(|last| now.duration_since(last).abs() < CHECK_INTERVAL) {
            return;
        }
        self.last = Some(now);
        match core.store().expire_expectations(now).await {
            Ok(0) => {}
            Ok(expired) => tracing::debug!(expired, "overdue expectations settled"),
            Err(error) => tracing::warn!("overdue expectations could not be settled: {error}"),
        }
        if let Err(error) = sessions.imports.delete_old_uploads().await {
            tracing::warn!("unused uploads could not be deleted: {error}");
        }
        let Ok(before) = now.checked_sub(core.settings().trace.retention) else { return };
        match core.store().drop_traces(before).await {
            Ok(0) => {}
            Ok(dropped) => tracing::info!(dropped, "expired traces deleted"),
            Err(error) => tracing::warn!("old traces could not be deleted: {error}"),
        }
    }
}
