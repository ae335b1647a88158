//! Forgetting while turns and background work run: work in progress must not bring the text back.
//!
//! A reply or a vector that was begun before an act of forgetting may hold what was forgotten. Each act counts for its
//! memory; whoever began earlier finds another count and does not commit. Both sides look under one lock, so nothing
//! slips between the look and the commit. Extractions are stopped by the store itself, which takes their claim away.

use std::collections::HashMap;

use memory::forget::Confirmations;
use memory::{PersonaId, Scope};
use parking_lot::Mutex;
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Counts acts of forgetting, so that work begun before one is not committed after it.
#[derive(Default)]
pub(crate) struct ForgetEpochs {
    /// Held alone by an act of forgetting, and shared by commits of what was begun before: those do not wait for each other. An asynchronous
    /// lock, because it is held during writes.
    lock: RwLock<()>,
    counts: Mutex<EpochCounts>,
    /// Previews of erasures that wait to be confirmed.
    pub(crate) confirmations: Confirmations,
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
    /// Number of deletions in this memory so far.
    pub(crate) fn for_scope(&self, scope: &Scope) -> ForgetEpoch {
        let counted = self.counts.lock();
        let of_scope = counted.by_scope.get(scope).copied().unwrap_or_default();
        ForgetEpoch(of_scope + counted.by_persona.get(&scope.persona).copied().unwrap_or_default())
    }

    /// Acts of forgetting in all memories until now.
    pub(crate) fn latest_epoch(&self) -> ForgetEpoch {
        ForgetEpoch(self.counts.lock().all)
    }

    /// Delays forgetting while the returned guard is held.
    pub(crate) async fn block_forgetting(&self) -> RwLockReadGuard<'_, ()> {
        self.lock.read().await
    }

    /// While this is held, nobody else forgets, and nothing that was begun before is committed.
    pub(crate) async fn begin_forgetting(&self) -> RwLockWriteGuard<'_, ()> {
        self.lock.write().await
    }

    /// Does work that gives stored texts other words: a vector that was begun before it must not be kept.
    pub(crate) async fn run_exclusive<T>(&self, work: impl Future<Output = T>) -> T {
        let _alone = self.lock.write().await;
        let done = work.await;
        self.counts.lock().all += 1;
        done
    }

    pub(crate) fn count(&self, scope: &Scope) {
        let mut counted = self.counts.lock();
        *counted.by_scope.entry(scope.clone()).or_default() += 1;
        counted.all += 1;
    }

    pub(crate) fn count_persona(&self, persona: &PersonaId) {
        let mut counted = self.counts.lock();
        *counted.by_persona.entry(persona.clone()).or_default() += 1;
        counted.all += 1;
    }
}
