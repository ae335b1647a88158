//! Withdrawal of memories that edited messages or replaced replies supported.

use super::ForgetMode;
use crate::identifiers::{EntityId, MessageId, NodeId, SessionId};

/// Treatment of thoughts that cite a removed event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThoughtPolicy {
    /// They stay, with a mark that the event is gone.
    #[default]
    Orphan,
    /// They are removed if no other memory supports them and no person has corrected them.
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

/// Everything that was withdrawn; rows have their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Withdrawal {
    /// Nodes that were removed.
    pub nodes: Vec<(NodeId, i64)>,
    /// Nodes that one of the removed nodes had replaced, and that are current again.
    pub revived: Vec<NodeId>,
    /// Nodes that lost a quote or were rewritten, but stay.
    pub kept: Vec<NodeId>,
    /// Nodes of `kept` whose description was reduced to the remaining evidence.
    pub rewritten: Vec<(NodeId, i64)>,
    /// Entities without any node and without a person's description.
    pub entities: Vec<EntityId>,
    /// Sessions that will be extracted again.
    pub sessions: Vec<SessionId>,
    /// Messages that were removed.
    pub messages: Vec<(MessageId, i64)>,
}
