//! The node formula by examples calculated by hand. Weights 0.5, 3, 2, 1, 1.5; half-life 14 days; floor 0.4.

use jiff::{SignedDuration, Timestamp};
use memory::nodes::{Node, RelationalTag};
use memory::recall::RecallSettings;
use memory::recall::score::{Score, ScoreInputs, score_node, vector_relevance};
use proptest::prelude::*;

use crate::home::blank_node;

const NOW: Timestamp = Timestamp::constant(1_700_000_000, 0);

fn node(days_old: i64, emotional_impact: i8, tagged: bool) -> Node {
    let created_at = NOW - SignedDuration::from_hours(24 * days_old);
    let relational_tags = if tagged { vec![RelationalTag::Unresolved] } else { Vec::new() };
    Node { created_at, emotional_impact, relational_tags, ..blank_node() }
}

fn score(node: &Node, known: ScoreInputs) -> Score {
    score_node(node, known, NOW, &RecallSettings::default())
}

fn assert_near(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1e-9, "{actual} instead of {expected}");
}

#[test]
fn a_fresh_indifferent_memory_scores_by_relevance() {
    // 0.5·1 + 3·0.6
    assert_near(score(&node(0, 0, false), ScoreInputs { words: 0.6, ..Default::default() }).total, 2.3);
}

#[test]
fn recency_halves_in_fourteen_days() {
    // 0.5·0.5 + 3·0.6
    assert_near(score(&node(14, 0, false), ScoreInputs { words: 0.6, ..Default::default() }).total, 2.05);
    // 0.5·0.25 + 3·0.6
    assert_near(score(&node(28, 0, false), ScoreInputs { words: 0.6, ..Default::default() }).total, 1.925);
}

#[test]
fn the_sign_of_an_impact_does_not_matter() {
    let known = ScoreInputs { words: 0.5, ..Default::default() };
    // 0.5 + 1.5 + 2·0.8
    assert_near(score(&node(0, -8, false), known).total, 3.6);
    assert_near(score(&node(0, 8, false), known).total, 3.6);
}

#[test]
fn a_tag_is_worth_half_a_point_however_many_there_are() {
    let known = ScoreInputs { words: 0.5, ..Default::default() };
    let mut tagged = node(0, 0, true);
    // 0.5 + 1.5 + 0.5
    assert_near(score(&tagged, known).total, 2.5);
    tagged.relational_tags.push(RelationalTag::Commitment);
    assert_near(score(&tagged, known).total, 2.5);
}

#[test]
fn an_evidence_path_adds_half_its_strength() {
    let known = ScoreInputs { words: 0.5, path: 0.5, ..Default::default() };
    // 0.5 + 1.5 + 1·(0.5 + 0.25)
    assert_near(score(&node(0, 0, true), known).total, 2.75);
    // 0.5 + 1.5 + 1·0.25
    assert_near(score(&node(0, 0, false), known).total, 2.25);
}

#[test]
fn a_named_entity_adds_one_and_a_half() {
    let known = ScoreInputs { words: 0.2, anchored: true, ..Default::default() };
    let score = score(&node(0, 0, false), known);
    // 0.5 + 0.6 + 1.5
    assert_near(score.total, 2.6);
    assert!(score.may_enter(0.4), "the anchor waives the floor");
}

#[test]
fn all_terms_together() {
    let known =
        ScoreInputs { vector: 0.7, words: 0.9, path: 1.0, anchored: true, time_match: true, identity: false };
    // 0.5·0.5 + 3·0.9 + 2·1 + 1·(0.5 + 0.5) + 1.5
    assert_near(score(&node(14, -10, true), known).total, 7.45);
}

#[test]
fn relevance_is_the_larger_of_the_two() {
    let score = score(&node(0, 0, false), ScoreInputs { vector: 0.55, words: 0.3, ..Default::default() });
    assert_near(score.relevance, 0.55);
    // 0.5 + 3·0.55
    assert_near(score.total, 2.15);
}

#[test]
fn vector_relevance_is_of_the_euclidean_distance() {
    assert_near(vector_relevance(1.0), 1.0);
    // Orthogonal: 1 − √2/2. With the cosine distance it would be 0.5 and pass the floor.
    assert_near(vector_relevance(0.0), 1.0 - 2f64.sqrt() / 2.0);
    assert_near(vector_relevance(-1.0), 0.0);
    // The floor of 0.4 is a distance of 1.2, a cosine of 0.28.
    assert_near(vector_relevance(0.28), 0.4);
    // "do you remember my cat?" against the cat's own memory.
    assert!(vector_relevance(0.41) > 0.4);
}

#[test]
fn the_floor_is_waived_by_entity_path_and_time_only() {
    let low = |known: ScoreInputs| score(&node(0, -9, true), known).may_enter(0.4);
    assert!(!low(ScoreInputs { vector: 0.293, ..Default::default() }), "feeling alone lets nothing in");
    assert!(!low(ScoreInputs { path: 0.49, words: 0.2, ..Default::default() }));
    assert!(low(ScoreInputs { path: 0.5, words: 0.2, ..Default::default() }));
    let unrelated = ScoreInputs { path: 1.0, words: 0.19, vector: 0.39, ..Default::default() };
    assert!(!low(unrelated), "a path alone brings nothing that is unrelated");
    assert!(low(ScoreInputs { anchored: true, ..unrelated }), "unless the text names its entity");
    assert!(low(ScoreInputs { anchored: true, ..Default::default() }));
    assert!(low(ScoreInputs { time_match: true, ..Default::default() }));
    assert!(low(ScoreInputs { words: 0.4, ..Default::default() }));
}

#[test]
fn a_memory_from_the_future_is_as_fresh_as_can_be() {
    assert_near(score(&node(-3, 0, false), ScoreInputs::default()).recency, 1.0);
}

proptest! {
    #[test]
    fn a_score_grows_with_each_of_its_terms(
        days in 0i64..400,
        impact in -10i8..=10,
        tagged: bool,
        anchored: bool,
        vector in 0.0f64..1.0,
        words in 0.0f64..1.0,
        path in 0.0f64..1.0,
        more in 0.0f64..1.0,
    ) {
        let known = ScoreInputs { vector, words, path, anchored, time_match: false , identity: false};
        let total = |node: &Node, known: ScoreInputs| score(node, known).total;
        let base = total(&node(days, impact, tagged), known);
        prop_assert!(total(&node(days, impact, true), known) >= base);
        prop_assert!(total(&node(days + 1, impact, tagged), known) <= base);
        let stronger = if impact < 0 { impact.max(-9) - 1 } else { impact.min(9) + 1 };
        prop_assert!(total(&node(days, stronger, tagged), known) >= base);
        let greater = [
            ScoreInputs { vector: vector + more, ..known },
            ScoreInputs { words: words + more, ..known },
            ScoreInputs { path: path + more, ..known },
            ScoreInputs { anchored: true, ..known },
        ];
        for known in greater {
            prop_assert!(total(&node(days, impact, tagged), known) >= base);
        }
    }
}
