//! Selects statements that may be about the same subject as a new memory: similar current memories, other new ones,
//! and sentences of the session that are not evidence of any memory.

use std::collections::BTreeSet;

use super::reconcile::PAIRS_MAX;
use super::{ConsolidateError, Consolidator, Participants};
use crate::identifiers::NodeId;
use crate::messages::{Message, Role};
use crate::nodes::{Evidence, NewNode, NodeKind};
use crate::ports::{Counterpart, Embedding, NewPair};
use crate::recall::score::vector_relevance;
use crate::recall::{NodeWeights, RecallRequest, RecallSettings, ScoredNode, recall_nodes};
use crate::sessions::Session;
use crate::text::{content_terms, split_sentences};
use crate::vector_index::{READABILITY_MIN, cosine};

/// Maximum current memories to compare each new one with. Each comparison may add to the question for the model; what
/// is replaced is rarely further down the list.
const NEAR_MEMORIES: usize = 6;
/// Minimum relevance by vectors of two statements that may be about the same subject. Of 18 pairs that are, in both
/// languages, the multilingual model puts all at 0.51 and more, all-MiniLM-L6-v2 the English ones at 0.48 and more;
/// of 10 that are not, 7 and all English ones are below 0.47.
const VECTOR_MIN: f64 = 0.47;
/// Minimum share of the content words of the shorter text that both texts have.
const WORDS_MIN: f64 = 0.3;
/// Minimum relevance of a memory to compare. A move shares one name with the memory of the old home, so this is far
/// lower than in recall; the nearest come first, and there are few places.
const RELEVANCE_MIN: f64 = 0.15;
/// Minimum share for a single sentence: "the wedding was put off, it is on 4 September".
const SENTENCE_WORDS_MIN: f64 = 0.2;
/// Maximum sentences of the user up to which a session is searched sentence by sentence. Each is a search of its own.
const SENTENCES_COMPARED: usize = 4;
/// Maximum sentences of the session to compare, the newest first. It bounds the pairs of sentences and memories after
/// a long session.
const SENTENCES_MAX: usize = 24;
/// Maximum pairs with such sentences. They take at most a third of the places in a question.
const SENTENCE_PAIRS_MAX: usize = 4;

/// A new memory, with the memory that it replaces according to the model.
pub(super) struct NewMemory<'a> {
    pub(super) node: &'a NewNode,
    pub(super) supersedes: Vec<NodeId>,
}

/// A text to compare, with its vector if the model can read it.
struct ComparedText {
    terms: BTreeSet<String>,
    vector: Option<Vec<f32>>,
}

impl ComparedText {
    fn new(text: &str, embedding: Option<&Embedding>) -> Self {
        let readable = embedding.filter(|embedding| embedding.readability >= READABILITY_MIN);
        // That both are about the user carries no information.
        let said = text.replace("用户", " ").replace("The user", " ").replace("the user", " ");
        Self { terms: content_terms(&said), vector: readable.map(|embedding| embedding.vector.clone()) }
    }

    /// Similarity of the two texts, 0 to 1; `None` below the thresholds.
    fn text_similarity(&self, other: &Self) -> Option<f64> {
        let shared = self.shared_words(other);
        let vectors = self.vector.as_ref().zip(other.vector.as_ref());
        let relevance = vectors.map(|(a, b)| vector_relevance(f64::from(cosine(a, b))));
        let is_near = shared >= WORDS_MIN || relevance.is_some_and(|near| near >= VECTOR_MIN);
        is_near.then(|| relevance.unwrap_or_default().max(shared))
    }

    fn shared_words(&self, other: &Self) -> f64 {
        let shared = self.terms.intersection(&other.terms).count() as f64;
        shared / self.terms.len().min(other.terms.len()).max(1) as f64
    }
}

