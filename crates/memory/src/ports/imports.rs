//! Import: conversations of other programs become messages, page by page.

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

/// State of the recording of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImportStatus {
    /// The end of the files is not reached: under way, or cut off and resumed by the same import.
    Recording,
    /// Everything is recorded or skipped.
    Recorded,
}

/// State of the consolidation of an import's sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Remembering {
    /// Memory is made in the background, oldest first, after everything that was said here.
    On,
    /// No memory is made until the run is resumed.
    Paused,
    /// No memory was asked for: the messages are recorded and no more.
    Off,
}

/// A run that is about to begin.
#[derive(Clone, Debug, PartialEq)]
pub struct NewImport {
    /// The run's id, unless a run of the same digest is resumed.
    pub id: ImportId,
    /// The memory that receives it. Persona and user must exist.
    pub scope: Scope,
    /// Names files and mapping: equal for the same import, hexadecimal.
    pub digest: String,
    /// Names of the files, to show.
    pub files: Vec<String>,
    /// The id of the run.
    pub remembering: Remembering,
    pub at: Timestamp,
}

/// A run as stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportRun {
    /// The memory that received it.
    pub run_id: ImportId,
    /// State of the recording.
    pub scope: Scope,
    /// Names of the files.
    pub files: Vec<String>,
    /// State of the consolidation of its sessions.
    pub status: ImportStatus,
    pub remembering: Remembering,
    /// Position at which reading resumes, as JSON of the reader.
    #[serde(skip)]
    pub position: String,
    /// Everything that was read so far: recorded, written as documents, already there, proposed and skipped.
    pub found: u64,
    /// Messages that the import recorded.
    pub recorded: u64,
    /// Number of documents that the import wrote.
    #[serde(default)]
    pub documents: u64,
    /// Messages, documents and saved memories that an earlier import had brought.
    pub already_there: u64,
    /// Saved memories of the other program that wait for a person.
    pub proposed: u64,
    /// Messages whose file gives no time: they have the one of the message before, else of the file.
    pub undated: u64,
    /// Number of things the import skipped.
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

/// A session of a run, with what was made of it.
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

/// Something that a run did not take.
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
    /// Names the message: digest of its conversation and the publisher's id.
    pub digest: [u8; 16],
    /// The message; `created_at` is when it was said. It belongs to no turn.
    pub message: NewMessage,
    /// True if the digest is of an id that the publisher gives, which an edit does not change. False if it is of the text.
    pub has_id: bool,
    /// Versions of it that were not shown. They prove nothing.
    pub not_shown: Vec<ImportedVersion>,
    /// The language model that wrote the message.
    pub model: Option<String>,
    /// Title of its conversation in the other program.
    pub title: Option<String>,
}

impl ImportedMessage {
    /// The versions that could be shown in its place.
    pub fn alternative_versions(&self) -> impl Iterator<Item = &ImportedVersion> {
        self.not_shown.iter().filter(|other| other.follows.is_none())
    }
}

/// Another text of an imported message, which the other program does not show.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedVersion {
    /// The digest that the version has as a shown message; see [`ImportedMessage::digest`].
    pub digest: [u8; 16],
    /// Digest of the version or the message that it follows, in a branch. `None` if it takes the message's own place: a swipe, an
    /// edit, another reply.
    pub follows: Option<[u8; 16]>,
    /// The store decides the place when it writes the version.
    pub version: MessageVersion,
}

/// Messages of earlier imports that a later one changed, or that came back when the later one was taken back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplacedMessages {
    /// Messages with another text, as they are now.
    pub reworded: Vec<Message>,
    /// Ids and channels of messages that are no longer shown.
    pub removed: Vec<(MessageId, String)>,
    /// Memories that depended on the words before.
    pub withdrawn: Withdrawal,
}

/// A run after one of its pages.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedPage {
    pub run: ImportRun,
    pub replaced: ReplacedMessages,
}

/// A memory that another program had saved about the user. It waits for a person's decision.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedProposal {
    /// The proposal; its session is the one to begin if the run has none for this time.
    pub memory: RejectedMemory,
    /// Time at which the proposal was saved, else when the run began.
    pub at: Timestamp,
}

/// A document that a run writes, or that an import has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedDocument {
    /// Names the document: digest of its format and the publisher's id.
    pub digest: [u8; 16],
    /// Name in the hub, as `granularity/file`.
    pub name: String,
}

/// Some of what a run reads, committed at once.
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
    /// Number of the page's documents that an earlier import had written.
    pub documents_there: u64,
    /// Things of the page that were skipped.
    pub skips: Vec<ImportSkip>,
    /// Number of the messages that have no time of their own.
    pub undated: u64,
    /// Time at which the page is recorded.
    pub at: Timestamp,
}

/// Records imports (L2). One transaction for each call.
#[async_trait]
pub trait ImportStore: Send + Sync {
    /// Begins a run, or returns the one of the same digest and scope that was cut off.
    async fn begin_import(&self, new: NewImport) -> Result<ImportRun, StoreError>;

    /// Writes a page: messages with their words, sessions cut as live ones are, proposals, skips, counters, position. A
    /// message whose digest the scope has, and a proposal whose text it has from an import, is counted and not written. A message
    /// that takes the place of one of an earlier import replaces its text, which becomes a version; a message that is a version
    /// now is not shown any more. Sessions stay open until the run ends. `None` if the run is not being recorded.
    async fn record_page(
        &self,
        id: ImportId,
        page: ImportPage,
        policy: SessionPolicy,
    ) -> Result<Option<RecordedPage>, StoreError>;

    /// Gives messages of earlier imports the texts back that a run replaced, at most `limit` of them. `None` if none is left.
    async fn restore_replaced(
        &self,
        id: ImportId,
        limit: u32,
        at: Timestamp,
    ) -> Result<Option<ReplacedMessages>, StoreError>;

    /// Stores the names of documents before the run writes them, so that taking the import back finds them also after a crash. Returns
    /// those that an earlier import brought and that are still there, with their names.
    async fn begin_documents(
        &self,
        id: ImportId,
        documents: Vec<ImportedDocument>,
    ) -> Result<Vec<ImportedDocument>, StoreError>;

    /// Names of the documents that a run wrote.
    async fn import_documents(&self, id: ImportId) -> Result<Vec<String>, StoreError>;

    /// Ends the recording: its open sessions wait for consolidation.
    async fn finish_import(&self, id: ImportId, at: Timestamp) -> Result<Option<ImportRun>, StoreError>;

    /// One run; `None` if there is no such run.
    async fn import_run(&self, id: ImportId) -> Result<Option<ImportRun>, StoreError>;

    /// All runs, newest first.
    async fn import_runs(&self) -> Result<Vec<ImportRun>, StoreError>;

    /// Things that a run skipped, in their order; at most `limit`.
    async fn import_skips(&self, id: ImportId, limit: u32) -> Result<Vec<ImportSkip>, StoreError>;

    /// Counts the memories of a run's sessions; zeros if there is no such run.
    async fn import_memories(&self, id: ImportId) -> Result<ImportMemories, StoreError>;

    /// A run's sessions in the order of consolidation, oldest first: at most `limit` from the one of this index, counted
    /// from 0.
    async fn imported_sessions(
        &self,
        id: ImportId,
        from: u64,
        limit: u32,
    ) -> Result<Vec<ImportedSession>, StoreError>;

    /// The newest memories of these kinds that a run's sessions brought.
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

    /// Deletes a run whose messages are all gone, with its empty sessions and what it skipped. False if it is not there
    /// or has messages.
    async fn delete_import(&self, id: ImportId) -> Result<bool, StoreError>;
}
