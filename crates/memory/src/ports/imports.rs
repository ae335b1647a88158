//! Port for imports: stores conversations of other programs as messages, page by page.

use async_trait::async_trait;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NewMessage, StoreError};
use crate::forget::Withdrawal;
use crate::identifiers::{ImportId, MessageId, RejectedId, SessionId};
use crate::messages::{Message, MessageVersion};
use crate::nodes::{Node, NodeKind, RejectedMemory};
use crate::scope::Scope;
use crate::sessions::{SessionPolicy, SessionStatus};

/// State of an import run's recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImportStatus {
    /// The end of the files is not reached: the run is in progress, or was interrupted and can be resumed.
    Recording,
    /// Everything is recorded or skipped.
    Recorded,
}

/// State of the consolidation of an import's sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Remembering {
    /// Sessions are consolidated in the background, oldest first, after those of live conversations.
    On,
    /// Sessions are not consolidated until the run is resumed.
    Paused,
    /// Sessions are not consolidated, because the import was started without it.
    Off,
}

/// An import run to begin.
#[derive(Clone, Debug, PartialEq)]
pub struct NewImport {
    /// The run's id, unless a run with the same digest is resumed.
    pub id: ImportId,
    /// The scope that receives it. Persona and user must exist.
    pub scope: Scope,
    /// Hexadecimal digest of the files and the mapping: equal for the same import.
    pub digest: String,
    /// Names of the files, for people.
    pub files: Vec<String>,
    /// Initial state of the consolidation of its sessions.
    pub remembering: Remembering,
    pub at: Timestamp,
}

/// A stored import run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportRun {
    /// The id of the run.
    pub run_id: ImportId,
    /// The scope that received it.
    pub scope: Scope,
    /// Names of the files.
    pub files: Vec<String>,
    /// State of its recording.
    pub status: ImportStatus,
    /// State of the consolidation of its sessions.
    pub remembering: Remembering,
    /// Position at which reading resumes, as the reader's JSON.
    #[serde(skip)]
    pub position: String,
    /// Number of items read so far: recorded, written as documents, already there, proposed and skipped.
    pub found: u64,
    /// Messages that the import recorded.
    pub recorded: u64,
    /// Number of documents that the import wrote.
    #[serde(default)]
    pub documents: u64,
    /// Messages, documents and saved memories that exist from an earlier import.
    pub already_there: u64,
    /// Memories saved by the other program that wait for a person.
    pub proposed: u64,
    /// Messages without a time: they get that of the message before, else of the file.
    pub undated: u64,
    /// Number of skipped items.
    pub skipped: u64,
    /// Sessions that the import wrote so far.
    pub sessions: u64,
    /// The run's sessions that are not yet consolidated.
    pub sessions_waiting: u64,
    /// Time at which the import began.
    pub created_at: Timestamp,
    /// Time at which the import's recording ended.
    pub finished_at: Option<Timestamp>,
}

/// An imported session, with its summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedSession {
    pub status: SessionStatus,
    /// Characters of the session's messages.
    pub characters: u64,
    pub memories: ImportMemories,
    /// A summary of the session; `None` if there is none.
    pub summary: Option<String>,
    pub last_error: Option<String>,
}

/// Counts of the memories made from a run's sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportMemories {
    /// Number of events and intentions that still exist.
    pub events: u64,
    /// Number of thoughts and expectations that still exist.
    pub thoughts: u64,
    /// Proposals without evidence, which a person may approve.
    pub rejected: u64,
    /// Number of the events, intentions, thoughts and expectations that have a vector.
    pub embedded: u64,
}

/// An item that a run skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportSkip {
    /// File and line or id.
    #[serde(rename = "where")]
    pub place: String,
    /// Why, for a person.
    pub reason: String,
}

/// A message of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedMessage {
    /// Identifies the message: digest of its conversation and the publisher's id.
    pub digest: [u8; 16],
    /// The message; `created_at` is the original time. It belongs to no turn.
    pub message: NewMessage,
    /// True if the digest is of the publisher's id, which an edit does not change; false if it is of the text.
    pub has_id: bool,
    /// Versions of the message that were not shown. They are no evidence.
    pub not_shown: Vec<ImportedVersion>,
    /// The language model that wrote the message.
    pub model: Option<String>,
    /// Title of its conversation in the other program.
    pub title: Option<String>,
}

impl ImportedMessage {
    /// The versions that are alternatives to the message.
    pub fn alternative_versions(&self) -> impl Iterator<Item = &ImportedVersion> {
        self.not_shown.iter().filter(|other| other.follows.is_none())
    }
}

/// A version of an imported message that the other program does not show.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedVersion {
    /// The digest that the version would have as a shown message; see [`ImportedMessage::digest`].
    pub digest: [u8; 16],
    /// Digest of the version or message that it follows, in another branch. `None` for an alternative to the message:
    /// a swipe, an edit, another reply.
    pub follows: Option<[u8; 16]>,
    /// The version; the store determines its place.
    pub version: MessageVersion,
}

