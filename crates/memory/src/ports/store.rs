//! Storage, asked for in the memory's own words. Every method that writes is one transaction.

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::civil::Date;

use crate::core_blocks::{CoreBlockLabel, CoreBlocks};
use crate::entities::Entity;
use crate::forget::Withdrawal;
use crate::identifiers::{EntityId, MessageId, NodeId, ReflectionId, SessionId, TurnId};
use crate::ledger::ReplyReceipt;
use crate::messages::{Message, Role, Turn};
use crate::mood::Mood;
use crate::nodes::{Evidence, NewNode, Node, NodeKind, RejectedMemory, Subject};
use crate::ports::{
    CorrectionStore, Embedding, EntityStore, ForgetStore, LedgerStore, NewEntity, PeopleStore, RecallStore,
    SettledIdentity, SlowCycleStore, TraceStore, VectorStore,
};
use crate::scope::{PersonaId, Scope, UserId};
use crate::sessions::{CloseTrigger, Session, SessionPolicy, SessionStatus};
use crate::text::Phrase;

/// Why storage did not do what was asked. Nothing was half-written.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum StoreError {
    /// No room, read-only, or the device failed: nothing was written, reading goes on.
    #[error("the database can't be written: {0}. Nothing was half-written; free some space and try again")]
    Unwritable(String),
    /// Another process holds it for now.
    #[error("the database is busy: {0}")]
    Busy(String),
    /// It is damaged, foreign, or of another version.
    #[error("the database can't be used: {0}")]
    Unusable(String),
    /// The statement failed: a defect of this program.
    #[error("the database refused a statement: {0}")]
    Failed(String),
}

/// A message about to be captured.
#[derive(Clone, Debug, PartialEq)]
pub struct NewMessage {
    /// Its id.
    pub id: MessageId,
    /// The id of the session that is opened if one is needed.
    pub session_id_if_new: SessionId,
    /// Whose talk it is.
    pub scope: Scope,
    /// Where it was said.
    pub channel_id: String,
    /// Its turn.
    pub turn_id: Option<TurnId>,
    /// Who said it.
    pub role: Role,
    /// What was said, to the letter.
    pub content: String,
    /// Estimated tokens.
    pub token_count: u32,
    /// Its index terms, as [`crate::text::index_terms`] gives them.
    pub terms: String,
    /// The day in the user's zone.
    pub day: Date,
    /// When it was said.
    pub created_at: Timestamp,
    /// Whether the model was cut off.
    pub incomplete: bool,
    /// The client's own name for it.
    pub external_ref: Option<String>,
}

/// What a capture did.
#[derive(Clone, Debug, PartialEq)]
pub struct CapturedMessage {
    /// The message as stored.
    pub message: Message,
    /// The session that it opened.
    pub opened: Option<Session>,
    /// The sessions that it ended; now `closing`.
    pub ended: Vec<Session>,
    /// The turn's earlier reply, which this one took the place of, and what had rested on it.
    pub replaced: Option<Withdrawal>,
}

/// Which sessions to list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionFilter {
    /// Only those of this scope.
    pub scope: Option<Scope>,
    /// Only those that stand so.
    pub status: Option<SessionStatus>,
    /// At most this many, newest first.
    pub limit: u32,
    /// Only those that began before this session did.
    pub before: Option<SessionId>,
}

/// A failed attempt at consolidation.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedAttempt {
    /// The session.
    pub session_id: SessionId,
    /// What went wrong, for a person.
    pub error: String,
    /// When to try again; none gives up, and the session is `failed`.
    pub retry_at: Option<Timestamp>,
}

/// Whether a commit took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// It is durable.
    Committed,
    /// It was durable already (a retry after a crash); nothing was written.
    AlreadyCommitted,
}

/// A repeated mention of a node that already says the same.
#[derive(Clone, Debug, PartialEq)]
pub struct MentionMerge {
    /// The node that stays.
    pub node_id: NodeId,
    /// What was merged into it, kept so that the merge can be undone: the words that say it again, the text, the id
    /// that it gets back.
    pub merged: NewNode,
}

/// An older node gives way to a newer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supersession {
    /// Leaves default recall, stays in history.
    pub older: NodeId,
    /// Replaces it.
    pub newer: NodeId,
}

