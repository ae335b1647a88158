//! Consolidates ended sessions in the background, one at a time.

use std::sync::{Arc, Mutex, PoisonError};

use memory::Scope;
use memory::consolidate::{ConsolidationEvent, Consolidator, Participants};
use memory::ports::StoreError;

use crate::events::server_event::{ServerEvent, scope_of};
use crate::runtime::RuntimeInner;
use crate::worker::{Cause, Next, Worker};

/// Consolidates every session that waits. One that is under way when the program stops is finished or given back, and resumed.
#[derive(Default)]
pub(crate) struct ConsolidationWorker {
    claim_is_held: bool,
}

impl Worker for ConsolidationWorker {
    const NAME: &str = "consolidation";

    async fn run_once(&mut self, runtime: &Arc<RuntimeInner>, _: Cause) -> Next {
        let next = Next::Within(runtime.settings().poll_every);
        while !runtime.stopping.is_cancelled() && runtime.may_spend().await {
            if self.claim_is_held && !was_released(runtime).await {
                return next;
            }
            self.claim_is_held = false;
            let mut ended_on = None;
            match consolidate_next(runtime, &mut ended_on).await {
                Ok(true) => {
                    if let Some(channel_id) = ended_on {
                        runtime.publish_remembering(&channel_id).await;
                    }
                    runtime.written.notify_one();
                    runtime.wake_hub();
                }
                Ok(false) => return next,
                Err(error) => {
                    tracing::error!("consolidation can't go on for now: {error}");
                    self.claim_is_held = !was_released(runtime).await;
                    return next;
                }
            }
        }
        next
    }

    async fn woken(&self, runtime: &RuntimeInner) {
        runtime.session_ended.notified().await;
    }
}

/// `ended_on` gets the channel of the session that was consolidated or given up.
async fn consolidate_next(
    runtime: &Arc<RuntimeInner>,
    ended_on: &mut Option<String>,
) -> Result<bool, StoreError> {
    let ended = Mutex::new(None);
    let formed = |formed: ConsolidationEvent| {
        let closed = match &formed {
            ConsolidationEvent::Closed { session, .. } => Some(("closed", session)),
            ConsolidationEvent::Failed { session } => Some(("failed", session)),
            _ => None,
        };
        if let Some((outcome, session)) = closed {
            runtime.metrics().session(outcome);
            *ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.channel_id.clone());
        }
        let scope = scope_of(&formed);
        runtime.publish(&scope, ServerEvent::Formed(formed));
    };
    let settings = runtime.settings();
    let consolidator = Consolidator {
        store: runtime.store(),
        mind: runtime.mind(),
        embedder: runtime.embedder(),
        index: runtime.index(),
        clock: runtime.clock(),
        ids: runtime.ids(),
        settings: &settings.consolidate,
        recall: &settings.recall,
        formed: &formed,
    };
    let work = consolidator.consolidate_next(|scope| parties(runtime, scope));
    let outcome = tokio::select! {
        outcome = work => outcome,
        // What was committed stays; the claim is released at the next start.
        () = runtime.stopping.cancelled() => Ok(false),
    };
    *ended_on = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcome
}

async fn parties(runtime: &Arc<RuntimeInner>, scope: Scope) -> Result<Participants, StoreError> {
    let persona = runtime.persona_of(&scope).await?;
    Ok(Participants { persona_name: persona.display_name, zone: runtime.zone_of(&scope.user).await? })
}

/// True if a session that could not be settled waits again. This worker is the only one on this home, so any claim is its
/// own.
async fn was_released(runtime: &RuntimeInner) -> bool {
    match runtime.store().release_claims().await {
        Ok(_) => true,
        Err(error) => {
            tracing::error!("an interrupted session can't be given back yet: {error}");
            false
        }
    }
}
