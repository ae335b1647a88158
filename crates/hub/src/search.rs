//! Search for memories about a text, and for memories that contain words.

mod candidates;
pub(crate) mod vectors;
pub(crate) mod watermark;
mod chunks;
mod embedding;
mod excerpt;
mod grep;
mod related;

use std::collections::HashMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use memory::Scope;
use memory::recall::score::vector_relevance;
use memory::recall::{FormerValue, IndexedText, OutdatedValues, RecallSettings, WordStatistics};
use memory::text::{QueryTerm, query_terms, split_sentences};
use memory::vector_index::READABILITY_MIN;

use crate::api::memories::{FoundMemory, MemorySearch, SearchMethod, SearchResults};
use crate::error::HubError;
use crate::memories::shown_instance;
use crate::names::DocumentName;
use crate::ports::DiaryChunk;
use crate::service::{Caller, Hub};

pub use chunks::split_into_chunks;
pub use related::RelatedMemory;

/// Maximum sentences of a query that are searched separately. Embedding each takes some milliseconds.
const SENTENCES_MAX: usize = 5;
const MIN_SCORE: f64 = 0.2;
/// Default number of results. Ten excerpts fit into an agent's context beside its own work.
const RESULTS_DEFAULT: u32 = 10;
const WEIGHT_VECTOR: f64 = 0.8;
const WEIGHT_RECENCY: f64 = 0.05;
const WEIGHT_GRAPH: f64 = 0.05;
const WEIGHT_INSTANCE: f64 = 0.1;
/// Relevance of a text that contains every word of a name, once. A text of the same meaning can still rank higher.
const NAME_MENTIONED: f64 = 0.9;
/// Decay of the score per day of age: it halves in 143 days.
const RECENCY_PER_DAY: f64 = 0.007;

/// A sentence of a query.
struct Sentence {
    terms: Vec<QueryTerm>,
    vector: Option<Vec<f32>>,
}

impl Hub {
    /// Finds memories about a text. A memory's score is that of its best chunk for the query's best sentence.
    pub async fn memory_search(
        &self,
        caller: &Caller,
        input: MemorySearch,
    ) -> Result<SearchResults, HubError> {
        let sentences = self.sentences(&input.query, input.query_embedding.as_ref()).await;
        let has_vectors = sentences.iter().any(|sentence| sentence.vector.is_some());
        let method = if has_vectors { SearchMethod::Vector } else { SearchMethod::Text };
        let links = match &self.shared_parts().parts.links {
            Some(links) => links.linked_memories(&caller.scope, &input.query).await?,
            None => HashMap::new(),
        };
        let named = match &self.shared_parts().parts.links {
            Some(links) => links.names_in(&caller.scope, &input.query).await?,
            None => Vec::new(),
        };
        let today = self.now().to_zoned(self.persona_zone(&caller.scope).await?).date();
        let candidates = self.find_candidates(&caller.scope, sentences).await?;
        let mut best: HashMap<String, (f64, &DiaryChunk)> = HashMap::new();
        for piece in &candidates.pieces {
            let relevance = candidates.relevance(piece);
            let known = best.get(&piece.name.id());
            let is_better = known.is_none_or(|(known, other)| {
                (relevance, std::cmp::Reverse(piece.place)) > (*known, std::cmp::Reverse(other.place))
            });
            if relevance > 0.0 && is_better {
                best.insert(piece.name.id(), (relevance, piece));
            }
        }
        let by_recall = |piece: &DiaryChunk| candidates.relevance_with_scale(piece, vector_relevance);
        let meaning = best.iter().map(|(id, (_, piece))| (id.clone(), by_recall(piece))).collect();
        let mut found: Vec<(FoundMemory, &DiaryChunk)> = Vec::with_capacity(best.len());
        for (id, (relevance, piece)) in best {
            let linked = links.get(&id).copied().unwrap_or(0).max(count_mentions(&named, piece));
            found.push((
                found_memory(id, piece, &input, ScoreTerms { relevance, linked, today, method }),
                piece,
            ));
        }
        found.retain(|(memory, _)| memory.score >= input.min_score.unwrap_or(MIN_SCORE));
        found.sort_by(|(one, _), (other, _)| {
            other.score.total_cmp(&one.score).then_with(|| one.id.cmp(&other.id))
        });
        found.truncate(input.max_results.unwrap_or(RESULTS_DEFAULT).clamp(1, 50) as usize);
        let mut results = Vec::with_capacity(found.len());
        for (memory, piece) in found {
            let name = DocumentName::Diary(piece.name.clone());
            // A memory that was just deleted is not shown.
            let Some(document) = self.document(&caller.scope, &name).await? else { continue };
            let Some(content) = document.content() else { continue };
            let excerpt = excerpt::excerpt(memory.granularity, content, piece.place);
            results.push(FoundMemory { excerpt, ..memory });
        }
        mark_about_query(&mut results, &meaning);
        let texts = results.iter().map(|found| found.excerpt.clone()).collect();
        let corrections = self.shared_parts().parts.corrections.as_ref();
        let corrected = OutdatedValues::former_values_in_texts(corrections, &caller.scope, texts).await?;
        for found in &mut results {
            found.no_longer_current = corrected.former_value_in_text(&found.excerpt).map(FormerValue::from);
        }
        Ok(SearchResults { results, search_method: method, vector_available: has_vectors })
    }

