//! What is looked for: the sentences of the new message, their words and their vectors.

use crate::ports::{Embedder, Embedding};
use crate::text::{QueryTerm, estimate_tokens, query_terms, split_sentences};
use crate::vector_index::READABILITY_MIN;

/// Tokens up to which a message is looked for as one. The embedder blurs what is longer, and the words of a long text
/// ask for too much at once.
const WHOLE_TOKENS_MAX: u32 = 24;
/// Sentences of a long message that are looked for; the newest stay.
const SENTENCES_MAX: usize = 5;

/// A message as recall looks for it.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// The whole message, or the last sentences of a long one.
    pub sentences: Vec<Sentence>,
    /// The model that made the vectors; none where words serve alone.
    pub fingerprint: Option<String>,
    /// Why there are no vectors, for a person.
    pub words_only: Option<String>,
}

/// A part of the query that is looked for by itself; a memory's best sentence counts.
#[derive(Clone, Debug)]
pub struct Sentence {
    /// Its content terms.
    pub terms: Vec<QueryTerm>,
    /// Its vector, only where the model can read it.
    pub vector: Option<Vec<f32>>,
}

impl Query {
    /// Splits and embeds a message. A missing or failing embedder leaves words alone.
    pub async fn new(text: &str, embedder: Option<&dyn Embedder>) -> Self {
        let texts = sentences(text);
        if texts.is_empty() {
            return Self::default();
        }
        let unembedded = |reason: String| Self {
            sentences: texts.iter().map(|text| Sentence { terms: query_terms(text), vector: None }).collect(),
            fingerprint: None,
            words_only: Some(reason),
        };
        let Some(embedder) = embedder else {
            return unembedded("no embedding model is at hand".to_owned());
        };
        match embedder.embed(&texts).await {
            Ok(embeddings) if embeddings.len() == texts.len() => Self {
                sentences: texts
                    .iter()
                    .zip(embeddings)
                    .map(|(text, embedding)| sentence(text, embedding))
                    .collect(),
                fingerprint: Some(embedder.fingerprint().to_owned()),
                words_only: None,
            },
            Ok(_) => unembedded("the embedding model left a text out".to_owned()),
            Err(error) => unembedded(error.to_string()),
        }
    }

    /// The vectors of the sentences that the model can read.
    pub fn vectors(&self) -> impl Iterator<Item = &[f32]> {
        self.sentences.iter().filter_map(|sentence| sentence.vector.as_deref())
    }
}

fn sentence(text: &str, embedding: Embedding) -> Sentence {
    let readable = embedding.readability >= READABILITY_MIN;
    Sentence { terms: query_terms(text), vector: readable.then_some(embedding.vector) }
}

fn sentences(text: &str) -> Vec<String> {
    let whole = text.trim();
    if whole.is_empty() {
        return Vec::new();
    }
    if estimate_tokens(whole) <= WHOLE_TOKENS_MAX {
        return vec![whole.to_owned()];
    }
    let sentences = split_sentences(whole);
    sentences[sentences.len().saturating_sub(SENTENCES_MAX)..]
        .iter()
        .map(|&sentence| sentence.to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_message_stays_whole_and_of_a_long_one_the_newest_sentences_count() {
        assert_eq!(sentences(" Hi. How is my cat? "), ["Hi. How is my cat?"]);
        let long: Vec<String> =
            (0..8).map(|n| format!("This is the sentence number {n} of a long story.")).collect();
        assert_eq!(sentences(&long.join(" ")), long[3..]);
        assert!(sentences(" \n").is_empty());
    }
}
