//! Types of the hub's interface: names and fields of its tools, as on the wire.

pub mod documents;
pub mod identity;
pub mod memories;
pub mod sync;
pub mod snapshots;
pub mod conflicts;
pub mod archive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result of a tool that only succeeds or fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// True if the request was carried out.
    pub success: bool,
    /// A description of the result, for a person or a model.
    pub message: String,
}

impl Outcome {
    pub fn success(message: impl Into<String>) -> Self {
        Self { success: true, message: message.into() }
    }

    /// The result of a request that was not carried out.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { success: false, message: message.into() }
    }
}
