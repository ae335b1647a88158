//! Types of the graph, and its storage port.

use std::collections::HashMap;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::SessionId;
use memory::ports::{Embedding, StoreError};
use memory::recall::FormerValue;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::extraction::{UnreadDocument, UnreadSession};

/// A node, as stored and as on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphNode {
    /// The node's id; for an entity, the entity's own.
    pub id: Uuid,
    /// The type of the node: `person`, `topic`, `goal`, …
    #[serde(rename = "type")]
    pub node_type: String,
    pub label: String,
    /// A description in prose; may be empty.
    pub description: String,
    /// Properties that clients set, stored unchanged.
    pub properties: Map<String, Value>,
    /// The certainty of the node, from 0 to 1.
    pub confidence: f64,
    /// Other names of an entity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The instance that wrote the node first; empty for nodes that come from memories.
    pub source_instance: String,
    /// The memories that the node depends on, the newest first.
    pub source_memory_ids: Vec<String>,
    /// Time at which the node was written.
    pub created_at: Timestamp,
    /// Time at which the node last changed.
    pub updated_at: Timestamp,
    /// Time at which the node became known.
    pub first_learned_at: Option<Timestamp>,
    /// Time at which the node was last confirmed.
    pub last_confirmed_at: Option<Timestamp>,
    /// Rises with every change.
    pub version: u32,
    /// True if the node was deleted softly.
    pub deleted: bool,
    /// True if the node is an entity of the memory.
    pub entity: bool,
    /// A value in its label or description that is no longer current.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_longer_current: Option<FormerValue>,
}

/// An edge, as stored and as on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphEdge {
    pub id: Uuid,
    pub from_id: Uuid,
    pub to_id: Uuid,
    /// The type of the relation, as the client named it.
    #[serde(rename = "type")]
    pub edge_type: String,
    /// Properties defined by the client.
    pub properties: Map<String, Value>,
    /// The strength of the relation, from 0 to 1.
    pub weight: f64,
    /// The newest evidence for the edge.
    pub evidence: Option<String>,
    /// The instance that wrote the edge first.
    pub source_instance: String,
    /// The memories that the edge depends on, the newest first.
    pub source_memory_ids: Vec<String>,
    /// Time at which the edge was written.
    pub created_at: Timestamp,
    /// Time at which the edge last changed.
    pub updated_at: Timestamp,
    /// Time at which the stated fact happened.
    pub occurred_at: Option<Timestamp>,
    /// Time until which the fact holds.
    pub valid_until: Option<Timestamp>,
    /// Time at which the edge was last confirmed.
    pub last_confirmed_at: Option<Timestamp>,
    /// Rises with every change.
    pub version: u32,
    /// True if the edge was deleted softly.
    pub deleted: bool,
}

impl GraphEdge {
    /// True if the edge is not deleted and its fact holds at this time.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        !self.deleted && self.valid_until.is_none_or(|until| now < until)
    }
}

/// A node about to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct NewGraphNode {
    /// The node's id, unless one of this type and label exists.
    pub id: Uuid,
    pub node_type: String,
    pub label: String,
    pub description: String,
    /// Properties defined by the client.
    pub properties: Map<String, Value>,
    /// From 0 to 1.
    pub confidence: f64,
    /// The memory that the node depends on.
    pub source_memory_id: Option<String>,
    /// Time at which the node became known.
    pub first_learned_at: Option<Timestamp>,
}

/// One end of an edge about to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EdgeEnd {
    /// A node that exists, or is written in the same transaction.
    Id(Uuid),
    /// The node with this label: one of the same transaction, else the one that changed last.
    Label(String),
}

/// An edge about to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct NewGraphEdge {
    /// The edge's id, unless there is one of this type between the same nodes.
    pub id: Uuid,
    pub from: EdgeEnd,
    pub to: EdgeEnd,
    pub edge_type: String,
    /// Properties defined by the client.
    pub properties: Map<String, Value>,
    /// From 0 to 1.
    pub weight: f64,
    pub evidence: Option<String>,
    /// The memory that the edge depends on.
    pub source_memory_id: Option<String>,
    /// Time at which the stated fact happened.
    pub occurred_at: Option<Timestamp>,
    /// Time until which the fact holds.
    pub valid_until: Option<Timestamp>,
}

