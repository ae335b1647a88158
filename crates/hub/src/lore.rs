//! Lorebooks: facts about the persona's world. An entry joins a prompt only while one of its keys is named.
//!
//! An entry is the document `custom/lore/BOOK-ENTRY.md`, with its keys in the front matter and its text below.

mod entry;
mod matching;
pub(crate) mod cache;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use memory::Scope;
use memory::ledger::UsedDocument;
use sha2::{Digest as _, Sha256};

use crate::documents::Document;
use crate::error::HubError;
use crate::names::{Category, DocumentName, InstanceId, InvalidName, LORE_FOLDER, PROMPT_LABEL_LENGTH_MAX};
use crate::ports::LoreDocument;
use crate::service::{Caller, Hub};

use cache::Lorebook;
pub use entry::{KeyLogic, LoreEntry};
use matching::LoreIndex;

/// `kind` of a lorebook entry in a receipt.
const KIND: &str = "lore";
/// Maximum lore entries to look for in one prompt, which has room for fewer. It bounds the work for a book whose
/// every key is mentioned.
const LORE_ENTRIES_MAX: usize = 50;
/// Documents to write in one transaction. Turns can write between two transactions.
const DOCUMENTS_PER_WRITE: usize = 100;

/// An entry one of whose keys was named.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedLore {
    pub name: DocumentName,
    /// The instance that wrote the entry.
    pub author: InstanceId,
    /// The label of the entry in the prompt.
    pub label: String,
    pub text: String,
}

impl Hub {
    /// Entries of the persona that are always used, or of which a key is named in `messages` (the newest first). The
    /// most important entry comes first.
    ///
    /// # Errors
    ///
    /// When storage fails.
    pub async fn lore_named_in(&self, scope: &Scope, messages: &[&str]) -> Result<Vec<NamedLore>, HubError> {
        let book = self.lorebook(scope).await?;
        let named = book.index.matching_entries(messages).into_iter().take(LORE_ENTRIES_MAX);
        let named = named.filter_map(|at| {
            let (name, author) = book.documents.get(at)?.clone();
            let entry = book.index.entry(at)?;
            let label = entry.label().chars().take(PROMPT_LABEL_LENGTH_MAX).collect();
            Some(NamedLore { label, text: entry.content.clone(), name, author })
        });
        Ok(named.collect())
    }

    /// All entries of the persona with the names of their documents.
    ///
    /// # Errors
    ///
    /// When storage fails.
    pub async fn lore_entries(&self, scope: &Scope) -> Result<Vec<LoreEntry>, HubError> {
        let book = self.lorebook(scope).await?;
        let mut named: Vec<(&DocumentName, &LoreEntry)> = book
            .documents
            .iter()
            .enumerate()
            .filter_map(|(at, (name, _))| Some((name, book.index.entry(at)?)))
            .collect();
        named.sort_by_key(|(name, _)| *name);
        Ok(named.into_iter().map(|(_, entry)| entry.clone()).collect())
    }

    /// Writes entries as documents and returns their number. The text of an existing document is replaced.
    ///
    /// # Errors
    ///
    /// If an entry is too long for a document, or storage fails. What was written before stays.
    pub async fn write_lore(&self, caller: &Caller, entries: &[LoreEntry]) -> Result<u64, HubError> {
        let named = documents_of_entries(entries).map_err(|error| HubError::Invalid(error.to_string()))?;
        for group in named.chunks(DOCUMENTS_PER_WRITE) {
            self.write_lore_documents(caller, group).await?;
        }
        Ok(named.len() as u64)
    }

    async fn write_lore_documents(
        &self,
        caller: &Caller,
        group: &[(DocumentName, String)],
    ) -> Result<(), HubError> {
        let names: Vec<DocumentName> = group.iter().map(|(name, _)| name.clone()).collect();
        let _turn = self.lock_writes().await;
        loop {
            let (mut act, before) = self.begin_with_all(caller, &names).await?;
            for ((name, content), before) in group.iter().zip(before) {
                act.check(name, Some(content))?;
                let old = before.as_ref().and_then(Document::content);
                if old == Some(content.as_str()) {
                    continue;
                }
                if let Some(old) = old.filter(|old| !old.trim().is_empty()) {
                    act.store_snapshot(name, old, "pre-replace");
                }
                let heads = before.map(|document| document.heads).unwrap_or_default();
                let (version, beside) = act.edit(heads, Some(content.clone()));
                act.write_edit(name, version, beside);
            }
            if act.commit.documents.is_empty() || act.commit().await? {
                return Ok(());
            }
        }
    }

    /// The record of an entry in a receipt. It does not contain the entry's text, so that nothing stays when the
    /// entry is erased.
    pub fn lore_receipt(lore: &NamedLore) -> UsedDocument {
        UsedDocument {
            kind: KIND.to_owned(),
            date: None,
            source_instance: lore.author.to_string(),
            relevance: 1.0,
            digest: Some(name_digest(&lore.name)),
            filename: None,
            excerpt: None,
        }
    }

