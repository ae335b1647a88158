//! Work after a turn: settles fulfilled expectations, and counts recalled memories.

use std::sync::Arc;

use memory::Scope;
use memory::identifiers::{MessageId, NodeId};
use memory::ports::{ExpectationEnd, ExpectationOutcome};

use crate::core::RuntimeCore;

/// Settles expectations that were in the prompt as fulfilled, so that each is mentioned once. One that was cut to fit
/// the budget stays pending.
pub(crate) async fn settle_expectations(
    core: &RuntimeCore,
    scope: &Scope,
    shown: &[NodeId],
    by: Option<MessageId>,
) {
    if shown.is_empty() {
        return;
    }
    let settled = ExpectationEnd { outcome: ExpectationOutcome::Fulfilled, by, at: core.clock().now() };
    if let Err(error) = core.store().settle_expectations(scope, shown, settled).await {
        tracing::warn!("a fulfilled expectation could not be settled: {error}");
    }
}

/// Counts recalls in the background; a failure has no other effect.
pub(crate) fn count_recalls(core: &Arc<RuntimeCore>, used: Vec<NodeId>) {
    let counting = core.clone();
    core.tasks.spawn(async move {
        let now = counting.clock().now();
        if let Err(error) = counting.store().count_node_recalls(&used, now).await {
            tracing::warn!("recalls were not counted: {error}");
        }
    });
}
