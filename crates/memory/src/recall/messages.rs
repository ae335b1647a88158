//! The ranking of verbatim messages. Its results on public conversations are published, so it is in one file with its
//! weights as data ([`MessageWeights`]).
//!
//! `total = Σ weight · signal`. Each signal has a fixed scale, independent of the other messages (except for the mean
//! length in BM25, and the mean meaning, which replaces a missing vector), and answers one question:
//!
//! | signal | question | range |
//! |---|---|---|
//! | words | does it have the words asked for? BM25 over the message, the one before (whole if it asks, else half) and a quarter of the one after (three tenths of that by the same speaker), as a share of the question's information | 0 to about 2 |
//! | meaning | does it have the meaning? cosine with the vector of the message, half the one before and a quarter of the one after | −1 to 1 |
//! | topic_words | do the neighbours (3 messages on each side) have the words, and 0.4 of: does its session? share of the question's information | 0 to 1.4 |
//! | topic_meaning | do the neighbours have the meaning? best cosine among these messages | −1 to 1 |
//! | speaker | is it by the speaker whom the question names? | 0 or 1 |
//! | time | was it said at the time that the question names, or is it about that time? | 0 or 1 |
//! | tells_when | the question asks when: does it name a time? | 0 or 1 |
//! | asks | is it a question itself? | 0 or 1 |
//! | answers | does it follow a question? | 0 or 1 |
//!
//! A message of the persona that only repeats the user is ranked below the repeated message.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures_util::future::BoxFuture;
use jiff::Timestamp;

use super::message_neighbours::{MessageNeighbours, gather_messages};
use super::message_pool::{BM25_B, BM25_K1};
use super::query::Query;
use super::score::vector_relevance;
use super::settings::RecallSettings;
use super::signals::{MessageWeights, Signal, Signals};
use super::words::{IndexedText, Occurrences, WordStatistics};
use crate::identifiers::SessionId;
use crate::messages::{Message, Role};
use crate::ports::{Store, StoreError};
use crate::scope::Scope;
use crate::text::{
    QueryTerm, Statement, content_terms, index_terms, statement_by_persona, statement_by_user, tells_when,
};
use crate::vector_index::{VectorIndex, cosine};

/// Weight of the preceding message relative to the message itself. It often names what the message calls "it".
const PREVIOUS_MESSAGE_WEIGHT: f64 = 0.5;
/// Weight of the words of the preceding message if it is a question: an answer leaves out words of its question.
const PREVIOUS_QUESTION_WEIGHT: f64 = 1.0;
/// Weight of the following message: it often repeats the words and seldom adds any.
const NEXT_MESSAGE_WEIGHT: f64 = 0.25;
/// Factor for a neighbour by the same speaker: nobody answers themselves, and one note need not continue another.
const SAME_SPEAKER_FACTOR: f64 = 0.3;
/// Weight of the words of a whole session, relative to those of the neighbours. They show the topic of the
/// conversation, and are the same for all its messages.
const SESSION_WEIGHT: f64 = 0.4;
/// Weight of a part of a long word, relative to the whole word. "Schwimmbad" and "Schwimmen" are related, but not the
/// same.
const PART_CREDIT: f64 = 0.5;
/// Minimum share of a user's words in a reply that counts as a repetition. "So you moved to Lisbon in May" adds
/// little.
const REPEATED_SHARE: f64 = 0.8;
/// Minimum number of different repeated words. With one or two words everything is a repetition.
const REPEATED_TERMS_MIN: usize = 3;
/// Distance by which a repetition is ranked below the user's own message. It only decides which of the two comes
/// first.
const REPEATED_DISTANCE: f64 = 0.001;
/// Separates texts that are searched as one, so that no phrase is found across their boundary.
const TEXT_BORDER: &str = " | ";

