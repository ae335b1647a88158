//! What goes wrong with a statement.

/// Why a statement did not succeed, or its result could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error("{}", describe(.0))]
    Postgres(#[from] postgres::Error),
    #[error("another EchoVessel has the database")]
    InUse,
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

impl Error {
    /// The same error, with the column that was read.
    pub(crate) fn at(self, column: usize) -> Self {
        Self::Unreadable { column, reason: Box::new(self) }
    }
}

/// The server's own words, which the client's display leaves out.
fn describe(error: &postgres::Error) -> String {
    error
        .as_db_error()
        .map_or_else(|| error.to_string(), |error| format!("{} ({})", error.message(), error.code().code()))
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// Makes a query's missing row a `None`.
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
