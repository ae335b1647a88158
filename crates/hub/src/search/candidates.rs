//! Selects candidate chunks: those that contain words of the query, and those with a similar meaning.

use std::collections::{BTreeSet, HashMap};

use memory::Scope;
use memory::ports::{Phrase, StoreError};
use memory::recall::{IndexedText, WordStatistics};
use memory::text::{QueryTerm, index_terms};
use memory::vector_index::{READABILITY_MIN, cosine};

use super::Sentence;
use crate::ports::{ChunkHits, DiaryChunk};
use crate::service::Hub;

/// Maximum phrases of a query to look up; further ones are ignored.
const PHRASES_MAX: usize = 96;
/// Maximum chunks that the index returns for one phrase, those of the newest memories. It bounds the time of a search
/// for common words.
const PIECES_PER_PHRASE: u32 = 2_000;
/// Maximum chunks to read for their words: those with the rarest words, the newest first.
const WORDS_MAX: usize = 300;
/// Maximum chunks to read for their meaning, for each sentence: each is a row to read.
const PIECES_BY_MEANING_MAX: usize = 100;

/// Chunks that may answer a query, with the weights of its words.
pub(super) struct Candidates {
    pub(super) pieces: Vec<DiaryChunk>,
    sentences: Vec<Sentence>,
    statistics: WordStatistics,
}

impl Candidates {
    /// Relevance of a chunk for the best sentence: by words or by meaning, whichever is higher.
    pub(super) fn relevance(&self, piece: &DiaryChunk) -> f64 {
        self.relevance_with_scale(piece, |cosine| cosine.clamp(0.0, 1.0))
    }

    /// Share of the query's information that a text contains by its words, for the best sentence.
    pub(super) fn word_relevance(&self, text: &str) -> f64 {
        let terms = index_terms(text);
        let text = IndexedText::new(&terms);
        let of_sentence = |sentence: &Sentence| self.statistics.relevance(&sentence.terms, &text);
        self.sentences.iter().map(of_sentence).fold(0.0, f64::max)
    }

    /// [`Self::relevance`] with another scale for cosines.
    pub(super) fn relevance_with_scale(&self, piece: &DiaryChunk, of_cosine: impl Fn(f64) -> f64) -> f64 {
        let text = IndexedText::new(&piece.terms);
        let embedding = piece.embedding.as_ref().filter(|embedding| embedding.readability >= READABILITY_MIN);
        let of_sentence = |sentence: &Sentence| {
            let by_words = self.statistics.relevance(&sentence.terms, &text);
            let by_meaning = match (&sentence.vector, embedding) {
                (Some(asked), Some(embedding)) if asked.len() == embedding.vector.len() => {
                    of_cosine(f64::from(cosine(asked, &embedding.vector)))
                }
                _ => 0.0,
            };
            by_words.max(by_meaning)
        };
        self.sentences.iter().map(of_sentence).fold(0.0, f64::max)
    }
}

impl Hub {
    /// Finds candidate chunks of the scope's memories.
    pub(super) async fn find_candidates(
        &self,
        scope: &Scope,
        sentences: Vec<Sentence>,
    ) -> Result<Candidates, StoreError> {
        let store = &*self.shared_parts().parts.store;
        let fingerprint = self.fingerprint();
        let phrases = distinct_phrases(sentences.iter().flat_map(|sentence| &sentence.terms));
        let found = match phrases.is_empty() {
            true => ChunkHits::default(),
            false => store.search_chunks(scope, &phrases, PIECES_PER_PHRASE).await?,
        };
        let frequencies = found.hits.iter().map(|hits| hits.document_frequency);
        let statistics = WordStatistics {
            documents: found.pieces,
            frequencies: phrases.iter().cloned().zip(frequencies).collect(),
        };
        let mut numbers = most_informative_pieces(&phrases, &found, &statistics);
        let vectors: Vec<&[f32]> =
            sentences.iter().filter_map(|sentence| sentence.vector.as_deref()).collect();
        let held = &self.shared_parts().vectors;
        let mut near = BTreeSet::new();
        if !vectors.is_empty() {
            near.extend(held.nearest(store, scope, &fingerprint, &vectors, PIECES_BY_MEANING_MAX).await?);
            numbers.extend(&near);
        }
        let asked: Vec<i64> = numbers.into_iter().collect();
        let pieces = match asked.is_empty() {
            true => Vec::new(),
            false => store.chunks_numbered(scope, &fingerprint, &asked).await?,
        };
        pieces.iter().for_each(|piece| {
            near.remove(&piece.number);
        });
        if !near.is_empty() {
            held.remove(scope, &fingerprint, near.into_iter());
        }
        Ok(Candidates { pieces, sentences, statistics })
    }
}

/// Chunks that contain the most information of the query.
fn most_informative_pieces(
    phrases: &[Phrase],
    found: &ChunkHits,
    statistics: &WordStatistics,
) -> BTreeSet<i64> {
    let mut held: HashMap<i64, f64> = HashMap::new();
    for (phrase, hits) in phrases.iter().zip(&found.hits) {
        let information = statistics.phrase_information(phrase);
        for piece in &hits.seqs {
            *held.entry(*piece).or_default() += information;
        }
    }
    let mut ranked: Vec<(f64, i64)> =
        held.into_iter().map(|(piece, information)| (information, piece)).collect();
    let best_first =
        |one: &(f64, i64), other: &(f64, i64)| other.0.total_cmp(&one.0).then_with(|| other.1.cmp(&one.1));
    if ranked.len() > WORDS_MAX {
        ranked.select_nth_unstable_by(WORDS_MAX - 1, best_first);
        ranked.truncate(WORDS_MAX);
    }
    ranked.into_iter().map(|(_, piece)| piece).collect()
}

/// The terms' distinct phrases, in order.
fn distinct_phrases<'a>(terms: impl Iterator<Item = &'a QueryTerm>) -> Vec<Phrase> {
    let mut known = BTreeSet::new();
    let all = terms.flat_map(|term| std::iter::once(&term.phrase).chain(&term.parts));
    all.filter(|phrase| known.insert(&phrase.0)).take(PHRASES_MAX).cloned().collect()
}
