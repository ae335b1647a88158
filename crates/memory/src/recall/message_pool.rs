//! Selects the messages to rank: those with the highest possible score, however old, and however long others are.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::message_query::MessageQuery;
use super::signals::{MessageWeights, Signal};
use super::word_search::WordHits;
use crate::ports::{MessageOutline, SpanMessages, Store, StoreError};
use crate::scope::Scope;

/// BM25's saturation of repetition; the usual value.
pub(super) const BM25_K1: f64 = 1.2;
/// Length normalisation of BM25. Messages of a conversation are short and similar in length.
pub(super) const BM25_B: f64 = 0.5;
/// Maximum messages, those with the most words of the question, whose length and time are compared. It is twelve for
/// each that is ranked: length and time move a message by far fewer places.
pub(super) const SCORED_MESSAGES_MAX: usize = 600;
/// Maximum messages from a time that the question names. They are additional, so that a common word does not exclude
/// what was said on that day.
const SCORED_MESSAGES_OF_NAMED_TIME_MAX: usize = 300;
/// Maximum messages that are ranked for their words or their time.
const POOL_SIZE: usize = 100;
/// Maximum times of one question to look up. Each is a query, and a question with more dates is a list.
const NAMED_TIMES_MAX: usize = 8;
/// Longest time span whose messages are considered even without words of the question. "What did I do last weekend?"
/// has no word of the answers. A month has too many messages to read.
const SHORT_TIME_SPAN_MAX: SignedDuration = SignedDuration::from_hours(72);
/// Maximum messages of a time span to list one by one: about as many as a person writes in three busy days. Of more,
/// only those with words of the question are considered.
const LISTED_MESSAGES_MAX: u32 = 400;

/// The messages that can rank best according to what is known before they are read: how much of the question they
/// contain, their length, and their time.
pub(super) async fn fill_pool(
    store: &dyn Store,
    scope: &Scope,
    question: &MessageQuery,
    words: &WordHits,
    weights: &MessageWeights,
) -> Result<Vec<i64>, StoreError> {
    let mut seqs: BTreeSet<i64> = words.seqs.iter().copied().collect();
    for &(start, end) in question.times.iter().take(NAMED_TIMES_MAX) {
        let is_short = end.duration_since(start) <= SHORT_TIME_SPAN_MAX;
        match store.messages_within(scope, start, end, LISTED_MESSAGES_MAX).await? {
            SpanMessages::All(all) if is_short => seqs.extend(all),
            SpanMessages::All(all) => {
                seqs.extend(all.into_iter().filter(|&seq| words.share_bound(seq) > 0.0));
            }
            SpanMessages::Between(first, last) => {
                seqs.extend(words.best_rows_between(first, last, SCORED_MESSAGES_OF_NAMED_TIME_MAX));
            }
        }
    }
    if seqs.len() <= POOL_SIZE && question.times.is_empty() {
        return Ok(words.seqs.clone());
    }
    let outlines = store.message_outlines(scope, &Vec::from_iter(seqs)).await?;
    let mean = outlines.iter().map(|outline| f64::from(outline.token_count)).sum::<f64>()
        / outlines.len().max(1) as f64;
    let named = |at: Timestamp| question.times.iter().any(|&(start, end)| start <= at && at <= end);
    let bound = |outline: &MessageOutline| {
        let held = words.share_bound(outline.seq);
        let long = 1.0 - BM25_B + BM25_B * f64::from(outline.token_count) / mean.max(1.0);
        let said = held * (BM25_K1 + 1.0) / (1.0 + BM25_K1 * long);
        let time = if named(outline.created_at) { weights[Signal::Time] } else { 0.0 };
        weights[Signal::Words] * said + weights[Signal::TopicWords] * held + time
    };
    let mut best: Vec<(f64, i64)> = outlines.iter().map(|outline| (bound(outline), outline.seq)).collect();
    best.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    best.truncate(POOL_SIZE);
    Ok(best.into_iter().map(|(_, seq)| seq).collect())
}