    /// The persona's time zone.
    pub(crate) async fn persona_zone(&self, scope: &Scope) -> Result<TimeZone, HubError> {
        let own = self.shared_parts().parts.personas.persona(&scope.persona).await?;
        let zone = own.and_then(|persona| persona.timezone).and_then(|zone| TimeZone::get(&zone).ok());
        Ok(zone.unwrap_or_else(|| self.settings().zone.clone()))
    }

    /// The sentences of a query with their vectors. `given` is a vector computed by the client.
    async fn sentences(&self, query: &str, given: Option<&Vec<f32>>) -> Vec<Sentence> {
        let mut texts: Vec<&str> = split_sentences(query);
        texts.truncate(SENTENCES_MAX);
        let mut sentences: Vec<Sentence> =
            texts.iter().map(|text| Sentence { terms: query_terms(text), vector: None }).collect();
        let Some(embedder) = &self.shared_parts().parts.embedder else { return sentences };
        if let Some(vector) = given {
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
            Err(error) => tracing::warn!(%error, "memories are searched only by words"),
        }
        sentences
    }
}

/// Number of of the named nodes a chunk mentions by any of their names.
fn count_mentions(named: &[Vec<String>], chunk: &DiaryChunk) -> u32 {
    let text = IndexedText::new(&chunk.terms);
    let words = WordStatistics::default();
    let is_mentioned = |name: &String| words.relevance(&query_terms(name), &text) >= NAME_MENTIONED;
    named.iter().map(|names| u32::from(names.iter().any(is_mentioned))).sum()
}

/// Marks the results that are about the query, by their relevance on the scale of recall, with the rule by which
/// recall chooses passages.
fn mark_about_query(results: &mut [FoundMemory], meaning: &HashMap<String, f64>) {
    let RecallSettings { passage_share, min_relevance, .. } = RecallSettings::default();
    let relevance = |found: &FoundMemory| meaning.get(&found.id).copied().unwrap_or(0.0);
    let best = results.iter().map(relevance).fold(0.0, f64::max);
    for found in results {
        found.is_meant = best >= min_relevance && relevance(found) >= passage_share * best;
    }
}

/// The parts of a memory's score.
struct ScoreTerms {
    relevance: f64,
    linked: u32,
    today: Date,
    method: SearchMethod,
}

fn found_memory(id: String, piece: &DiaryChunk, input: &MemorySearch, parts: ScoreTerms) -> FoundMemory {
    let name = &piece.name;
    let source_instance = shown_instance(name, &piece.author);
    let age_days = i64::from((parts.today - name.date().last_day()).get_days()).max(0);
    let recency_score = 1.0 / (1.0 + RECENCY_PER_DAY * age_days as f64);
    let graph_score = graph_score(parts.linked);
    let instance_score = f64::from(source_instance == input.instance_id);
    let score = WEIGHT_VECTOR * parts.relevance
        + WEIGHT_RECENCY * recency_score
        + WEIGHT_GRAPH * graph_score
        + WEIGHT_INSTANCE * instance_score;
    FoundMemory {
        id,
        granularity: name.granularity(),
        date: name.date(),
        slug: name.slug().cloned(),
        score,
        excerpt: String::new(),
        source_instance,
        tier: name.granularity(),
        age_days,
        vector_score: parts.relevance,
        recency_score,
        graph_score,
        instance_score,
        method: parts.method,
        is_meant: false,
        no_longer_current: None,
    }
}

/// m / ln(m + 2), at most 1, where m is the number of named entities that a memory is linked to.
fn graph_score(linked: u32) -> f64 {
    let linked = f64::from(linked);
    (linked / (linked + 2.0).ln()).min(1.0)
}
