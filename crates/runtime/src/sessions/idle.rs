//! Ends quiet sessions, answers orphaned turns, runs the hourly housekeeping, and overwrites freed pages after forgetting.

use std::sync::Arc;

use memory::sessions::CloseTrigger;

use crate::runtime::RuntimeInner;
use crate::sessions::housekeeping::Housekeeping;
use crate::worker::{Cause, Next, Worker};

/// Looks at once for what went stale while the program was away, then again after each interval.
#[derive(Default)]
pub(crate) struct IdleWorker {
    housekeeping: Housekeeping,
    has_caught_up: bool,
}

impl Worker for IdleWorker {
    const NAME: &str = "idle";

    async fn run_once(&mut self, runtime: &Arc<RuntimeInner>, _: Cause) -> Next {
        let trigger = if self.has_caught_up { CloseTrigger::Idle } else { CloseTrigger::Catchup };
        self.has_caught_up = true;
        end_quiet(runtime, trigger).await;
        // The next look tries again.
        if let Err(error) = runtime.recover_orphaned_turns().await {
            tracing::warn!("pending turns could not be looked for: {error}");
        }
        self.housekeeping.look(runtime).await;
        runtime.overwrite_freed().await;
        Next::Within(runtime.settings().scan_every)
    }
}

async fn end_quiet(runtime: &RuntimeInner, trigger: CloseTrigger) {
    let now = runtime.clock().now();
    let Ok(before) = now.checked_sub(runtime.settings().session.idle) else { return };
    match runtime.store().end_quiet_sessions(before, trigger).await {
        Ok(ended) if ended.is_empty() => {}
        Ok(ended) => {
            tracing::debug!(sessions = ended.len(), "quiet sessions ended");
            runtime.session_ended.notify_one();
        }
        // The next look tries again; the sessions stay open and lose nothing.
        Err(error) => tracing::warn!("quiet sessions could not be ended: {error}"),
    }
}
