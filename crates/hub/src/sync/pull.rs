//! Documents that an instance has not seen yet, at once or in pages.

use std::collections::BTreeSet;
use std::ops::Range;

use jiff::{SignedDuration, Timestamp};

use super::{items, sync_token};
use crate::api::sync::{IdentityItems, MemoryItem, SyncPull, SyncPulled, SyncToken};
use crate::client_base::ClientBase;
use crate::documents::Document;
use crate::erasure::ErasedLine;
use crate::error::HubError;
use crate::names::{Category, DocumentName};
use crate::ports::{DocumentOutline, Instance};
use crate::service::{Caller, Hub};
use crate::transaction::HubTransaction;
use crate::version_vector::{COUNTER_STEP_MAX, VersionVector};

/// Default number of documents on a page.
const PAGE_DOCUMENTS: u32 = 500;
/// Maximum documents on a page. It bounds what one request reads.
const PAGE_DOCUMENTS_MAX: u32 = 1_000;
/// Bytes of text after which a page ends; it has at least one document. A page is built in memory before it is sent.
const PAGE_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Bytes of text after which an answer to a client that did not ask for pages ends, with a cursor for the rest.
/// Clients of entity-core do not ask for pages, and most homes are smaller.
const WHOLE_BYTES_MAX: usize = 16 * 1024 * 1024;

impl Hub {
    /// Returns what an instance has not seen; everything without `since`. Documents come in the order of their last
    /// change, so that one changed between two pages appears again on a later page. Every live version is sent, the
    /// shown one first, so that the token of the last page covers nothing that was not sent.
    ///
    /// # Errors
    ///
    /// When the cursor is not one of this hub, or storage fails.
    pub async fn sync_pull(&self, caller: &Caller, input: SyncPull) -> Result<SyncPulled, HubError> {
        let cursor = input.cursor.as_deref().map(Cursor::parse).transpose()?;
        let _turn = self.lock_writes().await;
        self.notice_lost_changes(caller, &input).await?;
        loop {
            let mut act = self.begin(caller).await?;
            if cursor.as_ref().is_some_and(|cursor| cursor.revision > act.state.revision) {
                return Err(HubError::Invalid(
                    "cursor: it belongs to another state of the hub; pull again without a cursor".to_owned(),
                ));
            }
            let (outlines, untold) = self.outlines_from(caller, &input, cursor.as_ref()).await?;
            let is_new = |outline: &&DocumentOutline| is_new(outline, &untold, &input);
            let page = select_page(&outlines, cursor.as_ref(), &input, &untold);
            let is_last = page.end == outlines.len();
            let known = self.connected_instance(&caller.scope, &input.instance_id).await?;
            let mut instance = known.unwrap_or_else(|| Instance {
                id: input.instance_id.clone(),
                kind: "other".to_owned(),
                name: None,
                last_sync: act.now,
                base: ClientBase::default(),
                sent: VersionVector::default(),
            });
            instance.last_sync = act.now;
            let base = &mut instance.base;
            for outline in &outlines[page.clone()] {
                if untold.contains(&outline.name) {
                    // An erased document is not in the base, so that the client's copy does not come back.
                    base.remove(&outline.name);
                } else if input.since.is_some() || is_new(&outline) {
                    // Only the shown version, because a client without version vectors reads only that. It does not
                    // learn of a deletion that is not sent.
                    base.replace_seen(&outline.name, outline.as_shown.clone());
                }
            }
            let names: Vec<DocumentName> =
                outlines[page.clone()].iter().filter(is_new).map(|outline| outline.name.clone()).collect();
            // Read after the outlines: the commit fails if something changed meanwhile.
            let (_, shipped) = self.shared_parts().parts.store.hub_state_with(&caller.scope, &names).await?;
            let new_sync_token = self.page_token(&act, &input, is_last).await?;
            act.commit.heard = confirmed_changes(&input, &instance);
            if is_last || input.since.is_some() {
                let is_whole = input.since.is_none();
                instance.sent =
                    if is_whole { new_sync_token.version_vector.clone() } else { Default::default() };
            }
            act.commit.instance = Some(instance);
            let erased = self.shared_parts().parts.store.erased_lines(&caller.scope, &names).await?;
            let next_cursor =
                (!is_last).then(|| outlines[..page.end].last().map(Cursor::after_document)).flatten();
            let unseen = |lines: Vec<ErasedLine>| -> Vec<ErasedLine> {
                let since = input.since.as_ref();
                let is_unseen =
                    |line: &ErasedLine| since.is_none_or(|since| since.get(&line.author) < line.counter);
                lines.into_iter().filter(is_unseen).collect()
            };
            let erased = erased.into_iter().map(unseen);
            let shipped =
                shipped.into_iter().zip(erased).filter_map(|(document, erased)| Some((document?, erased)));
            let (identity_files, memories) = to_items(shipped);
            if act.commit().await? {
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

    /// Switches to a new author if the hub was restored from a backup: an instance that knows more of the hub's
    /// changes than the hub itself received them before the restore. New changes with the same counters could not be
    /// told from those.
    async fn notice_lost_changes(&self, caller: &Caller, input: &SyncPull) -> Result<(), HubError> {
        let Some(since) = &input.since else { return Ok(()) };
        let state = self.shared_parts().parts.store.hub_state(&caller.scope).await?;
        let (claimed, made) = (since.get(&state.author), state.counters.get(&state.author));
        // At most once an hour, so that false claims of an instance do not create an author with each pull.
        let now = self.now();
        let may_renew = |last: Timestamp| now.duration_since(last) >= SignedDuration::from_hours(1);
        if claimed > made
            && claimed <= made + COUNTER_STEP_MAX
            && self.shared_parts().last_renewal().is_none_or(may_renew)
        {
            self.renew_author().await?;
            self.shared_parts().note_renewal(now);
        }
        Ok(())
    }

    /// The token of a page. That of the last page covers everything; that of another page only what the client had
    /// before, because the rest is known once the last page has arrived.
    async fn page_token(
        &self,
        act: &HubTransaction<'_>,
        input: &SyncPull,
        is_last: bool,
    ) -> Result<SyncToken, HubError> {
        // While pages from this home's own hub are missing, the local documents do not show what was seen.
        let position = self.shared_parts().parts.store.exchange_position(&act.caller.scope).await?;
        let is_whole = position.is_none_or(|position| position.cursor.is_none());
        if is_last && is_whole {
            let all = self.shared_parts().parts.store.document_outlines(&act.caller.scope, 0).await?;
            return Ok(sync_token(&act.state, &all, act.now));
        }
        Ok(SyncToken {
            server_version: act.state.revision + 1,
            timestamp: act.now,
            hash: String::new(),
            version_vector: input.since.clone().unwrap_or_default(),
        })
    }

    /// Outlines of the documents from the cursor on, by last change and then by name, with the deletions of erased
    /// documents that the instance has a copy of; and the names of the latter.
    async fn outlines_from(
        &self,
        caller: &Caller,
        input: &SyncPull,
        cursor: Option<&Cursor>,
    ) -> Result<(Vec<DocumentOutline>, BTreeSet<DocumentName>), HubError> {
        let store = &self.shared_parts().parts.store;
        let from = cursor.map_or(0, |cursor| cursor.revision);
        let mut outlines = store.document_outlines(&caller.scope, from).await?;
        let untold = store.unsent_deletions(&caller.scope, &input.instance_id).await?;
        let names = untold.iter().map(|document| document.name.clone()).collect();
        outlines.extend(untold.iter().map(deletion_outline));
        outlines.retain(|outline| self.may_read(caller, &outline.name));
        outlines.sort_by(|one, other| (one.revision, &one.name).cmp(&(other.revision, &other.name)));
        Ok((outlines, names))
    }
}

/// Changes that a pull confirms as received: its `since`, or without one, the whole answer to the former pull.
fn confirmed_changes(input: &SyncPull, instance: &Instance) -> Option<VersionVector> {
    match &input.since {
        Some(since) => Some(since.clone()),
        None => (input.cursor.is_none() && !instance.sent.is_empty()).then(|| instance.sent.clone()),
    }
}

pub(super) fn deletion_outline(document: &Document) -> DocumentOutline {
    DocumentOutline {
        name: document.name.clone(),
        revision: document.revision,
        seen: document.seen_by_heads(),
        as_shown: document.seen_by_heads(),
        bytes: 0,
        heads: document.heads.len(),
        is_deleted: true,
    }
}

/// End of a page: its last document, in the state at that time.
struct Cursor {
    revision: i64,
    name: DocumentName,
}

impl Cursor {
    fn after_document(document: &DocumentOutline) -> Self {
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
                "cursor: must be a `nextCursor` of an earlier answer; pull again without it".to_owned(),
            )),
        }
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}/{}", self.revision, self.name.kind(), self.name.stem())
    }
}

