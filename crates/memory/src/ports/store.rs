//! The whole of storage. A port for each consumer is in its own file; every method that writes is one transaction.

use crate::ports::{
    CaptureStore, ConsolidationStore, CorrectionStore, EmbeddingStore, EntityStore, ForgetStore, LedgerStore,
    MessageStore, NodeStore, PersonaStore, RecallStore, ReconciliationStore, SessionStore, SlowCycleStore,
    StatusStore, TraceStore, TurnStore, UserStore, VectorIndexStore,
};

/// Why storage did not do what was asked. Nothing was half-written, and nothing was written at all unless it is
/// [`Unconfirmed`](Self::Unconfirmed).
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum StoreError {
    /// No room, read-only, or the device failed: nothing was written, reading goes on.
    #[error("the database can't be written: {0}. Nothing was half-written")]
    Unwritable(String),
    /// The database is in use or out of reach for now; a later attempt may succeed.
    #[error("the database is busy: {0}")]
    Busy(String),
    /// The connection was lost while the server confirmed: the write may have been done.
    #[error("the write may have been done: {0}. Look at what is there before you try again")]
    Unconfirmed(String),
    /// The database is damaged, foreign, or of another version.
    #[error("the database can't be used: {0}")]
    Unusable(String),
    /// The statement failed: a defect of this program.
    #[error("the database refused a statement: {0}")]
    Failed(String),
}

/// All that wiring passes around at once. Consumers ask for one of the ports.
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
