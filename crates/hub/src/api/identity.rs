//! Tools for identity documents.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{Category, FileName, InstanceId};

/// An identity document as it is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdentityFile {
    /// The name of the file.
    pub filename: FileName,
    /// The text, as Markdown.
    pub content: String,
    /// The label of the document in prompts.
    pub prompt_label: String,
}

/// All identity documents, each category in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IdentityAll {
    /// Documents about the persona.
    #[serde(rename = "self")]
    pub own: Vec<IdentityFile>,
    /// Documents about the user.
    pub user: Vec<IdentityFile>,
    /// Documents about their relationship.
    pub relationship: Vec<IdentityFile>,
    /// Documents about anything else.
    pub custom: Vec<IdentityFile>,
}

/// A text for a document: `identity_write`, `identity_append`, `identity_prepend`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdentityText {
    /// The category of the document.
    pub category: Category,
    /// The file name, such as `my_wants.md`.
    pub filename: FileName,
    /// The whole new text.
    pub content: String,
    /// The instance that writes.
    pub instance_id: InstanceId,
}

/// A text for a section: `identity_update_section`, `identity_rewrite_section`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SectionText {
    /// The category of the document.
    pub category: Category,
    /// The name of the file.
    pub filename: FileName,
    /// The heading, without its `##` or `###`.
    #[schemars(length(min = 1))]
    pub section: String,
    /// The text of the section.
    pub content: String,
    /// The instance that writes.
    pub instance_id: InstanceId,
}

/// Arguments of the tool `identity_delete_custom`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct CustomFile {
    /// The file name of a document in `custom`.
    pub filename: FileName,
}

/// Arguments of the tool `identity_get_meta`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct MetaQuery {
    /// Only this category, with the label of every file in it.
    pub category: Option<Category>,
    /// Returns the label of this file only.
    pub filename: Option<FileName>,
}

/// Result of the tool `identity_get_meta`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Meta {
    /// Always true: errors are reported as errors.
    pub success: bool,
    /// Labels in prompts, by `category/file`.
    pub meta: BTreeMap<String, String>,
}

/// Arguments of the tool `identity_set_meta`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetaText {
    /// The category of the document.
    pub category: Category,
    /// The file name; the file need not exist.
    pub filename: FileName,
    /// The label of the document in prompts.
    #[schemars(length(min = 1))]
    pub prompt_label: String,
}

/// Result of writing a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WriteOutcome {
    /// True if the document was written.
    pub success: bool,
    /// A description of the result.
    pub message: String,
    /// The text as it stands now; none if it was not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}
