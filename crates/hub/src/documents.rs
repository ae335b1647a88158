//! Documents and their versions, as stored.

use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::core_blocks::CoreBlockLabel;
use memory::{Scope, UserId};
use serde::{Deserialize, Serialize};

use crate::names::{Category, DocumentName, FileName, InstanceId};
use crate::version_vector::VersionVector;

/// Maximum content of one document, in bytes. It is a book's worth of text; merging and embedding read a document
/// whole.
pub const CONTENT_BYTES_MAX: usize = 1024 * 1024;
/// `edited_by` of a document that an import wrote. No graph facts are extracted from it: it may not be about the
/// user's life, and a book would need one request per page.
pub const IMPORT_EDITOR: &str = "import";

/// One version of a document. Versions never change; an edit makes a new one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// Counts the versions of a document from 1; 0 while it is not stored.
    pub number: i64,
    /// The text; `None` if this version is a deletion.
    pub content: Option<String>,
    /// All changes that the version includes, its own too.
    pub vector: VersionVector,
    pub author: InstanceId,
    /// The author's name: an instance, `editor:file` or `admin`.
    pub edited_by: String,
    /// True if a person wrote the version.
    pub by_person: bool,
    /// Chats that the version is about.
    pub chat_ids: BTreeSet<String>,
    /// Instances that took part in the chats of a daily.
    pub participants: BTreeSet<InstanceId>,
    /// Time of writing by a hybrid logical clock: later than every version that it includes.
    pub written_at: Timestamp,
}

/// A document with its live versions.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    pub name: DocumentName,
    /// The label of the document in prompts, if one was set.
    pub prompt_label: Option<String>,
    /// Live versions: those that no other version has replaced. They are pairwise concurrent, and the first is shown.
    /// Never empty.
    pub heads: Vec<Version>,
    /// True if the sources of the roll-up have changed since it was written.
    pub stale: bool,
    /// Time at which the document was first written.
    pub created_at: Timestamp,
    /// The hub's revision at its last change.
    pub revision: i64,
}

impl Document {
    /// The version that is shown.
    pub fn shown_version(&self) -> Option<&Version> {
        self.heads.first()
    }

    /// The text of the shown version; none if it is a deletion.
    pub fn content(&self) -> Option<&str> {
        self.shown_version().and_then(|version| version.content.as_deref())
    }

    /// All changes that the document's live versions include.
    pub fn seen_by_heads(&self) -> VersionVector {
        seen_by_versions(&self.heads)
    }
}

/// A conflict: a version that is concurrent with the shown one, until a person decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    pub id: uuid::Uuid,
    pub name: DocumentName,
    /// The version that is not shown.
    pub kept: Version,
    /// The version that was shown when the conflict was opened.
    pub shown: Version,
    pub opened_at: Timestamp,
    /// Time at which the conflict was settled.
    pub settled_at: Option<Timestamp>,
    /// The decision: `shown`, `kept`, `merged` or `dismissed`.
    pub settled: Option<String>,
}

/// The document that a core block is.
pub fn core_block_document(label: CoreBlockLabel, user: &UserId) -> DocumentName {
    let (category, name) = match label {
        CoreBlockLabel::Persona => (Category::Own, "persona.md".parse()),
        CoreBlockLabel::User => (Category::User, Ok(FileName::for_user(user))),
        CoreBlockLabel::Style => (Category::Custom, "style.md".parse()),
    };
    DocumentName::Identity(category, name.unwrap_or_else(|_| FileName::for_user(user)))
}

/// The core block that a document is, in this scope.
pub fn core_block_of(name: &DocumentName, scope: &Scope) -> Option<CoreBlockLabel> {
    CoreBlockLabel::ALL.into_iter().find(|label| core_block_document(*label, &scope.user) == *name)
}

/// All changes that these versions include.
pub fn seen_by_versions(versions: &[Version]) -> VersionVector {
    let mut seen = VersionVector::default();
    for version in versions {
        seen.join(&version.vector);
    }
    seen
}
