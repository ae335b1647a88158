//! The score of nodes (seed: emotion and scoring algorithms, algorithm A; entity anchor: the newer seed).
//!
//! `total = 0.5·recency + 3.0·relevance + 2.0·|impact|/10 + 1.0·relational_bonus + 1.5·entity_anchor`
//!
//! Everything here is pure and reads nothing.

use jiff::Timestamp;

use super::graph::decay_with_age;
use super::query::Query;
use super::settings::RecallSettings;
use crate::nodes::{IMPACT_MAX, Node};
use crate::vector_index::{READABILITY_MIN, cosine};

/// Bonus of a node that has any relational tag, and weight of its evidence path.
const RELATIONAL_WEIGHT: f64 = 0.5;
/// Minimum strength of an evidence path by which a node may enter below the minimum relevance.
pub const PATH_STRENGTH_WITHOUT_RELEVANCE: f64 = 0.5;
/// Minimum W of such a node; texts that share only function words are below it. There is no such bound for V: 95 of
/// 100 unrelated texts reach 0.406 (questions of one LoCoMo conversation, turns of another), which is above the
/// minimum relevance already.
const PATH_WORDS_MIN: f64 = 0.2;

/// The parts of a node's score; all but `total` are from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    pub total: f64,
    /// `2^(−days/14)` since the node was written; recalling it does not refresh it.
    pub recency: f64,
    /// The larger of `vector` and `words`.
    pub relevance: f64,
    pub vector: f64,
    pub words: f64,
    pub impact: f64,
    /// g, the strength of the strongest evidence path to another node that matches the query.
    pub path: f64,
    /// `0.5·[any relational tag] + 0.5·g`.
    pub relational_bonus: f64,
    /// 1 if the node is linked to an entity that the text names.
    pub entity_anchor: f64,
    /// 1 if its event time overlaps with a time that the text names.
    pub time_match: f64,
    /// 1 if the text asks who the user is and the memory answers a part of it.
    pub identity: f64,
}

impl Score {
    /// True if the node may enter: relevant by itself, or by an entity, a recent evidence path, a named time, or as
    /// an answer to the question who the user is. A path is not enough for a node without words in common with the
    /// text, however high its impact.
    pub fn may_enter(&self, min_relevance: f64) -> bool {
        self.relevance >= min_relevance
            || self.entity_anchor > 0.0
            || (self.path >= PATH_STRENGTH_WITHOUT_RELEVANCE && self.words >= PATH_WORDS_MIN)
            || self.time_match > 0.0
            || self.identity > 0.0
    }
}

/// Inputs of a node's score besides its row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScoreInputs {
    pub vector: f64,
    pub words: f64,
    pub path: f64,
    /// True if it is linked to a named entity.
    pub anchored: bool,
    /// True if its event time overlaps with a named time.
    pub time_match: bool,
    /// True if the question asks who the user is, and the memory answers a part of it.
    pub identity: bool,
}

/// The score of one node.
#[inline]
pub fn score_node(node: &Node, known: ScoreInputs, now: Timestamp, settings: &RecallSettings) -> Score {
    let weights = &settings.weights;
    let flag = |is: bool| if is { 1.0 } else { 0.0 };
    let recency = decay_with_age(node.created_at, now, settings.half_life_days);
    let relevance = known.vector.max(known.words);
    let impact = (f64::from(node.emotional_impact.unsigned_abs()) / f64::from(IMPACT_MAX)).min(1.0);
    let tagged = flag(!node.relational_tags.is_empty());
    let relational_bonus = RELATIONAL_WEIGHT * tagged + RELATIONAL_WEIGHT * known.path;
    let entity_anchor = flag(known.anchored);
    let total = weights.recency * recency
        + weights.relevance * relevance
        + weights.impact * impact
        + weights.relational * relational_bonus
        + weights.entity * entity_anchor;
    Score {
        total,
        recency,
        relevance,
        vector: known.vector,
        words: known.words,
        impact,
        path: known.path,
        relational_bonus,
        entity_anchor,
        time_match: flag(known.time_match),
        identity: flag(known.identity),
    }
}

/// V from a cosine: `1 − d/2`, where d is the **Euclidean** distance of the unit vectors, `√(2 − 2·cosine)`.
/// Orthogonal vectors get 0.293, below the minimum relevance; with the cosine distance they would get 0.5, and the
/// minimum would exclude nothing.
pub fn vector_relevance(cosine: f64) -> f64 {
    let distance = (2.0 - 2.0 * cosine.clamp(-1.0, 1.0)).max(0.0).sqrt();
    1.0 - distance / 2.0
}

/// V of a text for the best sentence of the query; 0 if the model can't read the text or any of the sentences.
pub(super) fn text_vector_relevance(query: &Query, vector: Option<&[f32]>, readability: Option<f32>) -> f64 {
    let Some(vector) = vector.filter(|_| readability.is_some_and(|share| share >= READABILITY_MIN)) else {
        return 0.0;
    };
    query.vectors().map(|sentence| vector_relevance(f64::from(cosine(sentence, vector)))).fold(0.0, f64::max)
}
