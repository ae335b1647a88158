//! What a reply leaves to be done when it is out: expectations that it told of are settled, recalls are counted.

use std::sync::Arc;

use memory::Scope;
use memory::identifiers::{MessageId, NodeId};
use memory::ports::{ExpectationOutcome, SettledExpectation};

use crate::life::Life;

/// What the reply was told is fulfilled is expected no more: it shows once. One that the budget cut waits on.
pub(crate) async fn settle_expectations(life: &Life, scope: &Scope, shown: &[NodeId], by: Option<MessageId>) {
    if shown.is_empty() {
        return;
    }
    let settled = SettledExpectation { outcome: ExpectationOutcome::Fulfilled, by, at: life.clock().now() };
    if let Err(error) = life.store().settle_expectations(scope, shown, settled).await {
        tracing::warn!("a fulfilled expectation stays pending: {error}");
    }
}

/// Off the hot path: a count that fails costs nothing but the count.
pub(crate) fn count_recalls(life: &Arc<Life>, used: Vec<NodeId>) {
    let life_kept = life.clone();
    life.tasks.spawn(async move {
        let now = life_kept.clock().now();
        if let Err(error) = life_kept.store().touch_nodes(&used, now).await {
            tracing::warn!("recalls were not counted: {error}");
        }
    });
}
