//! Consolidates ended sessions in the background, one at a time.

use std::sync::Arc;

use memory::Scope;
use memory::consolidate::{ConsolidationEvent, Consolidator, Participants};
use memory::ports::StoreError;
use parking_lot::Mutex;

use crate::core::RuntimeCore;
use crate::sessions::Sessions;
use crate::worker::{NextRun, WakeCause, Worker};

/// Consolidates every waiting session. One in progress when the program stops is finished, or returned to the queue
/// and resumed.
pub(crate) struct ConsolidationWorker {
    sessions: Arc<Sessions>,
    claim_is_held: bool,
}

impl ConsolidationWorker {
    pub(crate) fn new(sessions: Arc<Sessions>) -> Self {
        Self { sessions, claim_is_held: false }
    }
}

impl Worker for ConsolidationWorker {
    const NAME: &str = "consolidation";

    async fn run_once(&mut self, _: WakeCause) -> NextRun {
        let (sessions, core) = (&self.sessions, &self.sessions.core);
        let next = NextRun::Within(core.settings().poll_every);
        while !core.stopping.is_cancelled() && core.may_spend().await {
            if self.claim_is_held && !has_released_claims(core).await {
                return next;
            }
            self.claim_is_held = false;
            let mut ended_on = None;
            match consolidate_next(core, &mut ended_on).await {
                Ok(true) => {
                    if let Some(channel_id) = ended_on {
                        sessions.imports.publish_remembering(&channel_id).await;
                    }
                    core.written.notify_one();
                    sessions.shared_self.wake();
                }
                Ok(false) => return next,
                Err(error) => {
                    tracing::error!("consolidation is paused: {error}");
                    self.claim_is_held = !has_released_claims(core).await;
                    return next;
                }
            }
        }
        next
    }

    async fn wait_for_work(&self) {
        self.sessions.core.session_ended.notified().await;
    }
}

/// Consolidates one session. `ended_on` receives the channel of a session that was consolidated or failed
/// permanently.
async fn consolidate_next(core: &RuntimeCore, ended_on: &mut Option<String>) -> Result<bool, StoreError> {
    let ended = Mutex::new(None);
    let formed = |formed: ConsolidationEvent| {
        let closed = match &formed {
            ConsolidationEvent::Closed { session, .. } => Some(("closed", session)),
            ConsolidationEvent::Failed { session } => Some(("failed", session)),
            _ => None,
        };
        if let Some((outcome, session)) = closed {
            core.metrics().session(outcome);
            *ended.lock() = Some(session.channel_id.clone());
        }
        core.publish_formed(formed);
    };
    let settings = core.settings();
    let consolidator = Consolidator {
        store: core.store(),
        mind: core.mind(),
        embedder: core.embedder(),
        index: core.index(),
        clock: core.clock(),
        ids: core.ids(),
        settings: &settings.consolidate,
        recall: &settings.recall,
        formed: &formed,
    };
    let work = consolidator.consolidate_next(|scope| participants(core, scope));
    let outcome = tokio::select! {
        outcome = work => outcome,
        // Committed phases stay; the claim is released at the next start.
        () = core.stopping.cancelled() => Ok(false),
    };
    *ended_on = ended.into_inner();
    outcome
}

async fn participants(core: &RuntimeCore, scope: Scope) -> Result<Participants, StoreError> {
    let persona = core.persona_of(&scope).await?;
    Ok(Participants { persona_name: persona.display_name, zone: core.zone_of(&scope.user).await? })
}

/// Returns a session that could not be settled to the queue; true if there was one. This worker is the only one on
/// this home, so any claim is its own.
async fn has_released_claims(core: &RuntimeCore) -> bool {
    match core.store().release_claims().await {
        Ok(_) => true,
        Err(error) => {
            tracing::error!("an interrupted session can't be requeued yet: {error}");
            false
        }
    }
}
