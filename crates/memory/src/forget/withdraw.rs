//! What goes with words that were changed or replaced.

use std::collections::BTreeSet;

use crate::identifiers::{EntityId, MessageId, NodeId, SessionId};

/// What becomes of thoughts whose events go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThoughtPolicy {
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
pub struct Withdrawal {
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

impl Withdrawal {
    /// Adds what was withdrawn after this. Each thing is told once.
    pub fn append(&mut self, later: Self) {
        let Self { nodes, revived, kept, rewritten, entities, sessions, messages } = later;
        self.nodes.extend(nodes);
        self.revived.extend(revived);
        self.kept.extend(kept);
        self.rewritten.extend(rewritten);
        self.entities.extend(entities);
        self.sessions.extend(sessions);
        self.messages.extend(messages);
        self.leave_out_gone();
        once(&mut self.revived);
        once(&mut self.kept);
        once(&mut self.rewritten);
        once(&mut self.sessions);
    }

    /// What was kept or revived first and went after that is gone.
    pub fn leave_out_gone(&mut self) {
        let gone: BTreeSet<NodeId> = self.nodes.iter().map(|(id, _)| *id).collect();
        self.revived.retain(|id| !gone.contains(id));
        self.kept.retain(|id| !gone.contains(id));
        self.rewritten.retain(|(id, _)| !gone.contains(id));
    }
}

fn once<T: Copy + Ord>(told: &mut Vec<T>) {
    let mut before = BTreeSet::new();
    told.retain(|one| before.insert(*one));
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_goes_later_was_not_kept_and_all_is_told_once() {
        let node = |number| NodeId(Uuid::from_u128(number));
        let (session, entity) = (SessionId(Uuid::from_u128(9)), EntityId(Uuid::from_u128(8)));
        let mut withdrawn = Withdrawal {
            revived: vec![node(1)],
            kept: vec![node(2), node(3)],
            rewritten: vec![(node(2), 2), (node(3), 3)],
            sessions: vec![session],
            ..Withdrawal::default()
        };
        let later = Withdrawal {
            nodes: vec![(node(1), 1), (node(2), 2)],
            kept: vec![node(3)],
            rewritten: vec![(node(3), 3)],
            entities: vec![entity],
            sessions: vec![session],
            ..Withdrawal::default()
        };
        withdrawn.append(later.clone());
        let told = Withdrawal { revived: Vec::new(), ..later };
        assert_eq!(withdrawn, told);
    }
}
