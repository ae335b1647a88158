//! Silenced text: no passage shows it, and it answers no question.

use super::messages::{RankedMessage, Surroundings};
use crate::forget::{ForgottenSpan, without_forgotten};
use crate::messages::Message;
use crate::ports::{Store, StoreError};
use crate::scope::Scope;
use crate::text::content_terms;

/// The ranked messages without silenced text. A message is left out if only silenced text answers the question: its
/// own, or that of the message before it, which counts for its rank.
pub(super) fn without_silenced(
    ranked: Vec<RankedMessage>,
    around: &Surroundings,
    silenced: &[ForgottenSpan],
    asked: &str,
    min_relevance: f64,
) -> Vec<RankedMessage> {
    let left = without_forgotten(ranked.iter().map(|ranked| ranked.message.clone()).collect(), silenced);
    let asked = content_terms(asked);
    let answers = |message: &Message| !content_terms(&message.content).is_disjoint(&asked);
    let answers_by_silenced_words = |message: &Message| {
        silenced.iter().any(|span| span.message_id == message.id)
            && !without_forgotten(vec![message.clone()], silenced).iter().any(answers)
    };
    let each = ranked.into_iter().zip(left).filter_map(|(ranked, message)| {
        let neighbours = around.get(&message.seq).into_iter().flatten();
        let before = neighbours.take_while(|neighbour| neighbour.seq < message.seq).last();
        let is_own = ranked.vector >= min_relevance || !before.is_some_and(answers_by_silenced_words);
        let is_whole = ranked.message.content == message.content;
        (answers(&message) || (is_whole && is_own)).then_some(RankedMessage { message, ..ranked })
    });
    each.collect()
}

/// The same messages with an ellipsis in place of silenced text.
///
/// # Errors
///
/// When storage fails.
pub async fn mask_silenced(
    store: &dyn Store,
    scope: &Scope,
    messages: Vec<Message>,
) -> Result<Vec<Message>, StoreError> {
    let seqs: Vec<i64> = messages.iter().map(|message| message.seq).collect();
    let spans = store.silenced_spans(scope, &seqs).await?;
    Ok(without_forgotten(messages, &spans))
}
