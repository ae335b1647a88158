//! Documents as a person looks after them.

use jiff::Timestamp;
use memory::recall::FormerValue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::InstanceId;
use crate::version_vector::VersionVector;

/// A document without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DocumentEntry {
    /// Category or granularity.
    pub kind: String,
    /// File name.
    pub filename: String,
    /// How a prompt calls it.
    pub prompt_label: Option<String>,
    /// Counts its versions.
    pub version: i64,
    /// Who wrote this version.
    pub source_instance: InstanceId,
    /// Who decided it.
    pub edited_by: String,
    /// When it was first written.
    #[schemars(with = "String")]
    pub created_at: Timestamp,
    /// When this version was written.
    #[schemars(with = "String")]
    pub updated_at: Timestamp,
    /// Of a roll-up: whether its sources changed since.
    pub stale: bool,
    /// Whether other versions wait for a person.
    pub in_conflict: bool,
    /// Whether only people write it.
    pub core_block: bool,
    /// Present and true for a deleted document; `version` is then its last version with a text, which can be restored, and
    /// the times and names are those of the deletion.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

/// A document with its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DocumentText {
    /// What it is.
    #[serde(flatten)]
    pub entry: DocumentEntry,
    /// Markdown.
    pub content: String,
    /// What this version has seen.
    pub version_vector: VersionVector,
    /// What the text says that is no longer current, when it is read: it stays until somebody rewrites it.
    pub no_longer_current: Vec<FormerValue>,
}

/// A version of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VersionEntry {
    /// Counts from 1.
    pub version: i64,
    /// The text; none for a deletion.
    pub content: Option<String>,
    /// Who wrote it.
    pub source_instance: InstanceId,
    /// Who decided it.
    pub edited_by: String,
    /// Whether a person wrote it.
    pub by_person: bool,
    /// When it was written.
    #[schemars(with = "String")]
    pub updated_at: Timestamp,
    /// What it has seen.
    pub version_vector: VersionVector,
}

/// A new text of a document.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct DocumentEdit {
    /// The whole text.
    pub content: String,
    /// The version that was edited; another one that came meanwhile refuses the edit.
    pub version: Option<i64>,
    /// How a prompt calls it from now on.
    pub prompt_label: Option<String>,
}
