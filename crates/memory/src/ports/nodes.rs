//! Memories, read one by one and in lists.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::entities::Entity;
use crate::identifiers::NodeId;
use crate::mood::MoodShift;
use crate::nodes::{Evidence, Node, NodeKind, RejectedMemory};
use crate::ports::StoreError;
use crate::scope::Scope;
use crate::sessions::Session;

/// A node and the words it depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct EvidencedNode {
    pub node: Node,
    pub evidence: Vec<Evidence>,
    /// The live events it cites.
    pub filling: Vec<NodeId>,
}

/// A row of the memory timeline.
#[derive(Clone, Debug, PartialEq)]
pub enum TimelineItem {
    /// A node was written.
    Node(Box<Node>),
    /// An entity was first named.
    Entity(Box<Entity>),
    /// The description of an entity was written.
    EntityDescribed(Box<Entity>),
    /// A session became memory: with the number of its events and thoughts.
    SessionClosed {
        session: Box<Session>,
        events: u32,
        /// Thoughts it led to.
        thoughts: u32,
    },
    /// A session left a mood.
    Mood(MoodShift),
}

/// L3 and L4 as lists and pages show them.
#[async_trait]
pub trait NodeStore: Send + Sync {
    /// A live node with its evidence.
    async fn node(&self, id: NodeId) -> Result<Option<EvidencedNode>, StoreError>;
    /// Live nodes of these kinds, newest first; with `before`, only rows with smaller numbers.
    async fn nodes_before(
        &self,
        scope: &Scope,
        kinds: &[NodeKind],
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Node>, StoreError>;
    /// Times at which the evidence of nodes was said, by the nodes' numbers: the newest quoted message; for thoughts about
    /// an imported session, its last message; else the time at which the node was written.
    async fn said_at(&self, nodes: &[i64]) -> Result<BTreeMap<i64, Timestamp>, StoreError>;
    /// Refused proposals, newest first.
    async fn rejected(&self, scope: &Scope, limit: u32) -> Result<Vec<RejectedMemory>, StoreError>;
    /// The timeline, newest first, before a moment.
    async fn timeline(
        &self,
        scope: &Scope,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<(Timestamp, TimelineItem)>, StoreError>;
}