/// All that one extraction writes, in one transaction.
#[derive(Clone, Debug)]
pub struct ExtractionCommit {
    /// The session.
    pub session_id: SessionId,
    /// Whose memory.
    pub scope: Scope,
    /// When.
    pub at: Timestamp,
    /// Too slight to ask a model: only the flag is written.
    pub trivial: bool,
    /// Events and intentions, each with evidence, terms and vector.
    pub nodes: Vec<NewNode>,
    /// Names the model of the nodes' vectors; without it they are written afterwards.
    pub fingerprint: Option<String>,
    /// What the checks refused.
    pub rejected: Vec<RejectedMemory>,
    /// Entities that were not known.
    pub entities: Vec<NewEntity>,
    /// Names of entities: (entity, name as written, folded name). A name that one of an agreeing kind goes by stays
    /// where it is.
    pub aliases: Vec<(EntityId, String, String)>,
    /// Which node is about which entity.
    pub links: Vec<(NodeId, EntityId)>,
    /// What the user said about who is whom; read after the entities and their names are written.
    pub identities: Vec<SettledIdentity>,
    /// Repeated mentions.
    pub mentions: Vec<MentionMerge>,
    /// Replaced nodes.
    pub supersessions: Vec<Supersession>,
    /// The mood it leaves.
    pub mood: Option<Mood>,
    /// What the session was about.
    pub summary: Option<String>,
}

/// All that one reflection writes, in one transaction. Without thoughts it records only that it was decided.
#[derive(Clone, Debug)]
pub struct ReflectionCommit {
    /// The session that led to it.
    pub session_id: SessionId,
    /// Whose memory.
    pub scope: Scope,
    /// The run; stored, and counted by the gate, only when there are thoughts.
    pub id: ReflectionId,
    /// When.
    pub at: Timestamp,
    /// The thoughts, each with filling, terms and vector.
    pub thoughts: Vec<NewNode>,
    /// Names the model of the thoughts' vectors; without it they are written afterwards.
    pub fingerprint: Option<String>,
}

/// Which rows of the word and vector indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Corpus {
    /// L2 messages.
    Messages,
    /// L3 and L4 nodes.
    Nodes,
}

/// How much a scope holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CorpusSize {
    /// Live rows.
    pub documents: u64,
}

/// Where a phrase stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhraseHits {
    /// Rows of the scope that hold it, superseded ones included, deleted ones not. Counting stops at
    /// [`PhraseHits::FREQUENCY_MAX`]: beyond it a phrase tells next to nothing.
    pub document_frequency: u64,
    /// Numbers of the newest rows that hold it, newest first, at most the asked limit.
    pub seqs: Vec<i64>,
}

impl PhraseHits {
    /// Where counting may stop.
    pub const FREQUENCY_MAX: u64 = 20_000;
}

/// A node with its index terms.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexedNode {
    /// The node.
    pub node: Node,
    /// Its terms.
    pub terms: String,
    /// Readability of its text; none without a vector.
    pub readability: Option<f32>,
}

/// A message with its index terms.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexedMessage {
    /// The message.
    pub message: Message,
    /// Its terms.
    pub terms: String,
    /// Readability of its text; none without a vector.
    pub readability: Option<f32>,
}

/// A vector row.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredVector {
    /// The message or node it belongs to, by its number.
    pub seq: i64,
    /// Number of this writing of the vector, from 1. Vectors are often written later than their rows and in another
    /// order, so they count by themselves: every write in a corpus, also a second one for the same row, takes a number
    /// above all that were ever given (SQLite: `AUTOINCREMENT`, and replacing a vector inserts a new row). Whoever has
    /// read up to a revision has missed nothing.
    pub revision: i64,
    /// Components, unit length.
    pub vector: Vec<f32>,
    /// Share of the text that the model reads.
    pub readability: f32,
}

/// A thought rests on an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FillingEdge {
    /// The parent: thought, intention or expectation.
    pub thought_seq: i64,
    /// The child: event.
    pub event_seq: i64,
    /// When the edge was written.
    pub created_at: Timestamp,
}

/// A node and the words it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct EvidencedNode {
    /// The node.
    pub node: Node,
    /// Its quotes.
    pub evidence: Vec<Evidence>,
    /// The live events it cites.
    pub filling: Vec<NodeId>,
}

