//! The worker that extracts graph facts in the background: from new memories, one session at a time, then from
//! documents of other programs, some lines at a time.

use std::sync::Arc;
use std::time::Duration;

use hub::Hub;
use hub::graph::{ExtractionStep, Graph, RelationExtractor as _};
use jiff::Timestamp;
use memory::ports::Backoff;

use crate::core::RuntimeCore;
use crate::worker::{NextRun, WakeCause, Worker};

/// Consecutive failures after which the model is not asked for a while, whichever sessions they were about. A model
/// that fails three times is unavailable or out of credit, and each attempt may cost money.
const FAILURES_MAX: u32 = 3;
/// Pause after failures of the model; then one session is tried. No reply needs relations, so they wait longer than
/// memories do.
const BACKOFF: Backoff = Backoff { first: Duration::from_secs(30), longest: Duration::from_secs(3_600) };

/// Extracts graph facts in the background. Work that a stop interrupts is repeated at the next start.
pub(crate) struct GraphWorker {
    core: Arc<RuntimeCore>,
    hub: Option<Hub>,
    graph: Graph,
    failures: u32,
}

impl GraphWorker {
    pub(crate) fn new(core: Arc<RuntimeCore>, hub: Option<Hub>, graph: Graph) -> Self {
        Self { core, hub, graph, failures: 0 }
    }
}

impl Worker for GraphWorker {
    const NAME: &str = "graph";

    async fn run_once(&mut self, cause: WakeCause) -> NextRun {
        if cause == WakeCause::SettingsChanged {
            self.failures = 0;
        }
        tokio::select! {
            next = draw_relations(&self.core, self.hub.as_ref(), &self.graph, &mut self.failures) => next,
            () = self.core.stopping.cancelled() => NextRun::WhenWoken,
        }
    }

    async fn wait_for_work(&self) {
        self.core.remembered.notified().await;
    }
}

/// Waits until a session was consolidated, or until a failed session is `due` again, if there is one.
fn next_session(core: &RuntimeCore, due: Option<Timestamp>) -> NextRun {
    let wait = due.and_then(|due| Duration::try_from(due.duration_since(core.clock().now())).ok());
    let wait = wait.unwrap_or(Duration::MAX).min(core.settings().poll_every);
    NextRun::Within(wait.max(Duration::from_secs(1)))
}

/// Extracts facts from every session that is ready and then from documents, until there were too many consecutive
/// `failures`.
async fn draw_relations(core: &RuntimeCore, hub: Option<&Hub>, graph: &Graph, failures: &mut u32) -> NextRun {
    if let Some(hub) = hub {
        hub.extraction().set_available(core.mind().can_find_facts());
    }
    let instance = hub.map(|hub| hub.instance_id().to_string()).unwrap_or_default();
    let mut retry_of_sessions = None;
    let mut are_sessions_read = false;
    while core.may_spend().await {
        // Without a model, sessions wait for one, while rules read names in documents.
        let of_session = !are_sessions_read && core.mind().can_find_facts();
        let drawn = match of_session {
            true => graph.extract_next(core.mind(), &instance).await,
            false => graph.extract_next_document(core.mind(), &instance).await,
        };
        let now = core.clock().now();
        match drawn {
            Ok(ExtractionStep::Nothing { retry_at }) if of_session => {
                (are_sessions_read, retry_of_sessions) = (true, retry_at);
            }
            Ok(ExtractionStep::Nothing { retry_at }) => {
                return next_session(core, retry_at.into_iter().chain(retry_of_sessions).min());
            }
            Ok(ExtractionStep::Read { nodes, edges }) => {
                *failures = 0;
                if let Some(hub) = hub {
                    hub.extraction().note_success(now, nodes as u64, edges as u64);
                }
                tracing::debug!(nodes, edges, of_session, "relations were added to the graph");
            }
            Ok(ExtractionStep::Failed { reason }) => {
                *failures = failures.saturating_add(1);
                if let Some(hub) = hub {
                    hub.extraction().note_failure(now, &reason);
                }
                tracing::warn!("relations could not be extracted; retrying: {reason}");
                if let Some(more) = failures.checked_sub(FAILURES_MAX) {
                    return NextRun::After(BACKOFF.wait_after_failures(more));
                }
            }
            Err(error) => {
                tracing::warn!("relations can't be extracted at the moment: {error}");
                return next_session(core, None);
            }
        }
    }
    next_session(core, None)
}
