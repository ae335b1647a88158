//! The ranking of verbatim messages. What it measures on public conversations is published, so it stands in one file
//! with its weights as data ([`MessageWeights`]).
//!
//! `total = Σ weight · z(signal)` over the messages looked at, signals being the cosine, BM25 of the message, BM25 of
//! the message before it, and the share of the query that its session covers; a question of the log has a constant
//! taken off.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::query::Query;
use super::score::{text_vector_relevance, text_word_relevance};
use super::settings::{MessageWeights, RecallSettings, SpeakerNames};
use super::words::{IndexedText, Occurrences, WordStatistics, find_words};
use crate::identifiers::SessionId;
use crate::messages::{Message, Role};
use crate::ports::{Corpus, IndexedMessage, Phrase, Store, StoreError};
use crate::scope::Scope;
use crate::text::{QueryTerm, index_terms};
use crate::vector_index::{VectorIndex, cosine};

/// Messages that are looked at for their words.
const WORD_CANDIDATES: usize = 100;
/// Messages that are looked at for their meaning, per sentence.
const VECTOR_CANDIDATES: usize = 60;
/// Best messages by words and meaning whose neighbours are looked at too.
const NEIGHBOURHOODS: usize = 30;
/// Saturation of repetition, as customary.
const BM25_K1: f64 = 1.2;
/// How much a long message is held back. Messages of a talk are short and of one kind.
const BM25_B: f64 = 0.5;
/// What a part of a long word counts of an occurrence of the whole.
const PART_CREDIT: f64 = 0.5;

/// Stands between texts that are read as one, so that no phrase is found across their border.
const BORDER: &str = " | ";

/// A message with its place in the ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedMessage {
    /// The message.
    pub message: Message,
    /// The sum it is ranked by; comparable within one ranking only.
    pub total: f64,
    /// What each signal added to `total`.
    pub parts: BTreeMap<String, f64>,
    /// V of the message.
    pub vector: f64,
    /// W of the message together with the one before it, which often holds the question that it answers.
    pub words: f64,
    /// Readability of its text; none without a vector.
    pub readability: Option<f32>,
}

/// A message that is looked at.
struct Looked {
    indexed: IndexedMessage,
    previous_terms: Option<String>,
    cosine: Option<f64>,
    vector: f64,
}

/// Ranks the messages of a scope by a query, best first, ties by the newer, at most `limit`. Messages of `window` are
/// left out, also as neighbours.
pub async fn rank_messages(
    store: &dyn Store,
    index: &VectorIndex,
    scope: &Scope,
    query: &Query,
    window: &[i64],
    settings: &RecallSettings,
    limit: usize,
) -> Result<Vec<RankedMessage>, StoreError> {
    let mut words = find_words(store, scope, Corpus::Messages, query, WORD_CANDIDATES).await?;
    let speakers = Speakers::new(&settings.speaker_names);
    speakers.count_in(&mut words.statistics);
    let mut seqs: BTreeSet<i64> = words.seqs.iter().copied().collect();
    if let Some(fingerprint) = &query.fingerprint {
        for vector in query.vectors() {
            let near =
                index.nearest(store, scope, Corpus::Messages, fingerprint, vector, VECTOR_CANDIDATES).await?;
            seqs.extend(near.into_iter().map(|(seq, _)| seq));
        }
    }
    let window: HashSet<i64> = window.iter().copied().collect();
    let seqs: Vec<i64> = seqs.into_iter().filter(|seq| !window.contains(seq)).collect();
    if seqs.is_empty() {
        return Ok(Vec::new());
    }
    let mut loaded: HashMap<i64, IndexedMessage> = HashMap::new();
    let messages = store.messages_numbered(scope, &seqs).await?;
    loaded.extend(messages.into_iter().map(|indexed| (indexed.message.seq, speakers.named(indexed))));
    let previous = add_neighbours(store, scope, &words.statistics, query, &speakers, &mut loaded).await?;
    loaded.retain(|seq, _| !window.contains(seq));
    let looked = look_at(store, scope, query, loaded, &previous).await?;
    let mut ranked = rank(&looked, query, &words.statistics, &settings.message_weights);
    ranked.truncate(limit);
    Ok(ranked)
}

