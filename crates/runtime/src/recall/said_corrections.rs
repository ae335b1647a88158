//! Corrections in the open conversation. They apply at once, until consolidation has made memories of them.

use std::collections::HashMap;

use jiff::Timestamp;
use memory::Scope;
use memory::messages::Message;
use memory::ports::StoreError;
use memory::recall::{is_fresh_correction, mask_silenced};
use parking_lot::Mutex;

use crate::recall::Recall;

/// Maximum corrections to remember for one scope. Older ones have become memories, because their sessions have ended.
const CORRECTIONS_MAX: usize = 10;
/// Messages to search for corrections when a scope is first used. A session ends after that many messages.
const MESSAGES_SEARCHED_AT_FIRST: u32 = 200;
/// Maximum scopes to remember; beyond that all are searched again.
const SCOPES_MAX: usize = 10_000;

/// Numbers of the latest messages that correct something, by scope. Their text is only in the store, so that erased
/// text is never used.
#[derive(Default)]
pub(crate) struct CorrectingMessages(Mutex<HashMap<Scope, Vec<i64>>>);

impl CorrectingMessages {
    fn for_scope(&self, scope: &Scope) -> Option<Vec<i64>> {
        self.0.lock().get(scope).cloned()
    }

    fn replace_scope(&self, scope: &Scope, seqs: Vec<i64>) {
        let mut all = self.0.lock();
        if all.len() >= SCOPES_MAX {
            all.clear();
        }
        all.insert(scope.clone(), seqs);
    }
}

impl Recall {
    /// The messages, preceded by earlier ones with recent corrections of the user, the oldest first. Remembers those
    /// with corrections.
    pub(crate) async fn with_corrections(
        &self,
        scope: &Scope,
        shown: Vec<Message>,
        now: Timestamp,
    ) -> Result<Vec<Message>, StoreError> {
        // A caller may ask for another time, but what is remembered depends on the present.
        let present = self.core.clock().now();
        let in_these = |messages: &[Message]| -> Vec<i64> {
            let corrections = messages.iter().filter(|message| is_fresh_correction(message, present));
            corrections.map(|message| message.seq).collect()
        };
        let known = match self.said_corrections.for_scope(scope) {
            Some(known) => known,
            None => {
                in_these(&self.core.store().messages_before(scope, None, MESSAGES_SEARCHED_AT_FIRST).await?)
            }
        };
        let mut seqs: Vec<i64> = known.iter().copied().chain(in_these(&shown)).collect();
        seqs.sort_unstable();
        seqs.dedup();
        let mut said = Vec::new();
        let earlier: Vec<i64> =
            seqs.iter().copied().filter(|seq| !shown.iter().any(|message| message.seq == *seq)).collect();
        if !earlier.is_empty() {
            let found = self.core.store().messages_numbered(scope, &earlier).await?;
            let found = found.into_iter().map(|found| found.message).collect();
            said.extend(mask_silenced(self.core.store(), scope, found).await?);
            let is_kept = |seq: &i64| {
                said.iter().any(|message| message.seq == *seq && is_fresh_correction(message, present))
            };
            seqs.retain(|seq| !earlier.contains(seq) || is_kept(seq));
            said.retain(|message| is_fresh_correction(message, now));
            said.sort_by_key(|message| message.seq);
        }
        let surplus = seqs.len().saturating_sub(CORRECTIONS_MAX);
        seqs.drain(..surplus);
        if seqs != known || known.is_empty() {
            self.said_corrections.replace_scope(scope, seqs);
        }
        said.extend(shown);
        Ok(said)
    }
}
