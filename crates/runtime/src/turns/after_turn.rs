//! Work after a turn: fulfilled expectations are settled, recalled memories are counted, and a turn without a reply is marked
//! as failed.

use std::sync::Arc;
use std::time::Duration;

use memory::Scope;
use memory::identifiers::{MessageId, NodeId, TurnId};
use memory::messages::TurnStatus;
use memory::ports::{ExpectationOutcome, SettledExpectation};

use crate::runtime::RuntimeInner;

/// Pause after storage failed to update a turn.
const REST_AFTER_FAILURE: Duration = Duration::from_secs(60);

/// Pause before a turn that the database interrupted is resumed. A restart or a failover takes seconds.
const REST_AFTER_OUTAGE: Duration = Duration::from_secs(5);

/// Settles expectations that the reply was shown as fulfilled: each is shown once. One that the token budget cut stays
/// pending.
pub(crate) async fn settle_expectations(
    runtime: &RuntimeInner,
    scope: &Scope,
    shown: &[NodeId],
    by: Option<MessageId>,
) {
    if shown.is_empty() {
        return;
    }
    let settled =
        SettledExpectation { outcome: ExpectationOutcome::Fulfilled, by, at: runtime.clock().now() };
    if let Err(error) = runtime.store().settle_expectations(scope, shown, settled).await {
        tracing::warn!("a fulfilled expectation stays pending: {error}");
    }
}

/// Off the hot path: a count that fails costs nothing but the count.
pub(crate) fn count_recalls(runtime: &Arc<RuntimeInner>, used: Vec<NodeId>) {
    let life_kept = runtime.clone();
    runtime.tasks.spawn(async move {
        let now = life_kept.clock().now();
        if let Err(error) = life_kept.store().touch_nodes(&used, now).await {
            tracing::warn!("recalls were not counted: {error}");
        }
    });
}

/// Resumes a turn that ended because the database was away, as soon as the database answers. The turn is still pending.
pub(crate) fn resume_after_outage(runtime: &Arc<RuntimeInner>, scope: &Scope, turn: TurnId) {
    let life_kept = runtime.clone();
    let held = runtime.conversations.hold_turn(scope);
    runtime.tasks.spawn(async move {
        let _held = held;
        loop {
            tokio::select! {
                () = life_kept.clock().sleep(REST_AFTER_OUTAGE) => {}
                () = life_kept.stopping.cancelled() => return,
            }
            let Ok(turn) = life_kept.store().turn(turn).await else { continue };
            let Some(turn) = turn.filter(|turn| turn.status == TurnStatus::Pending) else { return };
            match life_kept.recover_turn(turn).await {
                Ok(()) => return,
                Err(error) => tracing::warn!("a turn that the database interrupted still waits: {error}"),
            }
        }
    });
}

/// Marks the turn as failed. While storage refuses, the turn stays pending, and its session open; so it is tried again
/// until it is done or the program stops. Then the next start takes the turn up.
pub(crate) async fn mark_failed(runtime: &Arc<RuntimeInner>, scope: &Scope, turn: TurnId, reason: String) {
    let Err(error) = runtime.store().fail_turn(turn, &reason).await else { return };
    tracing::error!(%turn, "the failed turn could not be marked yet: {error}");
    let life_kept = runtime.clone();
    // Its sender was told that it failed: it is not answered as an orphan meanwhile.
    let held = runtime.conversations.hold_turn(scope);
    runtime.tasks.spawn(async move {
        let _held = held;
        loop {
            tokio::select! {
                () = life_kept.clock().sleep(REST_AFTER_FAILURE) => {}
                () = life_kept.stopping.cancelled() => return,
            }
            if life_kept.store().fail_turn(turn, &reason).await.is_ok() {
                return;
            }
        }
    });
}
