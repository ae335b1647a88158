//! What goes wrong in the hub.

use memory::ports::StoreError;

use crate::names::InvalidName;

/// Why the hub refused a request or failed. Nothing was changed, not even in part.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum HubError {
    /// The request is invalid; the text says what to change.
    #[error("{0}")]
    Invalid(String),
    /// The caller lacks the right.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The Markdown files can't be read or written; the database is unchanged.
    #[error(
        "the folder of documents can't be used: {0}. The database contains everything; fix the folder, and \
            the files are written again"
    )]
    Mirror(String),
}

impl From<InvalidName> for HubError {
    fn from(name: InvalidName) -> Self {
        Self::Invalid(name.to_string())
    }
}
