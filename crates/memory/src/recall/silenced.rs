//! Words that a person wants not to be brought up again: no passage shows them, and they answer no question.

use super::RankedMessage;
use crate::forget::{ForgottenSpan, without_forgotten};
use crate::messages::Message;
use crate::ports::{Store, StoreError};
use crate::scope::Scope;
use crate::text::content_terms;

/// The ranked messages without these silenced words. One whose other words say nothing of what is asked is left out.
pub(super) fn without_silenced(
    ranked: Vec<RankedMessage>,
    silenced: &[ForgottenSpan],
    asked: &str,
) -> Vec<RankedMessage> {
    let left = without_forgotten(ranked.iter().map(|ranked| ranked.message.clone()).collect(), silenced);
    let asked = content_terms(asked);
    let answers = |message: &Message| !content_terms(&message.content).is_disjoint(&asked);
    let each = ranked.into_iter().zip(left).filter_map(|(ranked, message)| {
        let is_whole = ranked.message.content == message.content;
        (is_whole || answers(&message)).then_some(RankedMessage { message, ..ranked })
    });
    each.collect()
}

/// The same messages with an ellipsis in place of their silenced words.
///
/// # Errors
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
