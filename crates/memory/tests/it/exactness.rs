//! Fetching rows late or not at all changes nothing: recall chooses the same as if it had examined every row and
//! every exact vector.

use async_trait::async_trait;
use jiff::SignedDuration;
use memory::nodes::{Node, NodeKind};
use memory::ports::{Corpus, EmbedError, Embedder, Embedding, Phrase};
use memory::recall::score::{ScoreInputs, score_node, vector_relevance};
use memory::recall::{IndexedText, RecallSettings, WordStatistics};
use memory::text::{index_terms, query_terms};
use memory::vector_index::cosine;
use proptest::prelude::*;

use crate::home::{FINGERPRINT, Home, blank_node};
use crate::recall::{NOW, ask};

const DIMENSION: usize = 12;
const QUESTION: &str = "alpha beta gamma";

/// Embeds every text as the same vector.
struct One(Vec<f32>);

#[async_trait]
impl Embedder for One {
    fn dimension(&self) -> usize {
        DIMENSION
    }

    fn fingerprint(&self) -> &str {
        FINGERPRINT
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        Ok(texts.iter().map(|_| Embedding { vector: self.0.clone(), readability: 1.0 }).collect())
    }
}

/// A memory: its words, impact, age in days, the similarity of its vector to the question's, and the rest of the
/// vector.
type Story = (Vec<&'static str>, i8, i64, f32, Vec<f32>);

fn stories() -> impl Strategy<Value = Story> {
    let word = prop::sample::select(vec!["alpha", "beta", "gamma", "delta", "epsilon"]);
    let words = prop::collection::vec(word, 1..4);
    (words, -10i8..=10, 0i64..60, -1.0f32..1.0, prop::collection::vec(-1.0f32..1.0, DIMENSION))
}

fn unit(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|c| c * c).sum::<f32>().sqrt().max(1e-6);
    vector.iter().map(|c| c / length).collect()
}

fn vector_of(query: &[f32], nearness: f32, rest: &[f32]) -> Vec<f32> {
    unit(&query.iter().zip(rest).map(|(q, r)| 2.0 * nearness * q + 0.3 * r).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn codes_and_late_rows_change_nothing(
        memories in prop::collection::vec(stories(), 1..48),
        query in prop::collection::vec(-1.0f32..1.0, DIMENSION),
    ) {
        let (home, settings) = (Home::shared(), RecallSettings::default());
        let me = home.new_scope();
        let query = unit(&query);
        let mut nodes = Vec::new();
        for (number, (words, emotional_impact, days, nearness, rest)) in memories.iter().enumerate() {
            // The number makes the texts distinct.
            let description = format!("{} {number}", words.join(" "));
            let created_at = NOW - SignedDuration::from_hours(24 * days);
            let node = Node { description, emotional_impact: *emotional_impact, created_at, ..blank_node() };
            let vector = vector_of(&query, *nearness, rest);
            let seq = home.add(&me, Node { kind: NodeKind::Event, ..node.clone() });
            home.put_vector(Corpus::Nodes, seq, &vector, 1.0);
            nodes.push((node, vector));
        }

        let terms = query_terms(QUESTION);
        let indexed: Vec<String> = nodes.iter().map(|(node, _)| index_terms(&node.description)).collect();
        let holds = |phrase: &Phrase| indexed.iter().filter(|text| text.split(' ').any(|t| t == phrase.0[0])).count();
        let statistics = WordStatistics {
            documents: nodes.len() as u64,
            frequencies: terms.iter().map(|term| (term.phrase.clone(), holds(&term.phrase) as u64)).collect(),
        };
        let mut expected: Vec<(&Node, f64)> = Vec::new();
        for ((node, vector), text) in nodes.iter().zip(&indexed) {
            let known = ScoreInputs {
                vector: vector_relevance(f64::from(cosine(&query, vector))),
                words: statistics.relevance(&terms, &IndexedText::new(text)),
                ..ScoreInputs::default()
            };
            let score = score_node(node, known, NOW, &settings);
            if score.may_enter(settings.min_relevance) {
                expected.push((node, score.total));
            }
        }
        expected.sort_by(|(a, of_a), (b, of_b)| {
            of_b.total_cmp(of_a)
                .then_with(|| b.emotional_impact.unsigned_abs().cmp(&a.emotional_impact.unsigned_abs()))
                .then_with(|| b.created_at.cmp(&a.created_at))
                .then_with(|| a.description.cmp(&b.description))
        });
        let expected: Vec<(String, f64)> =
            expected.iter().take(settings.k).map(|(node, total)| (node.description.clone(), *total)).collect();

        let recalled = ask(home, &me, QUESTION, Some(&One(query)));
        let found: Vec<(String, f64)> =
            recalled.nodes.iter().map(|scored| (scored.node.description.clone(), scored.score.total)).collect();
        prop_assert_eq!(found, expected);
    }
}
