//! The worker that draws the graph from new memories, a session at a time, behind the talk.

use std::sync::Arc;
use std::time::Duration;

use hub::graph::{Drawn, FactFinder as _, Graph};
use jiff::Timestamp;

use crate::life::{Life, Runtime};

/// Failures in a row after which the model is left alone until the first of them is due again.
const FAILURES_MAX: u32 = 3;

/// Works until the program stops. What is under way then is asked about again at the next start.
pub(crate) async fn run(life: Arc<Life>) {
    let Some(graph) = life.graph.get() else { return };
    let mut told_of_cap_until = None;
    loop {
        let retry_at = tokio::select! {
            retry_at = draw(&life, graph, &mut told_of_cap_until) => retry_at,
            () = life.stopping.cancelled() => return,
        };
        let until_retry =
            retry_at.and_then(|at| Duration::try_from(at.duration_since(life.clock().now())).ok());
        let wait = until_retry.map_or(life.settings.poll_every, |wait| wait.min(life.settings.poll_every));
        let changed = life.settings_changed.notified();
        tokio::select! {
            () = changed => {}
            () = life.remembered.notified() => {}
            () = life.clock().sleep(wait.max(Duration::from_secs(1))) => {}
            () = life.stopping.cancelled() => return,
        }
    }
}

/// Draws from every session that is ready; says when one that failed is to be tried again.
async fn draw(life: &Life, graph: &Graph, told_of_cap_until: &mut Option<Timestamp>) -> Option<Timestamp> {
    let mut failures = 0;
    let hub = life.hub.get().map(|(hub, _)| hub);
    if let Some(hub) = hub {
        hub.extraction().set_available(life.mind().can_find_facts());
    }
    let instance = hub.map(|hub| hub.settings().instance.to_string()).unwrap_or_default();
    // Without a model nothing is drawn, and what is there waits for one.
    while life.mind().can_find_facts() && failures < FAILURES_MAX && life.may_spend(told_of_cap_until).await {
        let drawn = graph.draw_facts(life.mind(), &instance).await;
        let now = life.clock().now();
        match drawn {
            Ok(Drawn::Nothing { retry_at }) => return retry_at,
            Ok(Drawn::Read { nodes, edges }) => {
                failures = 0;
                if let Some(hub) = hub {
                    hub.extraction().succeeded(now, nodes as u64, edges as u64);
                }
                tracing::debug!(edges, "the graph was drawn from a session");
            }
            Ok(Drawn::Failed { reason }) => {
                failures += 1;
                if let Some(hub) = hub {
                    hub.extraction().failed(now, &reason);
                }
                tracing::warn!("the graph could not be drawn from a session and is tried again: {reason}");
            }
            Err(error) => {
                tracing::warn!("the graph can't be drawn for now: {error}");
                return None;
            }
        }
    }
    None
}

impl Runtime {
    /// Lets the graph be drawn from new memories. To be called before [`Runtime::start`]; the first call counts.
    pub fn draw_graph(&self, graph: Graph) {
        // A second one is passed over, as said.
        let _ = self.life.graph.set(graph);
    }
}
