//! What an instance has not seen yet, whole or in pages.

use std::ops::Range;

use super::{items, token_of};
use crate::api::sync::{IdentityItems, MemoryItem, SyncPull, SyncPulled, SyncToken};
use crate::documents::Document;
use crate::error::HubError;
use crate::names::{Category, DocumentName};
use crate::ports::{DocumentFilter, Instance};
use crate::service::{Caller, Hub};
use crate::versions::vector_as_shown;

/// Documents on a page where no number is given.
const PAGE_DOCUMENTS: u32 = 500;
/// Most documents on a page.
const PAGE_DOCUMENTS_MAX: u32 = 1_000;
/// Bytes of text after which a page ends; it has at least one document.
const PAGE_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Bytes of text after which an answer to a client that did not ask for pages ends, with a cursor for the rest.
const WHOLE_BYTES_MAX: usize = 16 * 1024 * 1024;

impl Hub {
    /// Returns what an instance has not seen: everything without `since`. Documents come in the order of their last
    /// change, so that one that is changed between two pages comes again on a later page. Every live version is sent, the
    /// shown one first, so that the token of the last page covers nothing that was not sent.
    ///
    /// # Errors
    /// When the cursor is not one of this hub, or storage fails.
    pub async fn sync_pull(&self, caller: &Caller, input: SyncPull) -> Result<SyncPulled, HubError> {
        let cursor = input.cursor.as_deref().map(Cursor::parse).transpose()?;
        let _turn = self.lock_writes().await;
        loop {
            let mut act = self.begin(caller).await?;
            if cursor.as_ref().is_some_and(|cursor| cursor.revision > act.state.revision) {
                return Err(HubError::Invalid(
                    "cursor: it is not of this state of the hub; pull again without a cursor".to_owned(),
                ));
            }
            let mut documents =
                self.inner().parts.store.documents(&caller.scope, DocumentFilter::everything()).await?;
            documents.sort_by(|one, other| (one.revision, &one.name).cmp(&(other.revision, &other.name)));
            // Before all others, as the oldest changes: they are no longer documents of the hub.
            let untold = self.inner().parts.store.untold_deletions(&caller.scope, &input.instance_id).await?;
            let untold_count = untold.len();
            documents.splice(0..0, untold);
            let page = page(&documents, cursor.as_ref(), &input);
            let shipped: Vec<&Document> =
                documents[page.clone()].iter().filter(|document| is_new(document, &input)).collect();
            let is_last = page.end == documents.len();
            let known = self.instance(&caller.scope, &input.instance_id).await?;
            let (kind, name, mut base) = match known {
                Some(known) => (known.kind, known.name, known.base),
                None => ("other".to_owned(), None, Default::default()),
            };
            for (index, document) in documents.iter().enumerate().take(page.end).skip(page.start) {
                if index < untold_count {
                    // An erased document is not in the base, so that the copy of the client does not come back.
                    base.remove(&document.name);
                    continue;
                }
                // What is shown, not the versions beside it: a client without version vectors reads only that. Of a
                // deletion that is not sent it knows nothing.
                if input.since.is_some() || is_new(document, &input) {
                    base.set(&document.name, vector_as_shown(&document.heads));
                }
            }
            act.commit.instance =
                Some(Instance { id: input.instance_id.clone(), kind, name, last_sync: act.now, base });
            act.commit.heard.clone_from(&input.since);
            let new_sync_token = match is_last {
                true => token_of(&act.state, &documents[untold_count..], act.now),
                // What the client had before: more is not known until the last page has come.
                false => SyncToken {
                    server_version: act.state.revision + 1,
                    timestamp: act.now,
                    hash: String::new(),
                    version_vector: input.since.clone().unwrap_or_default(),
                },
            };
            let next_cursor = (!is_last).then(|| documents[..page.end].last().map(Cursor::after)).flatten();
            let (identity_files, memories) = as_items(&shipped);
            if act.save().await? {
                return Ok(SyncPulled {
                    success: true,
                    identity_files,
                    memories,
                    new_sync_token,
                    next_cursor: next_cursor.map(|cursor| cursor.to_string()),
                });
            }
        }
    }
}

/// Where a page ended: the last document on it, as it was when the page was made.
struct Cursor {
    revision: i64,
    name: DocumentName,
}

impl Cursor {
    fn after(document: &Document) -> Self {
        Self { revision: document.revision, name: document.name.clone() }
    }

    fn parse(text: &str) -> Result<Self, HubError> {
        let mut parts = text.splitn(3, '/');
        let (revision, kind, stem) = (parts.next(), parts.next(), parts.next());
        let revision = revision.and_then(|revision| revision.parse().ok());
        let name = kind.zip(stem).and_then(|(kind, stem)| DocumentName::parse(kind, stem).ok());
        match (revision, name) {
            (Some(revision), Some(name)) => Ok(Self { revision, name }),
            _ => Err(HubError::Invalid(
                "cursor: it is not one that an answer gave as `nextCursor`; pull again without it".to_owned(),
            )),
        }
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}/{}", self.revision, self.name.kind(), self.name.stem())
    }
}

fn is_new(document: &Document, input: &SyncPull) -> bool {
    match &input.since {
        Some(since) => !since.covers(&document.seen()),
        None => document.content().is_some() || document.heads.len() > 1,
    }
}

/// Which documents, in order, are on the page; those that the client has seen take no room on it.
fn page(documents: &[Document], cursor: Option<&Cursor>, input: &SyncPull) -> Range<usize> {
    let start = cursor.map_or(0, |cursor| {
        documents.partition_point(|document| {
            (document.revision, &document.name) <= (cursor.revision, &cursor.name)
        })
    });
    let is_paged = cursor.is_some() || input.limit.is_some();
    let documents_max = match is_paged {
        true => input.limit.unwrap_or(PAGE_DOCUMENTS).clamp(1, PAGE_DOCUMENTS_MAX) as usize,
        false => usize::MAX,
    };
    let bytes_max = if is_paged { PAGE_BYTES_MAX } else { WHOLE_BYTES_MAX };
    let (mut count, mut bytes) = (0, 0);
    for (index, document) in documents.iter().enumerate().skip(start) {
        if !is_new(document, input) {
            continue;
        }
        let length: usize =
            document.heads.iter().filter_map(|head| head.content.as_ref().map(String::len)).sum();
        if count > 0 && (count == documents_max || bytes + length > bytes_max) {
            return start..index;
        }
        count += 1;
        bytes += length;
    }
    start..documents.len()
}

fn as_items(documents: &[&Document]) -> (IdentityItems, Vec<MemoryItem>) {
    let (mut identity, mut memories) = (IdentityItems::default(), Vec::new());
    for document in documents {
        match &document.name {
            DocumentName::Identity(category, _) => {
                let list = match category {
                    Category::Own => &mut identity.own,
                    Category::User => &mut identity.user,
                    Category::Relationship => &mut identity.relationship,
                    Category::Custom => &mut identity.custom,
                };
                list.extend(items::identity_item(document));
            }
            DocumentName::Diary(_) => memories.extend(items::memory_item(document)),
        }
    }
    (identity, memories)
}
