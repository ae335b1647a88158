//! Port for the questions that consolidation asks a language model, without prompts.

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
    /// Known entities that may be mentioned again.
    pub known_entities: Vec<Entity>,
    /// Pairs of known entities that may be the same; the user may have said so.
    pub entities_in_doubt: Vec<(Entity, Entity)>,
    /// Existing nodes that the session may replace.
    pub known_nodes: Vec<Node>,
    /// The user's zone. Relative times are resolved in it, from each message's own time.
    pub zone: TimeZone,
    /// Events of the first answer that failed the evidence check; empty on the first call.
    pub failures: Vec<EvidenceFailure>,
}

/// A quote that was not found in its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceFailure {
    /// Description of the event that depends on the quote.
    pub description: String,
    /// The quote as proposed.
    pub quote: String,
    /// The reason of the failure.
    pub reason: String,
}

/// A quote as proposed. The memory checks if it is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedQuote {
    /// The message that the model named for the quote.
    pub message_id: MessageId,
    pub quote: String,
}

/// A proposed event that meets the contract.
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

/// A proposed event that violates the contract; a person decides.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedEvent {
    /// The proposed text; may be empty.
    pub description: String,
    /// The impact as proposed.
    pub emotional_impact: Option<f64>,
    /// The quotes as proposed.
    pub evidence: Vec<RejectedQuote>,
    /// The rule that the event violates.
    pub reason: String,
    /// Other fields of the proposal.
    pub proposal: Proposal,
}

/// A named person, place or thing of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MentionedEntity {
    /// The main name of the entity.
    pub canonical_name: String,
    pub aliases: Vec<String>,
    pub kind: EntityKind,
}

/// The user's statement about whether two names are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clarification {
    pub a: String,
    pub b: String,
    /// True if the two names are the same.
    pub same: bool,
}

/// The mood after a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoodSignal {
    /// A word or short phrase.
    pub mood: String,
    /// 0 to 10; clamped by [`crate::mood::Mood::from_signal`].
    pub energy: i64,
    /// The persona's last impression of the user.
    pub last_user_signal: Option<String>,
}

/// A parsed answer of extraction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extraction {
    /// At most 3, those with the highest |impact|.
    pub events: Vec<ProposedEvent>,
    /// Events that violate the contract.
    pub refused: Vec<RefusedEvent>,
    pub mentioned_entities: Vec<MentionedEntity>,
    /// A statement of the user that two names are one person, or are not.
    pub clarification: Option<Clarification>,
    /// The mood after the session.
    pub mood: Option<MoodSignal>,
    /// A summary of the session.
    pub summary: Option<String>,
    /// The model's answer when asked if it missed a peak.
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

/// A proposed thought; every id is one of the input's.
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

/// A parsed answer of reflection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reflection {
    /// One or two; empty if no valid one was proposed.
    pub thoughts: Vec<ProposedThought>,
    /// Parts that the parser dropped, truncated or clamped, for the trace.
    pub notes: Vec<String>,
}

/// Why a mind failed.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum MindError {
    /// Another attempt may succeed: the model is unavailable, slow or busy, or its answer was malformed.
    #[error("the language model could not answer: {0}")]
    Transient(String),
    /// Another attempt can't succeed without a person: wrong key, refused, too long.
    #[error("the language model's answer can't be used: {0}")]
    Permanent(String),
}

impl MindError {
    /// A description for logs, without an endpoint's text, which may quote a person.
    pub fn log_description(&self) -> &'static str {
        match self {
            Self::Transient(_) => "the language model could not answer",
            Self::Permanent(_) => "the language model's answer can't be used",
        }
    }
}

/// Decides what is worth remembering and draws conclusions, by a language model or by rules.
#[async_trait]
pub trait Mind: Send + Sync {
    /// Extracts memories from a closed session.
    async fn extract(&self, input: ExtractionInput) -> Result<Extraction, MindError>;

    /// Compares newer statements with older ones. A malformed answer is an error and is not repaired: the caller asks
    /// again later.
    async fn reconcile(&self, input: ReconciliationInput) -> Result<Reconciliation, MindError>;

    /// Draws thoughts from recent events.
    async fn reflect(&self, input: ReflectionInput) -> Result<Reflection, MindError>;

    /// Draws thoughts, expectations and questions between two sessions.
    async fn think_slowly(&self, input: SlowCycleInput) -> Result<SlowCycle, MindError>;
}
