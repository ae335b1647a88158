//! Forgetting while turns and background work run: work in progress must not bring the text back.
//!
//! A reply or a vector that was begun before an act of forgetting may hold what was forgotten. Each act counts for its
//! memory; whoever began earlier finds another count and does not commit. Both sides look under one lock, so nothing
//! slips between the look and the commit. Extractions are stopped by the store itself, which takes their claim away.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use memory::forget::{
    Confirmations, Dependents, EraseError, Eraser, ErasureReceipt, ErasureRequest, ForgetMode, ForgetRequest,
    ForgetSummary, ForgetTarget, ResetCounts, Selection,
};
use memory::identifiers::{ErasureId, NodeId};
use memory::ports::StoreError;
use memory::{PersonaId, Scope};
use tokio::sync::{RwLock, RwLockReadGuard};

use crate::core::RuntimeCore;
use crate::events::server_event::ServerEvent;
use crate::runtime::{Runtime, RuntimeInner};

/// Counts acts of forgetting, so that work begun before one is not committed after it.
#[derive(Default)]
pub(crate) struct ForgetEpochs {
    /// Held by whoever forgets, and shared by whoever commits what was begun before.
    lock: RwLock<()>,
    counts: Mutex<EpochCounts>,
    confirmations: Confirmations,
}

#[derive(Default)]
struct EpochCounts {
    by_scope: HashMap<Scope, u64>,
    by_persona: HashMap<PersonaId, u64>,
    all: u64,
}

/// Number of acts of forgetting at the start of some work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ForgetEpoch(u64);

impl ForgetEpochs {
    /// Acts of forgetting in this memory until now.
    pub(crate) fn of(&self, scope: &Scope) -> ForgetEpoch {
        let counted = self.counted();
        let of_scope = counted.by_scope.get(scope).copied().unwrap_or_default();
        ForgetEpoch(of_scope + counted.by_persona.get(&scope.persona).copied().unwrap_or_default())
    }

    /// Acts of forgetting in all memories until now.
    pub(crate) fn of_all(&self) -> ForgetEpoch {
        ForgetEpoch(self.counted().all)
    }

