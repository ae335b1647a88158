//! The candidates of a recall, with the parts of their scores, and the reasons why others were not used.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{FormerValue, FreshCorrection};

/// The kind of row of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CandidateKind {
    /// A node (L3 or L4).
    Node,
    /// A message of layer L2.
    Message,
}

/// A memory that recall considered. For a message, the fields of a node's score are empty, and `parts` is set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    /// The id of the row.
    pub id: Uuid,
    /// The kind of row: a node or a message.
    pub kind: CandidateKind,
    /// `event`, `thought`, `intention`, `expectation`; for a message `user`, `persona` or `other`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The speaker's name, for a message of the type `other`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// The text of the row.
    pub text: String,
    /// Time at which the candidate was written or said.
    pub created_at: Timestamp,
    /// Time of the evidence of a node, looked up when a receipt is read; for imported sessions it is long before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said_at: Option<Timestamp>,
    /// The score by which the candidate is ranked.
    pub total: f64,
    /// Recency: `2^(−days/14)`, from 0 to 1.
    pub recency: Option<f64>,
    /// The larger of the two relevances.
    pub relevance: Option<f64>,
    /// `1 − d/2`, where d is the Euclidean distance of the unit vectors; 0 if one side is unreadable.
    pub vector_relevance: Option<f64>,
    /// The share of the query's information that the words match, 0 to 1.
    pub word_relevance: Option<f64>,
    /// Readability of its text, 0 to 1; `None` without a vector.
    pub readable: Option<f64>,
    /// Magnitude of the impact: `|emotional_impact| / 10`.
    pub impact: Option<f64>,
    /// From −10 to +10.
    pub emotional_impact: Option<i8>,
    /// `0.5·[any relational tag] + 0.5·g`.
    pub relational_bonus: Option<f64>,
    /// 1 if it is linked to an entity that the text names.
    pub entity_anchor: Option<f64>,
    /// The parts of a message's score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<BTreeMap<String, f64>>,
    /// True if the candidate went into the prompt.
    pub used: bool,
    /// Why the candidate was used or not.
    pub reason: String,
    /// A value in it that is no longer current, with the current one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_longer_current: Option<FormerValue>,
    /// The user's latest correction that denies it, if that is not a memory yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<FreshCorrection>,
}

/// Durations of the steps of a recall, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecallTimings {
    /// Embedding of the query.
    pub embed: f64,
    /// Fetching of the candidates.
    pub fetch: f64,
    /// Scoring and selection of candidates.
    pub score: f64,
}
