//! Memories about a text, and memories that hold words.

mod chunks;
mod index;
mod excerpt;
mod grep;

use std::collections::HashMap;

use memory::Scope;
use memory::ports::Phrase;
use memory::recall::{IndexedText, Occurrences, WordStatistics};
use memory::text::{QueryTerm, query_terms, split_sentences};
use memory::vector_index::{READABILITY_MIN, cosine};

use crate::door::memories::{FoundMemory, MemorySearch, Purged, Rebuilt, SearchMethod, SearchResults};
use crate::error::HubError;
use crate::hub::{Caller, Hub};

pub(crate) use index::SearchIndexes;
use index::{Entry, SearchIndex};

/// Sentences of a query that are looked for apart.
const SENTENCES_MAX: usize = 5;
/// Least final score where none is given.
const MIN_SCORE: f64 = 0.2;
/// Results where no number is given.
const RESULTS: u32 = 10;
const WEIGHT_VECTOR: f64 = 0.8;
const WEIGHT_RECENCY: f64 = 0.05;
const WEIGHT_GRAPH: f64 = 0.05;
const WEIGHT_INSTANCE: f64 = 0.1;
/// What a day of age takes: half is left after 143 days.
const RECENCY_PER_DAY: f64 = 0.007;

/// A sentence of a query.
struct Sentence {
    terms: Vec<QueryTerm>,
    vector: Option<Vec<f32>>,
}

impl Hub {
    /// Memories about a text: each by its best piece and the query's best sentence.
    pub async fn memory_search(
        &self,
        caller: &Caller,
        input: MemorySearch,
    ) -> Result<SearchResults, HubError> {
        let index = self.index(&caller.scope).await?;
        let sentences = self.sentences(&input).await;
        let has_vectors = sentences.iter().any(|sentence| sentence.vector.is_some());
        let method = if has_vectors { SearchMethod::Vector } else { SearchMethod::Text };
        let links = match self.inner().links.get() {
            Some(links) => links.linked_memories(&caller.scope, &input.query).await?,
            None => HashMap::new(),
        };
        let today = self.now().to_zoned(self.zone(&caller.scope).await?).date();
        let wanted = Wanted::new(&index, sentences);
        let mut found: Vec<(FoundMemory, &Entry, usize)> = Vec::new();
        for entry in index.entries() {
            let Some((relevance, piece)) = wanted.best_piece(entry) else { continue };
            let age_days = i64::from((today - entry.name.date().last_day()).get_days()).max(0);
            let recency_score = 1.0 / (1.0 + RECENCY_PER_DAY * age_days as f64);
            let graph_score = graph_score(links.get(&entry.name.id()).copied().unwrap_or(0));
            let instance_score = f64::from(entry.source == input.instance_id);
            let score = WEIGHT_VECTOR * relevance
                + WEIGHT_RECENCY * recency_score
                + WEIGHT_GRAPH * graph_score
                + WEIGHT_INSTANCE * instance_score;
            if score < input.min_score.unwrap_or(MIN_SCORE) {
                continue;
            }
            let memory = FoundMemory {
                id: entry.name.id(),
                granularity: entry.name.granularity(),
                date: entry.name.date(),
                slug: entry.name.slug().cloned(),
                score,
                excerpt: String::new(),
                source_instance: entry.source.clone(),
                tier: entry.name.granularity(),
                age_days,
                vector_score: relevance,
                recency_score,
                graph_score,
                instance_score,
                method,
            };
            found.push((memory, entry, piece));
        }
        found.sort_by(|(one, ..), (other, ..)| {
            other.score.total_cmp(&one.score).then_with(|| one.id.cmp(&other.id))
        });
        found.truncate(input.max_results.unwrap_or(RESULTS).clamp(1, 50) as usize);
        let shown = |(memory, entry, piece): (FoundMemory, &Entry, usize)| FoundMemory {
            excerpt: excerpt::excerpt(entry, piece),
            ..memory
        };
        let results = found.into_iter().map(shown).collect();
        Ok(SearchResults { results, search_method: method, vector_available: has_vectors })
    }

    async fn sentences(&self, input: &MemorySearch) -> Vec<Sentence> {
        let mut texts: Vec<&str> = split_sentences(&input.query);
        texts.truncate(SENTENCES_MAX);
        let mut sentences: Vec<Sentence> =
            texts.iter().map(|text| Sentence { terms: query_terms(text), vector: None }).collect();
        let Some(embedder) = &self.inner().parts.embedder else { return sentences };
        if let Some(vector) = &input.query_embedding {
            let fits = vector.len() == embedder.dimension();
            for sentence in sentences.iter_mut().filter(|_| fits) {
                sentence.vector = Some(vector.clone());
            }
            return sentences;
        }
        let texts: Vec<String> = texts.into_iter().map(str::to_owned).collect();
        match embedder.embed_queries(&texts).await {
            Ok(embeddings) => {
                for (sentence, embedding) in sentences.iter_mut().zip(embeddings) {
                    sentence.vector = (embedding.readability >= READABILITY_MIN).then_some(embedding.vector);
                }
            }
            Err(error) => tracing::warn!(%error, "memories are searched by words alone"),
        }
        sentences
    }

