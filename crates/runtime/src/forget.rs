//! Forgetting while life goes on: what is being said or remembered at that moment must not bring it back.
//!
//! A reply or a vector that was begun before an act of forgetting may hold what was forgotten. Each act counts for its
//! memory; whoever began earlier finds another count and does not commit. Both sides look under one lock, so nothing
//! slips between the look and the commit. Extractions are stopped by the store itself, which takes their claim away.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use memory::forget::{
    Choice, Confirmations, Dependents, EraseError, Eraser, ErasureReceipt, ErasureRequest, Forgetting,
    ResetCounts, Selection, Taken, Thing,
};
use memory::identifiers::{ErasureId, NodeId};
use memory::ports::StoreError;
use memory::{PersonaId, Scope};
use tokio::sync::{RwLock, RwLockReadGuard};

use crate::events::Event;
use crate::life::{Life, Runtime};

/// What life knows of forgetting.
#[derive(Default)]
pub(crate) struct Forgettings {
    /// Held by whoever forgets, and shared by whoever commits what was begun before.
    lock: RwLock<()>,
    counts: Mutex<Counted>,
    confirmations: Confirmations,
}

#[derive(Default)]
struct Counted {
    by_scope: HashMap<Scope, u64>,
    by_persona: HashMap<PersonaId, u64>,
    all: u64,
}

/// Where a memory stood with forgetting when something was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ForgottenSoFar(u64);

impl Forgettings {
    /// Acts of forgetting in this memory until now.
    pub(crate) fn of(&self, scope: &Scope) -> ForgottenSoFar {
        let counted = self.counted();
        let of_scope = counted.by_scope.get(scope).copied().unwrap_or_default();
        ForgottenSoFar(of_scope + counted.by_persona.get(&scope.persona).copied().unwrap_or_default())
    }

    /// Acts of forgetting in all memories until now.
    pub(crate) fn of_all(&self) -> ForgottenSoFar {
        ForgottenSoFar(self.counted().all)
    }

    /// While this is held, nothing is forgotten.
    pub(crate) async fn hold(&self) -> RwLockReadGuard<'_, ()> {
        self.lock.read().await
    }

    fn count(&self, scope: &Scope) {
        let mut counted = self.counted();
        *counted.by_scope.entry(scope.clone()).or_default() += 1;
        counted.all += 1;
    }

    fn count_persona(&self, persona: &PersonaId) {
        let mut counted = self.counted();
        *counted.by_persona.entry(persona.clone()).or_default() += 1;
        counted.all += 1;
    }

    fn counted(&self) -> std::sync::MutexGuard<'_, Counted> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Life {
    fn eraser(&self) -> Eraser<'_> {
        Eraser {
            store: self.store(),
            index: self.index(),
            confirmations: &self.forgettings.confirmations,
            clock: self.clock(),
            ids: self.ids(),
        }
    }

    /// Overwrites what freed pages and the log still hold, if anything was forgotten.
    pub(crate) async fn overwrite_freed(&self) -> bool {
        match self.store().overwrite_freed(self.clock().now()).await {
            Ok(done) => done,
            // It stays due; the next look tries again.
            Err(error) => {
                tracing::warn!(
                    "what was forgotten is gone, but freed pages could not be overwritten yet: {error}"
                );
                false
            }
        }
    }

    /// Tells what was forgotten, by its ids, and takes back what watchers could still be told again.
    fn tell_forgotten(&self, scope: &Scope, receipt: Option<ErasureId>, taken: &Taken) {
        self.broadcast().withdraw(scope);
        if !taken.is_empty() {
            self.tell(scope, Event::Forgotten { receipt, taken: Box::new(taken.clone()) });
        }
        // Rewritten nodes wait for their vectors.
        self.written.notify_one();
        // A session that was given back waits again.
        self.session_ended.notify_one();
    }
}

impl Runtime {
    /// Whose memory a thing is in; none if it is not there.
    pub async fn scope_of(&self, thing: Thing) -> Result<Option<Scope>, StoreError> {
        self.life.store().scope_of(thing).await
    }

    /// What hangs on a node, and what deleting it would take with either choice.
    pub async fn preview_delete(
        &self,
        id: NodeId,
    ) -> Result<Option<(Dependents, [(Choice, Taken); 2])>, StoreError> {
        let (store, now) = (self.life.store(), self.life.clock().now());
        let Some(found) = store.dependents(id).await? else { return Ok(None) };
        let orphan = found.would_take(store, Choice::Orphan, now).await?;
        let cascade = found.would_take(store, Choice::Cascade, now).await?;
        Ok(Some((found, [(Choice::Orphan, orphan), (Choice::Cascade, cascade)])))
    }

    /// Deletes what a person pointed at: gone at once, and freed pages are overwritten within a minute. Returns what
    /// went with it.
    pub async fn delete(
        &self,
        scope: Scope,
        selection: Selection,
        thoughts: Choice,
    ) -> Result<Taken, StoreError> {
        let life = &self.life;
        let act = Forgetting { scope: scope.clone(), selection, thoughts, at: life.clock().now() };
        let _alone = life.forgettings.lock.write().await;
        let taken = life.eraser().forget(act).await?.taken;
        life.forgettings.count(&scope);
        life.tell_forgotten(&scope, None, &taken);
        Ok(taken)
    }

    /// What erasing would take. The receipt's id confirms it for ten minutes.
    pub async fn erase_dry_run(&self, request: ErasureRequest) -> Result<ErasureReceipt, EraseError> {
        self.life.eraser().dry_run(request).await
    }

    /// Erases: physically, completely, with a receipt. Returns when freed pages and the log are overwritten too, or
    /// when that has to wait; then the receipt says so.
    pub async fn erase(&self, request: ErasureRequest) -> Result<ErasureReceipt, EraseError> {
        let (life, scope) = (&self.life, request.scope.clone());
        let receipt = {
            let _alone = life.forgettings.lock.write().await;
            let receipt = life.eraser().erase(request).await?;
            life.forgettings.count(&scope);
            life.tell_forgotten(&scope, Some(receipt.id), &receipt.taken);
            receipt
        };
        if life.overwrite_freed().await && !receipt.taken.is_empty() {
            // What was committed just before may have been told just after.
            life.broadcast().withdraw(&scope);
        }
        Ok(life.store().erasure_receipt(receipt.id).await?.unwrap_or(receipt))
    }

    /// Leaves a persona as if it were new: all that it is and remembers is gone, of all users. None if there is none.
    pub async fn reset_persona(&self, persona: &PersonaId) -> Result<Option<ResetCounts>, StoreError> {
        let life = &self.life;
        let settings = &life.settings;
        let name =
            if *persona == settings.persona { settings.persona_name.as_str() } else { persona.as_str() };
        let counts = {
            let _alone = life.forgettings.lock.write().await;
            let counts = life.store().reset_persona(persona, name, life.clock().now()).await?;
            life.index().forget_persona(persona);
            life.forgettings.count_persona(persona);
            for scope in life.broadcast().withdraw_persona(persona) {
                life.tell(&scope, Event::Forgotten { receipt: None, taken: Box::default() });
            }
            counts
        };
        life.overwrite_freed().await;
        Ok(counts)
    }
}
