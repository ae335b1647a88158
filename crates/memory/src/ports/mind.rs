//! The questions that consolidation asks of a language model, without a word of prompt.

use async_trait::async_trait;
use jiff::tz::TimeZone;

use crate::core_blocks::CoreBlocks;
use crate::entities::{Entity, EntityKind};
use crate::identifiers::{MessageId, NodeId, SessionId};
use crate::messages::Message;
use crate::nodes::{EventTime, Node, NodeKind, Proposal, RejectedQuote, RelationalTag, Subject};
use crate::ports::{Reconciliation, ReconciliationInput, SlowCycle, SlowCycleInput};

/// What extraction reads.
#[derive(Clone, Debug)]
pub struct ExtractionInput {
    /// How the persona is called.
    pub persona_name: String,
    /// The authored blocks, for context.
    pub core_blocks: CoreBlocks,
    /// The session's messages, oldest first.
    pub messages: Vec<Message>,
    /// Entities that are known and may be named again.
    pub known_entities: Vec<Entity>,
    /// Pairs of known entities that may be one; the user may have said so.
    pub entities_in_doubt: Vec<(Entity, Entity)>,
    /// Existing nodes that the session may supersede.
    pub known_nodes: Vec<Node>,
    /// The user's zone: relative time is resolved in it, against each message's own time.
    pub zone: TimeZone,
    /// What failed the evidence check in the first answer; empty on the first call.
    pub failures: Vec<EvidenceFailure>,
}

/// A quote that was not found where it was said to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceFailure {
    /// The event that depends on it.
    pub description: String,
    /// The quote as proposed.
    pub quote: String,
    /// What is wrong with it.
    pub reason: String,
}

/// A quote as proposed; whether it holds is for the memory to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedQuote {
    /// The message it is said to be in.
    pub message_id: MessageId,
    /// The words.
    pub quote: String,
}

/// An event as proposed, already within the contract's bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposedEvent {
    /// `Event` or `Intention`.
    pub kind: NodeKind,
    /// What happened.
    pub description: String,
    /// −10 to +10.
    pub emotional_impact: i8,
    /// At most 4.
    pub emotion_tags: Vec<String>,
    /// At most 3.
    pub relational_tags: Vec<RelationalTag>,
    /// Whom it is about.
    pub subject: Subject,
    /// When it happened or is due.
    pub event_time: Option<EventTime>,
    /// The words it depends on.
    pub evidence: Vec<ProposedQuote>,
    /// Older nodes that it replaces.
    pub supersedes: Vec<NodeId>,
    /// Names of entities it is about.
    pub entities: Vec<String>,
}

/// A proposed event that broke the contract; a person decides.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedEvent {
    /// What was proposed; may be empty.
    pub description: String,
    /// The impact as proposed.
    pub emotional_impact: Option<f64>,
    /// The quotes as proposed.
    pub evidence: Vec<RejectedQuote>,
    /// Which rule it broke.
    pub reason: String,
    /// The rest of the proposal.
    pub proposal: Proposal,
}

/// A named thing of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MentionedEntity {
    /// The name to show it by.
    pub canonical_name: String,
    /// Other names used.
    pub aliases: Vec<String>,
    /// What it is.
    pub kind: EntityKind,
}

/// The user's answer to whether two names mean one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clarification {
    /// One name.
    pub a: String,
    /// The other.
    pub b: String,
    /// Whether they are the same.
    pub same: bool,
}

/// The mood that a session leaves behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoodSignal {
    /// A word or short phrase.
    pub mood: String,
    /// 0 to 10; bounds are kept by [`crate::mood::Mood::from_signal`].
    pub energy: i64,
    /// The last sense of the user.
    pub last_user_signal: Option<String>,
}

/// What extraction answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extraction {
    /// At most 3, those of highest |impact|.
    pub events: Vec<ProposedEvent>,
    /// Those that broke the contract.
    pub refused: Vec<RefusedEvent>,
    /// Named things.
    pub mentioned_entities: Vec<MentionedEntity>,
    /// Whether two names mean one.
    pub clarification: Option<Clarification>,
    /// The mood it leaves.
    pub mood: Option<MoodSignal>,
    /// What the session was about.
    pub summary: Option<String>,
    /// The model's answer to "did I miss a peak?".
    pub self_check_notes: String,
    /// What the parser dropped, truncated or clamped, for the trace.
    pub notes: Vec<String>,
}

/// What reflection reads.
#[derive(Clone, Debug)]
pub struct ReflectionInput {
    /// The session that led to it.
    pub session_id: SessionId,
    /// How the persona is called.
    pub persona_name: String,
    /// The authored blocks, for context.
    pub core_blocks: CoreBlocks,
    /// The events of the last 24 hours and the shock event, oldest first.
    pub events: Vec<Node>,
    /// The user's zone.
    pub zone: TimeZone,
}

/// A thought as proposed; every id is one of the input's.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposedThought {
    /// The impression, at most 2,000 characters.
    pub description: String,
    /// Whom it is about.
    pub subject: Subject,
    /// −10 to +10.
    pub emotional_impact: i8,
    /// The events it depends on, at least one.
    pub filling: Vec<NodeId>,
}

/// What reflection answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reflection {
    /// One or two; none when nothing valid was said.
    pub thoughts: Vec<ProposedThought>,
    /// What the parser dropped, truncated or clamped, for the trace.
    pub notes: Vec<String>,
}

/// Why a mind did not answer.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum MindError {
    /// Worth another try later: the model is down, slow or busy, or had bad luck with its answer's form.
    #[error("the language model could not answer for now: {0}")]
    Transient(String),
    /// No use in trying again without a person: wrong key, refused, too long.
    #[error("the language model's answer can't be used: {0}")]
    Permanent(String),
}

impl MindError {
    /// What may stand in a log: not the words of an endpoint, which may quote what a person said.
    pub fn for_the_log(&self) -> &'static str {
        match self {
            Self::Transient(_) => "the language model could not answer for now",
            Self::Permanent(_) => "the language model's answer can't be used",
        }
    }
}

/// Somebody who can be asked what is worth remembering and what to make of it.
#[async_trait]
pub trait Mind: Send + Sync {
    /// What is worth remembering of a closed session.
    async fn extract(&self, input: ExtractionInput) -> Result<Extraction, MindError>;

    /// How newer statements relate to older ones. A malformed answer is an error and is not repaired: the caller asks again later.
    async fn reconcile(&self, input: ReconciliationInput) -> Result<Reconciliation, MindError>;

    /// What to make of recent events.
    async fn reflect(&self, input: ReflectionInput) -> Result<Reflection, MindError>;

    /// What to think, expect and wonder about between sessions.
    async fn think_slowly(&self, input: SlowCycleInput) -> Result<SlowCycle, MindError>;
}
