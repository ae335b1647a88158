//! Documents for people: with history and editing.

use jiff::Timestamp;
use memory::recall::FormerValue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::InstanceId;
use crate::version_vector::VersionVector;

/// A document without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DocumentEntry {
    /// The category or granularity of the document.
    pub kind: String,
    /// The file name of the document.
    pub filename: String,
    /// The label of the document in prompts.
    pub prompt_label: Option<String>,
    /// The document's number of versions.
    pub version: i64,
    /// The instance that wrote this version.
    pub source_instance: InstanceId,
    /// The person or program that made this change.
    pub edited_by: String,
    /// Time at which the document was first written.
    #[schemars(with = "String")]
    pub created_at: Timestamp,
    /// Time at which this version was written.
    #[schemars(with = "String")]
    pub updated_at: Timestamp,
    /// True if the document is a roll-up whose sources have changed since.
    pub stale: bool,
    /// True if other versions wait for a person.
    pub in_conflict: bool,
    /// True if only people write the document.
    pub core_block: bool,
    /// Present and true for a deleted document. `version` is then its last version with a text, which can be
    /// restored; times and names are those of the deletion.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

/// A document with its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DocumentText {
    /// Fields of the document besides its text.
    #[serde(flatten)]
    pub entry: DocumentEntry,
    /// The text, as Markdown.
    pub content: String,
    /// All changes that this version includes.
    pub version_vector: VersionVector,
    /// Values in the text that were corrected since. The text stays until somebody rewrites it.
    pub no_longer_current: Vec<FormerValue>,
}

/// A version of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VersionEntry {
    /// The version's number; the first one is 1.
    pub version: i64,
    /// The text; none for a deletion.
    pub content: Option<String>,
    /// The instance that wrote the version.
    pub source_instance: InstanceId,
    /// The person or program that made this change.
    pub edited_by: String,
    /// True if a person wrote it.
    pub by_person: bool,
    /// Time at which the version was written.
    #[schemars(with = "String")]
    pub updated_at: Timestamp,
    /// All changes that this version includes.
    pub version_vector: VersionVector,
}

/// A new text of a document.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct DocumentEdit {
    /// The whole new text.
    pub content: String,
    /// The version that was edited. If the document has a newer one, the edit is refused.
    pub version: Option<i64>,
    /// The new label of the document in prompts.
    pub prompt_label: Option<String>,
}