/// Nodes and edges that are written together.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphWrite {
    /// Nodes, written before the edges.
    pub nodes: Vec<NewGraphNode>,
    pub edges: Vec<NewGraphEdge>,
    pub instance: String,
    pub at: Timestamp,
}

/// A node or edge that was written or existed already.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteResult<T> {
    /// The value after the write.
    pub value: T,
    /// True if the write created the value.
    pub is_new: bool,
}

/// An edge that was not written because one of its ends does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnresolvedEdge {
    /// The edge's place in the list of edges, from 0.
    pub index: usize,
    /// Ends that do not exist: labels or ids.
    pub missing: Vec<String>,
}

/// The result of a write to the graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphWritten {
    /// The nodes in the order of the request.
    pub nodes: Vec<WriteResult<GraphNode>>,
    /// Edges that were written, in the order of the request.
    pub edges: Vec<WriteResult<GraphEdge>>,
    pub unresolved: Vec<UnresolvedEdge>,
}

/// A change of a node; `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeChange {
    pub node_type: Option<String>,
    pub label: Option<String>,
    pub description: Option<String>,
    /// All properties of the node; they replace the former ones.
    pub properties: Option<Map<String, Value>>,
    /// From 0 to 1.
    pub confidence: Option<f64>,
    /// Time at which the node was last confirmed.
    pub last_confirmed_at: Option<Timestamp>,
}

/// The result of changing a node. In all cases but the first, nothing was changed.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeUpdateOutcome {
    Changed(Box<GraphNode>),
    /// No node has this id.
    NotThere,
    /// Another node of the same type has this label.
    LabelTaken(Box<GraphNode>),
    /// A person wrote the description of this entity, which nobody else may overwrite.
    DescribedByPerson,
    /// The type can't change: entities stay entities, and other nodes can't become one.
    TypeIsFixed,
}

/// The result of deleting a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeDeleteOutcome {
    /// The node was deleted together with its edges.
    Gone {
        /// Number of edges that were deleted with the node.
        edges: u64,
    },
    /// No node has this id.
    NotThere,
    /// The node is an entity that memories mention. It can be forgotten, but not deleted on its own.
    SpokenOf {
        /// Number of memories that mention the entity.
        memories: u64,
    },
}

/// A change of an edge; `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeChange {
    pub edge_type: Option<String>,
    pub properties: Option<Map<String, Value>>,
    /// From 0 to 1.
    pub weight: Option<f64>,
    pub evidence: Option<String>,
    /// Time until which the fact holds.
    pub valid_until: Option<Timestamp>,
    /// Time at which the edge was last confirmed.
    pub last_confirmed_at: Option<Timestamp>,
}

/// A node without a vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnembeddedNode {
    pub id: Uuid,
    pub label: String,
    pub description: String,
}

/// Counts of rows that were withdrawn with the memories that they depended on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphWithdrawal {
    pub nodes: u64,
    pub edges: u64,
}

impl std::ops::AddAssign for GraphWithdrawal {
    fn add_assign(&mut self, more: Self) {
        self.nodes += more.nodes;
        self.edges += more.edges;
    }
}

