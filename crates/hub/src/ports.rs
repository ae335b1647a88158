//! What the hub asks of the world.

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

/// Selects documents to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentFilter {
    /// Only identity documents of these categories; empty means none.
    pub categories: Vec<Category>,
    /// Only memories of these granularities; empty means none.
    pub granularities: Vec<Granularity>,
    /// True if deleted documents are read too.
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
    /// Everything that the document's live versions have seen.
    pub seen: VersionVector,
    /// All changes seen by a client that was given the shown version.
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
    /// All changes that were ever seen in this scope.
    pub seen: VersionVector,
    /// The counter of each author's last change, in every scope of the persona.
    pub counters: VersionVector,
    /// The author of this hub's own changes: its instance, or the part of it that this copy of the home is.
    pub author: InstanceId,
}

/// The text of a document, as far as a prompt may need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownText {
    pub name: DocumentName,
    /// The label of the document in prompts, if one was set.
    pub prompt_label: Option<String>,
    /// The text of the shown version, or its beginning.
    pub text: String,
}

/// Tells whether the entries of a persona's lorebooks are still the same: how many there are, and the latest revision.
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
    /// The prompt label from now on; none leaves the label unchanged.
    pub prompt_label: Option<String>,
    /// All live versions, the shown one first. What is live now and not among them becomes a past version.
    pub heads: Vec<Version>,
    /// Versions that were merged into these heads on arrival: they are kept as past versions.
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

/// A line of a diary, with the memory that it tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiaryLine {
    pub document: DocumentName,
    pub node: memory::identifiers::NodeId,
    pub session: memory::identifiers::SessionId,
    /// The whole line as written.
    pub line: String,
}

/// An event that no diary tells yet.
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

/// A line of a diary whose event says something else since.
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
    /// The revision at which all that led to this was read.
    pub expected: i64,
    pub documents: Vec<DocumentWrite>,
    /// Conflicts that begin; `kept` is one of the heads of its document's write, found by its vector.
    pub opened: Vec<Conflict>,
    /// Conflicts that a person settled, and how.
    pub settled: Vec<(uuid::Uuid, String)>,
    pub lines: Vec<DiaryLine>,
    pub snapshots: Vec<Snapshot>,
    /// An instance that has spoken.
    pub instance: Option<Instance>,
    /// Changes that the instance confirms to have received.
    pub heard: Option<VersionVector>,
    /// Words that were erased elsewhere; they go after the documents are written.
    pub erasures: Vec<DocumentErasure>,
    /// Position of the exchange with the hub of this home.
    pub exchange: Option<ExchangePosition>,
    /// Contents of an archive that were never here; existing rows are left as they are.
    pub restored: Option<Box<HubExport>>,
    pub at: Option<Timestamp>,
}

/// The result of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubCommitOutcome {
    /// The change is stored, and the hub is at this revision.
    Done(i64),
    /// Another write came first: this one changed nothing; read the state again.
    Changed,
}

