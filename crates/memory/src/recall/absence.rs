//! Honest absence: decides if any result is about the query at all.

use super::identity::IdentityQuestion;
use super::messages::RankedMessage;
use super::query::Query;
use super::receipt::Candidate;
use super::select::ScoredNode;
use super::settings::RecallSettings;
use super::signals::Signal;

/// Signal `words` of the best message below which a search by words alone has found nothing, whatever its relevance.
/// The floor of relevance alone recognises 2 in 100 questions about another life in half a year of conversations with
/// an assistant, both together 34 (docs/evaluation.md).
pub const MESSAGE_SUPPORT_MIN: f64 = 0.24;

/// Best match among messages that state something, alone or with the message before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MessageFit {
    /// The highest relevance, 0 to 1.
    pub support: f64,
    /// The highest signal `words`, 0 to about 2. Unlike relevance it takes a message's length into account, so that
    /// among ten thousand long messages, the few words that some share with any question do not look like an answer.
    pub said: f64,
}

impl MessageFit {
    /// The fit of ranked messages; 0 without any.
    pub fn new(ranked: &[RankedMessage]) -> Self {
        let stating = || ranked.iter().filter(|ranked| ranked.support > 0.0);
        Self {
            support: stating().map(|ranked| ranked.support).fold(0.0, f64::max),
            said: stating().map(|ranked| ranked.signals[Signal::Words]).fold(0.0, f64::max),
        }
    }
}

/// The highest relevance among nodes, 0 to 1.
pub(super) fn node_support(nodes: &[Candidate]) -> f64 {
    nodes.iter().filter_map(|candidate| candidate.relevance).fold(0.0, f64::max)
}

/// True if no memory is about the message. A text without content words asks for nothing in particular; a named
/// entity or time finds its memories by itself.
pub(super) fn nothing_found(
    query: &Query,
    nodes: f64,
    messages: MessageFit,
    chosen: &[ScoredNode],
    settings: &RecallSettings,
) -> bool {
    let asks = query.sentences.iter().any(|sentence| !sentence.terms.is_empty())
        || query.identity.is_some_and(IdentityQuestion::is_definite);
    let named = chosen.iter().any(|node| node.score.entity_anchor > 0.0 || node.score.time_match > 0.0);
    let by_meaning = !query.question.vectors.is_empty();
    let found = if by_meaning {
        nodes.max(messages.support) >= settings.min_support + query.support_shift
    } else {
        nodes >= settings.min_relevance
            || (messages.said >= MESSAGE_SUPPORT_MIN && messages.support >= settings.min_relevance)
    };
    asks && !named && !found
}