/// Storage of the graph. Each method is one transaction. An id of an entity that was merged into another refers to
/// that other, also as the end of an edge.
#[async_trait]
pub trait GraphStore: Send + Sync {
    /// All nodes of the scope, including softly deleted ones, the last changed first.
    async fn graph_nodes(&self, scope: &Scope) -> Result<Vec<GraphNode>, StoreError>;
    /// The nodes with these ids that exist, including softly deleted ones, in the order of the ids.
    async fn graph_nodes_of(&self, scope: &Scope, ids: &[Uuid]) -> Result<Vec<GraphNode>, StoreError>;
    /// All edges of the scope, including softly deleted ones, the last changed first.
    async fn graph_edges(&self, scope: &Scope) -> Result<Vec<GraphEdge>, StoreError>;
    /// The edges that begin or end at one of these nodes, including softly deleted ones, the first written first.
    async fn graph_edges_at(&self, scope: &Scope, nodes: &[Uuid]) -> Result<Vec<GraphEdge>, StoreError>;
    /// Writes nodes, then edges, all or none. An existing node of the same type and label stays, and the memory is
    /// added to it; a softly deleted one is restored. An existing edge of the same type between the same nodes gets
    /// the new weight, evidence and memory.
    async fn write_graph(&self, scope: &Scope, write: GraphWrite) -> Result<GraphWritten, StoreError>;
    /// Changes an existing node.
    async fn change_graph_node(
        &self,
        scope: &Scope,
        id: Uuid,
        change: NodeChange,
        at: Timestamp,
    ) -> Result<NodeUpdateOutcome, StoreError>;
    /// Deletes a node with its edges, softly or for good.
    async fn delete_graph_node(
        &self,
        scope: &Scope,
        id: Uuid,
        permanent: bool,
        at: Timestamp,
    ) -> Result<NodeDeleteOutcome, StoreError>;
    /// Changes an edge. Returns `None` if it does not exist, or if another edge of the new type joins the same nodes.
    async fn change_graph_edge(
        &self,
        scope: &Scope,
        id: Uuid,
        change: EdgeChange,
        at: Timestamp,
    ) -> Result<Option<GraphEdge>, StoreError>;
    /// Deletes an edge softly; false if it is not there.
    async fn delete_graph_edge(&self, scope: &Scope, id: Uuid, at: Timestamp) -> Result<bool, StoreError>;
    /// Ended sessions with events from which no facts were extracted yet, the oldest first, without the given ones.
    async fn unread_sessions(
        &self,
        passed_over: &[SessionId],
        limit: u32,
    ) -> Result<Vec<UnreadSession>, StoreError>;
    /// Writes the facts of a session and marks its events as read. Facts of events that these have replaced become
    /// invalid. `None`, with nothing written, if the session has changed meanwhile or is deleted.
    async fn commit_facts(
        &self,
        session: &UnreadSession,
        write: GraphWrite,
    ) -> Result<Option<GraphWritten>, StoreError>;
    /// The oldest daily or significant memory with unread lines: not read by a model, or if `by_rules` not read by
    /// rules. Documents with the given numbers are skipped.
    async fn unread_document(
        &self,
        passed_over: &[i64],
        by_rules: bool,
    ) -> Result<Option<UnreadDocument>, StoreError>;
    /// Writes the facts of a document's lines and marks them as read. Facts that depend on removed lines are
    /// withdrawn. `None`, with nothing written, if the document has changed.
    async fn commit_document_facts(
        &self,
        document: &UnreadDocument,
        write: GraphWrite,
        by_rules: bool,
    ) -> Result<Option<GraphWritten>, StoreError>;
    /// Removes facts that depend only on this memory, and its evidence from facts that depend on others too.
    async fn withdraw_from_graph(
        &self,
        scope: &Scope,
        memory_id: &str,
        at: Timestamp,
    ) -> Result<GraphWithdrawal, StoreError>;
    /// For each memory, the number of nodes linked to it, directly or by an edge, that a folded text names.
    async fn memories_linked_to(
        &self,
        scope: &Scope,
        folded: &str,
    ) -> Result<HashMap<String, u32>, StoreError>;
    /// The nodes and entities that a folded text names, each with all its folded names.
    async fn names_in_text(&self, scope: &Scope, folded: &str) -> Result<Vec<Vec<String>>, StoreError>;
    /// Vectors of this model, including those of entities.
    async fn graph_vectors(
        &self,
        scope: &Scope,
        fingerprint: &str,
    ) -> Result<Vec<(Uuid, Embedding)>, StoreError>;
    /// Nodes other than entities without a vector of this model.
    async fn graph_nodes_without_vector(
        &self,
        scope: &Scope,
        fingerprint: &str,
        limit: u32,
    ) -> Result<Vec<UnembeddedNode>, StoreError>;
    /// Stores vectors. The vector of a node whose text has changed meanwhile is skipped.
    async fn put_graph_vectors(
        &self,
        fingerprint: &str,
        vectors: Vec<(UnembeddedNode, Embedding)>,
    ) -> Result<(), StoreError>;
    /// Deletes all vectors of nodes other than entities, so that they are computed again. Returns their number.
    async fn clear_graph_vectors(&self, scope: &Scope) -> Result<u64, StoreError>;
}