/// Storage of the hub. Every method that writes is one transaction.
#[async_trait]
pub trait HubStore: Send + Sync {
    /// State of the hub.
    async fn hub_state(&self, scope: &Scope) -> Result<HubState, StoreError> {
        Ok(self.hub_state_with(scope, &[]).await?.0)
    }
    /// State of the hub with these documents, also deleted ones, from one snapshot.
    async fn hub_state_with(
        &self,
        scope: &Scope,
        names: &[DocumentName],
    ) -> Result<(HubState, Vec<Option<Document>>), StoreError>;
    /// Documents of the scope and the persona's own, by kind and stem.
    async fn documents(&self, scope: &Scope, filter: DocumentFilter) -> Result<Vec<Document>, StoreError>;
    /// Documents of the scope and the persona's own that changed at this revision or later, also deleted ones, in no
    /// order. No text is read, except of documents with concurrent versions.
    async fn document_outlines(&self, scope: &Scope, from: i64) -> Result<Vec<DocumentOutline>, StoreError>;
    /// Reads one document, also a deleted one.
    async fn document(&self, scope: &Scope, name: &DocumentName) -> Result<Option<Document>, StoreError>;
    /// Texts of identity documents, without entries of lorebooks, by kind and stem, and of those of these memories that
    /// exist, in the order asked: the first `length_max` characters of each. Its cost does not depend on the length of the
    /// past.
    async fn shown_texts(
        &self,
        scope: &Scope,
        memories: Vec<DiaryName>,
        length_max: u32,
    ) -> Result<Vec<ShownText>, StoreError>;
    /// The entries of the persona's lorebooks, by name; `None` if they are still as `known` says.
    async fn lore(
        &self,
        scope: &Scope,
        known: Option<LoreState>,
    ) -> Result<Option<(LoreState, Vec<LoreDocument>)>, StoreError>;
    /// Every version of a document that was kept, newest first.
    async fn document_versions(
        &self,
        scope: &Scope,
        name: &DocumentName,
        limit: u32,
    ) -> Result<Vec<Version>, StoreError>;
    /// Lines that were erased from each of these documents, as digests, in the order asked.
    async fn erased_lines(
        &self,
        scope: &Scope,
        names: &[DocumentName],
    ) -> Result<Vec<Vec<ErasedLine>>, StoreError>;
    /// Writes all of it, if the hub is still at the revision at which it was read. A document that is a core block is written as one.
    async fn commit_hub(&self, scope: &Scope, commit: HubCommit) -> Result<HubCommitOutcome, StoreError>;
    /// Sets how a prompt calls a document, which need not be there.
    async fn set_label(&self, scope: &Scope, name: &DocumentName, label: &str) -> Result<(), StoreError>;
    /// All prompt labels that were set, by kind and stem.
    async fn labels(&self, scope: &Scope) -> Result<Vec<(DocumentName, String)>, StoreError>;
    /// Conflicts, newest first; only open ones, or all.
    async fn conflicts(&self, scope: &Scope, only_open: bool) -> Result<Vec<Conflict>, StoreError>;
    /// Instances that have spoken with the hub, by id.
    async fn instances(&self, scope: &Scope) -> Result<Vec<Instance>, StoreError>;
    /// Deletions of documents that were erased together with their names, as far as this instance held a copy and does
    /// not know yet.
    async fn unsent_deletions(
        &self,
        scope: &Scope,
        instance: &InstanceId,
    ) -> Result<Vec<Document>, StoreError>;
    /// The first erasure of each author of this hub that this instance, which held a copy of what was erased, has not been shown
    /// to know; empty if it knows all.
    async fn first_waiting_erasures(
        &self,
        scope: &Scope,
        instance: &InstanceId,
    ) -> Result<VersionVector, StoreError>;
    /// Position of the exchange with the hub of this home; `None` before the first exchange. `sent` is of all scopes of the
    /// persona.
    async fn exchange_position(&self, scope: &Scope) -> Result<Option<ExchangePosition>, StoreError>;
    /// Erasures by this instance, or a part of it, beyond what the hub of this home follows.
    async fn pending_erasures(
        &self,
        scope: &Scope,
        position: &ExchangePosition,
        instance: &InstanceId,
    ) -> Result<Vec<PendingErasure>, StoreError>;
    /// Events of this home whose lines in the diary were erased elsewhere.
    async fn events_erased_elsewhere(
        &self,
        scope: &Scope,
    ) -> Result<Vec<memory::identifiers::NodeId>, StoreError>;
    /// Notes that the hub of this home follows all erasures up to these changes: receipts say so, and names that were kept to tell
    /// it are dropped.
    async fn note_erasures_reached(
        &self,
        scope: &Scope,
        hub: &InstanceId,
        reached: &VersionVector,
        at: Timestamp,
    ) -> Result<(), StoreError>;
    /// The instance that this hub was when it last ran; `None` if it never did.
    async fn own_instance(&self) -> Result<Option<InstanceId>, StoreError>;
    /// Sets the author of this home's changes from now on: another copy of the home uses the one before.
    async fn set_author(&self, author: &InstanceId) -> Result<(), StoreError>;
    async fn snapshots(&self, scope: &Scope) -> Result<Vec<Snapshot>, StoreError>;
    /// Deletes snapshots that are older than a time; returns their number.
    async fn prune_snapshots(&self, before: Timestamp) -> Result<u64, StoreError>;
    /// Positions of each of the phrases, in at most `limit` chunks each.
    async fn search_chunks(
        &self,
        scope: &Scope,
        phrases: &[Phrase],
        limit: u32,
    ) -> Result<ChunkHits, StoreError>;
    /// Pieces of the scope by number, in no order; those that are gone are left out.
    async fn chunks_numbered(
        &self,
        scope: &Scope,
        fingerprint: &str,
        numbers: &[i64],
    ) -> Result<Vec<DiaryChunk>, StoreError>;
    /// Vectors that were stored after that one, oldest first, of pieces that are readable.
    async fn chunk_vectors(
        &self,
        scope: &Scope,
        fingerprint: &str,
        after: i64,
        limit: u32,
    ) -> Result<Vec<ChunkVector>, StoreError>;
    /// Pieces without a vector of this model, of memories that changed after the revision, the newest first.
    async fn unembedded_chunks(
        &self,
        scope: &Scope,
        fingerprint: &str,
        after: i64,
        limit: u32,
    ) -> Result<Vec<UnembeddedChunk>, StoreError>;
    /// Stores vectors; a piece that is gone meanwhile is passed over.
    async fn put_chunk_vectors(
        &self,
        fingerprint: &str,
        vectors: Vec<(i64, Embedding)>,
    ) -> Result<(), StoreError>;
    /// Number of chunks of all scopes that have vectors of this model.
    async fn chunk_coverage(&self, fingerprint: &str) -> Result<ChunkCoverage, StoreError>;
    /// Number of memories that have vectors of this model.
    async fn embedded_memories(&self, scope: &Scope, fingerprint: &str) -> Result<DiaryCoverage, StoreError>;
    /// Names of all memories that are there, in no order. No text is read.
    async fn memory_names(&self, scope: &Scope) -> Result<Vec<DiaryName>, StoreError>;
    /// For each word, the memories whose pieces have all of its grams, among the newest `limit` pieces of each word; in no
    /// order, each memory once. A word without grams has no memories.
    async fn memories_with_grams(
        &self,
        scope: &Scope,
        words: Vec<BTreeSet<QueryGram>>,
        limit: u32,
    ) -> Result<Vec<Vec<DiaryName>>, StoreError>;
    /// Deletes the vectors of all memories of the scope; returns the number of memories.
    async fn purge_chunk_vectors(&self, scope: &Scope) -> Result<u64, StoreError>;
    /// Exports the whole hub at one moment.
    async fn export_hub(&self, scope: &Scope) -> Result<HubExport, StoreError>;
    /// Says which instance this hub is: it is the author of changes that the memory itself makes. Core blocks that are
    /// no documents yet become some, and memories that are not cut into pieces are.
    async fn set_own_instance(&self, instance: &InstanceId) -> Result<(), StoreError>;
    /// Makes the days of one instance those of another, with their `[via:]` tags; days that the other has already are left.
    /// Returns those that were renamed, by the name before.
    async fn rename_days(
        &self,
        from: &InstanceId,
        to: &InstanceId,
    ) -> Result<Vec<(Scope, DocumentName)>, StoreError>;
    /// Scopes that have documents.
    async fn hub_scopes(&self) -> Result<Vec<Scope>, StoreError>;
    /// True if sessions that were talked in between these moments are still to be made memory of.
    async fn has_unfinished_session(
        &self,
        scope: &Scope,
        start: Timestamp,
        end: Timestamp,
    ) -> Result<bool, StoreError>;
    /// Events of sessions that became memory and that no diary tells yet, the oldest first.
    async fn events_without_diary(&self, limit: u32) -> Result<Vec<DiaryEvent>, StoreError>;
    /// Lines of diaries whose events were corrected.
    async fn outdated_lines(&self, limit: u32) -> Result<Vec<OutdatedLine>, StoreError>;
    /// True if any change of this instance was ever seen.
    async fn knows_instance(&self, persona: &PersonaId, instance: &InstanceId) -> Result<bool, StoreError>;
}

