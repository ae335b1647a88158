//! Evidence paths between what the query hits and what rests on the same ground.

use std::collections::HashMap;

use jiff::Timestamp;

use crate::ports::FillingEdge;

/// Longest path, in steps.
pub(super) const STEPS_MAX: usize = 3;
/// What each step after the first leaves of a path's strength.
const FURTHER_STEP: f64 = 0.5;
/// Events of one thought that are connected with one another, the newest: beyond them a thought is a hub, and what it
/// connects tells little.
const SIBLINGS_MAX: usize = 64;

/// `2^(−age/half-life)`, both in days; 1 for what lies ahead of `now`.
pub(super) fn decay(at: Timestamp, now: Timestamp, half_life_days: f64) -> f64 {
    let days = now.duration_since(at).as_secs_f64() / 86_400.0;
    (-days.max(0.0) / half_life_days).exp2()
}

/// A step from one node to another.
#[derive(Clone, Copy, Debug)]
struct Step {
    from: i64,
    to: i64,
    strength: f64,
}

/// The strongest path that reaches a node from one hit.
#[derive(Clone, Copy, Debug)]
struct Reach {
    hit: i64,
    strength: f64,
}

/// The two strongest paths to a node from different hits: the second serves where the first comes from the node itself.
type Reached = HashMap<i64, Vec<Reach>>;

/// g of each node: the strength of the strongest evidence path (at most [`STEPS_MAX`] steps) from it to a hit other
/// than itself. A step is an event and its thought, or two events under one thought, with the strength
/// `2^(−age/half-life)`, age that of the newer edge; a path is worth the product of its steps, halved by each step after
/// the first. The strongest path counts, not the sum, so that hubs do not win. Nodes without a path are left out.
pub(super) fn walk(
    edges: &[FillingEdge],
    hits: &[i64],
    now: Timestamp,
    half_life_days: f64,
) -> HashMap<i64, f64> {
    let steps = steps(edges, now, half_life_days);
    let mut frontier: Reached = hits.iter().map(|&hit| (hit, vec![Reach { hit, strength: 1.0 }])).collect();
    let mut strongest: HashMap<i64, f64> = HashMap::new();
    for length in 1..=STEPS_MAX {
        let worth = if length == 1 { 1.0 } else { FURTHER_STEP };
        let mut next: Reached = HashMap::new();
        for step in &steps {
            for reach in frontier.get(&step.from).into_iter().flatten() {
                let reach = Reach { hit: reach.hit, strength: reach.strength * step.strength * worth };
                keep_two(next.entry(step.to).or_default(), reach);
            }
        }
        for (&node, reaches) in &next {
            for reach in reaches.iter().filter(|reach| reach.hit != node) {
                let known = strongest.entry(node).or_insert(0.0);
                *known = known.max(reach.strength);
            }
        }
        frontier = next;
    }
    strongest
}

fn keep_two(reaches: &mut Vec<Reach>, new: Reach) {
    match reaches.iter_mut().find(|reach| reach.hit == new.hit) {
        Some(known) => known.strength = known.strength.max(new.strength),
        None => reaches.push(new),
    }
    reaches.sort_unstable_by(|a, b| b.strength.total_cmp(&a.strength).then(b.hit.cmp(&a.hit)));
    reaches.truncate(2);
}

fn steps(edges: &[FillingEdge], now: Timestamp, half_life_days: f64) -> Vec<Step> {
    let mut by_thought: HashMap<i64, Vec<&FillingEdge>> = HashMap::new();
    for edge in edges {
        by_thought.entry(edge.thought_seq).or_default().push(edge);
    }
    let mut steps = Vec::new();
    let mut connect = |a: i64, b: i64, strength: f64| {
        steps.push(Step { from: a, to: b, strength });
        steps.push(Step { from: b, to: a, strength });
    };
    for (thought, mut events) in by_thought {
        events.sort_unstable_by_key(|edge| std::cmp::Reverse((edge.created_at, edge.event_seq)));
        for edge in &events {
            connect(edge.event_seq, thought, decay(edge.created_at, now, half_life_days));
        }
        for (at, newer) in events.iter().take(SIBLINGS_MAX).enumerate() {
            for older in events.iter().take(SIBLINGS_MAX).skip(at + 1) {
                connect(newer.event_seq, older.event_seq, decay(newer.created_at, now, half_life_days));
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn edge(thought_seq: i64, event_seq: i64, days: i64) -> FillingEdge {
        let created_at = NOW - SignedDuration::from_hours(24 * days);
        FillingEdge { thought_seq, event_seq, created_at }
    }

    fn strength(reached: &HashMap<i64, f64>, node: i64) -> f64 {
        (reached.get(&node).copied().unwrap_or(0.0) * 1e9).round() / 1e9
    }

    #[test]
    fn a_thought_and_a_sibling_are_one_step_away() {
        // Event 1 is hit; thought 10 rests on events 1 and 2, written a half-life ago and now.
        let reached = walk(&[edge(10, 1, 14), edge(10, 2, 0)], &[1], NOW, 14.0);
        assert_eq!(strength(&reached, 10), 0.5);
        assert_eq!(strength(&reached, 2), 1.0);
        assert_eq!(strength(&reached, 1), 0.0);
    }

    #[test]
    fn each_further_step_halves_and_the_fourth_is_too_far() {
        let chain =
            [edge(10, 1, 0), edge(10, 2, 0), edge(11, 2, 0), edge(11, 3, 0), edge(12, 3, 0), edge(12, 4, 0)];
        let chain: Vec<FillingEdge> = chain.into_iter().chain([edge(13, 4, 0), edge(13, 5, 0)]).collect();
        let reached = walk(&chain, &[1], NOW, 14.0);
        assert_eq!([2, 3, 4].map(|node| strength(&reached, node)), [1.0, 0.5, 0.25]);
        assert_eq!(strength(&reached, 5), 0.0);
    }

    #[test]
    fn two_hits_under_one_thought_strengthen_each_other() {
        let reached = walk(&[edge(10, 1, 0), edge(10, 2, 14)], &[1, 2], NOW, 14.0);
        assert_eq!([1, 2, 10].map(|node| strength(&reached, node)), [1.0, 1.0, 1.0]);
    }

    #[test]
    fn a_hub_is_worth_no_more_than_its_best_path() {
        let hub: Vec<FillingEdge> = (1..=20).map(|event| edge(99, event, 14)).collect();
        let hits: Vec<i64> = (1..=19).collect();
        assert_eq!(strength(&walk(&hub, &hits, NOW, 14.0), 20), 0.5);
    }

    proptest! {
        #[test]
        fn strength_is_bounded_and_order_does_not_matter(
            links in prop::collection::vec((100i64..106, 0i64..12, 0i64..60), 0..25),
            hits in prop::collection::vec(0i64..12, 0..5),
        ) {
            let edges: Vec<FillingEdge> = links.iter().map(|&(t, e, d)| edge(t, e, d)).collect();
            let reversed: Vec<FillingEdge> = edges.iter().rev().copied().collect();
            let reached = walk(&edges, &hits, NOW, 14.0);
            prop_assert!(reached.values().all(|g| (0.0..=1.0).contains(g)));
            prop_assert_eq!(reached, walk(&reversed, &hits, NOW, 14.0));
        }
    }
}
