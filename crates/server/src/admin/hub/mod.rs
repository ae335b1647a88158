//! The shared self: documents, and their exchange with another home.

pub(crate) mod documents;
pub(crate) mod sync;
