//! Ends quiet sessions, answers orphaned turns, runs the hourly housekeeping, and overwrites freed pages after forgetting.

use std::sync::Arc;

use memory::sessions::CloseTrigger;

use crate::core::RuntimeCore;
use crate::sessions::Sessions;
use crate::sessions::housekeeping::Housekeeping;
use crate::worker::{NextRun, WakeCause, Worker};

/// Ends quiet sessions: at once those that became quiet while the program was off, then at each interval.
pub(crate) struct IdleWorker {
    sessions: Arc<Sessions>,
    housekeeping: Housekeeping,
    has_caught_up: bool,
}

impl IdleWorker {
    pub(crate) fn new(sessions: Arc<Sessions>) -> Self {
        Self { sessions, housekeeping: Housekeeping::default(), has_caught_up: false }
    }
}

impl Worker for IdleWorker {
    const NAME: &str = "idle";

    async fn run_once(&mut self, _: WakeCause) -> NextRun {
        let sessions = &self.sessions;
        let trigger = if self.has_caught_up { CloseTrigger::Idle } else { CloseTrigger::Catchup };
        self.has_caught_up = true;
        end_quiet(&sessions.core, trigger).await;
        // The next check tries again.
        if let Err(error) = sessions.turns.recover_orphaned_turns().await {
            tracing::warn!("pending turns could not be read: {error}");
        }
        self.housekeeping.check_if_due(sessions).await;
        sessions.changes.overwrite_freed().await;
        NextRun::Within(sessions.core.settings().scan_every)
    }
}

async fn end_quiet(core: &RuntimeCore, trigger: CloseTrigger) {
    let now = core.clock().now();
    let Ok(before) = now.checked_sub(core.settings().session.idle) else { return };
    match core.store().end_quiet_sessions(before, trigger).await {
        Ok(ended) if ended.is_empty() => {}
        Ok(ended) => {
            tracing::debug!(sessions = ended.len(), "idle sessions closed");
            core.session_ended.notify_one();
        }
        // The next check tries again; the sessions stay open and lose nothing.
        Err(error) => tracing::warn!("idle sessions could not be closed: {error}"),
    }
}
