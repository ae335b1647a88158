//! Two memories of which it is undecided which are true: neither is presented as certain, and the persona asks once.

use std::collections::BTreeSet;

use super::RecallResult;
use crate::identifiers::{MessageId, NodeId};
use crate::messages::Message;
use crate::nodes::Node;
use crate::ports::{OpenPair, Store, StoreError};
use crate::scope::Scope;

/// A value of which it is undecided if it is current.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The memory that states the older value.
    pub older: NodeId,
    pub older_text: String,
    /// The later memory, which may contradict it.
    pub newer: NodeId,
    /// Text of the newer memory.
    pub newer_text: String,
    /// The messages of either statement; true for those of the newer one.
    pub messages: Vec<(MessageId, bool)>,
    /// True if no reply has been written from either memory since the question was opened: the persona may ask now,
    /// and only now.
    pub may_be_asked: bool,
}

impl Doubt {
    fn new(pair: OpenPair) -> Self {
        let is_used = |last: Option<jiff::Timestamp>| last.is_some_and(|at| at >= pair.opened_at);
        Self {
            may_be_asked: !is_used(pair.older.last_accessed_at) && !is_used(pair.newer.last_accessed_at),
            older: pair.older.id,
            older_text: pair.older.description,
            newer: pair.newer.id,
            newer_text: pair.newer.description,
            messages: pair.messages,
        }
    }
}

/// The undecided pairs of the recalled memories, including those that are left out afterwards.
pub(super) async fn read_open_pairs(
    store: &dyn Store,
    scope: &Scope,
    found: &RecallResult,
) -> Result<Vec<OpenPair>, StoreError> {
    let nodes: Vec<i64> = recalled_nodes(found).map(|node| node.seq).collect();
    let messages: Vec<i64> = recalled_messages(found).map(|message| message.seq).collect();
    store.open_pairs(scope, &nodes, &messages).await
}

/// The undecided pairs of the memories that are shown.
pub(super) fn doubts_about(found: &RecallResult, pairs: Vec<OpenPair>) -> Vec<Doubt> {
    let nodes: BTreeSet<NodeId> = recalled_nodes(found).map(|node| node.id).collect();
    let messages: BTreeSet<MessageId> = recalled_messages(found).map(|message| message.id).collect();
    let is_about = |pair: &OpenPair| {
        nodes.contains(&pair.older.id)
            || nodes.contains(&pair.newer.id)
            || pair.messages.iter().any(|(message, _)| messages.contains(message))
    };
    pairs.into_iter().filter(is_about).map(Doubt::new).collect()
}

fn recalled_nodes(found: &RecallResult) -> impl Iterator<Item = &Node> {
    found.nodes.iter().map(|scored| &scored.node).chain(&found.pinned.events)
}

fn recalled_messages(found: &RecallResult) -> impl Iterator<Item = &Message> {
    found.passages.iter().flat_map(|passage| &passage.messages)
}