impl Consolidator<'_> {
    /// The pairs to ask about: those that the model named first, then those within the session, then the nearest
    /// memories.
    pub(super) async fn choose_pairs(
        &self,
        session: &Session,
        new: &[NewMemory<'_>],
        messages: &[Message],
        used: &[Evidence],
        parties: &Participants,
    ) -> Result<Vec<NewPair>, ConsolidateError> {
        let pair = |node: &NewNode, other: Counterpart| NewPair { node: node.id, other };
        let mut pairs = Vec::new();
        for memory in new {
            let named = memory.supersedes.iter().map(|older| pair(memory.node, Counterpart::Node(*older)));
            pairs.extend(named);
        }
        let compared: Vec<ComparedText> = new
            .iter()
            .map(|memory| ComparedText::new(&memory.node.description, memory.node.embedding.as_ref()))
            .collect();
        for (place, memory) in new.iter().enumerate() {
            for (other, text) in new.iter().zip(&compared).take(place) {
                if other.node.kind == memory.node.kind && text.text_similarity(&compared[place]).is_some() {
                    pairs.push(pair(memory.node, Counterpart::Node(other.node.id)));
                }
            }
        }
        pairs.extend(self.sentence_pairs(new, &compared, messages, used).await);
        pairs.extend(self.near_memories(session, new, &compared, parties).await?);
        let mut distinct: Vec<NewPair> = Vec::new();
        for pair in pairs {
            if !distinct.contains(&pair) && distinct.len() < PAIRS_MAX {
                distinct.push(pair);
            }
        }
        Ok(distinct)
    }

    /// True if a statement of the user is similar to a current memory.
    pub(super) async fn is_near_a_memory(
        &self,
        session: &Session,
        messages: &[Message],
        parties: &Participants,
    ) -> Result<bool, ConsolidateError> {
        let mut said = unused_sentences(messages, &[]);
        said.truncate(SENTENCES_COMPARED);
        let said: Vec<String> = said.into_iter().map(|words| words.quote).collect();
        let found = self.nearest_memories(session, said.clone(), NEAR_MEMORIES, parties).await?;
        let is_near = |(sentence, found): (&String, &Vec<ScoredNode>)| {
            let sentence = ComparedText::new(sentence, None);
            found.iter().any(|scored| {
                let described = ComparedText::new(&scored.node.description, None);
                let is_event = matches!(scored.node.kind, NodeKind::Event | NodeKind::Intention);
                let shared = sentence.shared_words(&described);
                is_event && (scored.score.vector >= VECTOR_MIN || shared >= SENTENCE_WORDS_MIN)
            })
        };
        Ok(said.iter().zip(&found).any(is_near))
    }

    /// The memories nearest to each of these texts.
    pub(super) async fn nearest_memories(
        &self,
        session: &Session,
        texts: Vec<String>,
        k: usize,
        parties: &Participants,
    ) -> Result<Vec<Vec<ScoredNode>>, ConsolidateError> {
        let look = |text: String| RecallRequest {
            scope: session.scope.clone(),
            text,
            now: self.clock.now(),
            zone: parties.zone.clone(),
            window: Vec::new(),
        };
        let settings = RecallSettings {
            k,
            min_relevance: RELEVANCE_MIN,
            weights: NodeWeights { recency: 0.1, impact: 0.0, relational: 0.0, ..self.recall.weights },
            ..self.recall.clone()
        };
        let looks = texts.into_iter().map(look).collect();
        Ok(recall_nodes(self.store, self.index, self.embedder, &settings, looks).await?)
    }

    /// Current memories similar to each new one, the nearest of each first.
    async fn near_memories(
        &self,
        session: &Session,
        new: &[NewMemory<'_>],
        compared: &[ComparedText],
        parties: &Participants,
    ) -> Result<Vec<NewPair>, ConsolidateError> {
        let texts = new.iter().map(|memory| memory.node.description.clone()).collect();
        let found = self.nearest_memories(session, texts, NEAR_MEMORIES, parties).await?;
        let mut pairs = Vec::new();
        for place in 0..NEAR_MEMORIES {
            for ((memory, text), found) in new.iter().zip(compared).zip(&found) {
                let kind = memory.node.kind;
                let mut near = found.iter().filter(|scored| {
                    let is_near = text.vector.is_none()
                        || scored.score.vector >= VECTOR_MIN
                        || text.shared_words(&ComparedText::new(&scored.node.description, None)) >= WORDS_MIN;
                    scored.node.kind == kind && is_near
                });
                let near = near.nth(place).map(|scored| Counterpart::Node(scored.node.id));
                pairs.extend(near.map(|other| NewPair { node: memory.node.id, other }));
            }
        }
        Ok(pairs)
    }

    /// Earlier sentences of the user that did not become memories, such as "I live in Hamburg" before "no, in Porto".
    async fn sentence_pairs(
        &self,
        new: &[NewMemory<'_>],
        compared: &[ComparedText],
        messages: &[Message],
        used: &[Evidence],
    ) -> Vec<NewPair> {
        let said = unused_sentences(messages, used);
        if said.is_empty() || new.iter().all(|memory| memory.node.kind != NodeKind::Event) {
            return Vec::new();
        }
        let embeddings = self.embed(said.iter().map(|words| words.quote.clone()).collect()).await;
        let place_of = |words: &Evidence| {
            (messages.iter().position(|message| message.id == words.message_id), words.start)
        };
        let mut found = Vec::new();
        for (words, embedding) in said.iter().zip(&embeddings) {
            let sentence = ComparedText::new(&words.quote, embedding.as_ref());
            for (memory, text) in new.iter().zip(compared) {
                let is_earlier = memory.node.evidence.iter().any(|other| place_of(words) < place_of(other));
                let nearness = text.text_similarity(&sentence).filter(|_| is_earlier);
                let pair = || NewPair { node: memory.node.id, other: Counterpart::Words(words.clone()) };
                found.extend(nearness.map(|near| (near, pair())));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        found.into_iter().take(SENTENCE_PAIRS_MAX).map(|(_, pair)| pair).collect()
    }
}

/// The newest statements of the user that are not evidence of any event in the answer.
fn unused_sentences(messages: &[Message], used: &[Evidence]) -> Vec<Evidence> {
    let is_used = |message: &Message, start: u32, end: u32| {
        used.iter().any(|quote| quote.message_id == message.id && quote.start < end && start < quote.end)
    };
    let mut found = Vec::new();
    for message in messages.iter().rev().filter(|message| message.role == Role::User) {
        for sentence in split_sentences(&message.content).into_iter().rev() {
            let Some(at) = message.content.find(sentence) else { continue };
            let start = u32::try_from(message.content[..at].chars().count()).unwrap_or(u32::MAX);
            let end = start.saturating_add(u32::try_from(sentence.chars().count()).unwrap_or(u32::MAX));
            let states = !sentence.ends_with(['?', '？']) && content_terms(sentence).len() > 1;
            if states && !is_used(message, start, end) {
                found.push(Evidence { message_id: message.id, quote: sentence.to_owned(), start, end });
            }
            if found.len() == SENTENCES_MAX {
                return found;
            }
        }
    }
    found
}
