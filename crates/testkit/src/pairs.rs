//! Pairs of statements, and answers to them, for tests that need a memory that replaced another.

use jiff::Timestamp;
use memory::identifiers::NodeId;
use memory::ports::{
    Counterpart, NewPair, PairOutcome, ReconciliationCommit, ReconciliationStore, StoreError,
};
use memory::sessions::Session;

/// Maximum pairs that are answered at once.
const PAIRS_MAX: u32 = 100;

/// A pair of two memories.
#[must_use]
pub fn pair(node: NodeId, other: NodeId) -> NewPair {
    NewPair { node, other: Counterpart::Node(other) }
}

/// Answers every waiting pair in the session's scope: the newer memory replaces the older one.
///
/// # Errors
///
/// When storage fails.
pub async fn replace_waiting<S: ReconciliationStore + ?Sized>(
    store: &S,
    session: &Session,
    at: Timestamp,
) -> Result<(), StoreError> {
    let waiting = store.waiting_pairs(&session.scope, session.id, PAIRS_MAX).await?;
    let replaced = || PairOutcome::Replaced { is_mistaken: false, former: None, rest: None };
    let outcomes = waiting.iter().map(|pair| (pair.number, replaced())).collect();
    let commit = ReconciliationCommit { session_id: session.id, scope: session.scope.clone(), at, outcomes };
    store.commit_reconciliation(commit).await
}
