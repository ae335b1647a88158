//! What goes wrong in the hub.

use memory::ports::StoreError;

use crate::names::InvalidName;

/// The reason why the hub refused a request or failed. No change was written in part.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum HubError {
    /// The request can't be fulfilled; the text says what to change.
    #[error("{0}")]
    Invalid(String),
    /// The caller may not do this.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The Markdown tree can't be read or written; the database is as it was.
    #[error(
        "the folder of documents can't be used: {0}. The database holds everything; mend the folder and the tree follows"
    )]
    Mirror(String),
}

impl From<InvalidName> for HubError {
    fn from(name: InvalidName) -> Self {
        Self::Invalid(name.to_string())
    }
}
