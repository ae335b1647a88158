//! Operations of people on documents: list, read, edit, compare, restore, delete.

use memory::Scope;
use memory::recall::OutdatedValues;

use crate::api::documents::{DocumentEdit, DocumentEntry, DocumentText, VersionEntry};
use crate::documents::{Document, Version, core_block_of};
use crate::error::HubError;
use crate::names::{DocumentName, check_label};
use crate::ports::DocumentFilter;
use crate::service::{Caller, Hub};
use crate::versions::{have_different_content, vector_of_shown};

/// Maximum versions in a list. Older ones are stored and can be read by their number.
const VERSIONS_MAX: u32 = 200;

/// The result of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditOutcome {
    Written(Box<DocumentText>),
    /// The document was changed in the meantime; this is its current version.
    Changed(i64),
    /// The document or the version does not exist.
    Missing,
}

impl Hub {
    /// All existing documents, identity first, each kind by name.
    pub async fn document_list(&self, scope: &Scope) -> Result<Vec<DocumentEntry>, HubError> {
        let mut documents = self.identity_documents(scope).await?;
        let mut memories =
            self.shared_parts().parts.store.documents(scope, DocumentFilter::all_memories()).await?;
        memories.sort_by(|one, other| other.name.cmp(&one.name));
        documents.extend(memories);
        Ok(documents.iter().filter_map(|document| entry_of_shown(document, scope)).collect())
    }

    /// Deleted documents that can be restored, the last deleted first. Erased ones are not included: no version of
    /// them has a text.
    pub async fn deleted_documents(&self, scope: &Scope) -> Result<Vec<DocumentEntry>, HubError> {
        let store = &self.shared_parts().parts.store;
        let mut documents = store.documents(scope, DocumentFilter::all_documents()).await?;
        documents.retain(|document| document.content().is_none());
        let mut deleted = Vec::new();
        for document in documents {
            let Some(deletion) = document.shown_version() else { continue };
            let versions = store.document_versions(scope, &document.name, VERSIONS_MAX).await?;
            let Some(last) = versions.iter().find(|version| version.content.is_some()) else { continue };
            let entry = document_entry(&document, deletion, scope);
            deleted.push(DocumentEntry { version: last.number, deleted: true, ..entry });
        }
        deleted.sort_by_key(|document| std::cmp::Reverse(document.updated_at));
        Ok(deleted)
    }

    /// Reads a document; `None` if it does not exist.
    pub async fn document_read(
        &self,
        scope: &Scope,
        name: &DocumentName,
    ) -> Result<Option<DocumentText>, HubError> {
        let mut found =
            self.document(scope, name).await?.as_ref().and_then(|document| document_text(document, scope));
        if let Some(document) = &mut found {
            let corrections = self.shared_parts().parts.corrections.as_ref();
            let corrected =
                OutdatedValues::former_values_in_texts(corrections, scope, vec![document.content.clone()])
                    .await?;
            document.no_longer_current = corrected.former_values_in(&document.content);
        }
        Ok(found)
    }

    /// Writes a whole document as a person; creates it if it does not exist.
    pub async fn document_write(
        &self,
        caller: &Caller,
        name: &DocumentName,
        edited_by: &str,
        edit: &DocumentEdit,
    ) -> Result<EditOutcome, HubError> {
        let label = edit.prompt_label.as_deref().map(str::trim).filter(|label| !label.is_empty());
        let label = label.map(check_label).transpose();
        let label = label.map_err(|error| HubError::Invalid(error.to_string()))?;
        let _turn = self.lock_writes().await;
        loop {
            let (mut act, before) = self.begin_with_document(caller, name).await?;
            act.check(name, Some(&edit.content))?;
            let present = before.as_ref().and_then(Document::shown_version).map_or(0, |shown| shown.number);
            if edit.version.is_some_and(|version| version != present) {
                return Ok(EditOutcome::Changed(present));
            }
            let heads = before.map(|document| document.heads).unwrap_or_default();
            let author = heads.first().map(|shown| shown.author.clone());
            let (mut version, beside) = act.edit(heads, Some(edit.content.clone()));
            version.edited_by = edited_by.to_owned();
            if let (DocumentName::Diary(_), Some(author)) = (name, author) {
                version.author = author;
            }
            act.write_edit(name, version, beside);
            if let (Some(_), Some(write)) = (&edit.prompt_label, act.commit.documents.last_mut()) {
                write.prompt_label = label.map(str::to_owned);
            }
            if act.commit().await? {
                let written = self.document_read(&caller.scope, name).await?;
                return Ok(written.map_or(EditOutcome::Missing, |text| EditOutcome::Written(Box::new(text))));
            }
        }
    }

    /// Deletes a document as a person; its versions stay. True if it existed.
    pub async fn document_delete(&self, caller: &Caller, name: &DocumentName) -> Result<bool, HubError> {
        self.delete_document(caller, name).await
    }

    /// The versions of a document, the newest first.
    pub async fn document_history(
        &self,
        scope: &Scope,
        name: &DocumentName,
    ) -> Result<Vec<VersionEntry>, HubError> {
        let versions = self.shared_parts().parts.store.document_versions(scope, name, VERSIONS_MAX).await?;
        Ok(versions.iter().map(version_entry).collect())
    }

    /// Writes the text of an earlier version as a new version.
    pub async fn document_restore(
        &self,
        caller: &Caller,
        name: &DocumentName,
        edited_by: &str,
        number: i64,
    ) -> Result<EditOutcome, HubError> {
        let versions = self.document_history(&caller.scope, name).await?;
        let earlier = versions.into_iter().find(|version| version.version == number);
        let Some(content) = earlier.and_then(|version| version.content) else {
            return Ok(EditOutcome::Missing);
        };
        let edit = DocumentEdit { content, version: None, prompt_label: None };
        self.document_write(caller, name, edited_by, &edit).await
    }
}

fn entry_of_shown(document: &Document, scope: &Scope) -> Option<DocumentEntry> {
    let shown = document.shown_version().filter(|shown| shown.content.is_some())?;
    Some(document_entry(document, shown, scope))
}

fn document_entry(document: &Document, shown: &Version, scope: &Scope) -> DocumentEntry {
    DocumentEntry {
        kind: document.name.kind().to_owned(),
        filename: format!("{}.md", document.name.stem()),
        prompt_label: document.prompt_label.clone(),
        version: shown.number,
        source_instance: shown.author.clone(),
        edited_by: shown.edited_by.clone(),
        created_at: document.created_at,
        updated_at: shown.written_at,
        stale: document.stale,
        in_conflict: have_different_content(&document.heads),
        core_block: core_block_of(&document.name, scope).is_some(),
        deleted: false,
    }
}

fn document_text(document: &Document, scope: &Scope) -> Option<DocumentText> {
    Some(DocumentText {
        entry: entry_of_shown(document, scope)?,
        content: document.content()?.to_owned(),
        version_vector: vector_of_shown(&document.heads),
        no_longer_current: Vec::new(),
    })
}

fn version_entry(version: &Version) -> VersionEntry {
    VersionEntry {
        version: version.number,
        content: version.content.clone(),
        source_instance: version.author.clone(),
        edited_by: version.edited_by.clone(),
        by_person: version.by_person,
        updated_at: version.written_at,
        version_vector: version.vector.clone(),
    }
}
