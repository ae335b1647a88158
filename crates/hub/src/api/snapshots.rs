//! Tools for snapshots of identity documents.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{Category, FileName};

/// A snapshot without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SnapshotEntry {
    /// The id of the snapshot.
    pub id: String,
    /// The category of the document.
    pub category: Category,
    /// The name of the file.
    pub filename: FileName,
    /// Time at which the snapshot was made.
    #[schemars(with = "String")]
    pub timestamp: Timestamp,
    /// The day on which the snapshot was made, UTC.
    pub date: String,
    /// Why: `manual`, `scheduled`, `pre-replace`.
    pub reason: String,
    /// The instance that made the snapshot.
    pub source: String,
}

/// Result of the tools `snapshot_create` and `snapshot_list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Snapshots {
    /// Always true: errors are reported as errors.
    pub success: bool,
    /// Snapshots, the newest first.
    pub snapshots: Vec<SnapshotEntry>,
}

/// Arguments of the tool `snapshot_list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct SnapshotQuery {
    /// Lists only snapshots of documents of this category.
    pub category: Option<Category>,
    /// Lists only snapshots of this file.
    pub filename: Option<FileName>,
}

/// Arguments of the tools `snapshot_get` and `snapshot_restore`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotRef {
    /// The snapshot's id, from a list.
    pub snapshot_id: String,
}

/// Result of the tool `snapshot_get`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SnapshotText {
    /// True if the snapshot exists.
    pub success: bool,
    /// The text of the snapshot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The reason why the snapshot was not found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
