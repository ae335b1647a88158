//! Ends sessions that have gone quiet, looks around once an hour, and overwrites what was forgotten.

use std::sync::Arc;

use memory::sessions::CloseTrigger;

use crate::housekeeping::Housekeeping;
use crate::life::Life;

/// Looks at once for what went stale while the program was away, then again after each interval.
pub(crate) async fn run(life: Arc<Life>) {
    let mut trigger = CloseTrigger::Catchup;
    let mut housekeeping = Housekeeping::default();
    loop {
        end_quiet(&life, trigger).await;
        housekeeping.look(&life).await;
        trigger = CloseTrigger::Idle;
        life.overwrite_freed().await;
        let changed = life.settings_changed.notified();
        tokio::select! {
            () = changed => {}
            () = life.clock().sleep(life.settings.scan_every) => {}
            () = life.stopping.cancelled() => return,
        }
    }
}

async fn end_quiet(life: &Life, trigger: CloseTrigger) {
    let now = life.clock().now();
    let Ok(before) = now.checked_sub(life.settings.session.idle) else { return };
    match life.store().end_quiet_sessions(before, trigger).await {
        Ok(ended) if ended.is_empty() => {}
        Ok(ended) => {
            tracing::debug!(sessions = ended.len(), "quiet sessions ended");
            life.session_ended.notify_one();
        }
        // The next look tries again; the sessions stay open and lose nothing.
        Err(error) => tracing::warn!("quiet sessions could not be ended: {error}"),
    }
}