/// A message with its place in the ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedMessage {
    pub message: Message,
    /// The weighted sum by which the message is ranked; comparable within one ranking only.
    pub total: f64,
    /// The signals before weighting.
    pub signals: Signals,
    /// The share of each signal in `total`.
    pub parts: BTreeMap<String, f64>,
    /// Vector similarity of the message (V in the score).
    pub vector: f64,
    /// Word relevance of the message together with the one before it, which often has the question that it answers (W
    /// in the score).
    pub words: f64,
    /// Match of the message's statement, the larger of `vector` and `words`: 0 if it only asks, because a question is
    /// no evidence of its answer. If the persona says that it does not know, only the words of its other sentences
    /// count.
    pub support: f64,
    /// Readability of its text; `None` without a vector.
    pub readability: Option<f32>,
}

/// The neighbours of messages that may become passages, by the number of the found message.
pub(super) type Surroundings = HashMap<i64, Vec<Message>>;

/// Ranks the messages of a scope by a query, best first, at most `limit`; the newer of two equal ones comes first.
/// Messages of `window` are left out, also as neighbours.
pub fn rank_messages<'a>(
    store: &'a dyn Store,
    index: &'a VectorIndex,
    scope: &'a Scope,
    query: &'a Query,
    window: &'a [i64],
    settings: &'a RecallSettings,
    limit: usize,
) -> BoxFuture<'a, Result<Vec<RankedMessage>, StoreError>> {
    Box::pin(async move {
        let weights = &settings.message_weights;
        let worths = |found: &MessageNeighbours, statistics: &WordStatistics| {
            let ranking = Ranking::new(found, query, statistics);
            found.messages.keys().map(|&seq| (ranking.score_without_neighbours(seq, weights), seq)).collect()
        };
        let (found, statistics) =
            gather_messages(store, index, scope, query, window, weights, worths).await?;
        Ok(Ranking::new(&found, query, &statistics).best_messages(weights, limit))
    })
}

/// Occurrences of each term of the question in a message, and the message's length.
struct TermCounts {
    terms: Vec<f64>,
    length: f64,
}

/// Everything that the signals are computed from.
struct Ranking<'a> {
    found: &'a MessageNeighbours,
    query: &'a Query,
    statistics: &'a WordStatistics,
    /// The question's terms that were looked up, with weight times information.
    terms: Vec<(&'a QueryTerm, f64)>,
    /// Information of the question.
    asked: f64,
    counts: HashMap<i64, TermCounts>,
}

impl<'a> Ranking<'a> {
    fn new(found: &'a MessageNeighbours, query: &'a Query, statistics: &'a WordStatistics) -> Self {
        let looked_up = |term: &QueryTerm| {
            statistics.frequencies.contains_key(&term.phrase) && statistics.is_counted(term)
        };
        let terms: Vec<(&QueryTerm, f64)> = query
            .question
            .terms
            .iter()
            .filter(|(term, _)| looked_up(term))
            .map(|(term, weight)| (term, weight * statistics.phrase_information(&term.phrase)))
            .collect();
        let asked = terms.iter().map(|(_, information)| information).sum();
        let counts =
            found.messages.iter().map(|(&seq, indexed)| (seq, count(&indexed.terms, &terms))).collect();
        Self { found, query, statistics, terms, asked, counts }
    }

    /// Score of a message without its neighbours: its own words, ignoring length, and its own meaning.
    fn score_without_neighbours(&self, seq: i64, weights: &MessageWeights) -> f64 {
        let words = self.word_score(&[(seq, 1.0)], 1.0);
        (weights[Signal::Words] + weights[Signal::TopicWords]) * words
            + (weights[Signal::Meaning] + weights[Signal::TopicMeaning]) * self.cosine_of(seq).unwrap_or(0.0)
    }

