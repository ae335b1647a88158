//! Port for the slow cycle: thinking between sessions, and the outcomes of expectations.

use async_trait::async_trait;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::core_blocks::CoreBlocks;
use crate::entities::Entity;
use crate::identifiers::{CycleId, EntityId, MessageId, NodeId, SessionId};
use crate::ledger::TokenUsage;
use crate::nodes::{EventTime, NewNode, Node};
use crate::ports::{ProposedThought, StoreError};
use crate::scope::Scope;

/// Input of the slow cycle.
#[derive(Clone, Debug)]
pub struct SlowCycleInput {
    /// The session after which the cycle runs.
    pub session_id: SessionId,
    pub persona_name: String,
    /// The authored blocks, for context.
    pub core_blocks: CoreBlocks,
    pub now: Timestamp,
    pub zone: TimeZone,
    /// Time since the last cycle; `None` before the first.
    pub elapsed: Option<SignedDuration>,
    /// Recent events and promises of the persona, oldest first.
    pub events: Vec<Node>,
    /// The newest thoughts, newest first.
    pub thoughts: Vec<Node>,
    /// Expectations that are still open.
    pub expectations: Vec<Node>,
    /// Open questions of the last cycle.
    pub salient_questions: Vec<String>,
    /// Entities with enough memories to be described.
    pub entities: Vec<EntityToDescribe>,
    /// Maximum tokens of the answer.
    pub answer_tokens: u32,
}

/// An entity with memories about it.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityToDescribe {
    pub entity: Entity,
    /// Memories about the entity, newest first.
    pub events: Vec<Node>,
}

/// A parsed answer of the slow cycle; every id is one of the input's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlowCycle {
    /// At most 3, about the user or the persona.
    pub thoughts: Vec<ProposedThought>,
    pub expectations: Vec<ProposedExpectation>,
    pub intentions: Vec<ProposedIntention>,
    /// At most 3, for the next cycle.
    pub salient_questions: Vec<String>,
    /// Descriptions of entities, in prose.
    pub entity_descriptions: Vec<(EntityId, String)>,
    /// Parts that the parser dropped, truncated or clamped, for the trace.
    pub notes: Vec<String>,
    /// Tokens of all calls to the model together.
    pub usage: TokenUsage,
}

/// A prediction that the model proposes.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposedExpectation {
    /// The subject of the expectation.
    pub about: String,
    pub prediction: String,
    pub due: Option<EventTime>,
    /// The events that the expectation follows from.
    pub reasoning: Vec<NodeId>,
    /// From −10 to +10.
    pub emotional_impact: i8,
}

/// A proposed promise, which the persona must have made already.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposedIntention {
    pub description: String,
    pub due: Option<EventTime>,
    /// The events that the intention depends on.
    pub filling: Vec<NodeId>,
}

/// State of a scope's slow cycle, which its limits depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlowCycleState {
    /// Time at which the last cycle ran.
    pub last_at: Option<Timestamp>,
    /// Number of cycles of the day.
    pub cycles: u32,
    /// Input tokens of the day's cycles.
    pub input_tokens: u64,
    /// Output tokens of the day's cycles.
    pub output_tokens: u64,
    /// Open questions of the last cycle; empty if part of its input was deleted since.
    pub salient_questions: Vec<String>,
    /// Number of deletions in this memory so far.
    pub tombstones: u64,
}

/// A memory that a cycle may read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReflectionCandidate {
    /// The event or promise.
    pub node: Node,
    /// Number of cycles that have read the memory.
    pub cycles: u32,
}