/// Loads the neighbours of the messages with the best words; gives the terms of the message before each.
async fn add_neighbours(
    store: &dyn Store,
    scope: &Scope,
    statistics: &WordStatistics,
    query: &Query,
    speakers: &Speakers,
    loaded: &mut HashMap<i64, IndexedMessage>,
) -> Result<HashMap<i64, String>, StoreError> {
    let terms = distinct_terms(query, statistics);
    let length = mean_length(loaded.values());
    let mut best: Vec<(f64, i64)> = loaded
        .values()
        .map(|indexed| (bm25(&terms, statistics, &indexed.terms, length), indexed.message.seq))
        .collect();
    best.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    let best: Vec<i64> = best.into_iter().take(NEIGHBOURHOODS).map(|(_, seq)| seq).collect();
    let mut previous = HashMap::new();
    for (_, neighbourhood) in store.neighbours(scope, &best, 1, 1).await? {
        let neighbourhood: Vec<IndexedMessage> =
            neighbourhood.into_iter().map(|indexed| speakers.named(indexed)).collect();
        for pair in neighbourhood.windows(2) {
            previous.insert(pair[1].message.seq, pair[0].terms.clone());
        }
        for indexed in neighbourhood {
            loaded.entry(indexed.message.seq).or_insert(indexed);
        }
    }
    Ok(previous)
}

/// The index terms of the speakers' names.
struct Speakers {
    user: Vec<String>,
    persona: Vec<String>,
}

impl Speakers {
    fn new(names: &SpeakerNames) -> Self {
        let terms = |names: &[String]| names.iter().map(|name| index_terms(name)).collect();
        Self { user: terms(&names.user), persona: terms(&names.persona) }
    }

    /// A speaker's name stands, so to say, in half of all messages, which makes it a common word.
    fn count_in(&self, statistics: &mut WordStatistics) {
        let half = statistics.documents / 2;
        for name in self.user.iter().chain(&self.persona) {
            let phrase = Phrase(name.split(' ').map(str::to_owned).collect());
            if let Some(frequency) = statistics.frequencies.get_mut(&phrase) {
                *frequency = half.max(*frequency);
            }
        }
    }

    /// The message with its speaker's names among its terms.
    fn named(&self, mut indexed: IndexedMessage) -> IndexedMessage {
        let names = match indexed.message.role {
            Role::User => &self.user,
            Role::Persona => &self.persona,
        };
        for name in names {
            indexed.terms.push_str(BORDER);
            indexed.terms.push_str(name);
        }
        indexed
    }
}

async fn look_at(
    store: &dyn Store,
    scope: &Scope,
    query: &Query,
    loaded: HashMap<i64, IndexedMessage>,
    previous: &HashMap<i64, String>,
) -> Result<Vec<Looked>, StoreError> {
    let mut vectors: HashMap<i64, Vec<f32>> = HashMap::new();
    if let Some(fingerprint) = query.fingerprint.as_deref().filter(|_| query.vectors().next().is_some()) {
        let seqs: Vec<i64> = loaded.keys().copied().collect();
        let stored = store.vectors_numbered(scope, Corpus::Messages, fingerprint, &seqs).await?;
        vectors.extend(stored.into_iter().map(|stored| (stored.seq, stored.vector)));
    }
    let mut looked: Vec<Looked> = loaded
        .into_values()
        .map(|indexed| {
            let vector = vectors.get(&indexed.message.seq).map(Vec::as_slice);
            let relevance = text_vector_relevance(query, vector, indexed.readability);
            let cosine = vector.filter(|_| relevance > 0.0).map(|vector| best_cosine(query, vector));
            let previous_terms = previous.get(&indexed.message.seq).cloned();
            Looked { indexed, previous_terms, cosine, vector: relevance }
        })
        .collect();
    // Sums of floating-point numbers depend on their order.
    looked.sort_unstable_by_key(|looked| looked.indexed.message.seq);
    Ok(looked)
}

