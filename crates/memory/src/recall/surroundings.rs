//! The messages that are looked at, and what stands around each.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::query::Query;
use super::words::{WordStatistics, find_words};
use crate::ports::{Corpus, IndexedMessage, Store, StoreError};
use crate::scope::Scope;
use crate::vector_index::{READABILITY_MIN, VectorIndex};

/// Messages that are looked at for their words.
const WORD_CANDIDATES: usize = 60;
/// Messages that are looked at for their meaning, per vector of the question.
const VECTOR_CANDIDATES: usize = 60;
/// Best messages by themselves whose surroundings are looked at too.
const SURROUNDED: usize = 30;
/// Messages on each side that a message is understood by.
pub(super) const REACH: usize = 3;
/// Longest silence between two messages of one talk, in seconds: what was said before it is no context.
const SILENCE_MAX: i64 = 3_600;

/// Messages by number, each with its vector where the model can read it, and who stands next to whom.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    pub(super) messages: BTreeMap<i64, IndexedMessage>,
    pub(super) vectors: HashMap<i64, Vec<f32>>,
    before: HashMap<i64, i64>,
    after: HashMap<i64, i64>,
}

impl Surroundings {
    /// The number of the message right before, in the same talk.
    pub(super) fn before(&self, seq: i64) -> Option<i64> {
        self.before.get(&seq).copied()
    }

    /// The number of the message right after, in the same talk.
    pub(super) fn after(&self, seq: i64) -> Option<i64> {
        self.after.get(&seq).copied()
    }

    /// The message and up to [`REACH`] others on each side.
    pub(super) fn around(&self, seq: i64) -> Vec<i64> {
        let earlier = std::iter::successors(self.before(seq), |&seq| self.before(seq)).take(REACH);
        let later = std::iter::successors(self.after(seq), |&seq| self.after(seq)).take(REACH);
        std::iter::once(seq).chain(earlier).chain(later).collect()
    }

    async fn load_vectors(
        &mut self,
        store: &dyn Store,
        scope: &Scope,
        query: &Query,
    ) -> Result<(), StoreError> {
        let Some(fingerprint) = query.fingerprint.as_deref().filter(|_| !query.question.vectors.is_empty())
        else {
            return Ok(());
        };
        let missing: Vec<i64> =
            self.messages.keys().copied().filter(|seq| !self.vectors.contains_key(seq)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let stored = store.vectors_numbered(scope, Corpus::Messages, fingerprint, &missing).await?;
        let readable = stored.into_iter().filter(|stored| stored.readability >= READABILITY_MIN);
        self.vectors.extend(readable.map(|stored| (stored.seq, stored.vector)));
        Ok(())
    }

    async fn load_around(
        &mut self,
        store: &dyn Store,
        scope: &Scope,
        seqs: &[i64],
        window: &HashSet<i64>,
    ) -> Result<(), StoreError> {
        for (_, talk) in store.neighbours(scope, seqs, REACH as u32, REACH as u32).await? {
            for pair in talk.windows(2) {
                let [earlier, later] = pair else { continue };
                let silence = later.message.created_at.duration_since(earlier.message.created_at).as_secs();
                let shown = [earlier, later].iter().any(|indexed| window.contains(&indexed.message.seq));
                if silence <= SILENCE_MAX && !shown {
                    self.before.insert(later.message.seq, earlier.message.seq);
                    self.after.insert(earlier.message.seq, later.message.seq);
                }
            }
            for indexed in talk.into_iter().filter(|indexed| !window.contains(&indexed.message.seq)) {
                self.messages.entry(indexed.message.seq).or_insert(indexed);
            }
        }
        Ok(())
    }
}

/// Fetches the messages that words and vectors lead to, and the surroundings of those that `worth` puts first. How much
/// is fetched does not grow with the log. Nothing of `window` is among it.
pub(super) async fn gather(
    store: &dyn Store,
    index: &VectorIndex,
    scope: &Scope,
    query: &Query,
    window: &[i64],
    worth: impl Fn(&Surroundings, &WordStatistics, i64) -> f64 + Send,
) -> Result<(Surroundings, WordStatistics), StoreError> {
    let question = &query.question;
    let terms = question.terms.iter().map(|(term, _)| term);
    let words = find_words(store, scope, Corpus::Messages, terms, WORD_CANDIDATES).await?;
    let mut seqs: HashSet<i64> = words.seqs.into_iter().collect();
    if let Some(fingerprint) = &query.fingerprint {
        for vector in question.vectors.iter().chain(&question.whole) {
            let near =
                index.nearest(store, scope, Corpus::Messages, fingerprint, vector, VECTOR_CANDIDATES).await?;
            seqs.extend(near.into_iter().map(|(seq, _)| seq));
        }
    }
    let window: HashSet<i64> = window.iter().copied().collect();
    let seqs: Vec<i64> = seqs.into_iter().filter(|seq| !window.contains(seq)).collect();
    let mut found = Surroundings::default();
    if seqs.is_empty() {
        return Ok((found, words.statistics));
    }
    let messages = store.messages_numbered(scope, &seqs).await?;
    found.messages.extend(messages.into_iter().map(|indexed| (indexed.message.seq, indexed)));
    found.load_vectors(store, scope, query).await?;
    let mut best: Vec<(f64, i64)> =
        found.messages.keys().map(|&seq| (worth(&found, &words.statistics, seq), seq)).collect();
    best.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    let best: Vec<i64> = best.into_iter().take(SURROUNDED).map(|(_, seq)| seq).collect();
    found.load_around(store, scope, &best, &window).await?;
    found.load_vectors(store, scope, query).await?;
    Ok((found, words.statistics))
}
