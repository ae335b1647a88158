//! Nodes: the common row of events (L3) and thoughts (L4).

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identifiers::{MessageId, NodeId, RejectedId, SessionId};

/// Largest magnitude of an emotional impact.
pub const IMPACT_MAX: i8 = 10;
/// Maximum relational tags of one node. More would carry no information, and each raises the node's rank.
pub const RELATIONAL_TAGS_MAX: usize = 3;
/// Maximum length of a description, in characters. A memory is a sentence or a few; a longer text is a document.
pub const DESCRIPTION_LENGTH_MAX: usize = 2_000;

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// L3: something that happened.
    Event,
    /// L4: an impression derived from past events.
    Thought,
    /// L4: a commitment that the persona stated.
    Intention,
    /// L4: a prediction with a due time.
    Expectation,
}

impl NodeKind {
    /// The kind's name in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Thought => "thought",
            Self::Intention => "intention",
            Self::Expectation => "expectation",
        }
    }
}

/// The person that a node is about.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// The user, or somebody in the user's life.
    #[default]
    User,
    Persona,
    Shared,
}

/// Relational tags; there are no others (seed: runtime interactions, section 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RelationalTag {
    /// A core fact about who the user is.
    IdentityBearing,
    /// An emotional topic that was opened and not closed.
    Unresolved,
    /// The person showed something that they rarely show.
    Vulnerability,
    /// A change in the relationship itself.
    TurningPoint,
    /// The user corrected an assumption of the persona.
    Correction,
    /// An explicit promise or follow-up.
    Commitment,
}

impl RelationalTag {
    /// All six, in the order of the API.
    pub const ALL: [Self; 6] = [
        Self::IdentityBearing,
        Self::Unresolved,
        Self::Vulnerability,
        Self::TurningPoint,
        Self::Correction,
        Self::Commitment,
    ];

    /// The tag's name in the database, on the wire and in prompts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::IdentityBearing => "identity-bearing",
            Self::Unresolved => "unresolved",
            Self::Vulnerability => "vulnerability",
            Self::TurningPoint => "turning-point",
            Self::Correction => "correction",
            Self::Commitment => "commitment",
        }
    }

    /// Parses a tag; `None` for an unknown word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tag| tag.as_str() == text)
    }
}

/// Period in which an event happened or is due. If one bound is unknown, the other one is used for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventTime {
    /// Start of the period.
    pub start: Timestamp,
    /// End of the period, never before `start`.
    pub end: Option<Timestamp>,
}

/// A quote of a message that a node depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The id of the quoted message.
    pub message_id: MessageId,
    /// The quoted text, verbatim.
    pub quote: String,
    /// Start of the quote in the message, in characters.
    pub start: u32,
    /// End of the quote, in characters, exclusive.
    pub end: u32,
}

/// A node as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// The id of the node.
    pub id: NodeId,
    /// Row number, which grows with each commit. It never leaves the process.
    pub seq: i64,
    /// The kind of the node.
    pub kind: NodeKind,
    /// The text, in the language of the conversation.
    pub description: String,
    /// Emotional impact, from −10 (catastrophic loss) to +10 (life-defining joy).
    pub emotional_impact: i8,
    /// Free-form lower-case labels, at most 4.
    pub emotion_tags: Vec<String>,
    /// Relational tags, at most 3.
    pub relational_tags: Vec<RelationalTag>,
    /// The person that the memory is about.
    pub subject: Subject,
    /// Period in which the event happened or is due.
    pub event_time: Option<EventTime>,
    /// The session that the node was extracted from.
    pub source_session_id: Option<SessionId>,
    /// Number of times that the statement was made.
    pub mention_count: u32,
    /// The node that replaced this one. A replaced node is excluded from recall and stays in the history.
    pub superseded_by: Option<NodeId>,
    /// True if a person wants the node in every prompt.
    pub pinned: bool,
    /// Number of times the node was recalled.
    pub access_count: u32,
    /// Time at which the node was last recalled.
    pub last_accessed_at: Option<Timestamp>,
    /// Time at which the node was written. Recency counts from here, and recalling the node does not refresh it.
    pub created_at: Timestamp,
}

/// A node to store, with everything that its transaction needs.
#[derive(Clone, Debug, PartialEq)]
pub struct NewNode {
    pub id: NodeId,
    pub kind: NodeKind,
    pub description: String,
    /// Emotional impact, from −10 to +10.
    pub emotional_impact: i8,
    pub emotion_tags: Vec<String>,
    /// Tags of the closed vocabulary.
    pub relational_tags: Vec<RelationalTag>,
    pub subject: Subject,
    pub event_time: Option<EventTime>,
    /// The quotes that an event or an intention depends on.
    pub evidence: Vec<Evidence>,
    /// The events that a thought or an expectation depends on.
    pub filling: Vec<NodeId>,
    /// The node's index terms, as [`crate::text::index_terms`] gives them.
    pub terms: String,
    /// The node's vector and readability; `None` if no embedder answered.
    pub embedding: Option<crate::ports::Embedding>,
}

impl NewNode {
    /// Converts a stored node back, without its evidence and index terms.
    pub fn from_node(node: &Node) -> Self {
        Self {
            id: node.id,
            kind: node.kind,
            description: node.description.clone(),
            emotional_impact: node.emotional_impact,
            emotion_tags: node.emotion_tags.clone(),
            relational_tags: node.relational_tags.clone(),
            subject: node.subject,
            event_time: node.event_time,
            evidence: Vec::new(),
            filling: Vec::new(),
            terms: String::new(),
            embedding: None,
        }
    }
}

/// Fields of a proposed memory besides its text, its impact and its quotes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proposal {
    /// The kind that the proposal would have.
    #[serde(rename = "type", default = "Proposal::event")]
    pub kind: NodeKind,
    /// The person that the memory is about.
    #[serde(default)]
    pub subject: Subject,
    /// Emotions, as free labels.
    #[serde(default)]
    pub emotion_tags: Vec<String>,
    /// Tags of the closed vocabulary.
    #[serde(default)]
    pub relational_tags: Vec<RelationalTag>,
    /// Period in which the event happened or is due.
    #[serde(default)]
    pub event_time: Option<EventTime>,
    /// The program that had saved the memory; `None` if a language model proposed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl Proposal {
    fn event() -> NodeKind {
        NodeKind::Event
    }
}

impl Default for Proposal {
    fn default() -> Self {
        Self {
            kind: NodeKind::Event,
            subject: Subject::User,
            emotion_tags: Vec::new(),
            relational_tags: Vec::new(),
            event_time: None,
            source: None,
        }
    }
}

/// A proposal of extraction that the checks refused. It waits for a person's decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RejectedMemory {
    /// The id of the proposal.
    pub id: RejectedId,
    /// The session that the proposal was extracted from.
    pub session_id: SessionId,
    /// The text that was proposed.
    pub description: String,
    /// The proposed impact. If it is outside −10..10, that is the reason of the refusal.
    pub emotional_impact: Option<f64>,
    /// The proposed quotes, with their messages as far as these exist.
    pub evidence: Vec<RejectedQuote>,
    /// Why the memory was refused.
    pub reason: String,
    /// Time of the refusal.
    pub created_at: Timestamp,
    /// Other fields of the proposal.
    #[serde(flatten)]
    pub proposal: Proposal,
}

/// A quote of a refused memory, as proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RejectedQuote {
    /// The message that the model named for the quote; `None` if it named none of the session.
    pub message_id: Option<MessageId>,
    /// The quoted text, as proposed.
    pub quote: String,
}