/// Messages of earlier imports that a later one changed, or that were restored when the later one was undone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplacedMessages {
    /// Messages with a changed text, in their present state.
    pub reworded: Vec<Message>,
    /// Ids and channels of messages that are no longer shown.
    pub removed: Vec<(MessageId, String)>,
    /// Memories that depended on the former texts.
    pub withdrawn: Withdrawal,
}

/// The state of a run after one of its pages.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedPage {
    pub run: ImportRun,
    pub replaced: ReplacedMessages,
}

/// A memory about the user that another program had saved. It waits for a person's decision.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedProposal {
    /// The proposal; its session is opened if the run has none for this time.
    pub memory: RejectedMemory,
    /// Time at which the memory was saved, else at which the run began.
    pub at: Timestamp,
}

/// A document that an import writes or has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedDocument {
    /// Identifies the document: digest of its format and the publisher's id.
    pub digest: [u8; 16],
    /// Name in the hub, as `granularity/file`.
    pub name: String,
}

/// Items of a run that are committed at once.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportPage {
    /// Position at which reading resumes after this page, as JSON.
    pub position: String,
    /// Messages in the order of the file.
    pub messages: Vec<ImportedMessage>,
    /// Proposals in the order of the file.
    pub proposals: Vec<ImportedProposal>,
    /// Number of the page's documents that this run has written ([`ImportStore::begin_documents`]).
    pub documents: u64,
    /// Number of the page's documents that exist from an earlier import.
    pub documents_there: u64,
    /// Skipped items of the page.
    pub skips: Vec<ImportSkip>,
    /// Number of messages without a time of their own.
    pub undated: u64,
    pub at: Timestamp,
}

/// Storage of imports (L2). Each method is one transaction.
#[async_trait]
pub trait ImportStore: Send + Sync {
    /// Begins a run, or returns an interrupted one with the same digest and scope.
    async fn begin_import(&self, new: NewImport) -> Result<ImportRun, StoreError>;

    /// Stores a page: messages with their terms, sessions divided like live ones, proposals, skips, counters and
    /// position. Messages whose digest exists in the scope, and proposals whose text exists from an import, are
    /// counted but not stored. A message that replaces one of an earlier import changes its text, and the former text
    /// becomes a version; a message that has become a version is hidden. Sessions stay open until the run ends.
    /// `None` if the run is not being recorded.
    async fn record_page(
        &self,
        id: ImportId,
        page: ImportPage,
        policy: SessionPolicy,
    ) -> Result<Option<RecordedPage>, StoreError>;

    /// Restores former texts of messages of earlier imports that a run replaced, at most `limit` of them. `None` if
    /// none is left.
    async fn restore_replaced(
        &self,
        id: ImportId,
        limit: u32,
        at: Timestamp,
    ) -> Result<Option<ReplacedMessages>, StoreError>;

    /// Stores the names of documents before the run writes them, so that undoing the import finds them even after a
    /// crash. Returns existing documents of earlier imports, with their names.
    async fn begin_documents(
        &self,
        id: ImportId,
        documents: Vec<ImportedDocument>,
    ) -> Result<Vec<ImportedDocument>, StoreError>;

    /// Names of the documents that a run wrote.
    async fn import_documents(&self, id: ImportId) -> Result<Vec<String>, StoreError>;

    /// Ends the recording; open sessions of the run end too and wait for consolidation.
    async fn finish_import(&self, id: ImportId, at: Timestamp) -> Result<Option<ImportRun>, StoreError>;

    /// One run; `None` if there is no such run.
    async fn import_run(&self, id: ImportId) -> Result<Option<ImportRun>, StoreError>;

    /// All runs, newest first.
    async fn import_runs(&self) -> Result<Vec<ImportRun>, StoreError>;

    /// Skipped items of a run, in their order; at most `limit`.
    async fn import_skips(&self, id: ImportId, limit: u32) -> Result<Vec<ImportSkip>, StoreError>;

    /// Counts the memories of a run's sessions; zeros if there is no such run.
    async fn import_memories(&self, id: ImportId) -> Result<ImportMemories, StoreError>;

    /// A run's sessions in the order of consolidation, oldest first: at most `limit`, from this zero-based index on.
    async fn imported_sessions(
        &self,
        id: ImportId,
        from: u64,
        limit: u32,
    ) -> Result<Vec<ImportedSession>, StoreError>;

    /// The newest memories of these kinds from a run's sessions.
    async fn imported_nodes(
        &self,
        id: ImportId,
        kinds: &[NodeKind],
        limit: u32,
    ) -> Result<Vec<Node>, StoreError>;

    /// A run's proposals that wait for a person, the earliest first.
    async fn waiting_proposals(&self, id: ImportId) -> Result<Vec<RejectedId>, StoreError>;

    /// Starts, pauses or resumes the consolidation of a run's sessions. `None` if there is no such run.
    async fn set_remembering(
        &self,
        id: ImportId,
        remembering: Remembering,
    ) -> Result<Option<ImportRun>, StoreError>;

    /// A run's sessions, oldest first.
    async fn import_sessions(&self, id: ImportId) -> Result<Vec<SessionId>, StoreError>;

    /// Deletes a run without messages, with its empty sessions and skipped items. False if it does not exist or has
    /// messages.
    async fn delete_import(&self, id: ImportId) -> Result<bool, StoreError>;
}
