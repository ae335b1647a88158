//! What goes wrong with a statement.

use std::time::Duration;

use tokio_postgres::error::SqlState;

/// Why a statement failed, or its result could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error("{}", describe(.0))]
    Postgres(#[from] tokio_postgres::Error),
    #[error("another EchoVessel uses the database")]
    InUse,
    #[error("the database server did not respond for {} s", .0.as_secs())]
    NoAnswer(Duration),
    #[error("the connection was lost before the commit")]
    NotCommitted,
    #[error("the connection was lost before the server confirmed the write, and the result can't be checked")]
    MaybeCommitted,
    #[error("the connection to the database server can't be polled: {0}")]
    Thread(std::io::Error),
    #[error("a second statement was run where one was expected")]
    SecondStatement,
    #[error("the query returned no rows")]
    QueryReturnedNoRows,
    #[error("the statement changed {0} rows instead of one")]
    ChangedRows(usize),
    #[error("{bound} parameters were given to a statement with {wanted}")]
    ParameterCount { bound: usize, wanted: usize },
    #[error("{0} is too large for a column")]
    OutOfRange(String),
    #[error("the value is {found}, not {wanted}")]
    WrongType { found: &'static str, wanted: &'static str },
    #[error("column {column}: {reason}")]
    Unreadable { column: usize, reason: Box<dyn std::error::Error + Send + Sync> },
    #[error(transparent)]
    Unstorable(Box<dyn std::error::Error + Send + Sync>),
}

/// SQLSTATE codes with which a server ends a connection, or is not ready yet.
const SERVER_ENDING_STATES: &[SqlState] = &[
    SqlState::ADMIN_SHUTDOWN,
    SqlState::CRASH_SHUTDOWN,
    SqlState::CANNOT_CONNECT_NOW,
    SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
];

impl Error {
    /// True if the wait for a lock took longer than its limit.
    pub(crate) fn is_lock_timeout(&self) -> bool {
        matches!(self, Self::Postgres(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE))
    }

    /// True if the connection to a server was lost, or the server can't be reached. Uncommitted work can be repeated;
    /// a commit with this error may have succeeded.
    pub(crate) fn is_lost_connection(&self) -> bool {
        match self {
            Self::NoAnswer(_) | Self::NotCommitted => true,
            Self::Postgres(error) => match error.code() {
                Some(state) => SERVER_ENDING_STATES.contains(state) || state.code().starts_with("08"),
                None => error.is_closed() || is_about_the_network(error),
            },
            _ => false,
        }
    }

    /// Adds the column that was read to the error.
    pub(crate) fn with_column(self, column: usize) -> Self {
        Self::Unreadable { column, reason: Box::new(self) }
    }
}

/// The server's error text or the cause, which the driver's display leaves out.
fn describe(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(error), _) => format!("{} ({})", error.message(), error.code().code()),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    }
}

fn is_about_the_network(error: &tokio_postgres::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<std::io::Error>())
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// Converts a query's missing row to `None`.
pub(crate) trait OptionalExtension<T> {
    fn optional(self) -> Result<Option<T>>;
}

impl<T> OptionalExtension<T> for Result<T> {
    fn optional(self) -> Result<Option<T>> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(Error::QueryReturnedNoRows) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
