//! The query of a recall: the sentences of the new message, with their words and vectors.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::identity::IdentityQuestion;
use super::message_query::{MessageQuery, TextsToEmbed};
use super::settings::RecallSettings;
use crate::ports::{Embedder, Embedding};
use crate::text::QueryTerm;
use crate::vector_index::READABILITY_MIN;

/// A message in the form in which recall searches for it.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// The whole message, or the last sentences of a long one, for the search of nodes.
    pub sentences: Vec<Sentence>,
    /// The search in the message log.
    pub question: MessageQuery,
    /// A question about the identity of the user, if there is one.
    pub identity: Option<IdentityQuestion>,
    /// The model of the vectors; `None` if only words are used.
    pub fingerprint: Option<String>,
    /// The model's shift of support; see [`Embedder::support_shift`].
    pub support_shift: f64,
    /// Why there are no vectors, for a person.
    pub words_only: Option<String>,
}

/// A part of the query that is searched separately; a memory is scored by its best sentence.
#[derive(Clone, Debug)]
pub struct Sentence {
    pub terms: Vec<QueryTerm>,
    /// The vector of the sentence, if the model can read it.
    pub vector: Option<Vec<f32>>,
}

impl Query {
    /// Splits and embeds a message. If the embedder is missing or fails, only words are used. Times are resolved from
    /// `now` in the zone.
    pub async fn new(
        text: &str,
        now: Timestamp,
        zone: &TimeZone,
        settings: &RecallSettings,
        embedder: Option<&dyn Embedder>,
    ) -> Self {
        let (question, texts) = MessageQuery::new(text, now, zone, settings);
        let sentence = |terms: &Vec<QueryTerm>| Sentence { terms: terms.clone(), vector: None };
        let mut query = Self {
            sentences: texts.terms.iter().map(sentence).collect(),
            question,
            identity: texts.identity,
            fingerprint: None,
            support_shift: 0.0,
            words_only: None,
        };
        if query.sentences.is_empty() {
            return query;
        }
        let Some(embedder) = embedder else {
            query.words_only = Some("no embedding model is available".to_owned());
            return query;
        };
        let wanted = distinct_texts(&texts);
        match embedder.embed_queries(&wanted).await {
            Ok(embeddings) if embeddings.len() == wanted.len() => {
                query.fingerprint = Some(embedder.fingerprint().to_owned());
                query.support_shift = embedder.support_shift();
                query.take_vectors(&texts, &wanted, &embeddings);
            }
            Ok(_) => query.words_only = Some("the embedding model returned too few vectors".to_owned()),
            Err(error) => query.words_only = Some(error.to_string()),
        }
        query
    }

    /// The vectors of the sentences that the model can read.
    pub fn vectors(&self) -> impl Iterator<Item = &[f32]> {
        self.sentences.iter().filter_map(|sentence| sentence.vector.as_deref())
    }

    fn take_vectors(&mut self, texts: &TextsToEmbed, embedded: &[String], embeddings: &[Embedding]) {
        let vector_of = |text: &String| -> Option<Vec<f32>> {
            let place = embedded.iter().position(|known| known == text)?;
            let embedding = embeddings.get(place).filter(|known| known.readability >= READABILITY_MIN)?;
            Some(embedding.vector.clone())
        };
        for (sentence, text) in self.sentences.iter_mut().zip(&texts.sentences) {
            sentence.vector = vector_of(text);
        }
        self.question.vectors = texts.spoken.iter().filter_map(vector_of).collect();
        self.question.whole = texts.whole.as_ref().and_then(vector_of);
    }
}

/// Every distinct text once. The first person is mostly the text itself, so that it is embedded once.
fn distinct_texts(texts: &TextsToEmbed) -> Vec<String> {
    let mut wanted: Vec<String> = Vec::new();
    for text in texts.sentences.iter().chain(&texts.spoken).chain(&texts.whole) {
        if !wanted.contains(text) {
            wanted.push(text.clone());
        }
    }
    wanted
}
