//! The questions that consolidation asks of a language model, without a word of prompt.

use async_trait::async_trait;
use jiff::tz::TimeZone;

use crate::core_blocks::CoreBlocks;
use crate::entities::{Entity, EntityKind};
use crate::identifiers::{MessageId, NodeId, SessionId};
use crate::messages::Message;
use crate::nodes::{EventTime, Node, NodeKind, Proposal, RejectedQuote, RelationalTag, Subject};
use crate::ports::{Reconciliation, ReconciliationInput, SlowCycle, SlowCycleInput};

/// Input of extraction, built from a session.
#[derive(Clone, Debug)]
pub struct ExtractionInput {
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
    /// Events of the first answer that failed the evidence check; empty on the first call.
    pub failures: Vec<EvidenceFailure>,
}

/// A quote that was not found where it was said to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceFailure {
    /// Description of the event that depends on the quote.
    pub description: String,
    /// The quote as proposed.
    pub quote: String,
    /// The reason of the failure.
    pub reason: String,
}

/// A quote as proposed; whether it holds is for the memory to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedQuote {
    /// The message that the model named for the quote.
    pub message_id: MessageId,
    pub quote: String,
}

/// An event as proposed, already within the contract's bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposedEvent {
    /// Either `Event` or `Intention`.
    pub kind: NodeKind,
    pub description: String,
    /// From −10 to +10.
    pub emotional_impact: i8,
    /// At most 4 labels.
    pub emotion_tags: Vec<String>,
    /// At most 3 labels.
    pub relational_tags: Vec<RelationalTag>,
    pub subject: Subject,
    pub event_time: Option<EventTime>,
    /// The quotes that the event depends on.
    pub evidence: Vec<ProposedQuote>,
    /// Older nodes that the event replaces.
    pub supersedes: Vec<NodeId>,
    /// Names of the entities that the event is about.
    pub entities: Vec<String>,
}

/// A proposed event that broke the contract; a person decides.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedEvent {
    /// The proposed text; may be empty.
    pub description: String,
    /// The impact as proposed.
    pub emotional_impact: Option<f64>,
    /// The quotes as proposed.
    pub evidence: Vec<RejectedQuote>,
    /// The rule that the event broke.
    pub reason: String,
    /// The rest of the proposal.
    pub proposal: Proposal,
}

/// A named thing of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MentionedEntity {
    /// The name to show the entity by.
    pub canonical_name: String,
    pub aliases: Vec<String>,
    pub kind: EntityKind,
}

/// The user's answer to whether two names mean one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clarification {
    pub a: String,
    pub b: String,
    /// True if they are the same.
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

/// Answer of extraction, after parsing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extraction {
    /// At most 3, those of highest |impact|.
    pub events: Vec<ProposedEvent>,
    /// Events that broke the contract.
    pub refused: Vec<RefusedEvent>,
    pub mentioned_entities: Vec<MentionedEntity>,
    /// A statement of the user that two names mean one person, or do not.
    pub clarification: Option<Clarification>,
    /// The mood it leaves.
    pub mood: Option<MoodSignal>,
    /// A summary of the session.
    pub summary: Option<String>,
    /// The model's answer to "did I miss a peak?".
    pub self_check_notes: String,
    /// Parts that the parser dropped, truncated or clamped, for the trace.
    pub notes: Vec<String>,
}

/// Input of reflection: recent events.
#[derive(Clone, Debug)]
pub struct ReflectionInput {
    /// The session after which the model reflects.
    pub session_id: SessionId,
    pub persona_name: String,
    /// The authored blocks, for context.
    pub core_blocks: CoreBlocks,
    /// The events of the last 24 hours and the shock event, oldest first.
    pub events: Vec<Node>,
    pub zone: TimeZone,
}

/// A thought as proposed; every id is one of the input's.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposedThought {
    /// The impression, at most 2,000 characters.
    pub description: String,
    pub subject: Subject,
    /// From −10 to +10.
    pub emotional_impact: i8,
    /// The events that the thought depends on; at least one.
    pub filling: Vec<NodeId>,
}

/// Answer of reflection, after parsing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reflection {
    /// One or two; none when nothing valid was said.
    pub thoughts: Vec<ProposedThought>,
    /// Parts that the parser dropped, truncated or clamped, for the trace.
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
    /// A description for logs, without an endpoint's text, which may quote a person.
    pub fn for_the_log(&self) -> &'static str {
        match self {
            Self::Transient(_) => "the language model could not answer for now",
            Self::Permanent(_) => "the language model's answer can't be used",
        }
    }
}

/// A language model, or rules, that decide what is worth remembering and draw conclusions.
#[async_trait]
pub trait Mind: Send + Sync {
    /// Extracts memories from a closed session.
    async fn extract(&self, input: ExtractionInput) -> Result<Extraction, MindError>;

    /// Compares newer statements with older ones. A malformed answer is an error and is not repaired: the caller asks again
    /// later.
    async fn reconcile(&self, input: ReconciliationInput) -> Result<Reconciliation, MindError>;

    /// Draws thoughts from recent events.
    async fn reflect(&self, input: ReflectionInput) -> Result<Reflection, MindError>;

    /// Draws thoughts, expectations and questions between two sessions.
    async fn think_slowly(&self, input: SlowCycleInput) -> Result<SlowCycle, MindError>;
}
