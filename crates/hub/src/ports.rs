//! Ports of the hub.

mod chunks;
mod remote;

use std::collections::{BTreeSet, HashMap};

use async_trait::async_trait;
use jiff::Timestamp;
use memory::ports::{Embedding, Phrase, StoreError};
use memory::text::QueryGram;
use memory::{PersonaId, Scope};

pub use chunks::{ChunkCoverage, ChunkHits, ChunkVector, DiaryChunk, DiaryCoverage, UnembeddedChunk};
pub use remote::{
    DocumentErasure, ExchangePosition, PendingErasure, RemoteError, RemoteHub, RemotePage, RemotePushed,
    RemoteStatus, RemoteToken,
};

use crate::documents::{Conflict, Document, Version};
use crate::erasure::ErasedLine;
use crate::export::HubExport;
use crate::names::{Category, DiaryName, DocumentName, Granularity, InstanceId};
pub use crate::records::{Instance, Snapshot};
use crate::version_vector::VersionVector;

/// Selection of documents to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentFilter {
    /// Only identity documents of these categories; empty selects none.
    pub categories: Vec<Category>,
    /// Only memories of these granularities; empty selects none.
    pub granularities: Vec<Granularity>,
    /// True to include deleted documents.
    pub deleted: bool,
    /// Documents that changed after this revision; 0 for all.
    pub after: i64,
}

impl DocumentFilter {
    /// A filter for all identity documents that are not deleted.
    pub fn identity() -> Self {
        Self { categories: Category::ALL.to_vec(), ..Self::default() }
    }

    /// A filter for all memories that are not deleted.
    pub fn all_memories() -> Self {
        Self { granularities: Granularity::ALL.to_vec(), ..Self::default() }
    }

    /// A filter for all documents, deleted ones too.
    pub fn all_documents() -> Self {
        Self {
            categories: Category::ALL.to_vec(),
            granularities: Granularity::ALL.to_vec(),
            deleted: true,
            after: 0,
        }
    }
}

/// The fields of a document that synchronisation needs, without its texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentOutline {
    pub name: DocumentName,
    /// The hub's revision at its last change.
    pub revision: i64,
    /// All changes that the document's live versions include.
    pub seen: VersionVector,
    /// All changes that a client includes after it received the shown version.
    pub as_shown: VersionVector,
    /// Bytes of text of all live versions.
    pub bytes: usize,
    /// Number of live versions.
    pub heads: usize,
    /// True if the shown version is a deletion.
    pub is_deleted: bool,
}

/// State of a persona's hub.
#[derive(Clone, Debug, PartialEq)]
pub struct HubState {
    /// Rises with every commit.
    pub revision: i64,
    /// All changes in this scope that the hub has received.
    pub seen: VersionVector,
    /// The counter of each author's last change, in every scope of the persona.
    pub counters: VersionVector,
    /// The author of this hub's own changes: its instance, or the part of it that this copy of the home is.
    pub author: InstanceId,
}

/// The text of a document, or as much of it as a prompt needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownText {
    pub name: DocumentName,
    /// The label of the document in prompts, if one was set.
    pub prompt_label: Option<String>,
    /// The text of the shown version, or its beginning.
    pub text: String,
}

/// State of a persona's lorebooks, which changes when one of their entries does: the number of entries and the latest
/// revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoreState {
    pub count: u64,
    /// The highest revision among the lorebook's documents.
    pub revision: i64,
}

/// An entry of a lorebook as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct LoreDocument {
    pub name: DocumentName,
    /// The author of the shown version.
    pub author: InstanceId,
    /// The whole text, with its front matter.
    pub text: String,
}

/// The new state of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentWrite {
    pub name: DocumentName,
    /// The new prompt label; `None` leaves the label unchanged.
    pub prompt_label: Option<String>,
    /// All live versions, the shown one first. Versions that were live before and are not listed become past
    /// versions.
    pub heads: Vec<Version>,
    /// Versions that were merged into these heads on arrival; they are stored as past versions.
    pub merged_from: Vec<Version>,
    /// True if the document is out of date.
    pub stale: bool,
    pub at: Timestamp,
}

impl DocumentWrite {
    /// A change that marks the same live versions as out of date.
    pub fn mark_outdated(name: DocumentName, heads: Vec<Version>, at: Timestamp) -> Self {
        Self { name, prompt_label: None, heads, merged_from: Vec::new(), stale: true, at }
    }
}

