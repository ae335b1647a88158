//! What goes with words that were changed or replaced.

use crate::identifiers::{EntityId, MessageId, NodeId, SessionId};

/// What becomes of thoughts whose events go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestingThoughts {
    /// They stay; the edge says that the event is gone.
    #[default]
    Orphan,
    /// One that rests on nothing else goes too, others stay.
    Recheck,
    /// They go.
    Cascade,
}

/// What was withdrawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Withdrawn {
    /// Memories that are gone, each with its number.
    pub nodes: Vec<(NodeId, i64)>,
    /// Memories that had been replaced by one of those and are current again.
    pub revived: Vec<NodeId>,
    /// Memories that lost a quote or words and stay.
    pub kept: Vec<NodeId>,
    /// Memories among these that say less than before, each with its number.
    pub rewritten: Vec<(NodeId, i64)>,
    /// Named things that no memory is about any more; nobody had described them.
    pub entities: Vec<EntityId>,
    /// Sessions that become memory again.
    pub sessions: Vec<SessionId>,
    /// Messages that are gone, each with its number.
    pub messages: Vec<(MessageId, i64)>,
}
