//! Evidence paths between nodes that match the query and nodes with common evidence.

use std::collections::HashMap;

use jiff::Timestamp;

use crate::ports::FillingEdge;

/// Maximum length of a path, in steps. Beyond it everything is linked with everything.
pub(super) const STEPS_MAX: usize = 3;
/// Factor for each step of a path after the first. A neighbour of a neighbour explains half as much.
const FURTHER_STEP_FACTOR: f64 = 0.5;
/// Maximum events of one thought that are connected with each other, the newest first: a thought with more is a hub,
/// whose connections carry little information.
const SIBLINGS_MAX: usize = 64;

/// `2^(−age/half-life)`, both in days; 1 for a time after `now`.
pub(super) fn decay_with_age(at: Timestamp, now: Timestamp, half_life_days: f64) -> f64 {
    let days = now.duration_since(at).as_secs_f64() / 86_400.0;
    (-days.max(0.0) / half_life_days).exp2()
}

/// A step between two nodes, by their indexes.
#[derive(Clone, Copy, Debug)]
struct EdgeStep {
    from: usize,
    to: usize,
    strength: f64,
}

/// The strongest path that reaches a node from one hit.
#[derive(Clone, Copy, Debug)]
struct StrongestPath {
    hit: i64,
    strength: f64,
}

/// The two strongest paths to a node from different hits, the stronger first. The second one is used if the first one
/// starts at the node itself.
type ReachedNodes = [Option<StrongestPath>; 2];

