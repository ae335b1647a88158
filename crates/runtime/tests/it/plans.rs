//! Expectations and promises that a test adds to the persona's memory.

use jiff::Timestamp;
use memory::identifiers::{CycleId, NodeId};
use memory::ledger::TokenUsage;
use memory::nodes::{EventTime, NewNode, Node, NodeKind, Subject};
use memory::ports::{Clock as _, IdGenerator as _, SlowCycleCommit, SlowCycleStore as _};
use memory::text::index_terms;
use testkit::SequentialIds;

use crate::world::{World, scope};

/// An expectation or a promise of the persona.
pub(crate) struct Plan<'a> {
    pub(crate) kind: NodeKind,
    pub(crate) text: &'a str,
    /// The due time.
    pub(crate) start: Timestamp,
    /// Ids of plans with different numbers differ.
    pub(crate) number: u64,
}

/// Adds a plan as a slow cycle does, with an event as its evidence.
pub(crate) async fn commit_plan(world: &World, event: &Node, plan: Plan<'_>) -> NodeId {
    let now = world.clock.now();
    let ids = SequentialIds::new(plan.number);
    let is_promise = plan.kind == NodeKind::Intention;
    let node = NewNode {
        id: NodeId(ids.next(now)),
        kind: plan.kind,
        description: plan.text.to_owned(),
        emotional_impact: 2,
        emotion_tags: Vec::new(),
        relational_tags: Vec::new(),
        subject: if is_promise { Subject::Persona } else { Subject::User },
        event_time: Some(EventTime { start: plan.start, end: None }),
        evidence: Vec::new(),
        filling: vec![event.id],
        terms: index_terms(plan.text),
        embedding: None,
    };
    let id = node.id;
    let commit = SlowCycleCommit {
        id: CycleId(ids.next(now)),
        scope: scope("ann"),
        session_id: event.source_session_id.unwrap(),
        at: now,
        nodes: vec![node],
        fingerprint: None,
        descriptions: Vec::new(),
        salient_questions: Vec::new(),
        read: vec![event.id],
        usage: TokenUsage::default(),
        outcome: "ok".to_owned(),
        transcript: None,
        tombstones: 0,
    };
    assert_eq!(world.store.commit_slow_cycle(commit).await.unwrap().nodes, [id]);
    id
}
