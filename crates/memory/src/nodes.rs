//! Concept nodes: the row that L3 events and L4 thoughts share.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identifiers::{MessageId, NodeId, RejectedId, SessionId};

/// Largest magnitude of an emotional impact.
pub const IMPACT_MAX: i8 = 10;
/// Most relational tags of one node. A node with every tag says nothing by them, and each raises its rank.
pub const RELATIONAL_TAGS_MAX: usize = 3;
/// Longest description, in characters. A memory is a sentence or a few; anything longer is a document.
pub const DESCRIPTION_LENGTH_MAX: usize = 2_000;

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// L3: something that happened.
    Event,
    /// L4: an impression that looks back.
    Thought,
    /// L4: a commitment that the persona voiced.
    Intention,
    /// L4: a prediction with a due time.
    Expectation,
}

impl NodeKind {
    /// The kind as stored and as on the wire.
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

/// The closed vocabulary of relational tags (seed: runtime interactions, section 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RelationalTag {
    /// A core fact about who the user is.
    IdentityBearing,
    /// An emotional thread that was opened and not closed.
    Unresolved,
    /// The person showed something that they rarely show.
    Vulnerability,
    /// A shift in the relationship itself.
    TurningPoint,
    /// The user corrected what the persona assumed.
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

    /// The tag as stored, on the wire and in prompts.
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

    /// Reads a tag; none for a word outside the vocabulary.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tag| tag.as_str() == text)
    }
}

/// Period in which something happened or is due. If one end is open, the other bound is used for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventTime {
    /// First moment of the period.
    pub start: Timestamp,
    /// Last moment, never before `start`.
    pub end: Option<Timestamp>,
}

/// Words of a message that a node depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The id of the quoted message.
    pub message_id: MessageId,
    /// Verbatim words of the message.
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
    /// The store's own number of the row: grows with each commit. Never leaves the process.
    pub seq: i64,
    /// The kind of the node.
    pub kind: NodeKind,
    /// The text, in the language of the conversation.
    pub description: String,
    /// Signed weight of feeling, −10 (catastrophic loss) to +10 (life-defining joy).
    pub emotional_impact: i8,
    /// Free-form lower-case labels, at most 4.
    pub emotion_tags: Vec<String>,
    /// Tags of the closed vocabulary, at most 3.
    pub relational_tags: Vec<RelationalTag>,
    /// The person that the memory is about.
    pub subject: Subject,
    /// Period in which the event happened or is due.
    pub event_time: Option<EventTime>,
    /// The session that the node was extracted from.
    pub source_session_id: Option<SessionId>,
    /// Number of times the node was said.
    pub mention_count: u32,
    /// The node that replaced it; such a node leaves default recall and stays in history.
    pub superseded_by: Option<NodeId>,
    /// Kept in every prompt by a person's wish.
    pub pinned: bool,
    /// Number of times the node was recalled.
    pub access_count: u32,
    /// Time at which the node was last recalled.
    pub last_accessed_at: Option<Timestamp>,
    /// Time at which it was written; recency counts from here and access never refreshes it.
    pub created_at: Timestamp,
}

/// A node about to be written, with all that goes into its transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct NewNode {
    pub id: NodeId,
    pub kind: NodeKind,
    pub description: String,
    /// Signed weight of feeling, −10 to +10.
    pub emotional_impact: i8,
    pub emotion_tags: Vec<String>,
    /// Tags of the closed vocabulary.
    pub relational_tags: Vec<RelationalTag>,
    pub subject: Subject,
    pub event_time: Option<EventTime>,
    /// The quoted words that an event or an intention depends on.
    pub evidence: Vec<Evidence>,
    /// The events that a thought or an expectation depends on.
    pub filling: Vec<NodeId>,
    /// The node's index terms, as [`crate::text::index_terms`] gives them.
    pub terms: String,
    /// The node's vector and readability; none where no embedder answered.
    pub embedding: Option<crate::ports::Embedding>,
}

impl NewNode {
    /// A stored node as it was before it was written, without what it depends on and without its indexes.
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
    /// The program that had saved it; none if a language model proposed it.
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
    /// The impact as proposed; outside −10..10 it is the reason of the refusal.
    pub emotional_impact: Option<f64>,
    /// The quotes as proposed, with the message when it exists.
    pub evidence: Vec<RejectedQuote>,
    /// Why the memory was refused.
    pub reason: String,
    /// Time of the refusal.
    pub created_at: Timestamp,
    /// The rest of the proposal.
    #[serde(flatten)]
    pub proposal: Proposal,
}

/// A quote that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RejectedQuote {
    /// The message that the model named for the quote; `None` if it named none of the session.
    pub message_id: Option<MessageId>,
    /// The words as proposed.
    pub quote: String,
}