/// Links of memories to the entities that a query names (the graph's part of the score).
#[async_trait]
pub trait DiaryLinks: Send + Sync {
    /// Number of entities that the query names each memory is linked to, by [`crate::DiaryName::id`].
    async fn linked_memories(&self, scope: &Scope, query: &str) -> Result<HashMap<String, u32>, StoreError>;
    /// The nodes and entities that the query names, each with all its folded names.
    async fn names_in(&self, scope: &Scope, query: &str) -> Result<Vec<Vec<String>>, StoreError>;
}

/// Hears of what other homes have changed here.
pub trait HubListener: Send + Sync {
    /// A conflict between two versions was stored.
    fn conflict_opened(&self, scope: &Scope, conflict: &Conflict);
    /// Words of documents are about to be erased because they were erased at another home. The returned value is dropped when they
    /// are. Replies that were begun before must not be committed after either moment. Must not wait: documents are locked.
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

/// The reason why no summary was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SummaryError(pub String);

/// Writes roll-ups with a model.
#[async_trait]
pub trait Summariser: Send + Sync {
    /// Writes bullets in the first person, without their dash; at least one.
    async fn summarise(&self, request: SummaryRequest) -> Result<Vec<String>, SummaryError>;

    /// Number of tokens of sources that fit into one call.
    fn source_tokens_max(&self) -> u32;
}
