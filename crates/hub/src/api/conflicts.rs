//! Tools for conflicts between versions.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::InstanceId;

/// One side of a conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConflictSide {
    /// The text of this side; none if the side deleted the document.
    pub content: Option<String>,
    /// The instance that wrote the version.
    pub source_instance: InstanceId,
    /// The author of this version.
    pub edited_by: String,
    /// Time at which this side was written.
    #[schemars(with = "String")]
    pub updated_at: Timestamp,
}

/// A conflict between two versions of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConflictEntry {
    /// The id of the conflict.
    pub id: String,
    /// The category or granularity of the document.
    pub kind: String,
    /// The file name of the document.
    pub filename: String,
    /// The version that is shown.
    pub shown: ConflictSide,
    /// The version that is kept beside the current one.
    pub kept: ConflictSide,
    /// Time at which the conflict arose.
    #[schemars(with = "String")]
    pub created_at: Timestamp,
    /// True if the conflict waits for a person's decision.
    pub open: bool,
    /// The decision of the conflict, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<String>,
}

/// Arguments of the tool `conflict_list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct ConflictQuery {
    /// True if settled conflicts are listed too.
    #[serde(default)]
    pub all: bool,
}

/// Result of the tool `conflict_list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Conflicts {
    /// Conflicts, the newest first.
    pub conflicts: Vec<ConflictEntry>,
}

/// A decision about a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Resolution {
    /// The shown version stays.
    Shown,
    /// The kept version replaces the current one.
    Kept,
    /// `content` takes the place of both.
    Merge,
    /// The shown version stays; the kept one is not asked about again.
    Dismiss,
}

/// Arguments of the tool `conflict_resolve`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConflictResolve {
    /// The id of the conflict.
    pub conflict_id: String,
    /// The decision about the conflict.
    pub resolution: Resolution,
    /// The merged text, for `merge`.
    pub content: Option<String>,
}
