//! The worker that makes memory of ended sessions, one at a time, behind the talk.

use std::sync::Arc;

use memory::Scope;
use memory::consolidate::{Consolidator, Formed, Parties};
use memory::ports::StoreError;

use crate::events::{Event, scope_of};
use crate::life::Life;

/// Works until the program stops. A session that is under way then is finished or given back, and taken up again.
pub(crate) async fn run(life: Arc<Life>) {
    let mut claim_is_held = false;
    loop {
        while !life.stopping.is_cancelled() {
            if !life.may_spend().await {
                break;
            }
            if claim_is_held && !gave_back(&life).await {
                break;
            }
            claim_is_held = false;
            match consolidate_next(&life).await {
                Ok(true) => {
                    life.written.notify_one();
                    life.wake_hub();
                }
                Ok(false) => break,
                Err(error) => {
                    tracing::error!("consolidation can't go on for now: {error}");
                    claim_is_held = !gave_back(&life).await;
                    break;
                }
            }
        }
        let changed = life.settings_changed.notified();
        tokio::select! {
            () = changed => {}
            () = life.session_ended.notified() => {}
            () = life.clock().sleep(life.settings.poll_every) => {}
            () = life.stopping.cancelled() => return,
        }
    }
}

async fn consolidate_next(life: &Arc<Life>) -> Result<bool, StoreError> {
    let formed = |formed: Formed| {
        match &formed {
            Formed::Closed { .. } => life.metrics().session("closed"),
            Formed::Failed { .. } => life.metrics().session("failed"),
            _ => {}
        }
        let scope = scope_of(&formed);
        life.tell(&scope, Event::Formed(formed));
    };
    let consolidator = Consolidator {
        store: life.store(),
        mind: life.mind(),
        embedder: life.embedder(),
        index: life.index(),
        clock: life.clock(),
        ids: life.ids(),
        settings: &life.settings.consolidate,
        recall: &life.settings.recall,
        formed: &formed,
    };
    let work = consolidator.consolidate_next(|scope| parties(life, scope));
    tokio::select! {
        outcome = work => outcome,
        // What was committed stays; the claim is released at the next start.
        () = life.stopping.cancelled() => Ok(false),
    }
}

async fn parties(life: &Arc<Life>, scope: Scope) -> Result<Parties, StoreError> {
    let persona = life.persona_of(&scope).await?;
    Ok(Parties { persona_name: persona.display_name, zone: life.zone_of(&scope.user).await? })
}

/// Whether a session that could not be settled waits again. This worker is the only one on this home, so any claim is
/// its own.
async fn gave_back(life: &Life) -> bool {
    match life.store().release_claims().await {
        Ok(_) => true,
        Err(error) => {
            tracing::error!("an interrupted session can't be given back yet: {error}");
            false
        }
    }
}
