//! What edited messages and replaced replies supported.

use super::ForgetMode;
use crate::identifiers::{EntityId, MessageId, NodeId, SessionId};

/// Keep or remove thoughts that cite a removed event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThoughtPolicy {
    /// Kept, with a mark that the event is gone.
    #[default]
    Orphan,
    /// Thoughts are removed if no other memory supports them and no person has corrected them.
    Recheck,
    Cascade,
}

impl From<ForgetMode> for ThoughtPolicy {
    fn from(mode: ForgetMode) -> Self {
        match mode {
            ForgetMode::Orphan => Self::Orphan,
            ForgetMode::Cascade => Self::Cascade,
        }
    }
}

/// Everything that was withdrawn; rows come with their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Withdrawal {
    /// Nodes that were removed.
    pub nodes: Vec<(NodeId, i64)>,
    /// Nodes that one of them had superseded and that are current again.
    pub revived: Vec<NodeId>,
    /// Nodes that lost a quote or were rewritten, and stay.
    pub kept: Vec<NodeId>,
    /// Nodes of `kept` whose description was reduced to what is left.
    pub rewritten: Vec<(NodeId, i64)>,
    /// Entities that no node is about any more and that no person has described.
    pub entities: Vec<EntityId>,
    /// Sessions that are extracted again.
    pub sessions: Vec<SessionId>,
    /// Messages that were removed.
    pub messages: Vec<(MessageId, i64)>,
}
