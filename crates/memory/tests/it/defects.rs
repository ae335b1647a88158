//! Regression tests for defects of the earlier program, named by number.

use memory::nodes::{Node, NodeKind};
use memory::recall::RecallSettings;
use memory::recall::score::{ScoreInputs, score_node, vector_relevance};

use crate::home::{Home, blank_node, scope};
use crate::recall::{NOW, ask};

/// Similarity has one definition: the Euclidean distance of unit vectors. Unrelated vectors are below the floor,
/// related ones above it.
#[test]
fn defect_08_relevance_is_what_its_document_says() {
    for cosine in [-1.0_f64, -0.3, 0.0, 0.28, 0.5, 1.0] {
        let distance = (2.0 - 2.0 * cosine).max(0.0).sqrt();
        assert!((vector_relevance(cosine) - (1.0 - distance / 2.0)).abs() < 1e-6, "{cosine}");
    }
    let settings = RecallSettings::default();
    assert!(vector_relevance(0.0) < settings.min_relevance, "orthogonal");
    assert!(vector_relevance(0.29) > settings.min_relevance, "the floor is at a cosine of 0.28");
}

/// Recalling an event a thousand times does not change its age.
#[test]
fn defect_09_age_counts_from_the_writing_in_utc() {
    let now = "2026-03-15T00:00:00Z".parse().unwrap();
    let node = Node {
        kind: NodeKind::Event,
        created_at: "2026-03-01T08:00:00+08:00".parse().unwrap(),
        access_count: 1_000,
        last_accessed_at: Some(now),
        ..blank_node()
    };
    let known = ScoreInputs { words: 0.6, ..Default::default() };
    let score = score_node(&node, known, now, &RecallSettings::default());
    assert!((score.recency - 0.5).abs() < 1e-9, "{}", score.recency);
}

/// Of ten thousand memories, recall examines a few hundred: those that words, vectors, names and times select.
#[test]
fn defect_13_recall_loads_a_few_of_many() {
    let (home, scope) = (Home::new(), scope("self"));
    let mut texts: Vec<String> = (0..10_000).map(|number| format!("用户在第{number}天喝了咖啡")).collect();
    texts.push("用户养了一只白猫,叫小黑".to_owned());
    let nodes = texts.into_iter().map(|description| Node { description, created_at: NOW, ..blank_node() });
    home.add_nodes(&scope, nodes.collect(), &[]);
    let recalled = ask(&home, &scope, "小黑喜欢咖啡吗", None);
    assert!(recalled.nodes.iter().any(|scored| scored.node.description.contains("小黑")));
    // Every node that was read is a candidate, with its score.
    let read = recalled.candidates.len();
    assert!(read < 1_000, "{read} rows");
}
