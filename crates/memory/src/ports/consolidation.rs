//! Storage of consolidation.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::identifiers::{EntityId, NodeId, ReflectionId, SessionId};
use crate::mood::Mood;
use crate::nodes::{Evidence, NewNode, Node, RejectedMemory};
use crate::ports::{IdentityStatement, NewEntity, NewPair, StoreError};
use crate::scope::Scope;
use crate::sessions::Session;

/// A failed attempt at consolidation.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedAttempt {
    pub session_id: SessionId,
    /// The reason, for a person.
    pub error: String,
    /// Time of the next attempt; `None` gives up, and the session becomes `failed`.
    pub retry_at: Option<Timestamp>,
}

/// The result of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    Committed,
    /// The phase was committed before (a retry after a crash); nothing was written.
    AlreadyCommitted,
}

/// A repeated mention of an existing node.
#[derive(Clone, Debug, PartialEq)]
pub struct MentionMerge {
    /// The node that stays.
    pub node_id: NodeId,
    /// The merged mention, stored so that the merge can be undone: its evidence, its text and its former id.
    pub merged: NewNode,
}

/// Everything that one extraction writes, in one transaction.
#[derive(Clone, Debug)]
pub struct ExtractionCommit {
    pub session_id: SessionId,
    pub scope: Scope,
    pub at: Timestamp,
    /// True if the session was too trivial to ask a model: only the flag is written.
    pub trivial: bool,
    /// Events and intentions, each with evidence, terms and vector.
    pub nodes: Vec<NewNode>,
    /// The model of the nodes' vectors; without it they are computed later.
    pub fingerprint: Option<String>,
    pub rejected: Vec<RejectedMemory>,
    /// Entities that did not exist before.
    pub entities: Vec<NewEntity>,
    /// Names of entities: (entity, name as written, folded name). A name that belongs to another entity of a matching
    /// kind is not moved.
    pub aliases: Vec<(EntityId, String, String)>,
    /// Links between nodes and the entities that they are about.
    pub links: Vec<(NodeId, EntityId)>,
    /// Statements of the user about identities; applied after the entities and names are written.
    pub identities: Vec<IdentityStatement>,
    pub mentions: Vec<MentionMerge>,
    /// Pairs of statements to ask the model about.
    pub pairs: Vec<NewPair>,
    /// The persona's mood after the session.
    pub mood: Option<Mood>,
    pub summary: Option<String>,
}

impl ExtractionCommit {
    /// A commit that only marks the session as extracted.
    pub fn empty(session_id: SessionId, scope: Scope, at: Timestamp) -> Self {
        Self {
            session_id,
            scope,
            at,
            trivial: false,
            nodes: Vec::new(),
            fingerprint: None,
            rejected: Vec::new(),
            entities: Vec::new(),
            aliases: Vec::new(),
            links: Vec::new(),
            identities: Vec::new(),
            mentions: Vec::new(),
            pairs: Vec::new(),
            mood: None,
            summary: None,
        }
    }
}

/// Everything that one reflection writes, in one transaction. Without thoughts it only records the decision.
#[derive(Clone, Debug)]
pub struct ReflectionCommit {
    /// The session after which the reflection was made.
    pub session_id: SessionId,
    pub scope: Scope,
    /// Id of the reflection. A reflection without thoughts is not stored and does not count for the daily limit.
    pub id: ReflectionId,
    pub at: Timestamp,
    /// The thoughts, each with its cited events, terms and vector.
    pub thoughts: Vec<NewNode>,
    /// The model of the thoughts' vectors; without it they are computed later.
    pub fingerprint: Option<String>,
}

/// A quote that was once taken from a session, even if its memory was deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct UsedQuote {
    pub node_id: NodeId,
    pub description: String,
    pub evidence: Evidence,
}

/// Storage for consolidation: the claim of a session, its commits and its end.
#[async_trait]
pub trait ConsolidationStore: Send + Sync {
    /// Gives the oldest `closing` session that is due to exactly one caller, and makes it `consolidating`.
    async fn claim_closing_session(&self, now: Timestamp) -> Result<Option<Session>, StoreError>;
    /// Returns every `consolidating` session to the queue. Called at the start, when no consolidation can be running.
    async fn release_claims(&self) -> Result<u32, StoreError>;
    /// Writes an extraction and marks the session extracted.
    async fn commit_extraction(&self, commit: ExtractionCommit) -> Result<CommitOutcome, StoreError>;
    /// Writes a reflection and marks the session reflected.
    async fn commit_reflection(&self, commit: ReflectionCommit) -> Result<CommitOutcome, StoreError>;
    /// Makes a `consolidating` session `closed`.
    async fn finish_session(&self, id: SessionId, at: Timestamp) -> Result<Option<Session>, StoreError>;
    /// Records a failed attempt.
    async fn record_failure(&self, attempt: FailedAttempt) -> Result<Option<Session>, StoreError>;
    /// The newest sessions of the scope that have a summary, newest first.
    async fn summarised_sessions(&self, scope: &Scope, limit: u32) -> Result<Vec<Session>, StoreError>;
    /// Times of reflections since `since` that stored a thought, newest first.
    async fn reflections_since(&self, scope: &Scope, since: Timestamp) -> Result<Vec<Timestamp>, StoreError>;
    /// Time of the last reflection that stored a thought.
    async fn last_reflection(&self, scope: &Scope) -> Result<Option<Timestamp>, StoreError>;
    /// Events written since `since`, oldest first, limited to the newest `limit`.
    async fn events_since(
        &self,
        scope: &Scope,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<Node>, StoreError>;
    /// Quotes of a session's messages that memories depend on, including deleted memories, so that these do not come
    /// back when the session is extracted again.
    async fn remembered_of_session(&self, id: SessionId) -> Result<Vec<UsedQuote>, StoreError>;
}
