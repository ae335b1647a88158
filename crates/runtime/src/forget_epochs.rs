//! Coordinates forgetting with turns and background work, which must not bring forgotten text back.
//!
//! A reply or a vector that was begun before an act of forgetting may contain forgotten text. Each act increments a
//! counter; work that began with another count is not committed. Both sides check under one lock, so that nothing
//! happens between the check and the commit. Extractions are stopped by the store, which revokes their claims.

use std::collections::HashMap;

use memory::forget::Confirmations;
use memory::{PersonaId, Scope};
use parking_lot::Mutex;
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Counts acts of forgetting, so that work that began before one is not committed after it.
#[derive(Default)]
pub(crate) struct ForgetEpochs {
    /// Locked exclusively by an act of forgetting, and shared by commits of earlier work, which do not wait for each
    /// other. An asynchronous lock, because it is held during writes.
    lock: RwLock<()>,
    /// Not part of `lock`, so that work can note its epoch while an act of forgetting writes.
    counts: Mutex<EpochCounts>,
    /// Previews of erasures that wait for confirmation.
    pub(crate) confirmations: Confirmations,
}

#[derive(Default)]
struct EpochCounts {
    by_scope: HashMap<Scope, u64>,
    by_persona: HashMap<PersonaId, u64>,
    all: u64,
}

/// Number of acts of forgetting when some work began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ForgetEpoch(u64);

impl ForgetEpochs {
    /// Number of deletions in this memory so far.
    pub(crate) fn for_scope(&self, scope: &Scope) -> ForgetEpoch {
        let counted = self.counts.lock();
        let of_scope = counted.by_scope.get(scope).copied().unwrap_or_default();
        ForgetEpoch(of_scope + counted.by_persona.get(&scope.persona).copied().unwrap_or_default())
    }

    /// Number of acts of forgetting in all scopes so far.
    pub(crate) fn latest_epoch(&self) -> ForgetEpoch {
        ForgetEpoch(self.counts.lock().all)
    }

    /// Delays forgetting while the returned guard is held.
    pub(crate) async fn block_forgetting(&self) -> RwLockReadGuard<'_, ()> {
        self.lock.read().await
    }

    /// Locks out other acts of forgetting, and commits of work that began before.
    pub(crate) async fn begin_forgetting(&self) -> RwLockWriteGuard<'_, ()> {
        self.lock.write().await
    }

    /// Runs a change of stored texts: a vector computed from the former text must not be stored.
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