    /// While this is held, nothing is forgotten.
    pub(crate) async fn block_forgetting(&self) -> RwLockReadGuard<'_, ()> {
        self.lock.read().await
    }

    /// Does work that gives stored texts other words: a vector that was begun before it must not be kept.
    pub(crate) async fn run_exclusive<T>(&self, work: impl Future<Output = T>) -> T {
        let _alone = self.lock.write().await;
        let done = work.await;
        self.counted().all += 1;
        done
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

    fn counted(&self) -> std::sync::MutexGuard<'_, EpochCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An erasure in one memory by somebody else. What was begun before it, or while it is under way, is not committed afterwards.
///
/// It takes no lock. Forgetting here holds the lock of [`ForgetEpochs`] and then waits for the documents, which are locked while
/// an erasure comes in: waiting for the first with the second held would never end.
pub(crate) struct Forgetting {
    core: Arc<RuntimeCore>,
    scope: Scope,
}

impl Forgetting {
    pub(crate) fn begin(core: Arc<RuntimeCore>, scope: Scope) -> Self {
        core.forget_epochs.count(&scope);
        Self { core, scope }
    }
}

impl Drop for Forgetting {
    fn drop(&mut self) {
        self.core.forget_epochs.count(&self.scope);
        self.core.broadcast().withdraw(&self.scope);
    }
}

impl RuntimeInner {
    fn eraser(&self) -> Eraser<'_> {
        Eraser {
            store: self.store(),
            index: self.index(),
            confirmations: &self.forget_epochs.confirmations,
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

    /// Publishes what was forgotten, by its ids, and withdraws events that watchers could still receive again.
    fn publish_forgotten(&self, scope: &Scope, receipt: Option<ErasureId>, taken: &ForgetSummary) {
        self.broadcast().withdraw(scope);
        if !taken.is_empty() {
            self.publish(scope, ServerEvent::Forgotten { receipt, taken: Box::new(taken.clone()) });
        }
        // Rewritten nodes wait for their vectors.
        self.written.notify_one();
        // A session that was given back waits again.
        self.session_ended.notify_one();
    }
}

impl Runtime {
    /// The scope of a row; none if it does not exist.
    pub async fn scope_of(&self, thing: ForgetTarget) -> Result<Option<Scope>, StoreError> {
        self.runtime.store().scope_of(thing).await
    }

    /// Rows that depend on a node, and the effect of deleting it for either mode.
    pub async fn preview_delete(
        &self,
        id: NodeId,
    ) -> Result<Option<(Dependents, [(ForgetMode, ForgetSummary); 2])>, StoreError> {
        let (store, now) = (self.runtime.store(), self.runtime.clock().now());
        let Some(found) = store.dependents(id).await? else { return Ok(None) };
        let orphan = found.would_take(store, ForgetMode::Orphan, now).await?;
        let cascade = found.would_take(store, ForgetMode::Cascade, now).await?;
        Ok(Some((found, [(ForgetMode::Orphan, orphan), (ForgetMode::Cascade, cascade)])))
    }

    /// Deletes what a person pointed at: gone at once, and freed pages are overwritten within a minute. Returns what
    /// went with it.
    pub async fn delete(
        &self,
        scope: Scope,
        selection: Selection,
        thoughts: ForgetMode,
    ) -> Result<ForgetSummary, StoreError> {
        let runtime = &self.runtime;
        let act = ForgetRequest { scope: scope.clone(), selection, thoughts, at: runtime.clock().now() };
        let _alone = runtime.forget_epochs.lock.write().await;
        let taken = runtime.eraser().forget(act).await?.taken;
        runtime.forget_epochs.count(&scope);
        runtime.forget_in_files(&scope).await;
        runtime.forget_sound(&scope, &taken.messages).await;
        runtime.publish_forgotten(&scope, None, &taken);
        Ok(taken)
    }

    /// Previews an erasure. The receipt's id confirms it for ten minutes.
    pub async fn erase_dry_run(&self, request: ErasureRequest) -> Result<ErasureReceipt, EraseError> {
        self.runtime.eraser().dry_run(request).await
    }

    /// Erases: physically, completely, with a receipt. Returns when freed pages and the log are overwritten too, or
    /// when that has to wait; then the receipt says so.
    pub async fn erase(&self, request: ErasureRequest) -> Result<ErasureReceipt, EraseError> {
        let scope = request.scope.clone();
        let receipt = self.erase_rows(request).await?;
        if !receipt.taken.is_empty() {
            self.overwrite_erased(&scope).await;
        }
        Ok(self.runtime.store().erasure_receipt(receipt.id).await?.unwrap_or(receipt))
    }

    /// The first half of [`erase`](Self::erase): what is erased is gone for everybody who asks, and the freed pages of the file are
    /// still to be overwritten, at the next look around at the latest.
    pub(crate) async fn erase_rows(&self, request: ErasureRequest) -> Result<ErasureReceipt, EraseError> {
        let (runtime, scope) = (&self.runtime, request.scope.clone());
        let mut erasure = runtime.eraser().begin(request).await?;
        while erasure.has_more() {
            // Turns commit between two groups.
            let _alone = runtime.forget_epochs.lock.write().await;
            let taken = runtime.eraser().erase_group(&mut erasure).await?;
            runtime.forget_epochs.count(&scope);
            runtime.forget_in_files(&scope).await;
            runtime.forget_sound(&scope, &taken.messages).await;
            runtime.publish_forgotten(&scope, Some(erasure.receipt_id()), &taken);
        }
        erasure.finish()
    }

    /// The second half: overwrites what was freed.
    pub(crate) async fn overwrite_erased(&self, scope: &Scope) {
        if self.runtime.overwrite_freed().await {
            // What was committed just before may have been told just after.
            self.runtime.broadcast().withdraw(scope);
        }
    }

    /// Leaves a persona as if it were new: all that it is and remembers is gone, of all users. None if there is none.
    pub async fn reset_persona(&self, persona: &PersonaId) -> Result<Option<ResetCounts>, StoreError> {
        let runtime = &self.runtime;
        let settings = runtime.settings();
        let name =
            if *persona == settings.persona { settings.persona_name.as_str() } else { persona.as_str() };
        let counts = {
            let _alone = runtime.forget_epochs.lock.write().await;
            let counts = runtime.store().reset_persona(persona, name, runtime.clock().now()).await?;
            runtime.index().forget_persona(persona);
            runtime.forget_epochs.count_persona(persona);
            runtime.forget_files_of(persona).await;
            runtime.forget_sound_of(persona).await;
            for scope in runtime.broadcast().withdraw_persona(persona) {
                runtime.publish(&scope, ServerEvent::Forgotten { receipt: None, taken: Box::default() });
            }
            counts
        };
        runtime.overwrite_freed().await;
        Ok(counts)
    }
}
