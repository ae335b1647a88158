//! Versions that wait for a person's choice.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::InstanceId;

/// One side of a conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConflictSide {
    /// The text; none if that side deleted it.
    pub content: Option<String>,
    /// The instance that wrote it.
    pub source_instance: InstanceId,
    /// Who decided it.
    pub edited_by: String,
    /// When it was written.
    #[schemars(with = "String")]
    pub updated_at: Timestamp,
}

/// A conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConflictEntry {
    /// Its id.
    pub id: String,
    /// Category or granularity.
    pub kind: String,
    /// File name.
    pub filename: String,
    /// The version that is shown.
    pub shown: ConflictSide,
    /// The version that is kept beside it.
    pub kept: ConflictSide,
    /// Since when.
    #[schemars(with = "String")]
    pub created_at: Timestamp,
    /// Whether it waits for a person.
    pub open: bool,
    /// How it was settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<String>,
}

/// `conflict_list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct ConflictQuery {
    /// Whether settled ones are listed too.
    #[serde(default)]
    pub all: bool,
}

/// Conflicts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Conflicts {
    /// The newest first.
    pub conflicts: Vec<ConflictEntry>,
}

/// What a person decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Resolution {
    /// The shown version stays.
    Shown,
    /// The kept version takes its place.
    Kept,
    /// `content` takes the place of both.
    Merge,
    /// The shown version stays; the kept one is not asked about again.
    Dismiss,
}

/// `conflict_resolve`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConflictResolve {
    /// The conflict.
    pub conflict_id: String,
    /// What is decided.
    pub resolution: Resolution,
    /// The merged text, for `merge`.
    pub content: Option<String>,
}
