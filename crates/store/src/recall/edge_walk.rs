//! Follows evidence edges.

use std::collections::BTreeSet;

use memory::ports::{EdgeLimits, FillingEdge};

/// Follows edges from nodes outwards, round by round: the caller reads the edges of [`Self::next_round`] and passes
/// them to [`Self::follow_edges`].
#[derive(Clone, Debug)]
pub(crate) struct EdgeWalk {
    reach: EdgeLimits,
    rounds_left: u32,
    frontier: BTreeSet<i64>,
    followed: BTreeSet<i64>,
    edges: Vec<FillingEdge>,
}

impl EdgeWalk {
    /// Starts at these nodes.
    pub(crate) fn new(seqs: &[i64], reach: EdgeLimits) -> Self {
        Self {
            reach,
            rounds_left: reach.rounds,
            frontier: seqs.iter().copied().collect(),
            followed: BTreeSet::new(),
            edges: Vec::new(),
        }
    }

    /// The nodes of the next round, the newest first; `None` when all rounds are done or nothing new was reached.
    pub(crate) fn next_round(&mut self) -> Option<Vec<i64>> {
        let frontier: Vec<i64> =
            std::mem::take(&mut self.frontier).into_iter().rev().take(self.reach.nodes_max).collect();
        self.rounds_left = self.rounds_left.checked_sub(1).filter(|_| !frontier.is_empty())?;
        self.followed.extend(&frontier);
        Some(frontier)
    }

    /// Adds the edges of the last round's nodes.
    pub(crate) fn follow_edges(&mut self, edges: Vec<FillingEdge>) {
        let ends = edges.iter().flat_map(|edge| [edge.thought_seq, edge.event_seq]);
        self.frontier = ends.filter(|seq| !self.followed.contains(seq)).collect();
        self.edges.extend(edges);
    }

    /// Every edge that was found, once, sorted by thought, then by event.
    pub(crate) fn into_edges(mut self) -> Vec<FillingEdge> {
        self.edges.sort_unstable_by_key(|edge| (edge.thought_seq, edge.event_seq));
        self.edges.dedup();
        self.edges
    }
}
