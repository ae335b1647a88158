//! Converts errors of an engine to those of the memory's ports.

use memory::ports::StoreError;
use rusqlite::ErrorCode;
use tokio_postgres::error::SqlState;

use crate::engine::sql::{Connection, Error};

/// Why work on a connection failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Statement(#[from] Error),
    /// The work refused the request as invalid.
    #[error("{0}")]
    Refused(String),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Statement(Error::Sqlite(error))
    }
}

impl Failure {
    /// Converts the error of a read: a failing device makes the database unusable, not just unwritable.
    pub(crate) fn into_read_error(self) -> StoreError {
        match self.into_write_error() {
            StoreError::Unwritable(reason) => StoreError::Unusable(format!("reading it failed: {reason}")),
            error => error,
        }
    }

    /// Converts the error of a write.
    pub(crate) fn into_write_error(self) -> StoreError {
        let error = match self {
            Self::Statement(error) => error,
            Self::Refused(reason) => return StoreError::Failed(reason),
        };
        if matches!(error, Error::InUse) {
            return StoreError::Unusable(format!("{error}; nothing was written"));
        }
        if matches!(error, Error::MaybeCommitted) {
            return StoreError::Unconfirmed(error.to_string());
        }
        if error.is_lost_connection() {
            return StoreError::Busy(format!("the connection to the database server was lost ({error})"));
        }
        if let Error::Postgres(failure) = &error {
            return from_server(failure, &error);
        }
        match error_code(&error) {
            Some(ErrorCode::DiskFull) => {
                StoreError::Unwritable("the disk is full; free some space and try again".to_owned())
            }
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                StoreError::Unwritable(format!("the file or its folder is read-only ({error})"))
            }
            Some(ErrorCode::SystemIoFailure) => {
                StoreError::Unwritable(format!("the device failed ({error})"))
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy(error.to_string()),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Unusable(format!(
                "it is damaged ({error}). Run `echovessel doctor`; a backup may be needed"
            )),
            _ => StoreError::Failed(error.to_string()),
        }
    }

    /// True if another program has taken the home.
    pub(crate) fn is_taken_over(&self) -> bool {
        matches!(self, Self::Statement(Error::InUse))
    }

    /// True if the connection to a server was lost before anything was committed.
    pub(crate) fn is_lost_connection(&self) -> bool {
        matches!(self, Self::Statement(error) if error.is_lost_connection())
    }

    /// True if it may be the failure of an earlier statement that was sent without waiting for its result.
    pub(crate) fn may_belong_to_earlier_statement(&self, connection: &Connection) -> bool {
        matches!(self, Self::Statement(_)) && connection.sqlite().is_none()
    }

    /// True if the engine may have aborted the whole transaction, so that a savepoint does not help.
    pub(crate) fn aborts_transaction(&self) -> bool {
        let Self::Statement(error) = self else { return false };
        if error.is_lost_connection() {
            return true;
        }
        if let Error::Postgres(failure) = error {
            return failure.code().is_none_or(|state| ABORTED_STATES.contains(state));
        }
        matches!(
            error_code(error),
            Some(
                ErrorCode::DiskFull
                    | ErrorCode::SystemIoFailure
                    | ErrorCode::OutOfMemory
                    | ErrorCode::OperationInterrupted
                    | ErrorCode::DatabaseCorrupt
            )
        )
    }
}

/// SQLSTATE codes after which a server has aborted a transaction, or can't continue it.
const ABORTED_STATES: &[SqlState] =
    &[SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED, SqlState::DISK_FULL];

/// Converts the error of a statement on a server; one without an SQLSTATE means a lost connection.
fn from_server(failure: &tokio_postgres::Error, error: &Error) -> StoreError {
    match failure.code() {
        Some(&SqlState::DISK_FULL) => StoreError::Unwritable(
            "the disk of the database server is full; free some space there and try again".to_owned(),
        ),
        Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => {
            StoreError::Unwritable(format!("the database server is read-only ({error})"))
        }
        Some(
            &SqlState::T_R_SERIALIZATION_FAILURE
            | &SqlState::T_R_DEADLOCK_DETECTED
            | &SqlState::LOCK_NOT_AVAILABLE
            | &SqlState::QUERY_CANCELED,
        ) => StoreError::Busy(error.to_string()),
        Some(&SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED) => {
            StoreError::Unusable(format!("it is damaged ({error}); a backup may be needed"))
        }
        _ => StoreError::Failed(error.to_string()),
    }
}

/// SQLite's code of the error; `None` if the statement itself succeeded.
fn error_code(error: &Error) -> Option<ErrorCode> {
    match error {
        Error::Sqlite(error) => error.sqlite_error_code(),
        _ => None,
    }
}