    /// The best messages. Their support and the parts of their scores are computed only for these.
    fn best_messages(&self, weights: &MessageWeights, limit: usize) -> Vec<RankedMessage> {
        let meaning: HashMap<i64, f64> =
            self.found.messages.keys().filter_map(|&seq| Some((seq, self.vector_score(seq)?))).collect();
        // In the order of their numbers, because sums of floating-point numbers depend on it.
        let known = self.found.messages.keys().filter_map(|seq| meaning.get(seq));
        // A message without a vector counts as neither near nor far.
        let unknown = known.sum::<f64>() / meaning.len().max(1) as f64;
        let cosines: HashMap<i64, f64> =
            self.found.messages.keys().filter_map(|&seq| Some((seq, self.cosine_of(seq)?))).collect();
        let sessions = self.words_of_sessions();
        let spoken: HashMap<i64, Vec<(i64, f64)>> =
            self.found.messages.keys().map(|&seq| (seq, self.word_mixture(seq))).collect();
        let lengths = self.found.messages.keys().map(|seq| self.mixed_length(&spoken[seq]));
        let mean_length = (lengths.sum::<f64>() / spoken.len().max(1) as f64).max(1.0);
        let mut ranked: Vec<(f64, Timestamp, i64, Signals)> = self
            .found
            .messages
            .iter()
            .map(|(&seq, indexed)| {
                let around = self.found.surrounding(seq);
                let nearest = around.iter().filter_map(|seq| cosines.get(seq)).copied().reduce(f64::max);
                let meaning = meaning.get(&seq).copied().unwrap_or(unknown);
                let mut signals = self.binary_signals(seq);
                let mixture = &spoken[&seq];
                signals[Signal::Words] = self.word_score(mixture, self.mixed_length(mixture) / mean_length);
                signals[Signal::Meaning] = meaning;
                signals[Signal::TopicWords] = self.topic_words(&around);
                let session = sessions.get(&indexed.message.session_id).copied().unwrap_or_default();
                signals[Signal::TopicWords] += SESSION_WEIGHT * session;
                signals[Signal::TopicMeaning] = nearest.unwrap_or(unknown);
                (signals.total(weights), indexed.message.created_at, seq, signals)
            })
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (b.1, b.2).cmp(&(a.1, a.2))));
        ranked.truncate(limit);
        let ranked = ranked
            .into_iter()
            .map(|(total, _, seq, signals)| self.rank_message(seq, total, signals, weights));
        let mut ranked: Vec<RankedMessage> = ranked.collect();
        self.put_repetitions_below(&mut ranked);
        ranked
    }

    /// Ranks repetitions by the persona below the user's message, unless the persona's words are asked for.
    fn put_repetitions_below(&self, ranked: &mut [RankedMessage]) {
        if self.query.question.speaker == Some(Role::Persona) {
            return;
        }
        let terms = |seq: i64| -> BTreeSet<&str> { self.found.messages[&seq].terms.split(' ').collect() };
        let of_user: Vec<(Timestamp, f64, BTreeSet<&str>)> = ranked
            .iter()
            .filter(|one| one.message.role == Role::User)
            .map(|one| (one.message.created_at, one.total, terms(one.message.seq)))
            .collect();
        for reply in ranked.iter_mut().filter(|one| one.message.role == Role::Persona) {
            let said = terms(reply.message.seq);
            let is_repeated = |at: Timestamp, words: &BTreeSet<&str>| {
                let shared = words.intersection(&said).count() as f64;
                at <= reply.message.created_at
                    && words.len() >= REPEATED_TERMS_MIN
                    && shared >= REPEATED_SHARE * words.len() as f64
            };
            let repeated = of_user.iter().filter(|(at, _, words)| is_repeated(*at, words));
            let best = repeated.map(|(_, total, _)| *total).reduce(f64::max);
            if let Some(total) = best.filter(|total| *total <= reply.total) {
                let below = total - REPEATED_DISTANCE;
                reply.parts.insert("repeats".to_owned(), below - reply.total);
                reply.total = below;
            }
        }
        ranked.sort_by(|a, b| b.total.total_cmp(&a.total));
    }

    fn rank_message(
        &self,
        seq: i64,
        total: f64,
        signals: Signals,
        weights: &MessageWeights,
    ) -> RankedMessage {
        let indexed = &self.found.messages[&seq];
        let part = |signal: Signal| (signal.name().to_owned(), weights[signal] * signals[signal]);
        let parts: BTreeMap<String, f64> =
            Signal::ALL.into_iter().map(part).filter(|(_, part)| *part != 0.0).collect();
        let before = self.found.previous_message(seq).and_then(|before| self.found.messages.get(&before));
        let context = [before.map_or("", |before| &before.terms), &indexed.terms].join(TEXT_BORDER);
        let context = IndexedText::new(&context);
        let sentences = self.query.question.sentences.iter();
        let words = sentences.map(|terms| self.statistics.relevance(terms, &context)).fold(0.0, f64::max);
        let vector = self.best_sentence(seq).map_or(0.0, vector_relevance);
        RankedMessage {
            message: indexed.message.clone(),
            total,
            signals,
            parts,
            vector,
            words,
            support: self.statement_match(&indexed.message, vector.max(words)),
            readability: indexed.readability,
        }
    }

    /// Match of the message's statement; `relevance` is the match of the whole message. If the persona says that it
    /// does not know, the words of its other sentences count, without those of the question.
    fn statement_match(&self, message: &Message, relevance: f64) -> f64 {
        let statement = match message.role {
            Role::User | Role::Other => statement_by_user(&message.content),
            Role::Persona => statement_by_persona(&message.content),
        };
        match statement {
            Statement::Everything => relevance,
            Statement::Nothing => 0.0,
            Statement::Only(part) => {
                let terms = index_terms(&part);
                let text = IndexedText::new(&terms);
                let sentences = self.query.question.sentences.iter();
                sentences.map(|terms| self.statistics.relevance(terms, &text)).fold(0.0, f64::max)
            }
        }
    }

    /// The signals that are either 0 or 1.
    fn binary_signals(&self, seq: i64) -> Signals {
        let message = &self.found.messages[&seq].message;
        let question = &self.query.question;
        let at = message.created_at;
        let marks = [
            (Signal::Speaker, question.speaker == Some(message.role)),
            (
                Signal::Time,
                question.times.iter().any(|&(start, end)| start <= at && at <= end)
                    || question.is_about_named_time(message),
            ),
            (Signal::TellsWhen, question.asks_for_time && tells_when(&message.content)),
            (Signal::Asks, self.is_question(seq)),
            (
                Signal::Answers,
                self.found.previous_message(seq).is_some_and(|before| self.is_question(before)),
            ),
        ];
        let mut signals = Signals::default();
        for (signal, holds) in marks {
            signals[signal] = if holds { 1.0 } else { 0.0 };
        }
        signals
    }

    fn is_question(&self, seq: i64) -> bool {
        self.found.messages.get(&seq).is_some_and(|indexed| text::ends_in_question(&indexed.message.content))
    }

    /// The messages whose words count for a message, with their weights.
    fn word_mixture(&self, seq: i64) -> Vec<(i64, f64)> {
        let mut mixture = self.neighbour_weights(seq);
        if let Some(question) = self.found.previous_message(seq).filter(|before| self.is_question(*before))
            && let Some((_, share)) = mixture.iter_mut().find(|(other, _)| *other == question)
            && self.has_own_content(seq)
        {
            *share = PREVIOUS_QUESTION_WEIGHT;
        }
        mixture
    }

    /// True if it has content of its own: "not yet" answers no question.
    fn has_own_content(&self, seq: i64) -> bool {
        self.found.messages.get(&seq).is_some_and(|m| !content_terms(&m.message.content).is_empty())
    }

    /// The message and its neighbours, each with its weight in the score.
    fn neighbour_weights(&self, seq: i64) -> Vec<(i64, f64)> {
        let role = |seq: i64| self.found.messages.get(&seq).map(|indexed| indexed.message.role);
        let answers = |other: i64| if role(other) == role(seq) { SAME_SPEAKER_FACTOR } else { 1.0 };
        let before = self
            .found
            .previous_message(seq)
            .map(|before| (before, PREVIOUS_MESSAGE_WEIGHT * answers(before)));
        let after = self.found.next_message(seq).map(|after| (after, NEXT_MESSAGE_WEIGHT * answers(after)));
        std::iter::once((seq, 1.0)).chain(before).chain(after).collect()
    }

    fn mixed_length(&self, mixture: &[(i64, f64)]) -> f64 {
        let length = |seq: &i64| self.counts.get(seq).map_or(0.0, |counts| counts.length);
        mixture.iter().map(|(seq, share)| share * length(seq)).sum()
    }

    /// BM25 of several messages with weights, as a share of the question's information; `length` is relative to the
    /// mean.
    fn word_score(&self, mixture: &[(i64, f64)], length: f64) -> f64 {
        if self.asked <= 0.0 {
            return 0.0;
        }
        let long = 1.0 - BM25_B + BM25_B * length;
        let of_term = |(place, (_, information)): (usize, &(&QueryTerm, f64))| {
            let count = |seq: &i64| self.counts.get(seq).map_or(0.0, |counts| counts.terms[place]);
            let frequency: f64 = mixture.iter().map(|(seq, share)| share * count(seq)).sum();
            information * frequency * (BM25_K1 + 1.0) / (frequency + BM25_K1 * long)
        };
        self.terms.iter().enumerate().map(of_term).sum::<f64>() / self.asked
    }

    /// The share of the question's information that these messages contain together.
    fn topic_words(&self, around: &[i64]) -> f64 {
        if self.asked <= 0.0 {
            return 0.0;
        }
        let held = |place: usize| {
            let counts = around.iter().filter_map(|seq| self.counts.get(seq));
            counts.map(|counts| counts.terms[place].min(1.0)).fold(0.0, f64::max)
        };
        let held = |(place, (_, information)): (usize, &(&QueryTerm, f64))| information * held(place);
        self.terms.iter().enumerate().map(held).sum::<f64>() / self.asked
    }

    /// For each session, the share of the question's information in those of its messages that were read.
    fn words_of_sessions(&self) -> HashMap<SessionId, f64> {
        let mut sessions: HashMap<SessionId, Vec<i64>> = HashMap::new();
        for (&seq, indexed) in &self.found.messages {
            sessions.entry(indexed.message.session_id).or_default().push(seq);
        }
        sessions.into_iter().map(|(session, seqs)| (session, self.topic_words(&seqs))).collect()
    }

    /// Cosine of the question with the weighted vectors; `None` if the message itself has none.
    fn vector_score(&self, seq: i64) -> Option<f64> {
        let mut mixed: Vec<f32> = vec![0.0; self.found.vectors.get(&seq)?.len()];
        for (seq, share) in self.neighbour_weights(seq) {
            for (sum, component) in mixed.iter_mut().zip(self.found.vectors.get(&seq).into_iter().flatten()) {
                *sum += share as f32 * component;
            }
        }
        let length = cosine(&mixed, &mixed).sqrt();
        Some(self.best_cosine(&mixed)? / f64::from(length.max(f32::EPSILON)))
    }

    /// Cosine of the question with one message.
    fn cosine_of(&self, seq: i64) -> Option<f64> {
        self.best_cosine(self.found.vectors.get(&seq)?)
    }

    /// Similarity with a vector: that of the best sentence of the question; for several sentences, the mean of that
    /// and the similarity of the whole text.
    fn best_cosine(&self, vector: &[f32]) -> Option<f64> {
        let best = best_sentence_cosine(&self.query.question.vectors, vector)?;
        let whole = self.query.question.whole.as_ref().map(|whole| f64::from(cosine(whole, vector)));
        Some(whole.map_or(best, |whole| (best + whole) / 2.0))
    }

    fn best_sentence(&self, seq: i64) -> Option<f64> {
        best_sentence_cosine(&self.query.question.vectors, self.found.vectors.get(&seq)?)
    }
}

fn best_sentence_cosine(sentences: &[Vec<f32>], vector: &[f32]) -> Option<f64> {
    sentences.iter().map(|sentence| f64::from(cosine(sentence, vector))).reduce(f64::max)
}

fn count(text: &str, terms: &[(&QueryTerm, f64)]) -> TermCounts {
    let text = IndexedText::new(text);
    let frequency = |term: &QueryTerm| match text.occurrences(term) {
        Occurrences::Whole(count) => count as f64,
        Occurrences::Part(count) => PART_CREDIT * count as f64,
        Occurrences::None => 0.0,
    };
    TermCounts { terms: terms.iter().map(|(term, _)| frequency(term)).collect(), length: text.len() as f64 }
}