fn rank(
    looked: &[Looked],
    query: &Query,
    statistics: &WordStatistics,
    weights: &MessageWeights,
) -> Vec<RankedMessage> {
    let terms = distinct_terms(query, statistics);
    let length = mean_length(looked.iter().map(|looked| &looked.indexed));
    let score = |text: &str| bm25(&terms, statistics, text, length);
    let coverage = session_coverage(looked, &terms, statistics);
    let signals = [
        ("cosine", weights.cosine, z_scores(looked.iter().map(|l| l.cosine))),
        ("words", weights.words, z_scores(looked.iter().map(|l| Some(score(&l.indexed.terms))))),
        (
            "previous_words",
            weights.previous_words,
            z_scores(looked.iter().map(|l| Some(l.previous_terms.as_deref().map_or(0.0, score)))),
        ),
        (
            "session_words",
            weights.session_words,
            z_scores(looked.iter().map(|l| coverage.get(&l.indexed.message.session_id).copied())),
        ),
    ];
    let mut ranked: Vec<RankedMessage> = looked
        .iter()
        .enumerate()
        .map(|(at, looked)| {
            let mut parts: BTreeMap<String, f64> = signals
                .iter()
                .map(|(name, weight, scores)| ((*name).to_owned(), weight * scores[at]))
                .collect();
            if is_question(&looked.indexed.message.content) {
                parts.insert("question".to_owned(), weights.question);
            }
            let context =
                [looked.previous_terms.as_deref().unwrap_or_default(), &looked.indexed.terms].join(BORDER);
            RankedMessage {
                message: looked.indexed.message.clone(),
                total: parts.values().sum(),
                parts,
                vector: looked.vector,
                words: text_word_relevance(query, statistics, &IndexedText::new(&context)),
                readability: looked.indexed.readability,
            }
        })
        .collect();
    ranked.sort_by(|a, b| {
        b.total
            .total_cmp(&a.total)
            .then_with(|| b.message.created_at.cmp(&a.message.created_at))
            .then_with(|| b.message.seq.cmp(&a.message.seq))
    });
    ranked
}

fn best_cosine(query: &Query, vector: &[f32]) -> f64 {
    query.vectors().map(|sentence| f64::from(cosine(sentence, vector))).fold(f64::NEG_INFINITY, f64::max)
}

/// The query's terms, each once, whatever the sentence.
fn distinct_terms<'a>(query: &'a Query, statistics: &WordStatistics) -> Vec<&'a QueryTerm> {
    let mut known = HashSet::new();
    let terms = query.sentences.iter().flat_map(|sentence| &sentence.terms);
    terms.filter(|term| statistics.counts(term) && known.insert(&term.phrase)).collect()
}

fn mean_length<'a>(messages: impl Iterator<Item = &'a IndexedMessage>) -> f64 {
    let (sum, count) = messages
        .fold((0usize, 0usize), |(sum, count), indexed| (sum + indexed.terms.split(' ').count(), count + 1));
    (sum as f64 / count.max(1) as f64).max(1.0)
}

fn bm25(terms: &[&QueryTerm], statistics: &WordStatistics, text: &str, mean_length: f64) -> f64 {
    let text = IndexedText::new(text);
    let long = 1.0 - BM25_B + BM25_B * text.len() as f64 / mean_length;
    let of_term = |term: &&QueryTerm| {
        let frequency = match text.occurrences(term) {
            Occurrences::Whole(count) => count as f64,
            Occurrences::Part(count) => PART_CREDIT * count as f64,
            Occurrences::None => return 0.0,
        };
        statistics.information(&term.phrase) * frequency * (BM25_K1 + 1.0) / (frequency + BM25_K1 * long)
    };
    terms.iter().map(of_term).sum()
}

/// For each session the share of the query's information that its messages hold together.
fn session_coverage(
    looked: &[Looked],
    terms: &[&QueryTerm],
    statistics: &WordStatistics,
) -> HashMap<SessionId, f64> {
    let asked: f64 = terms.iter().map(|term| statistics.information(&term.phrase)).sum();
    let mut held: HashMap<SessionId, Vec<bool>> = HashMap::new();
    for looked in looked {
        let text = IndexedText::new(&looked.indexed.terms);
        let session =
            held.entry(looked.indexed.message.session_id).or_insert_with(|| vec![false; terms.len()]);
        for (term, held) in terms.iter().zip(session) {
            *held |= text.occurrences(term) != Occurrences::None;
        }
    }
    let share = |held: Vec<bool>| {
        let sum: f64 = terms
            .iter()
            .zip(held)
            .filter(|(_, held)| *held)
            .map(|(term, _)| statistics.information(&term.phrase))
            .sum();
        if asked > 0.0 { sum / asked } else { 0.0 }
    };
    held.into_iter().map(|(session, held)| (session, share(held))).collect()
}

/// Standard scores; 0 where the value is unknown or all are equal.
fn z_scores(values: impl Iterator<Item = Option<f64>>) -> Vec<f64> {
    let values: Vec<Option<f64>> = values.collect();
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    let count = known.len().max(1) as f64;
    let mean = known.iter().sum::<f64>() / count;
    let deviation = (known.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    let score = |value: f64| if deviation > 1e-9 { (value - mean) / deviation } else { 0.0 };
    values.into_iter().map(|value| value.map_or(0.0, score)).collect()
}

/// Whether a message asks.
fn is_question(content: &str) -> bool {
    content.trim_end().ends_with(['?', '?', '吗', '呢'])
}