/// g of each node: the strength of the strongest evidence path (at most [`STEPS_MAX`] steps) from it to another hit.
/// A step connects an event and its thought, or two events of one thought, and has the strength `2^(−age/half-life)`,
/// where age is that of the newer edge. The strength of a path is the product of its steps, halved for each step
/// after the first. The strongest path counts, not the sum, so that hubs do not win. Nodes without a path are left
/// out.
pub(super) fn path_strengths(
    edges: &[FillingEdge],
    hits: &[i64],
    now: Timestamp,
    half_life_days: f64,
) -> HashMap<i64, f64> {
    let mut nodes: Vec<i64> = edges.iter().flat_map(|edge| [edge.thought_seq, edge.event_seq]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let place = |seq: i64| nodes.binary_search(&seq).ok();
    let steps = steps(edges, place, now, half_life_days);
    let mut frontier: Vec<ReachedNodes> = vec![[None; 2]; nodes.len()];
    // A hit without an edge leads nowhere.
    for (place, &hit) in hits.iter().filter_map(|hit| Some((place(*hit)?, hit))) {
        frontier[place][0] = Some(StrongestPath { hit, strength: 1.0 });
    }
    let mut strongest: Vec<f64> = vec![0.0; nodes.len()];
    for length in 1..=STEPS_MAX {
        let worth = if length == 1 { 1.0 } else { FURTHER_STEP_FACTOR };
        let mut next: Vec<ReachedNodes> = vec![[None; 2]; nodes.len()];
        for step in &steps {
            for reach in frontier[step.from].into_iter().flatten() {
                let strength = reach.strength * step.strength * worth;
                retain_two_strongest(&mut next[step.to], StrongestPath { hit: reach.hit, strength });
            }
        }
        for ((node, reaches), known) in nodes.iter().zip(&next).zip(&mut strongest) {
            let others = reaches.iter().flatten().filter(|reach| reach.hit != *node);
            *known = others.map(|reach| reach.strength).fold(*known, f64::max);
        }
        frontier = next;
    }
    nodes.into_iter().zip(strongest).filter(|(_, strength)| *strength > 0.0).collect()
}

/// Sorts by strength, then by the number of the hit, and keeps two.
fn retain_two_strongest(known: &mut ReachedNodes, new: StrongestPath) {
    let stronger = |a: StrongestPath, b: StrongestPath| {
        a.strength.total_cmp(&b.strength).then(a.hit.cmp(&b.hit)).is_gt()
    };
    let [first, second] = *known;
    *known = match (first, second) {
        (Some(first), second) if first.hit == new.hit => {
            [Some(if stronger(new, first) { new } else { first }), second]
        }
        (Some(first), _) if stronger(new, first) => [Some(new), Some(first)],
        (Some(first), Some(second)) => [Some(first), Some(if stronger(new, second) { new } else { second })],
        (Some(first), None) => [Some(first), Some(new)],
        (None, _) => [Some(new), None],
    };
}

fn steps(
    edges: &[FillingEdge],
    place: impl Fn(i64) -> Option<usize>,
    now: Timestamp,
    half_life_days: f64,
) -> Vec<EdgeStep> {
    let mut edges: Vec<&FillingEdge> = edges.iter().collect();
    edges.sort_unstable_by_key(|edge| {
        (edge.thought_seq, std::cmp::Reverse((edge.created_at, edge.event_seq)))
    });
    let mut steps = Vec::new();
    for events in edges.chunk_by(|a, b| a.thought_seq == b.thought_seq) {
        let Some(thought) = events.first().and_then(|edge| place(edge.thought_seq)) else { continue };
        let places: Vec<(usize, f64)> = events
            .iter()
            .filter_map(|edge| {
                Some((place(edge.event_seq)?, decay_with_age(edge.created_at, now, half_life_days)))
            })
            .collect();
        let mut connect = |a: usize, b: usize, strength: f64| {
            steps.push(EdgeStep { from: a, to: b, strength });
            steps.push(EdgeStep { from: b, to: a, strength });
        };
        for &(event, strength) in &places {
            connect(event, thought, strength);
        }
        let siblings = &places[..places.len().min(SIBLINGS_MAX)];
        for (at, &(newer, strength)) in siblings.iter().enumerate() {
            siblings[at + 1..].iter().for_each(|&(older, _)| connect(newer, older, strength));
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
        // Event 1 matches; thought 10 cites events 1 and 2, written a half-life ago and now.
        let reached = path_strengths(&[edge(10, 1, 14), edge(10, 2, 0)], &[1], NOW, 14.0);
        assert_eq!(strength(&reached, 10), 0.5);
        assert_eq!(strength(&reached, 2), 1.0);
        assert_eq!(strength(&reached, 1), 0.0);
    }

    #[test]
    fn each_further_step_halves_and_the_fourth_is_too_far() {
        let chain =
            [edge(10, 1, 0), edge(10, 2, 0), edge(11, 2, 0), edge(11, 3, 0), edge(12, 3, 0), edge(12, 4, 0)];
        let chain: Vec<FillingEdge> = chain.into_iter().chain([edge(13, 4, 0), edge(13, 5, 0)]).collect();
        let reached = path_strengths(&chain, &[1], NOW, 14.0);
        assert_eq!([2, 3, 4].map(|node| strength(&reached, node)), [1.0, 0.5, 0.25]);
        assert_eq!(strength(&reached, 5), 0.0);
    }

    #[test]
    fn two_hits_under_one_thought_strengthen_each_other() {
        let reached = path_strengths(&[edge(10, 1, 0), edge(10, 2, 14)], &[1, 2], NOW, 14.0);
        assert_eq!([1, 2, 10].map(|node| strength(&reached, node)), [1.0, 1.0, 1.0]);
    }

    #[test]
    fn a_hub_is_worth_no_more_than_its_best_path() {
        let hub: Vec<FillingEdge> = (1..=20).map(|event| edge(99, event, 14)).collect();
        let hits: Vec<i64> = (1..=19).collect();
        assert_eq!(strength(&path_strengths(&hub, &hits, NOW, 14.0), 20), 0.5);
    }

    proptest! {
        #[test]
        fn strength_is_bounded_and_order_does_not_matter(
            links in prop::collection::vec((100i64..106, 0i64..12, 0i64..60), 0..25),
            hits in prop::collection::vec(0i64..12, 0..5),
        ) {
            let edges: Vec<FillingEdge> = links.iter().map(|&(t, e, d)| edge(t, e, d)).collect();
            let reversed: Vec<FillingEdge> = edges.iter().rev().copied().collect();
            let reached = path_strengths(&edges, &hits, NOW, 14.0);
            prop_assert!(reached.values().all(|g| (0.0..=1.0).contains(g)));
            prop_assert_eq!(reached, path_strengths(&reversed, &hits, NOW, 14.0));
        }
    }
}
