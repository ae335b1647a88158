//! The metadata of a file, before its text.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::documents::{Document, Version};
use crate::names::InstanceId;
use crate::version_vector::VersionVector;

const FENCE: &str = "---\n";
/// The first line of our front matter. Other front matter is part of the text.
const FIRST_KEY: &str = "echovessel: 1\n";

/// The metadata of a document. Each value is JSON, which is also valid YAML.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FrontMatter {
    /// Counts the versions of the document.
    pub version: i64,
    /// All changes that this version includes.
    pub version_vector: VersionVector,
    pub source_instance: InstanceId,
    /// Instances that took part.
    #[serde(default)]
    pub participating_instances: BTreeSet<InstanceId>,
    /// Chats that the document is about.
    #[serde(default)]
    pub chat_ids: BTreeSet<String>,
    pub edited_by: String,
    /// True if a person wrote this version.
    #[serde(default)]
    pub by_person: bool,
    /// The label of the document in prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_label: Option<String>,
    /// Time at which the document was first written.
    pub created_at: Timestamp,
    /// Time at which this version was written.
    pub updated_at: Timestamp,
    /// SHA-256 of the text below it. If it does not match, a person has edited the text.
    pub digest: String,
}

impl FrontMatter {
    pub(crate) fn from_document(document: &Document, shown: &Version) -> Self {
        let vector = crate::versions::vector_of_shown(&document.heads);
        let own = Self::for_version(shown, document.prompt_label.clone(), document.created_at);
        Self { version_vector: vector, ..own }
    }

    pub(crate) fn for_version(shown: &Version, prompt_label: Option<String>, created_at: Timestamp) -> Self {
        Self {
            version: shown.number,
            version_vector: shown.vector.clone(),
            source_instance: shown.author.clone(),
            participating_instances: shown.participants.clone(),
            chat_ids: shown.chat_ids.clone(),
            edited_by: shown.edited_by.clone(),
            by_person: shown.by_person,
            prompt_label,
            created_at,
            updated_at: shown.written_at,
            digest: digest(shown.content.as_deref().unwrap_or_default()),
        }
    }

    pub fn file_with_text(&self, content: &str) -> String {
        let mut file = format!("{FENCE}{FIRST_KEY}");
        if let Ok(serde_json::Value::Object(values)) = serde_json::to_value(self) {
            for (key, value) in values {
                file.push_str(&format!("{key}: {value}\n"));
            }
        }
        file.push_str(FENCE);
        file.push_str(content);
        file
    }

    /// The version that the file was written from, with this text.
    pub(super) fn version_with(&self, content: &str) -> Version {
        Version {
            number: 0,
            content: Some(content.to_owned()),
            vector: self.version_vector.clone(),
            author: self.source_instance.clone(),
            edited_by: self.edited_by.clone(),
            by_person: self.by_person,
            chat_ids: self.chat_ids.clone(),
            participants: self.participating_instances.clone(),
            written_at: self.updated_at,
        }
    }
}

/// A file after it was parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct MirroredText<'a> {
    /// The front matter; `None` if the file has none, or an unreadable one.
    pub front_matter: Option<FrontMatter>,
    pub content: &'a str,
}

impl<'a> MirroredText<'a> {
    /// Parses a file, with or without front matter.
    pub fn parse(file: &'a str) -> Self {
        let ours = file.strip_prefix(FENCE).and_then(|rest| rest.strip_prefix(FIRST_KEY));
        let Some((head, content)) = ours.and_then(|rest| rest.split_once("\n---\n")) else {
            return Self { front_matter: None, content: file };
        };
        let mut values = serde_json::Map::new();
        for line in head.lines() {
            if let Some((key, value)) = line.split_once(": ")
                && let Ok(value) = serde_json::from_str(value)
            {
                values.insert(key.to_owned(), value);
            }
        }
        let front_matter = serde_json::from_value(serde_json::Value::Object(values)).ok();
        Self { front_matter, content }
    }

    /// True if a person has edited the text since it was written.
    pub fn is_edited(&self) -> bool {
        self.front_matter.as_ref().is_none_or(|front| front.digest != digest(self.content))
    }
}

/// SHA-256 of a text, in hexadecimal.
pub fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}