/// Everything that one cycle writes, in one transaction. A failed cycle writes only its row.
#[derive(Clone, Debug)]
pub struct SlowCycleCommit {
    pub id: CycleId,
    pub scope: Scope,
    /// The session after which the cycle runs.
    pub session_id: SessionId,
    pub at: Timestamp,
    /// Thoughts, expectations and intentions, each with its cited events, terms and vector.
    pub nodes: Vec<NewNode>,
    /// The model of the nodes' vectors; without it they are computed later.
    pub fingerprint: Option<String>,
    /// New descriptions; one that a person wrote stays.
    pub descriptions: Vec<(EntityId, String)>,
    /// Questions for the next cycle.
    pub salient_questions: Vec<String>,
    /// The memories that the cycle read.
    pub read: Vec<NodeId>,
    pub usage: TokenUsage,
    /// `ok` or `failed`; never a person's text.
    pub outcome: String,
    /// Input and answer, if traces are stored.
    pub transcript: Option<Value>,
    /// Number of tombstones ([`SlowCycleState::tombstones`]) before the cycle read its input. If there are more now,
    /// its result may depend on forgotten text.
    pub tombstones: u64,
}

/// Counts of the rows that a cycle wrote.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlowCycleReport {
    /// Stored nodes; those whose events were all deleted meanwhile are left out.
    pub nodes: Vec<NodeId>,
    /// Entities with their new descriptions.
    pub described: Vec<Entity>,
    /// True if something was forgotten meanwhile, so that only the counts were stored.
    pub forgotten: bool,
}

/// The outcome of an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExpectationOutcome {
    /// The user said that the expected event happened.
    Fulfilled,
    /// The expectation was not fulfilled in time.
    Expired,
}

/// The end of an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectationEnd {
    pub outcome: ExpectationOutcome,
    /// The message that fulfilled the expectation.
    pub by: Option<MessageId>,
    /// Time at which the fulfilment was noticed.
    pub at: Timestamp,
}

/// A stored transcript, without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptSummary {
    pub id: CycleId,
    pub at: Timestamp,
    /// Length of the transcript's text, in bytes.
    pub size: u64,
}

/// Storage of slow cycles, their results, and the outcomes of expectations.
#[async_trait]
pub trait SlowCycleStore: Send + Sync {
    /// State of a scope's slow cycle; cycles since `since` count for the day.
    async fn slow_cycle_progress(
        &self,
        scope: &Scope,
        since: Timestamp,
    ) -> Result<SlowCycleState, StoreError>;
    /// Live, current events and promises of the persona that were written since `since` and that fewer than
    /// `cycles_max` cycles have read; the newest `limit`, oldest first.
    async fn events_to_reflect_on(
        &self,
        scope: &Scope,
        since: Timestamp,
        cycles_max: u32,
        limit: u32,
    ) -> Result<Vec<ReflectionCandidate>, StoreError>;
    /// Entities of the nodes that at least `linked_min` live nodes are about, except for those that a person has
    /// described.
    async fn entities_to_describe(
        &self,
        scope: &Scope,
        nodes: &[NodeId],
        linked_min: u32,
    ) -> Result<Vec<Entity>, StoreError>;
    /// Stores a cycle; only its counts, if something was forgotten since it began. Never changes a core block or a
    /// message.
    async fn commit_slow_cycle(&self, commit: SlowCycleCommit) -> Result<SlowCycleReport, StoreError>;
    /// Settles those of these expectations that are pending, and returns them. A settled expectation stays in the
    /// history, but recall does not return it.
    async fn settle_expectations(
        &self,
        scope: &Scope,
        ids: &[NodeId],
        settled: ExpectationEnd,
    ) -> Result<Vec<NodeId>, StoreError>;
    /// Settles all pending expectations of all scopes whose time has passed as expired; returns their number.
    async fn expire_expectations(&self, now: Timestamp) -> Result<u32, StoreError>;
    /// The outcome of an expectation; `None` while it is pending.
    async fn expectation_end(&self, id: NodeId) -> Result<Option<ExpectationEnd>, StoreError>;
    /// Transcripts of a scope's cycles, newest first; with `before`, only those after it in this order.
    async fn transcripts(
        &self,
        scope: &Scope,
        before: Option<(Timestamp, CycleId)>,
        limit: u32,
    ) -> Result<Vec<TranscriptSummary>, StoreError>;
    /// A transcript; `None` if it was not stored or has been deleted.
    async fn transcript(&self, id: CycleId) -> Result<Option<Value>, StoreError>;
}