/// True if a document should be sent. Without `since`, a deletion is sent only if the client has the document.
fn is_new(document: &DocumentOutline, untold: &BTreeSet<DocumentName>, input: &SyncPull) -> bool {
    match &input.since {
        Some(since) => !since.covers(&document.seen),
        None => !document.is_deleted || document.heads > 1 || untold.contains(&document.name),
    }
}

/// Selects the documents of a page, in order. Those that the client has seen do not count.
fn select_page(
    documents: &[DocumentOutline],
    cursor: Option<&Cursor>,
    input: &SyncPull,
    untold: &BTreeSet<DocumentName>,
) -> Range<usize> {
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
        if !is_new(document, untold, input) {
            continue;
        }
        if count > 0 && (count == documents_max || bytes + document.bytes > bytes_max) {
            return start..index;
        }
        count += 1;
        bytes += document.bytes;
    }
    start..documents.len()
}

fn to_items(
    documents: impl Iterator<Item = (Document, Vec<ErasedLine>)>,
) -> (IdentityItems, Vec<MemoryItem>) {
    let (mut identity, mut memories) = (IdentityItems::default(), Vec::new());
    for (document, erased) in documents {
        match &document.name {
            DocumentName::Identity(category, _) => {
                let list = match category {
                    Category::Own => &mut identity.own,
                    Category::User => &mut identity.user,
                    Category::Relationship => &mut identity.relationship,
                    Category::Custom => &mut identity.custom,
                };
                list.extend(items::identity_item(&document, &erased));
            }
            DocumentName::Diary(_) => memories.extend(items::memory_item(&document, &erased)),
        }
    }
    (identity, memories)
}