/// A line of a diary, with the memory that it describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiaryLine {
    pub document: DocumentName,
    pub node: memory::identifiers::NodeId,
    pub session: memory::identifiers::SessionId,
    /// The whole line as written.
    pub line: String,
}

/// An event without a line in the diary.
#[derive(Clone, Debug, PartialEq)]
pub struct DiaryEvent {
    pub scope: Scope,
    pub node: memory::identifiers::NodeId,
    /// The session that the event was made from.
    pub session: memory::identifiers::SessionId,
    /// Time at which the session began.
    pub at: Timestamp,
    pub description: String,
}

/// A line of a diary whose event has changed since.
#[derive(Clone, Debug, PartialEq)]
pub struct OutdatedLine {
    pub scope: Scope,
    /// The line as it is written in the diary.
    pub line: DiaryLine,
    /// The present text of the event.
    pub description: String,
}

/// Changes of one operation, committed together or not at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HubCommit {
    /// The revision at which the input of this commit was read.
    pub expected: i64,
    pub documents: Vec<DocumentWrite>,
    /// Conflicts to open; `kept` is one of the heads written for its document, identified by its vector.
    pub opened: Vec<Conflict>,
    /// Conflicts that a person settled, with the decisions.
    pub settled: Vec<(uuid::Uuid, String)>,
    pub lines: Vec<DiaryLine>,
    pub snapshots: Vec<Snapshot>,
    /// An instance that has connected.
    pub instance: Option<Instance>,
    /// Changes that the instance has received, as it confirms.
    pub heard: Option<VersionVector>,
    /// Erasures made elsewhere; they are applied after the documents are written.
    pub erasures: Vec<DocumentErasure>,
    /// Position of the exchange with the hub of this home.
    pub exchange: Option<ExchangePosition>,
    /// Contents of an archive for an empty place; existing rows are left as they are.
    pub restored: Option<Box<HubExport>>,
    pub at: Option<Timestamp>,
}

/// The result of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubCommitOutcome {
    /// The commit is stored; this is the hub's new revision.
    Done(i64),
    /// Another write came first and nothing was changed. Read the state again.
    Changed,
}

