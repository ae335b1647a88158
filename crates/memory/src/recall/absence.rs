//! Honest absence: whether anything that was found is about what was said at all.

use super::identity::IdentityQuestion;
use super::messages::RankedMessage;
use super::query::Query;
use super::receipt::Candidate;
use super::select::ScoredNode;
use super::settings::RecallSettings;

/// How well the best memory fits: the greatest relevance among nodes and messages, 0 to 1.
pub(super) fn support(nodes: &[Candidate], messages: f64) -> f64 {
    nodes.iter().filter_map(|candidate| candidate.relevance).fold(messages, f64::max)
}

/// The greatest relevance of a message that states something, by itself or with the one before it.
pub(super) fn best_message(ranked: &[RankedMessage]) -> f64 {
    ranked.iter().map(|ranked| ranked.support).fold(0.0, f64::max)
}

/// Whether nothing is about what was said. A text without content words asks for nothing in particular; a named entity or
/// time finds its memories whatever the words. Where words decide alone, the floor of relevance is the bound.
pub(super) fn nothing_found(
    query: &Query,
    support: f64,
    chosen: &[ScoredNode],
    settings: &RecallSettings,
) -> bool {
    let asks = query.sentences.iter().any(|sentence| !sentence.terms.is_empty())
        || query.identity.is_some_and(IdentityQuestion::is_definite);
    let by_meaning = !query.question.vectors.is_empty();
    let bound = if by_meaning { settings.min_support } else { settings.min_relevance };
    let named = chosen.iter().any(|node| node.score.entity_anchor > 0.0 || node.score.time_match > 0.0);
    asks && !named && support < bound
}
