//! Finds the expectations that a new message fulfils. Nothing is written here: the turn that mentions them settles
//! them.

use std::collections::HashMap;

use jiff::Timestamp;

use super::RecallRequest;
use super::query::{Query, Sentence};
use super::word_search::find_words;
use super::words::{IndexedText, Occurrences, WordStatistics};
use crate::nodes::{Node, NodeKind};
use crate::ports::{Corpus, Store, StoreError, StoredVector};
use crate::text::{QueryTerm, ends_in_question, index_terms, query_terms};
use crate::vector_index::{READABILITY_MIN, cosine};

/// Minimum cosine at which a message fulfils an expectation, if both texts are readable. A fulfilled expectation is
/// not asked about again, so a near miss must not count.
const FULFILLED_COSINE_MIN: f32 = 0.7;
/// Minimum word relevance, in either direction, if vectors can't be used. 0.5 means that 44 % of the information of
/// one text is found in the other, each word once.
const FULFILLED_RELEVANCE_MIN: f64 = 0.5;
/// Minimum common content words in addition, because naming a thing is not yet telling about it.
const FULFILLED_WORDS_COMMON: usize = 2;
/// True if the time of an expectation or a promise has passed.
pub(super) fn is_overdue(node: &Node, now: Timestamp) -> bool {
    matches!(node.kind, NodeKind::Expectation | NodeKind::Intention)
        && node.event_time.is_some_and(|time| time.end.unwrap_or(time.start) < now)
}

/// The pending expectations that the message fulfils. A question fulfils nothing.
pub(super) async fn fulfilled_by(
    store: &dyn Store,
    request: &RecallRequest,
    query: &Query,
    pending: &[Node],
) -> Result<Vec<Node>, StoreError> {
    if pending.is_empty() || ends_in_question(&request.text) || query.sentences.is_empty() {
        return Ok(Vec::new());
    }
    let seqs: Vec<i64> = pending.iter().map(|node| node.seq).collect();
    let vectors: HashMap<i64, StoredVector> = match &query.fingerprint {
        Some(fingerprint) => {
            let stored = store.vectors_numbered(&request.scope, Corpus::Nodes, fingerprint, &seqs).await?;
            stored.into_iter().map(|stored| (stored.seq, stored)).collect()
        }
        None => HashMap::new(),
    };
    let terms = query.sentences.iter().flat_map(|sentence| &sentence.terms).map(|term| (term, 1.0));
    let statistics = find_words(store, &request.scope, Corpus::Nodes, terms, 0).await?.statistics;
    let user_text = index_terms(&request.text);
    let user_text = IndexedText::new(&user_text);
    let fulfils = |node: &&Node| match readable_vector(vectors.get(&node.seq)) {
        Some(vector) if query.vectors().next().is_some() => {
            query.vectors().any(|sentence| cosine(sentence, vector) >= FULFILLED_COSINE_MIN)
        }
        _ => is_fulfilled_in_words(&query.sentences, &statistics, &user_text, &node.description),
    };
    Ok(pending.iter().filter(fulfils).cloned().collect())
}

fn readable_vector(stored: Option<&StoredVector>) -> Option<&[f32]> {
    let stored = stored.filter(|stored| stored.readability >= READABILITY_MIN)?;
    Some(&stored.vector)
}

fn is_fulfilled_in_words(
    sentences: &[Sentence],
    statistics: &WordStatistics,
    user_text: &IndexedText<'_>,
    expected: &str,
) -> bool {
    let expected_terms = query_terms(expected);
    let expected = index_terms(expected);
    let expected = IndexedText::new(&expected);
    let forward = |sentence: &Sentence| {
        statistics.relevance(&sentence.terms, &expected) >= FULFILLED_RELEVANCE_MIN
            && shared_term_count(&sentence.terms, &expected) >= FULFILLED_WORDS_COMMON
    };
    sentences.iter().any(forward)
        || (statistics.relevance(&expected_terms, user_text) >= FULFILLED_RELEVANCE_MIN
            && shared_term_count(&expected_terms, user_text) >= FULFILLED_WORDS_COMMON)
}

fn shared_term_count(terms: &[QueryTerm], text: &IndexedText<'_>) -> usize {
    let whole = |term: &&QueryTerm| !term.guess && matches!(text.occurrences(term), Occurrences::Whole(_));
    terms.iter().filter(whole).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn was_mentioned(said: &str, expected: &str) -> bool {
        let sentences = [Sentence { terms: query_terms(said), vector: None }];
        let user_text = index_terms(said);
        is_fulfilled_in_words(&sentences, &WordStatistics::default(), &IndexedText::new(&user_text), expected)
    }

    #[test]
    fn expectations_are_quoted_verbatim() {
        for (said, expected) in [
            ("面试结果出来了,我过了!", "面试 — 她会说起面试的结果"),
            (
                "The interview went well, I got the job",
                "the interview — she tells how the interview for the job went",
            ),
        ] {
            assert!(was_mentioned(said, expected), "{said}");
        }
    }

    #[test]
    fn mentioning_a_thing_does_not_fulfil_its_expectation() {
        for (said, expected) in [
            ("面试", "面试 — 她会说起面试的结果"),
            ("明天面试好紧张,衣服还没熨,路也不熟", "面试 — 她会说起面试的结果"),
            (
                "I had an interview with my landlord about the noise upstairs",
                "the interview — she tells how the interview for the job went",
            ),
            ("今天天气真好", "面试 — 她会说起面试的结果"),
        ] {
            assert!(!was_mentioned(said, expected), "{said}");
        }
    }
}
