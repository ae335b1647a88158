//! What goes in and out of the hub's door: the tools' names and fields, as they stand on the wire.

pub mod documents;
pub mod identity;
pub mod memories;
pub mod sync;
pub mod snapshots;
pub mod conflicts;
pub mod archive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an act ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// Whether it was done.
    pub success: bool,
    /// What happened, for a person or a model.
    pub message: String,
}

impl Outcome {
    /// It was done.
    pub fn done(message: impl Into<String>) -> Self {
        Self { success: true, message: message.into() }
    }

    /// It was not done.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { success: false, message: message.into() }
    }
}
