//! Snapshots of identity documents.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{Category, FileName};

/// A snapshot without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SnapshotEntry {
    /// Its id.
    pub id: String,
    /// The category.
    pub category: Category,
    /// The file name.
    pub filename: FileName,
    /// When it was made.
    #[schemars(with = "String")]
    pub timestamp: Timestamp,
    /// The day it was made, UTC.
    pub date: String,
    /// Why: `manual`, `scheduled`, `pre-replace`.
    pub reason: String,
    /// By which instance.
    pub source: String,
}

/// `snapshot_create` and `snapshot_list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Snapshots {
    /// Always true.
    pub success: bool,
    /// The newest first.
    pub snapshots: Vec<SnapshotEntry>,
}

/// `snapshot_list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct SnapshotQuery {
    /// Only of this category.
    pub category: Option<Category>,
    /// Only of this file.
    pub filename: Option<FileName>,
}

/// `snapshot_get` and `snapshot_restore`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotRef {
    /// Its id, from a list.
    pub snapshot_id: String,
}

/// `snapshot_get`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SnapshotText {
    /// Whether it is there.
    pub success: bool,
    /// Its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