/// A row of the memory timeline.
#[derive(Clone, Debug, PartialEq)]
pub enum TimelineItem {
    /// A node was written.
    Node(Box<Node>),
    /// An entity was first named.
    Entity(Box<Entity>),
    /// The description of an entity was written.
    EntityDescribed(Box<Entity>),
    /// A session became memory: with the number of its events and thoughts.
    SessionClosed {
        /// The session.
        session: Box<Session>,
        /// Events it left.
        events: u32,
        /// Thoughts it led to.
        thoughts: u32,
    },
    /// The current mood.
    Mood(Mood),
}

/// The persona as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct PersonaRecord {
    /// Its id.
    pub id: PersonaId,
    /// How it is called.
    pub display_name: String,
    /// IANA zone it lives in.
    pub timezone: Option<String>,
}

/// A user as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct UserRecord {
    /// The id.
    pub id: UserId,
    /// How the person is called.
    pub display_name: Option<String>,
    /// IANA zone the person lives in.
    pub timezone: Option<String>,
}

/// Personas, users, core blocks, moods.
#[async_trait]
pub trait PersonaStore: Send + Sync {
    /// The persona, created with this name if it is not there; an existing name stays.
    async fn ensure_persona(
        &self,
        id: &PersonaId,
        name: &str,
        at: Timestamp,
    ) -> Result<PersonaRecord, StoreError>;
    /// The user, created if not there.
    async fn ensure_user(&self, id: &UserId, at: Timestamp) -> Result<UserRecord, StoreError>;
    /// All personas, by id.
    async fn personas(&self) -> Result<Vec<PersonaRecord>, StoreError>;
    /// Sets the user's zone (an IANA name, checked by the caller).
    async fn set_user_timezone(&self, id: &UserId, timezone: &str) -> Result<(), StoreError>;
    /// Renames the persona.
    async fn rename_persona(&self, id: &PersonaId, name: &str) -> Result<(), StoreError>;
    /// The three blocks; an unwritten one is empty.
    async fn core_blocks(&self, scope: &Scope) -> Result<CoreBlocks, StoreError>;
    /// Replaces one block (an empty text clears it) and keeps an audit row. Only for the acts of a person.
    async fn write_core_block(
        &self,
        scope: &Scope,
        label: CoreBlockLabel,
        text: &str,
        edited_by: &str,
        at: Timestamp,
    ) -> Result<(), StoreError>;
    /// The mood as last written, however old.
    async fn mood(&self, scope: &Scope) -> Result<Option<Mood>, StoreError>;
}