/// Storage of the hub. Every method that writes is one transaction.
#[async_trait]
pub trait HubStore: Send + Sync {
    /// State of the hub.
    async fn hub_state(&self, scope: &Scope) -> Result<HubState, StoreError> {
        Ok(self.hub_state_with(scope, &[]).await?.0)
    }
    /// State of the hub with these documents, including deleted ones, from one snapshot.
    async fn hub_state_with(
        &self,
        scope: &Scope,
        names: &[DocumentName],
    ) -> Result<(HubState, Vec<Option<Document>>), StoreError>;
    /// Documents of the scope and the persona's own, by kind and stem.
    async fn documents(&self, scope: &Scope, filter: DocumentFilter) -> Result<Vec<Document>, StoreError>;
    /// Documents of the scope and the persona's own that changed at this revision or later, including deleted ones,
    /// in no order. Texts are read only for documents with concurrent versions.
    async fn document_outlines(&self, scope: &Scope, from: i64) -> Result<Vec<DocumentOutline>, StoreError>;
    /// Reads one document, also if it is deleted.
    async fn document(&self, scope: &Scope, name: &DocumentName) -> Result<Option<Document>, StoreError>;
    /// The first `length_max` characters of each identity document except lorebook entries, by kind and stem, and of
    /// each of these memories that exists, in the given order. The cost does not depend on the length of the past.
    async fn shown_texts(
        &self,
        scope: &Scope,
        memories: Vec<DiaryName>,
        length_max: u32,
    ) -> Result<Vec<ShownText>, StoreError>;
    /// The entries of the persona's lorebooks, by name; `None` if they are unchanged since `known`.
    async fn lore(
        &self,
        scope: &Scope,
        known: Option<LoreState>,
    ) -> Result<Option<(LoreState, Vec<LoreDocument>)>, StoreError>;
    /// Every stored version of a document, newest first.
    async fn document_versions(
        &self,
        scope: &Scope,
        name: &DocumentName,
        limit: u32,
    ) -> Result<Vec<Version>, StoreError>;
    /// Digests of the lines that were erased from each of these documents, in the given order.
    async fn erased_lines(
        &self,
        scope: &Scope,
        names: &[DocumentName],
    ) -> Result<Vec<Vec<ErasedLine>>, StoreError>;
    /// Writes a commit, if the hub is still at the revision that the commit expects. A document that is a core block
    /// is written as one.
    async fn commit_hub(&self, scope: &Scope, commit: HubCommit) -> Result<HubCommitOutcome, StoreError>;
    /// Sets the label of a document, which need not exist.
    async fn set_label(&self, scope: &Scope, name: &DocumentName, label: &str) -> Result<(), StoreError>;
    /// All labels that were set, by kind and stem.
    async fn labels(&self, scope: &Scope) -> Result<Vec<(DocumentName, String)>, StoreError>;
    /// Conflicts, newest first; only open ones, or all.
    async fn conflicts(&self, scope: &Scope, only_open: bool) -> Result<Vec<Conflict>, StoreError>;
    /// Instances that have connected to the hub, by id.
    async fn instances(&self, scope: &Scope) -> Result<Vec<Instance>, StoreError>;
    /// Deletions of documents that were erased together with their names, if this instance had a copy and has not
    /// received the deletion yet.
    async fn unsent_deletions(
        &self,
        scope: &Scope,
        instance: &InstanceId,
    ) -> Result<Vec<Document>, StoreError>;
    /// For each author of this hub, the first erasure that this instance has not confirmed although it had a copy of
    /// the erased text; empty if it has confirmed all.
    async fn first_waiting_erasures(
        &self,
        scope: &Scope,
        instance: &InstanceId,
    ) -> Result<VersionVector, StoreError>;
    /// Position of the exchange with this home's hub; `None` before the first exchange. `sent` covers all scopes of
    /// the persona.
    async fn exchange_position(&self, scope: &Scope) -> Result<Option<ExchangePosition>, StoreError>;
    /// Erasures by this instance, or a part of it, that this home's hub has not applied yet.
    async fn pending_erasures(
        &self,
        scope: &Scope,
        position: &ExchangePosition,
        instance: &InstanceId,
    ) -> Result<Vec<PendingErasure>, StoreError>;
    /// Events of this home whose diary lines were erased elsewhere.
    async fn events_erased_elsewhere(
        &self,
        scope: &Scope,
    ) -> Result<Vec<memory::identifiers::NodeId>, StoreError>;
    /// Notes that this home's hub has applied all erasures up to these changes. Receipts say so, and names stored
    /// only for the hub are dropped.
    async fn note_erasures_reached(
        &self,
        scope: &Scope,
        hub: &InstanceId,
        reached: &VersionVector,
        at: Timestamp,
    ) -> Result<(), StoreError>;
    /// The hub's own instance at its last run; `None` before the first.
    async fn own_instance(&self) -> Result<Option<InstanceId>, StoreError>;
    /// Sets the author of this home's changes from now on, because another copy of the home uses the former one.
    async fn set_author(&self, author: &InstanceId) -> Result<(), StoreError>;
    async fn snapshots(&self, scope: &Scope) -> Result<Vec<Snapshot>, StoreError>;
    /// Deletes snapshots that are older than a time; returns their number.
    async fn prune_snapshots(&self, before: Timestamp) -> Result<u64, StoreError>;
    /// For each phrase, its positions in at most `limit` chunks.
    async fn search_chunks(
        &self,
        scope: &Scope,
        phrases: &[Phrase],
        limit: u32,
    ) -> Result<ChunkHits, StoreError>;
    /// Chunks of the scope by number, in no order; deleted ones are left out.
    async fn chunks_numbered(
        &self,
        scope: &Scope,
        fingerprint: &str,
        numbers: &[i64],
    ) -> Result<Vec<DiaryChunk>, StoreError>;
    /// Vectors stored after the given one, oldest first, of chunks that are readable.
    async fn chunk_vectors(
        &self,
        scope: &Scope,
        fingerprint: &str,
        after: i64,
        limit: u32,
    ) -> Result<Vec<ChunkVector>, StoreError>;
    /// Chunks without a vector of this model, of memories that changed after the revision, the newest first.
    async fn unembedded_chunks(
        &self,
        scope: &Scope,
        fingerprint: &str,
        after: i64,
        limit: u32,
    ) -> Result<Vec<UnembeddedChunk>, StoreError>;
    /// Stores vectors; those of deleted chunks are skipped.
    async fn put_chunk_vectors(
        &self,
        fingerprint: &str,
        vectors: Vec<(i64, Embedding)>,
    ) -> Result<(), StoreError>;
    /// Number of chunks of all scopes that have vectors of this model.
    async fn chunk_coverage(&self, fingerprint: &str) -> Result<ChunkCoverage, StoreError>;
    /// Number of memories that have vectors of this model.
    async fn embedded_memories(&self, scope: &Scope, fingerprint: &str) -> Result<DiaryCoverage, StoreError>;
    /// Names of all existing memories, in no order. No text is read.
    async fn memory_names(&self, scope: &Scope) -> Result<Vec<DiaryName>, StoreError>;
    /// For each word, the memories whose chunks contain all of its grams, among the newest `limit` chunks for each
    /// word; in no order, each memory once. A word without grams has no memories.
    async fn memories_with_grams(
        &self,
        scope: &Scope,
        words: Vec<BTreeSet<QueryGram>>,
        limit: u32,
    ) -> Result<Vec<Vec<DiaryName>>, StoreError>;
    /// Deletes the vectors of all memories of the scope; returns the number of memories.
    async fn purge_chunk_vectors(&self, scope: &Scope) -> Result<u64, StoreError>;
    /// Exports the whole hub from one snapshot.
    async fn export_hub(&self, scope: &Scope) -> Result<HubExport, StoreError>;
    /// Sets the hub's own instance, which is the author of changes that the memory makes. Also converts core blocks
    /// that are not documents yet, and splits memories that have no chunks.
    async fn set_own_instance(&self, instance: &InstanceId) -> Result<(), StoreError>;
    /// Renames the dailies of one instance to another, with their `[via:]` tags. Days that the other instance has
    /// already are left. Returns the former names of those renamed.
    async fn rename_days(
        &self,
        from: &InstanceId,
        to: &InstanceId,
    ) -> Result<Vec<(Scope, DocumentName)>, StoreError>;
    /// Scopes that have documents.
    async fn hub_scopes(&self) -> Result<Vec<Scope>, StoreError>;
    /// True if a session with messages between these times is not consolidated yet.
    async fn has_unfinished_session(
        &self,
        scope: &Scope,
        start: Timestamp,
        end: Timestamp,
    ) -> Result<bool, StoreError>;
    /// Events of consolidated sessions without a line in the diary, the oldest first.
    async fn events_without_diary(&self, limit: u32) -> Result<Vec<DiaryEvent>, StoreError>;
    /// Lines of diaries whose events were corrected.
    async fn outdated_lines(&self, limit: u32) -> Result<Vec<OutdatedLine>, StoreError>;
    /// True if any change of this instance was ever seen.
    async fn knows_instance(&self, persona: &PersonaId, instance: &InstanceId) -> Result<bool, StoreError>;
}

