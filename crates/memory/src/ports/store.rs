//! All of storage. Each consumer's port is in its own file; every method that writes is one transaction.

use crate::ports::{
    CaptureStore, ConsolidationStore, CorrectionStore, EmbeddingStore, EntityStore, ForgetStore, LedgerStore,
    MessageStore, NodeStore, PersonaStore, RecallStore, ReconciliationStore, SessionStore, SlowCycleStore,
    StatusStore, TraceStore, TurnStore, UserStore, VectorIndexStore,
};

/// Why a storage operation failed. Nothing was written in part, and nothing at all unless it is
/// [`Unconfirmed`](Self::Unconfirmed).
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum StoreError {
    /// The disk is full, read-only or failing: nothing was written, and reading still works.
    #[error("the database can't be written: {0}. No partial change was saved")]
    Unwritable(String),
    /// The database is locked or unreachable at the moment; a later attempt may succeed.
    #[error("the database is busy: {0}")]
    Busy(String),
    /// The connection was lost before the server confirmed: the write may have been done.
    #[error("the write may have succeeded: {0}. Check before you try again")]
    Unconfirmed(String),
    /// The database is damaged, of another program, or of another version.
    #[error("the database can't be used: {0}")]
    Unusable(String),
    /// The statement failed, which is a defect of this program.
    #[error("the database rejected a statement: {0}")]
    Failed(String),
}

/// All storage ports together, for wiring. Consumers should ask for a single port.
pub trait Store:
    PersonaStore
    + UserStore
    + CaptureStore
    + TurnStore
    + MessageStore
    + SessionStore
    + ConsolidationStore
    + ReconciliationStore
    + NodeStore
    + RecallStore
    + VectorIndexStore
    + EmbeddingStore
    + EntityStore
    + CorrectionStore
    + SlowCycleStore
    + TraceStore
    + LedgerStore
    + StatusStore
    + ForgetStore
{
}

impl<T> Store for T where
    T: PersonaStore
        + UserStore
        + CaptureStore
        + TurnStore
        + MessageStore
        + SessionStore
        + ConsolidationStore
        + ReconciliationStore
        + NodeStore
        + RecallStore
        + VectorIndexStore
        + EmbeddingStore
        + EntityStore
        + CorrectionStore
        + SlowCycleStore
        + TraceStore
        + LedgerStore
        + StatusStore
        + ForgetStore
{
}
