//! Why an import ended early.

use memory::identifiers::ImportId;
use memory::ports::StoreError;

/// Why an import did not go on. What was recorded stays, and the same import resumes after it.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The files can't be read.
    #[error(transparent)]
    Read(#[from] import::ImportError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The position that was kept is of another program's version.
    #[error(
        "the import {0} was cut off by another version and can't be resumed; take it back with `echovessel import undo {0}`"
    )]
    Position(ImportId),
    /// Another process ended or deleted the run meanwhile.
    #[error("the import was ended by another process; nothing more was recorded")]
    Ended,
}