/// Links between memories and the entities that a query names (the graph's part of the score).
#[async_trait]
pub trait DiaryLinks: Send + Sync {
    /// For each memory, by [`crate::DiaryName::id`], the number of linked entities that the query names.
    async fn linked_memories(&self, scope: &Scope, query: &str) -> Result<HashMap<String, u32>, StoreError>;
    /// The nodes and entities that the query names, each with all its folded names.
    async fn names_in(&self, scope: &Scope, query: &str) -> Result<Vec<Vec<String>>, StoreError>;
}

/// Receives notice of changes that come from other homes.
pub trait HubListener: Send + Sync {
    /// A conflict between two versions was stored.
    fn conflict_opened(&self, scope: &Scope, conflict: &Conflict);
    /// Called before text is erased from documents because another home erased it. The returned value is dropped
    /// afterwards. Replies that began before must not be committed after either moment. Must not wait: documents are
    /// locked.
    fn begin_erasing(&self, scope: &Scope) -> Box<dyn Send>;
}

/// Input for writing a roll-up.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryRequest {
    /// Weekly, monthly or yearly.
    pub granularity: Granularity,
    /// The period's name, such as `2026-W11`.
    pub period: String,
    pub persona: String,
    /// Identity documents: label and text.
    pub identity: Vec<(String, String)>,
    /// Sources, oldest first: date and text.
    pub sources: Vec<(String, String)>,
}

/// Why no summary was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SummaryError(pub String);

/// Writes roll-ups with a language model.
#[async_trait]
pub trait Summariser: Send + Sync {
    /// Writes bullets in the first person, without their dash; at least one.
    async fn summarise(&self, request: SummaryRequest) -> Result<Vec<String>, SummaryError>;

    /// Number of tokens of sources that fit into one call.
    fn source_tokens_max(&self) -> u32;
}
