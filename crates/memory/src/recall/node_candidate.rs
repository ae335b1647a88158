//! A node that recall may select.

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use super::score::ScoreInputs;
use crate::ports::IndexedNode;
use crate::text::fold;

/// A node with everything that its score needs.
#[derive(Clone, Debug)]
pub(super) struct NodeCandidate {
    pub(super) indexed: IndexedNode,
    /// The exact vector; `None` if the node has none, or if its bounds are enough to rank it.
    pub(super) vector: Option<Vec<f32>>,
    /// Bounds of the signal V; equal if it is exact.
    pub(super) nearness: RangeInclusive<f64>,
    pub(super) known: ScoreInputs,
    /// Folded when first compared: most candidates never are.
    pub(super) folded: OnceLock<String>,
}

impl NodeCandidate {
    /// The node's folded text.
    pub(super) fn folded_text(&self) -> &str {
        self.folded.get_or_init(|| fold(&self.indexed.node.description))
    }

    pub(super) fn is_exact(&self) -> bool {
        self.nearness.start() == self.nearness.end()
    }
}
