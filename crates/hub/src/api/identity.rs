//! Identity documents.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{Category, FileName, InstanceId};

/// An identity document as it is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdentityFile {
    /// The file name.
    pub filename: FileName,
    /// The text.
    pub content: String,
    /// How a prompt calls it.
    pub prompt_label: String,
}

/// All identity documents, each category in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IdentityAll {
    /// Who the persona is.
    #[serde(rename = "self")]
    pub own: Vec<IdentityFile>,
    /// Who the user is.
    pub user: Vec<IdentityFile>,
    /// What is between them.
    pub relationship: Vec<IdentityFile>,
    /// Anything else.
    pub custom: Vec<IdentityFile>,
}

/// A text for a document: `identity_write`, `identity_append`, `identity_prepend`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdentityText {
    /// The category.
    pub category: Category,
    /// The file name, such as `my_wants.md`.
    pub filename: FileName,
    /// The text.
    pub content: String,
    /// Who writes.
    pub instance_id: InstanceId,
}

/// A text for a section: `identity_update_section`, `identity_rewrite_section`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SectionText {
    /// The category.
    pub category: Category,
    /// The file name.
    pub filename: FileName,
    /// The heading, without its `##` or `###`.
    #[schemars(length(min = 1))]
    pub section: String,
    /// The text.
    pub content: String,
    /// Who writes.
    pub instance_id: InstanceId,
}

/// `identity_delete_custom`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct CustomFile {
    /// The file name of a document in `custom`.
    pub filename: FileName,
}

/// `identity_get_meta`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct MetaQuery {
    /// Only this category, with the label of every file in it.
    pub category: Option<Category>,
    /// Only this file.
    pub filename: Option<FileName>,
}

/// Labels by `category/file`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Meta {
    /// Always true.
    pub success: bool,
    /// Labels.
    pub meta: BTreeMap<String, String>,
}

/// `identity_set_meta`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetaText {
    /// The category.
    pub category: Category,
    /// The file name; the file need not exist.
    pub filename: FileName,
    /// How a prompt calls it.
    #[schemars(length(min = 1))]
    pub prompt_label: String,
}

/// What became of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Written {
    /// Whether it was written.
    pub success: bool,
    /// What happened.
    pub message: String,
    /// The text as it stands now; none if it was not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}