    /// Takes the vectors of memories away. They are made anew when they are needed.
    pub async fn memory_embedding_purge(&self, caller: &Caller) -> Result<Purged, HubError> {
        let purged = self.inner().parts.store.purge_chunks(&caller.scope).await?;
        self.inner().indexes.drop_scope(&caller.scope);
        Ok(Purged { purged, remaining: 0, message: format!("took the vectors of {purged} memories away") })
    }

    /// Makes the vectors of memories anew.
    pub async fn memory_embedding_rebuild(&self, caller: &Caller) -> Result<Rebuilt, HubError> {
        self.inner().parts.store.purge_chunks(&caller.scope).await?;
        self.inner().indexes.drop_scope(&caller.scope);
        self.embed_all(&caller.scope).await
    }

    /// Gives every memory of the scope its vectors.
    pub async fn embed_all(&self, scope: &Scope) -> Result<Rebuilt, HubError> {
        if self.inner().parts.embedder.is_none() {
            let total = self.index(scope).await?.entries().count() as u64;
            let message = "there is no embedding model: memories are found by words".to_owned();
            return Ok(Rebuilt { rebuilt: 0, failed: 0, total, message });
        }
        while self.embed_some(scope).await? > 0 {}
        let index = self.index(scope).await?;
        let total = index.entries().count() as u64;
        let failed = index.entries().filter(|entry| !entry.is_embedded()).count() as u64;
        let message = format!("{} of {total} memories have vectors", total - failed);
        Ok(Rebuilt { rebuilt: total - failed, failed, total, message })
    }
}

/// m / ln(m + 2), at most 1, of the number of named entities that a memory is linked to.
fn graph_score(linked: u32) -> f64 {
    let linked = f64::from(linked);
    (linked / (linked + 2.0).ln()).min(1.0)
}

/// A query made ready for comparing many texts.
struct Wanted {
    sentences: Vec<Sentence>,
    statistics: WordStatistics,
    /// First words of all phrases: a text that holds none of them need not be taken apart.
    first_words: Vec<String>,
}

impl Wanted {
    /// Counts how many pieces there are, and how many hold each phrase of the query.
    fn new(index: &SearchIndex, sentences: Vec<Sentence>) -> Self {
        let phrases = sentences
            .iter()
            .flat_map(|sentence| &sentence.terms)
            .flat_map(|term| std::iter::once(&term.phrase).chain(&term.parts));
        let alone = |phrase: &Phrase| QueryTerm {
            phrase: phrase.clone(),
            parts: Vec::new(),
            surface: String::new(),
            guess: false,
        };
        let terms: Vec<QueryTerm> = phrases.map(alone).collect();
        let first_words = terms.iter().filter_map(|term| term.phrase.0.first().cloned()).collect();
        let mut wanted = Self { sentences, statistics: WordStatistics::default(), first_words };
        let mut frequencies = vec![0; terms.len()];
        for piece in index.entries().flat_map(|entry| &entry.chunks) {
            wanted.statistics.documents += 1;
            let Some(text) = wanted.text(&piece.terms) else { continue };
            for (term, frequency) in terms.iter().zip(&mut frequencies) {
                *frequency += u64::from(!matches!(text.occurrences(term), Occurrences::None));
            }
        }
        wanted.statistics.frequencies = terms.into_iter().map(|term| term.phrase).zip(frequencies).collect();
        wanted
    }

    /// A text taken apart; none if it can't hold a word of the query.
    fn text<'a>(&self, terms: &'a str) -> Option<IndexedText<'a>> {
        let may_hold = self.first_words.iter().any(|word| terms.contains(word.as_str()));
        may_hold.then(|| IndexedText::new(terms))
    }

    /// The relevance of a memory and the piece that gives it; none where nothing of it is about the query.
    fn best_piece(&self, entry: &Entry) -> Option<(f64, usize)> {
        let mut best: Option<(f64, usize)> = None;
        for (place, piece) in entry.chunks.iter().enumerate() {
            let text = self.text(&piece.terms);
            let embedding =
                piece.embedding.as_ref().filter(|embedding| embedding.readability >= READABILITY_MIN);
            for sentence in &self.sentences {
                let by_words =
                    text.as_ref().map_or(0.0, |text| self.statistics.relevance(&sentence.terms, text));
                let by_meaning = match (&sentence.vector, embedding) {
                    (Some(asked), Some(embedding)) if asked.len() == embedding.vector.len() => {
                        f64::from(cosine(asked, &embedding.vector)).clamp(0.0, 1.0)
                    }
                    _ => 0.0,
                };
                let relevance = by_words.max(by_meaning);
                if relevance > 0.0 && best.is_none_or(|(known, _)| relevance > known) {
                    best = Some((relevance, place));
                }
            }
        }
        best
    }
}
