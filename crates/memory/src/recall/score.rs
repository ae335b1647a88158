//! The formula that ranks nodes (seed: emotion and scoring algorithms, algorithm A; entity anchor: the newer seed).
//!
//! `total = 0.5·recency + 3.0·relevance + 2.0·|impact|/10 + 1.0·relational_bonus + 1.5·entity_anchor`
//!
//! Everything here is pure: what was fetched goes in, numbers come out.

use jiff::Timestamp;

use super::graph::decay_with_age;
use super::query::Query;
use super::settings::RecallSettings;
use crate::nodes::{IMPACT_MAX, Node};
use crate::vector_index::{READABILITY_MIN, cosine};

/// Bonus of a node that carries any relational tag, and weight of its evidence path.
const RELATIONAL_WEIGHT: f64 = 0.5;
/// Strength of an evidence path from which a node may enter below the floor of relevance.
pub const PATH_STRENGTH_WITHOUT_RELEVANCE: f64 = 0.5;
/// W that a node needs beside such a path; texts that share only function words stay below. There is no such bound for V:
/// 95 of 100 unrelated texts reach 0.406 (questions of one LoCoMo conversation, turns of another), which is above the
/// floor already.
const PATH_WORDS_MIN: f64 = 0.2;

/// The terms of a node's score; all but `total` are from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    pub total: f64,
    /// `2^(−days/14)` since the node was written; access never refreshes it.
    pub recency: f64,
    /// The larger of `vector` and `words`.
    pub relevance: f64,
    pub vector: f64,
    pub words: f64,
    pub impact: f64,
    /// g, the strength of the strongest evidence path to another node that the query hits.
    pub path: f64,
    /// `0.5·[any relational tag] + 0.5·g`.
    pub relational_bonus: f64,
    /// 1 if the node is linked to an entity that the text names.
    pub entity_anchor: f64,
    /// 1 if its event time meets a time that the text names.
    pub time_match: f64,
    /// 1 if the text asks who the user is and the memory answers a part of it.
    pub identity: f64,
}

impl Score {
    /// True if the node may enter: relevant by itself, or by an entity, a fresh evidence path, a named time, or as one of
    /// those that say who the user is where that is asked. A path brings no node that is unrelated to the text, however
    /// much feeling is in it: the node must share words with the text.
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
    /// True if its event time meets a named time.
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

/// V from a cosine: `1 − d/2`, d the **Euclidean** distance of the unit vectors, `√(2 − 2·cosine)`. Orthogonal is
/// 0.293, below the floor; with the cosine distance it would be 0.5, and the floor would drop nothing.
pub fn vector_relevance(cosine: f64) -> f64 {
    let distance = (2.0 - 2.0 * cosine.clamp(-1.0, 1.0)).max(0.0).sqrt();
    1.0 - distance / 2.0
}

/// V of a text: its best sentence; 0 where the text, or every sentence of the query, can't be read by the model.
pub(super) fn text_vector_relevance(query: &Query, vector: Option<&[f32]>, readability: Option<f32>) -> f64 {
    let Some(vector) = vector.filter(|_| readability.is_some_and(|share| share >= READABILITY_MIN)) else {
        return 0.0;
    };
    query.vectors().map(|sentence| vector_relevance(f64::from(cosine(sentence, vector)))).fold(0.0, f64::max)
}