    /// The entries among the documents of a receipt, with their current names and texts. Deleted ones are left out.
    pub(crate) async fn look_up_used_lore(
        &self,
        scope: &Scope,
        used: &[UsedDocument],
    ) -> Result<Vec<UsedDocument>, HubError> {
        let used: Vec<&UsedDocument> = used.iter().filter(|document| document.kind == KIND).collect();
        if used.is_empty() {
            return Ok(Vec::new());
        }
        let book = self.lorebook(scope).await?;
        let by_digest: HashMap<String, usize> =
            book.documents.iter().enumerate().map(|(at, (name, _))| (name_digest(name), at)).collect();
        let found = used.into_iter().filter_map(|document| {
            let at = *by_digest.get(document.digest.as_ref()?)?;
            let filename = Some(format!("{}.md", book.documents.get(at)?.0.stem()));
            let excerpt = Some(book.index.entry(at)?.content.clone());
            Some(UsedDocument { filename, excerpt, digest: None, ..document.clone() })
        });
        Ok(found.collect())
    }

    async fn lorebook(&self, scope: &Scope) -> Result<Arc<Lorebook>, HubError> {
        let cache = &self.shared_parts().lore;
        let (known, book) = cache.for_persona(&scope.persona).unzip();
        let read = self.shared_parts().parts.store.lore(scope, known).await?;
        match (read, book) {
            (None, Some(book)) => Ok(book),
            (read, _) => {
                let (state, documents) = read.unwrap_or_default();
                let book = Arc::new(Lorebook::from_documents(documents));
                cache.set(&scope.persona, state, Arc::clone(&book));
                Ok(book)
            }
        }
    }
}

impl Lorebook {
    fn from_documents(documents: Vec<LoreDocument>) -> Self {
        let index =
            LoreIndex::new(documents.iter().map(|document| LoreEntry::parse(&document.text)).collect());
        let documents = documents.into_iter().map(|document| (document.name, document.author)).collect();
        Self { documents, index }
    }
}

impl DocumentName {
    /// True if the document is an entry of a lorebook.
    pub fn is_lore(&self) -> bool {
        matches!(self, Self::Identity(Category::Custom, name) if name.is_in_lore())
    }

    /// Refuses documents in the folder of lorebooks in categories other than `custom`.
    ///
    /// # Errors
    ///
    /// If the document is in it.
    pub(crate) fn check_folder(&self) -> Result<(), InvalidName> {
        match self {
            Self::Identity(category, name) if name.is_in_lore() && *category != Category::Custom => {
                Err(InvalidName(format!(
                    "`{self}` can't be a document: only custom documents have the folder `{LORE_FOLDER}`"
                )))
            }
            _ => Ok(()),
        }
    }
}

/// The documents of entries. Entries with the same name are numbered.
fn documents_of_entries(entries: &[LoreEntry]) -> Result<Vec<(DocumentName, String)>, InvalidName> {
    let mut named: BTreeMap<DocumentName, String> = BTreeMap::new();
    let mut documents: BTreeSet<String> = BTreeSet::new();
    // A book may have thousands of entries without a name: the numbering continues where the last one ended.
    let mut numbers: HashMap<DocumentName, usize> = HashMap::new();
    for entry in entries {
        let document = entry.to_document();
        if !documents.insert(document.clone()) {
            continue;
        }
        let number = numbers.entry(entry.document_name(1)?).or_insert(0);
        let name = loop {
            *number += 1;
            let name = entry.document_name(*number)?;
            if !named.contains_key(&name) {
                break name;
            }
        };
        named.insert(name, document);
    }
    Ok(named.into_iter().collect())
}

fn name_digest(name: &DocumentName) -> String {
    hex::encode(Sha256::digest(name.to_string().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, content: &str) -> LoreEntry {
        LoreEntry {
            book: "B".to_owned(),
            name: name.to_owned(),
            content: content.to_owned(),
            ..LoreEntry::default()
        }
    }

    #[test]
    fn equal_names_are_numbered_and_equal_entries_are_one() {
        let entries = [entry("Queen 2", "a"), entry("Queen", "b"), entry("Queen", "c"), entry("Queen", "b")];
        let named = documents_of_entries(&entries).unwrap();
        let stems: Vec<String> = named.iter().map(|(name, _)| name.stem()).collect();
        assert_eq!(stems, ["lore/b-queen-2", "lore/b-queen-3", "lore/b-queen"]);
        assert!(named[0].1.ends_with("a\n") && named[1].1.ends_with("c\n") && named[2].1.ends_with("b\n"));
    }

    #[test]
    fn a_book_of_nameless_entries_is_named_in_one_pass() {
        // Starting from 1 for each would take minutes.
        let entries: Vec<LoreEntry> = (0..10_000).map(|number| entry("", &number.to_string())).collect();
        assert_eq!(documents_of_entries(&entries).unwrap().len(), entries.len());
    }
}