/// L2: messages and turns.
#[async_trait]
pub trait MessageStore: Send + Sync {
    /// Captures a message: session found or opened (see [`crate::sessions::place`]), counters, words, turn; one
    /// transaction, durable on return. A user's message makes its turn pending. A persona's message goes into the
    /// turn's session while that is open, and its receipt makes the turn answered. A second reply of a turn
    /// that brings a receipt takes the first one's place, in the session of the first one; what rested on the first is withdrawn.
    async fn capture(
        &self,
        message: NewMessage,
        policy: SessionPolicy,
        receipt: Option<ReplyReceipt>,
    ) -> Result<CapturedMessage, StoreError>;
    /// Marks a pending turn as failed.
    async fn fail_turn(&self, id: TurnId, reason: &str) -> Result<(), StoreError>;
    /// Makes a failed turn pending again.
    async fn reopen_turn(&self, id: TurnId) -> Result<Option<Turn>, StoreError>;
    /// Turns that never got a reply nor a failure, oldest first.
    async fn pending_turns(&self) -> Result<Vec<Turn>, StoreError>;
    /// The turn.
    async fn turn(&self, id: TurnId) -> Result<Option<Turn>, StoreError>;
    /// Messages of a turn, oldest first.
    async fn turn_messages(&self, id: TurnId) -> Result<Vec<Message>, StoreError>;
    /// The client's own name for the last line of a turn that has one.
    async fn turn_external_ref(&self, id: TurnId) -> Result<Option<String>, StoreError>;
    /// The newest messages of the scope, across sessions and channels, newest first; with `before`, only rows with
    /// smaller numbers.
    async fn messages_before(
        &self,
        scope: &Scope,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Message>, StoreError>;
    /// Messages of a session, oldest first.
    async fn session_messages(&self, id: SessionId) -> Result<Vec<Message>, StoreError>;
    /// A live message.
    async fn message(&self, id: MessageId) -> Result<Option<Message>, StoreError>;
    /// Live messages of the scope by number, in no order.
    async fn messages_numbered(&self, scope: &Scope, seqs: &[i64])
    -> Result<Vec<IndexedMessage>, StoreError>;
    /// For each of these numbers the message itself with up to `before` and `after` live neighbours within its session,
    /// oldest first; in the order asked, numbers without a live message of the scope left out. Recall asks for a few
    /// dozen at once, on the hot path.
    async fn neighbours(
        &self,
        scope: &Scope,
        seqs: &[i64],
        before: u32,
        after: u32,
    ) -> Result<Vec<(i64, Vec<IndexedMessage>)>, StoreError>;
    /// Messages without a vector of this fingerprint, newest first.
    async fn messages_without_vector(
        &self,
        fingerprint: &str,
        limit: u32,
    ) -> Result<Vec<Message>, StoreError>;
    /// Writes message vectors; a message that is gone meanwhile is passed over.
    async fn put_message_vectors(
        &self,
        fingerprint: &str,
        vectors: Vec<(MessageId, Embedding)>,
    ) -> Result<(), StoreError>;
}

/// Sessions and the two commits of consolidation.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Ends open sessions whose last message is older than `before` and that have no pending turn.
    async fn end_quiet_sessions(
        &self,
        before: Timestamp,
        trigger: CloseTrigger,
    ) -> Result<Vec<Session>, StoreError>;
    /// Ends one open session; none if it is not open.
    async fn end_session(&self, id: SessionId, trigger: CloseTrigger) -> Result<Option<Session>, StoreError>;
    /// Hands the oldest ripe `closing` session to exactly one caller and makes it `consolidating`.
    async fn claim_closing_session(&self, now: Timestamp) -> Result<Option<Session>, StoreError>;
    /// Gives every `consolidating` session back, at start, when nobody can be at work.
    async fn release_claims(&self) -> Result<u32, StoreError>;
    /// Writes an extraction and marks the session extracted.
    async fn commit_extraction(&self, commit: ExtractionCommit) -> Result<CommitOutcome, StoreError>;
    /// Writes a reflection and marks the session reflected.
    async fn commit_reflection(&self, commit: ReflectionCommit) -> Result<CommitOutcome, StoreError>;
    /// Makes a `consolidating` session `closed`.
    async fn finish_session(&self, id: SessionId, at: Timestamp) -> Result<Option<Session>, StoreError>;
    /// Records a failed attempt.
    async fn record_failure(&self, attempt: FailedAttempt) -> Result<Option<Session>, StoreError>;
    /// Makes a `failed` session `closing` again with its attempts forgotten; none if it has not failed.
    async fn retry_session(&self, id: SessionId) -> Result<Option<Session>, StoreError>;
    /// A session.
    async fn session(&self, id: SessionId) -> Result<Option<Session>, StoreError>;
    /// Sessions, newest first.
    async fn sessions(&self, filter: SessionFilter) -> Result<Vec<Session>, StoreError>;
    /// The newest sessions of the scope that have a summary, newest first.
    async fn summarised_sessions(&self, scope: &Scope, limit: u32) -> Result<Vec<Session>, StoreError>;
    /// Times of reflection runs that stored a thought, newest first, since `since`.
    async fn reflections_since(&self, scope: &Scope, since: Timestamp) -> Result<Vec<Timestamp>, StoreError>;
    /// Time of the last reflection run that stored a thought.
    async fn last_reflection(&self, scope: &Scope) -> Result<Option<Timestamp>, StoreError>;
}

