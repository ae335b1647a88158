//! Candidate messages, each with its neighbours.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use futures_util::try_join;

use super::message_pool::{SCORED_MESSAGES_MAX, fill_pool};
use super::message_query::MessageQuery;
use super::query::Query;
use super::signals::MessageWeights;
use super::word_search::find_words;
use super::words::WordStatistics;
use crate::ports::{Corpus, IndexedMessage, Store, StoreError};
use crate::scope::Scope;
use crate::vector_index::{LoadedVectors, READABILITY_MIN, VectorIndex};

/// Maximum messages to consider for their meaning, for each vector of the question.
const VECTOR_CANDIDATES: usize = 60;
/// Best messages whose neighbours are considered too. Each needs a read, and neighbours raise a message by a few
/// places only.
const MESSAGES_WITH_NEIGHBOURS_MAX: usize = 30;
/// Messages on each side that give a message its context. A question and its answer are seldom further apart.
pub(super) const NEIGHBOURS_PER_SIDE: usize = 3;
/// Maximum searches for similar vectors if some of the found messages turn out to be deleted. A large deletion may be
/// in progress.
const SEARCHES_MAX: usize = 3;
/// Maximum silence between two messages of one conversation, in seconds: earlier messages are no context.
const SILENCE_SECONDS_MAX: i64 = 3_600;

/// Messages by number, each with its vector if the model can read it, and pairs of neighbours.
#[derive(Debug, Default)]
pub(super) struct MessageNeighbours {
    pub(super) messages: BTreeMap<i64, IndexedMessage>,
    pub(super) vectors: HashMap<i64, Vec<f32>>,
    before: HashMap<i64, i64>,
    after: HashMap<i64, i64>,
}

impl MessageNeighbours {
    /// The number of the preceding message of the same conversation.
    pub(super) fn previous_message(&self, seq: i64) -> Option<i64> {
        self.before.get(&seq).copied()
    }

    /// The number of the following message of the same conversation.
    pub(super) fn next_message(&self, seq: i64) -> Option<i64> {
        self.after.get(&seq).copied()
    }

    /// The message and up to [`NEIGHBOURS_PER_SIDE`] others on each side.
    pub(super) fn surrounding(&self, seq: i64) -> Vec<i64> {
        let earlier = std::iter::successors(self.previous_message(seq), |&seq| self.previous_message(seq))
            .take(NEIGHBOURS_PER_SIDE);
        let later = std::iter::successors(self.next_message(seq), |&seq| self.next_message(seq))
            .take(NEIGHBOURS_PER_SIDE);
        std::iter::once(seq).chain(earlier).chain(later).collect()
    }

    /// Messages and their vectors.
    async fn load(
        &mut self,
        store: &dyn Store,
        scope: &Scope,
        query: &Query,
        seqs: &[i64],
    ) -> Result<(), StoreError> {
        if seqs.is_empty() {
            return Ok(());
        }
        let (messages, ()) =
            try_join!(store.messages_numbered(scope, seqs), self.load_vectors(store, scope, query, seqs))?;
        self.messages.extend(messages.into_iter().map(|indexed| (indexed.message.seq, indexed)));
        Ok(())
    }

    async fn load_vectors(
        &mut self,
        store: &dyn Store,
        scope: &Scope,
        query: &Query,
        seqs: &[i64],
    ) -> Result<(), StoreError> {
        let Some(fingerprint) = query.fingerprint.as_deref().filter(|_| !query.question.vectors.is_empty())
        else {
            return Ok(());
        };
        let missing: Vec<i64> = seqs.iter().copied().filter(|seq| !self.vectors.contains_key(seq)).collect();
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
        for (_, talk) in
            store.neighbours(scope, seqs, NEIGHBOURS_PER_SIDE as u32, NEIGHBOURS_PER_SIDE as u32).await?
        {
            for pair in talk.windows(2) {
                let [earlier, later] = pair else { continue };
                let silence = later.message.created_at.duration_since(earlier.message.created_at).as_secs();
                let shown = [earlier, later].iter().any(|indexed| window.contains(&indexed.message.seq));
                if silence <= SILENCE_SECONDS_MAX && !shown {
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

/// The vectors of the messages, and the first search among them; it runs while the store looks up words.
async fn search_vectors(
    store: &dyn Store,
    index: &VectorIndex,
    scope: &Scope,
    query: &Query,
) -> Result<(Option<LoadedVectors>, Vec<i64>), StoreError> {
    let question = &query.question;
    let asked = !question.vectors.is_empty() || question.whole.is_some();
    let Some(fingerprint) = query.fingerprint.as_deref().filter(|_| asked) else {
        return Ok((None, Vec::new()));
    };
    let loaded = index.load(store, scope, Corpus::Messages, fingerprint).await?;
    let near = nearest_messages(&loaded, question);
    Ok((Some(loaded), near))
}

fn nearest_messages(loaded: &LoadedVectors, question: &MessageQuery) -> Vec<i64> {
    let vectors: Vec<&[f32]> = question.vectors.iter().chain(&question.whole).map(Vec::as_slice).collect();
    loaded.nearest_to_each(&vectors, VECTOR_CANDIDATES).into_iter().flatten().collect()
}

/// Fetches the messages found by words and vectors, and the neighbours of those that `worths`, by number, ranks
/// first. The amount does not grow with the log. Messages of `window` are left out.
pub(super) async fn gather_messages(
    store: &dyn Store,
    index: &VectorIndex,
    scope: &Scope,
    query: &Query,
    window: &[i64],
    weights: &MessageWeights,
    worths: impl Fn(&MessageNeighbours, &WordStatistics) -> Vec<(f64, i64)> + Send,
) -> Result<(MessageNeighbours, WordStatistics), StoreError> {
    let question = &query.question;
    let terms = question.terms.iter().map(|(term, weight)| (term, *weight));
    let (words, (vectors, mut near)) = try_join!(
        find_words(store, scope, Corpus::Messages, terms, SCORED_MESSAGES_MAX),
        search_vectors(store, index, scope, query),
    )?;
    let pool = fill_pool(store, scope, question, &words, weights).await?;
    let window: HashSet<i64> = window.iter().copied().collect();
    let mut found = MessageNeighbours::default();
    for _ in 0..SEARCHES_MAX {
        let seqs: BTreeSet<i64> = near.iter().chain(&pool).copied().collect();
        let is_new = |seq: &i64| !window.contains(seq) && !found.messages.contains_key(seq);
        let seqs: Vec<i64> = seqs.into_iter().filter(is_new).collect();
        found.load(store, scope, query, &seqs).await?;
        let mut deleted = seqs.into_iter().filter(|seq| !found.messages.contains_key(seq)).peekable();
        let Some(loaded) = vectors.as_ref().filter(|_| deleted.peek().is_some()) else { break };
        loaded.remove(deleted);
        near = nearest_messages(loaded, question);
    }
    if found.messages.is_empty() {
        return Ok((found, words.statistics));
    }
    let mut best = worths(&found, &words.statistics);
    best.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    let best: Vec<i64> = best.into_iter().take(MESSAGES_WITH_NEIGHBOURS_MAX).map(|(_, seq)| seq).collect();
    found.load_around(store, scope, &best, &window).await?;
    let seqs: Vec<i64> = found.messages.keys().copied().collect();
    found.load_vectors(store, scope, query, &seqs).await?;
    Ok((found, words.statistics))
}
