//! Selects the scored nodes for the prompt, with reasons for those that are not.

use std::cmp::Ordering;

use super::node_candidate::NodeCandidate;
use super::receipt::{Candidate, CandidateKind};
use super::score::Score;
use super::settings::RecallSettings;
use super::words::IndexedText;
use crate::nodes::Node;
use crate::text::estimate_tokens;
use crate::vector_index::{READABILITY_MIN, cosine};

/// Minimum cosine of two texts with the same words that count as duplicates. A negated sentence can be as similar, so
/// the words must match too.
const DUPLICATE_COSINE: f32 = 0.97;

/// A node with its score.
#[derive(Clone, Debug)]
pub(super) struct ScoredEntry {
    /// Boxed, because many entries are sorted.
    pub(super) candidate: Box<NodeCandidate>,
    pub(super) score: Score,
}

/// A node selected for the prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredNode {
    pub node: Node,
    pub score: Score,
}

/// Nodes just below the selected ones that are scored exactly together with them, because they often move up.
const NODES_SCORED_AHEAD: usize = 10;

/// Why a node was not selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodeRefusal {
    BelowFloor,
    BetterFound,
    SaysTheSame,
    NoRoom,
}

impl NodeRefusal {
    fn describe_refusal(self, score: &Score, settings: &RecallSettings) -> String {
        match self {
            Self::BelowFloor => {
                format!("relevance {:.2} is below {}", score.relevance, settings.min_relevance)
            }
            Self::BetterFound => format!("{} better ones were found", settings.k),
            Self::SaysTheSame => "repeats a better one".to_owned(),
            Self::NoRoom => "exceeds the token budget".to_owned(),
        }
    }
}

/// The best `k` nodes that may enter, without near-duplicates and within the token limit, best first; and every
/// considered node, best first, with the reason why it was used or not.
pub(super) fn select(
    mut scored: Vec<ScoredEntry>,
    settings: &RecallSettings,
) -> (Vec<ScoredNode>, Vec<Candidate>) {
    scored.sort_by(|a, b| compare_ranks((&a.candidate, &a.score), (&b.candidate, &b.score)));
    let fates = choose_nodes(scored.iter().map(|scored| (&*scored.candidate, &scored.score)), settings);
    let mut nodes = Vec::new();
    let mut candidates = Vec::with_capacity(scored.len());
    for (scored, fate) in scored.into_iter().zip(fates) {
        candidates
            .push(receipt_of(&scored, fate.map(|refusal| refusal.describe_refusal(&scored.score, settings))));
        if fate.is_none() {
            nodes.push(ScoredNode { node: scored.candidate.indexed.node, score: scored.score });
        }
    }
    (nodes, candidates)
}

/// Numbers of the nodes whose exact vectors [`select`] needs; empty if it needs none. The given scores are the
/// highest possible ones: once all nodes that `select` reaches are exact, no other node can be better.
pub(super) fn undecided_nodes(
    mut at_most: Vec<(&NodeCandidate, Score)>,
    settings: &RecallSettings,
) -> Vec<i64> {
    at_most.retain(|(_, score)| score.may_enter(settings.min_relevance));
    at_most.sort_by(|a, b| compare_ranks((a.0, &a.1), (b.0, &b.1)));
    let fates = choose_nodes(at_most.iter().map(|(candidate, score)| (*candidate, score)), settings);
    let looked_at = fates.iter().take_while(|fate| **fate != Some(NodeRefusal::BetterFound)).count();
    if at_most[..looked_at].iter().all(|(candidate, _)| candidate.is_exact()) {
        return Vec::new();
    }
    let inexact =
        at_most.iter().take(looked_at + NODES_SCORED_AHEAD).filter(|(candidate, _)| !candidate.is_exact());
    inexact.map(|(candidate, _)| candidate.indexed.node.seq).collect()
}

/// For each node, best first, the reason why it is not selected; `None` if it is.
fn choose_nodes<'a>(
    ranked: impl Iterator<Item = (&'a NodeCandidate, &'a Score)>,
    settings: &RecallSettings,
) -> Vec<Option<NodeRefusal>> {
    let mut chosen: Vec<&NodeCandidate> = Vec::new();
    let mut tokens_left = settings.node_tokens;
    let fate = |(candidate, score): (&'a NodeCandidate, &'a Score)| {
        if !score.may_enter(settings.min_relevance) {
            return Some(NodeRefusal::BelowFloor);
        }
        if chosen.len() >= settings.k {
            return Some(NodeRefusal::BetterFound);
        }
        if chosen.iter().any(|better| near_duplicates(better, candidate)) {
            return Some(NodeRefusal::SaysTheSame);
        }
        let tokens = estimate_tokens(&candidate.indexed.node.description);
        if tokens > tokens_left {
            return Some(NodeRefusal::NoRoom);
        }
        tokens_left -= tokens;
        chosen.push(candidate);
        None
    };
    ranked.map(fate).collect()
}

/// Higher totals first; equal ones by |impact|, then the newer, then the text, never by the order of insertion.
fn compare_ranks(a: (&NodeCandidate, &Score), b: (&NodeCandidate, &Score)) -> Ordering {
    let (first, second) = (&a.0.indexed.node, &b.0.indexed.node);
    b.1.total
        .total_cmp(&a.1.total)
        .then_with(|| second.emotional_impact.unsigned_abs().cmp(&first.emotional_impact.unsigned_abs()))
        .then_with(|| second.created_at.cmp(&first.created_at))
        .then_with(|| first.description.cmp(&second.description))
}

/// True for the same text after folding, or the same words with nearly the same vector, both readable.
fn near_duplicates(a: &NodeCandidate, b: &NodeCandidate) -> bool {
    // Texts that are equal when folded have the same terms, which are available.
    let (first, second) = (&a.indexed, &b.indexed);
    let same_terms = first.terms == second.terms || first.node.description == second.node.description;
    if same_terms && a.folded_text() == b.folded_text() {
        return true;
    }
    let readable = [a, b].iter().all(|c| c.indexed.readability.is_some_and(|share| share >= READABILITY_MIN));
    let close = match (&a.vector, &b.vector) {
        (Some(a), Some(b)) => cosine(a, b) > DUPLICATE_COSINE,
        _ => false,
    };
    readable
        && close
        && IndexedText::new(&a.indexed.terms).has_same_terms(&IndexedText::new(&b.indexed.terms))
}

fn receipt_of(scored: &ScoredEntry, refusal: Option<String>) -> Candidate {
    let ScoredEntry { candidate, score } = scored;
    let node = &candidate.indexed.node;
    Candidate {
        id: node.id.0,
        kind: CandidateKind::Node,
        type_name: node.kind.as_str().to_owned(),
        speaker: None,
        text: node.description.clone(),
        created_at: node.created_at,
        said_at: None,
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
        reason: refusal.unwrap_or_else(|| used_reason(score)),
        no_longer_current: None,
        denied: None,
    }
}

/// The reason for using a node, for the receipt.
fn used_reason(score: &Score) -> String {
    let grounds = [
        (score.words > 0.0 && score.words >= score.vector, "has the same words"),
        (score.vector > score.words, "has a similar meaning"),
        (score.entity_anchor > 0.0, "is about a name in the text"),
        (score.time_match > 0.0, "happened at a time in the text"),
        (score.path > 0.0, "has the same evidence as another one"),
    ];
    let grounds: Vec<&str> =
        grounds.into_iter().filter(|(holds, _)| *holds).map(|(_, ground)| ground).collect();
    grounds.join(", ")
}
