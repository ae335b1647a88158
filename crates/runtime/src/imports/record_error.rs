//! Errors of recording an import.

use memory::identifiers::ImportId;
use memory::ports::StoreError;

/// Why an import stopped. Recorded messages stay, and the same import resumes after them.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The files can't be read.
    #[error(transparent)]
    Read(#[from] import::ImportError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The stored position is of another version of this program.
    #[error(
        "the import {0} was interrupted by another version and can't be resumed; undo it with `echovessel \
            import undo {0}`"
    )]
    Position(ImportId),
    /// Another process ended or deleted the run.
    #[error("the import was ended by another process; no further messages were imported")]
    Ended,
}
