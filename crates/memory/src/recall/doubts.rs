//! Two memories of which it is not clear whether both are true: neither is given as certain, and the persona asks once.

use super::RecallResult;
use crate::identifiers::{MessageId, NodeId};
use crate::ports::{OpenPair, Store, StoreError};
use crate::scope::Scope;

/// A value of which it is not clear whether it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The memory that says it.
    pub older: NodeId,
    pub older_text: String,
    /// The later memory that may say otherwise.
    pub newer: NodeId,
    /// Text of the newer memory.
    pub newer_text: String,
    /// The messages that either was said in, with whether they say the newer one.
    pub messages: Vec<(MessageId, bool)>,
    /// No reply has been written from either since the question was opened: the persona may ask now, and only now.
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

/// The open questions about what was recalled.
pub(super) async fn find_doubts(
    store: &dyn Store,
    scope: &Scope,
    found: &RecallResult,
) -> Result<Vec<Doubt>, StoreError> {
    let recalled = found.nodes.iter().map(|scored| scored.node.seq);
    let nodes: Vec<i64> = recalled.chain(found.pinned.events.iter().map(|node| node.seq)).collect();
    let passages = found.passages.iter().flat_map(|passage| &passage.messages);
    let messages: Vec<i64> = passages.map(|message| message.seq).collect();
    let open = store.open_pairs(scope, &nodes, &messages).await?;
    Ok(open.into_iter().map(Doubt::new).collect())
}
