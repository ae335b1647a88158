//! Two memories of which the later one says with a doubt what the other says for certain: neither is given as certain, and
//! the persona asks once.

use std::collections::BTreeMap;

use super::RecallResult;
use crate::corrections::{has_hedge, puts_in_doubt};
use crate::identifiers::NodeId;
use crate::nodes::{Node, NodeKind};

/// A value of which it is not clear whether it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The memory that says it for certain.
    pub certain: NodeId,
    /// What it says.
    pub certain_text: String,
    /// The later memory that says otherwise, with a doubt.
    pub doubted: NodeId,
    /// What that one says.
    pub doubted_text: String,
    /// No reply has been written from the later one yet: the persona may ask now, and only now.
    pub may_be_asked: bool,
}

/// The doubts among what was recalled. What is said for certain after a doubt settles it when it is formed.
pub(super) fn find_doubts(found: &RecallResult) -> Vec<Doubt> {
    let recalled = found.nodes.iter().map(|scored| &scored.node).chain(&found.pinned.events);
    let events: BTreeMap<i64, &Node> =
        recalled.filter(|node| node.kind == NodeKind::Event).map(|node| (node.seq, node)).collect();
    let mut doubts = Vec::new();
    for (seq, newer) in events.iter().filter(|(_, newer)| has_hedge(&newer.description)) {
        let mut earlier = events.range(..seq).map(|(_, older)| *older);
        let same = |older: &&Node| {
            older.subject == newer.subject && puts_in_doubt(&newer.description, &older.description)
        };
        if let Some(older) = earlier.find(same) {
            doubts.push(Doubt {
                certain: older.id,
                certain_text: older.description.clone(),
                doubted: newer.id,
                doubted_text: newer.description.clone(),
                may_be_asked: newer.access_count == 0,
            });
        }
    }
    doubts
}
