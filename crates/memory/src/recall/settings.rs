//! Settings of recall, with their defaults.

use jiff::civil::Weekday;

use super::signals::MessageWeights;

/// Settings of recall that a person can change.
#[derive(Clone, Debug, PartialEq)]
pub struct RecallSettings {
    /// Maximum nodes in the prompt. Default 10.
    pub k: usize,
    /// Minimum relevance; see [`super::score`]. Default 0.4, which for vectors is a cosine of 0.28.
    pub min_relevance: f64,
    /// Support below which the prompt says that no memory is about the message. Default 0.47: of the questions of one
    /// public conversation asked of another 57 in 100 are below it, of those asked of their own 5 in 100
    /// (docs/evaluation.md). Chosen with all-MiniLM-L6-v2; other models shift it, see
    /// [`crate::ports::Embedder::support_shift`].
    pub min_support: f64,
    /// Weights of the score of nodes.
    pub weights: NodeWeights,
    /// Half-life of recency and of evidence paths, in days. Default 14.
    pub half_life_days: f64,
    /// Maximum tokens of the recalled nodes together. Default 1,500.
    pub node_tokens: u32,
    /// Minimum total of a further message, as a share of the best message's total. Default 0.75.
    pub passage_share: f64,
    /// Maximum verbatim passages in the prompt. Default 5.
    pub passages: usize,
    /// Maximum tokens of the passages together. Default 1,500.
    pub passage_tokens: u32,
    /// Weights of the ranking of messages.
    pub message_weights: MessageWeights,
    /// Names by which questions refer to the speakers; none by default.
    pub speaker_names: SpeakerNames,
    /// The first day of an English week ("last week"). Default Monday. Chinese weeks always begin on Monday.
    pub week_start: Weekday,
}

impl Default for RecallSettings {
    fn default() -> Self {
        Self {
            k: 10,
            min_relevance: 0.4,
            min_support: 0.47,
            weights: NodeWeights::default(),
            half_life_days: 14.0,
            node_tokens: 1_500,
            passage_share: 0.75,
            passages: 5,
            passage_tokens: 1_500,
            message_weights: MessageWeights::default(),
            speaker_names: SpeakerNames::default(),
            week_start: Weekday::Monday,
        }
    }
}

/// Weights of the sum by which nodes are ranked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeWeights {
    /// Weight of recency. Default 0.5.
    pub recency: f64,
    /// Weight of relevance. Default 3.
    pub relevance: f64,
    /// Weight of the magnitude of the impact. Default 2.
    pub impact: f64,
    /// Weight of connections. Default 1.
    pub relational: f64,
    /// Weight of a named person or thing. Default 1.5.
    pub entity: f64,
}

impl Default for NodeWeights {
    fn default() -> Self {
        Self { recency: 0.5, relevance: 3.0, impact: 2.0, relational: 1.0, entity: 1.5 }
    }
}

/// Names of the two speakers. "What did Ann say about Rome?" then prefers Ann's messages, and is embedded in her
/// words: "What did I say about Rome?". A name used only to address somebody ("Ann, …") has no effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpeakerNames {
    /// Names of the user.
    pub user: Vec<String>,
    /// Names of the persona.
    pub persona: Vec<String>,
}
