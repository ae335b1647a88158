//! Ends sessions that have gone quiet, looks around once an hour, and overwrites what was forgotten.

use std::sync::Arc;

use memory::sessions::CloseTrigger;

use crate::housekeeping::Housekeeping;
use crate::runtime::RuntimeInner;

/// Looks at once for what went stale while the program was away, then again after each interval.
pub(crate) async fn run(runtime: Arc<RuntimeInner>) {
    let mut trigger = CloseTrigger::Catchup;
    let mut housekeeping = Housekeeping::default();
    loop {
        end_quiet(&runtime, trigger).await;
        housekeeping.look(&runtime).await;
        trigger = CloseTrigger::Idle;
        runtime.overwrite_freed().await;
        let changed = runtime.settings_changed.notified();
        tokio::select! {
            () = changed => {}
            () = runtime.clock().sleep(runtime.settings().scan_every) => {}
            () = runtime.stopping.cancelled() => return,
        }
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
