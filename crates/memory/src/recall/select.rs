//! Which of the scored nodes go into the prompt, and why the others do not.

use std::cmp::Ordering;

use super::candidates::NodeCandidate;
use super::receipt::{Candidate, CandidateKind};
use super::score::Score;
use super::settings::RecallSettings;
use super::words::IndexedText;
use crate::nodes::Node;
use crate::text::{estimate_tokens, fold};
use crate::vector_index::{READABILITY_MIN, cosine};

/// Cosine above which two texts of the same words are one.
const DUPLICATE_COSINE: f32 = 0.97;

/// A node with its score.
#[derive(Clone, Debug)]
pub(super) struct Scored {
    pub(super) candidate: NodeCandidate,
    pub(super) score: Score,
}

/// A node that was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredNode {
    /// The node.
    pub node: Node,
    /// What it was chosen by.
    pub score: Score,
}

/// The best `k` that enter, thinned of near-duplicates and cut to the token budget, best first; and every node that was
/// looked at, best first, with the reason of its fate.
pub(super) fn select(
    mut scored: Vec<Scored>,
    settings: &RecallSettings,
) -> (Vec<ScoredNode>, Vec<Candidate>) {
    scored.sort_by(rank);
    let mut chosen: Vec<&Scored> = Vec::new();
    let mut candidates = Vec::with_capacity(scored.len());
    let mut tokens_left = settings.node_tokens;
    for scored in &scored {
        let node = &scored.candidate.indexed.node;
        let tokens = estimate_tokens(&node.description);
        let refusal = if !scored.score.enters(settings.min_relevance) {
            Some(format!("relevance {:.2} is below {}", scored.score.relevance, settings.min_relevance))
        } else if chosen.len() >= settings.k {
            Some(format!("{} better ones were found", settings.k))
        } else if chosen.iter().any(|better| near_duplicates(&better.candidate, &scored.candidate)) {
            Some("says the same as a better one".to_owned())
        } else if tokens > tokens_left {
            Some("no room in the token budget".to_owned())
        } else {
            None
        };
        candidates.push(receipt(scored, refusal.as_deref()));
        if refusal.is_none() {
            tokens_left -= tokens;
            chosen.push(scored);
        }
    }
    let nodes = chosen
        .into_iter()
        .map(|scored| ScoredNode { node: scored.candidate.indexed.node.clone(), score: scored.score })
        .collect();
    (nodes, candidates)
}

/// Greater totals first; ties by |impact|, then the newer, then the text, never by the order of insertion.
fn rank(a: &Scored, b: &Scored) -> Ordering {
    let (first, second) = (&a.candidate.indexed.node, &b.candidate.indexed.node);
    b.score
        .total
        .total_cmp(&a.score.total)
        .then_with(|| second.emotional_impact.unsigned_abs().cmp(&first.emotional_impact.unsigned_abs()))
        .then_with(|| second.created_at.cmp(&first.created_at))
        .then_with(|| first.description.cmp(&second.description))
}

/// The same text after folding, or the same words with nearly the same vector, both readable.
fn near_duplicates(a: &NodeCandidate, b: &NodeCandidate) -> bool {
    let texts = [a, b].map(|candidate| &candidate.indexed.node.description);
    if texts[0] == texts[1] || fold(texts[0]) == fold(texts[1]) {
        return true;
    }
    let readable = [a, b].iter().all(|c| c.indexed.readability.is_some_and(|share| share >= READABILITY_MIN));
    let close = match (&a.vector, &b.vector) {
        (Some(a), Some(b)) => cosine(a, b) > DUPLICATE_COSINE,
        _ => false,
    };
    readable && close && IndexedText::new(&a.indexed.terms).same_terms(&IndexedText::new(&b.indexed.terms))
}

fn receipt(scored: &Scored, refusal: Option<&str>) -> Candidate {
    let Scored { candidate, score } = scored;
    let node = &candidate.indexed.node;
    Candidate {
        id: node.id.0,
        kind: CandidateKind::Node,
        type_name: node.kind.as_str().to_owned(),
        text: node.description.clone(),
        created_at: node.created_at,
        total: score.total,
        recency: Some(score.recency),
        relevance: Some(score.relevance),
        vector_relevance: Some(score.vector),
        word_relevance: Some(score.words),
        readable: candidate.indexed.readability.map(f64::from),
        impact: Some(score.impact),
        emotional_impact: Some(node.emotional_impact),
        relational_bonus: Some(score.relational_bonus),
        entity_anchor: Some(score.entity_anchor),
        parts: None,
        used: refusal.is_none(),
        reason: refusal.map_or_else(|| used_reason(score), str::to_owned),
    }
}

/// What let a chosen node in.
fn used_reason(score: &Score) -> String {
    let grounds = [
        (score.words > 0.0 && score.words >= score.vector, "shares its words"),
        (score.vector > score.words, "is near in meaning"),
        (score.entity_anchor > 0.0, "is about somebody named"),
        (score.time_match > 0.0, "happened at the named time"),
        (score.path > 0.0, "rests on the same evidence"),
    ];
    let grounds: Vec<&str> =
        grounds.into_iter().filter(|(holds, _)| *holds).map(|(_, ground)| ground).collect();
    grounds.join(", ")
}
