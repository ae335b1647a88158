//! Port for reading memories, one by one and in lists.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::entities::Entity;
use crate::identifiers::{NodeId, RejectedId, TurnId};
use crate::mood::MoodShift;
use crate::nodes::{Evidence, Node, NodeKind, RejectedMemory, Subject};
use crate::ports::StoreError;
use crate::scope::Scope;
use crate::sessions::Session;

/// A node and its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct EvidencedNode {
    pub node: Node,
    pub evidence: Vec<Evidence>,
    /// The live events that the node cites.
    pub filling: Vec<NodeId>,
}

/// A page of the nodes of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct NodePageQuery {
    pub kind: NodeKind,
    /// Lists only nodes about this subject.
    pub subject: Option<Subject>,
    /// Upper bound of the rows' numbers, exclusive.
    pub below: Option<i64>,
    /// Number of rows to skip.
    pub skip: u32,
    pub limit: u32,
}

/// The evidence of a node, as shown in lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeOrigin {
    pub evidence: Vec<Evidence>,
    /// The turn of the first quote.
    pub turn: Option<TurnId>,
    /// The live events that the node cites.
    pub filling: Vec<NodeId>,
    /// Time of the evidence, as in [`NodeStore::said_at`].
    pub said_at: Option<Timestamp>,
    /// True if the node's session was imported.
    pub is_imported: bool,
}

/// An entry of the memory timeline.
#[derive(Clone, Debug, PartialEq)]
pub enum TimelineItem {
    /// A node was written.
    Node(Box<Node>),
    /// An entity was first named.
    Entity(Box<Entity>),
    /// The description of an entity was written.
    EntityDescribed(Box<Entity>),
    /// A session was consolidated. Has the number of its events and thoughts.
    SessionClosed {
        session: Box<Session>,
        events: u32,
        /// Number of thoughts that resulted from the session.
        thoughts: u32,
    },
    /// A session changed the mood.
    Mood(MoodShift),
}

/// Nodes (L3 and L4) for lists and pages.
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
    /// A page of live nodes, newest first, including replaced ones; and their total number.
    async fn node_page(&self, scope: &Scope, query: NodePageQuery) -> Result<(Vec<Node>, u64), StoreError>;
    /// Evidence, cited events and times of nodes, by the nodes' numbers.
    async fn node_origins(&self, nodes: &[i64]) -> Result<BTreeMap<i64, NodeOrigin>, StoreError>;
    /// Times of the evidence of nodes, by the nodes' numbers: that of the newest quoted message; for thoughts about
    /// an imported session, of its last message; else the time at which the node was written.
    async fn said_at(&self, nodes: &[i64]) -> Result<BTreeMap<i64, Timestamp>, StoreError>;
    /// Refused proposals, newest first; with `before`, only those after it in this order.
    async fn rejected(
        &self,
        scope: &Scope,
        before: Option<(Timestamp, RejectedId)>,
        limit: u32,
    ) -> Result<Vec<RejectedMemory>, StoreError>;
    /// The timeline before a time, newest first.
    async fn timeline(
        &self,
        scope: &Scope,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<(Timestamp, TimelineItem)>, StoreError>;
}