/// L3 and L4, their words, vectors and edges.
#[async_trait]
pub trait NodeStore: Send + Sync {
    /// How many live rows the scope holds.
    async fn corpus_size(&self, scope: &Scope, corpus: Corpus) -> Result<CorpusSize, StoreError>;
    /// Where each phrase stands in the scope; one entry per phrase, in order.
    async fn phrase_hits(
        &self,
        scope: &Scope,
        corpus: Corpus,
        phrases: &[Phrase],
        limit: u32,
    ) -> Result<Vec<PhraseHits>, StoreError>;
    /// Live, current (not superseded) nodes of the scope by number, in no order.
    async fn nodes_numbered(&self, scope: &Scope, seqs: &[i64]) -> Result<Vec<IndexedNode>, StoreError>;
    /// A live node with its evidence.
    async fn node(&self, id: NodeId) -> Result<Option<EvidencedNode>, StoreError>;
    /// Live nodes of these kinds, newest first; with `before`, only rows with smaller numbers.
    async fn nodes_before(
        &self,
        scope: &Scope,
        kinds: &[NodeKind],
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Node>, StoreError>;
    /// Events written since `since`, oldest first, at most `limit` of the newest.
    async fn events_since(
        &self,
        scope: &Scope,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<Node>, StoreError>;
    /// The newest live, current nodes of a kind about a subject, newest first; pinned ones are always among them.
    async fn nodes_about(
        &self,
        scope: &Scope,
        kind: NodeKind,
        subjects: &[Subject],
        limit: u32,
    ) -> Result<Vec<Node>, StoreError>;
    /// Numbers of live, current nodes linked to any of the entities or to what was merged into them, newest first, at
    /// most `limit`. Each entity has an equal share of it: half for its newest nodes, half for the weightiest (|impact|)
    /// among its newest [`super::LINKS_WEIGHED`].
    async fn nodes_linked_to(
        &self,
        scope: &Scope,
        entities: &[EntityId],
        limit: u32,
    ) -> Result<Vec<i64>, StoreError>;
    /// Numbers of live, current nodes whose event time meets the span.
    async fn nodes_within(
        &self,
        scope: &Scope,
        start: Timestamp,
        end: Timestamp,
        limit: u32,
    ) -> Result<Vec<i64>, StoreError>;
    /// Live edges that touch any of the nodes.
    async fn filling_edges(
        &self,
        scope: &Scope,
        seqs: &[i64],
        limit: u32,
    ) -> Result<Vec<FillingEdge>, StoreError>;
    /// Vectors of live rows whose [`StoredVector::revision`] is above `after` (0 for all), by ascending revision, at
    /// most `limit`; fewer than `limit` means there are no more. How an index is filled and kept in step: it asks
    /// before each search, so the answer "none" must come from an index on (scope, corpus, fingerprint, revision).
    async fn vectors_after(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
        after: i64,
        limit: u32,
    ) -> Result<Vec<StoredVector>, StoreError>;
    /// Exact vectors of those of these rows that are live, in no order. A row that is missing from the answer is taken
    /// for deleted, so deleted rows must never be given.
    async fn vectors_numbered(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
        seqs: &[i64],
    ) -> Result<Vec<StoredVector>, StoreError>;
    /// Counts a recall of these nodes. Off the hot path.
    async fn touch_nodes(&self, ids: &[NodeId], at: Timestamp) -> Result<(), StoreError>;
    /// Nodes without a vector of this fingerprint.
    async fn nodes_without_vector(&self, fingerprint: &str, limit: u32) -> Result<Vec<Node>, StoreError>;
    /// Writes node vectors; a node that is gone meanwhile is passed over.
    async fn put_node_vectors(
        &self,
        fingerprint: &str,
        vectors: Vec<(NodeId, Embedding)>,
    ) -> Result<(), StoreError>;
    /// What was refused, newest first.
    async fn rejected(&self, scope: &Scope, limit: u32) -> Result<Vec<RejectedMemory>, StoreError>;
    /// The timeline, newest first, before a moment.
    async fn timeline(
        &self,
        scope: &Scope,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<(Timestamp, TimelineItem)>, StoreError>;
}

/// All that the memory asks of a database.
pub trait Store:
    PersonaStore
    + PeopleStore
    + MessageStore
    + SessionStore
    + NodeStore
    + RecallStore
    + EntityStore
    + LedgerStore
    + CorrectionStore
    + SlowCycleStore
    + TraceStore
    + ForgetStore
    + VectorStore
{
}

impl<T> Store for T where
    T: PersonaStore
        + PeopleStore
        + MessageStore
        + SessionStore
        + NodeStore
        + RecallStore
        + EntityStore
        + LedgerStore
        + CorrectionStore
        + SlowCycleStore
        + TraceStore
        + ForgetStore
        + VectorStore
{
}
