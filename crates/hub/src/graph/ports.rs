//! The graph's nouns, and what it asks of storage.

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
    /// The node's id; of an entity, the entity's own.
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
    /// Time at which the node was last found to hold.
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
    /// Whatever clients keep with the edge.
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
    /// Until when the edge holds.
    pub valid_until: Option<Timestamp>,
    /// Time at which the edge was last found to hold.
    pub last_confirmed_at: Option<Timestamp>,
    /// Rises with every change.
    pub version: u32,
    /// True if the edge was deleted softly.
    pub deleted: bool,
}

impl GraphEdge {
    /// True if the edge is there and holds at this moment.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        !self.deleted && self.valid_until.is_none_or(|until| now < until)
    }
}

/// A node about to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct NewGraphNode {
    /// The node's id, unless one of this type and label is there.
    pub id: Uuid,
    pub node_type: String,
    pub label: String,
    pub description: String,
    /// Whatever clients keep with the node.
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
    /// A node that is there, or is written in the same transaction.
    Id(Uuid),
    /// The node of this label: one of the same transaction first, else the one that changed last.
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
    /// Whatever clients keep with the edge.
    pub properties: Map<String, Value>,
    /// From 0 to 1.
    pub weight: f64,
    pub evidence: Option<String>,
    /// The memory that the edge depends on.
    pub source_memory_id: Option<String>,
    /// Time at which the stated fact happened.
    pub occurred_at: Option<Timestamp>,
    /// Until when the edge holds.
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

/// A node or edge that was written, or was there already.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteResult<T> {
    /// The value after the write.
    pub value: T,
    /// True if the write created the value.
    pub is_new: bool,
}

/// An edge that was not written, because an end of it is not there.
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
    /// The nodes in the order in which they were asked for.
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
    /// Time at which the node was last found to hold.
    pub last_confirmed_at: Option<Timestamp>,
}

/// The result of changing a node. Except in the first case nothing was changed.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeUpdateOutcome {
    Changed(Box<GraphNode>),
    /// No node has this id.
    NotThere,
    /// Another node of the same type has this label.
    LabelTaken(Box<GraphNode>),
    /// A person described this entity, and nobody else overwrites that.
    DescribedByPerson,
    /// An entity stays what it is, and nothing else becomes an entity.
    TypeIsFixed,
}

/// The result of deleting a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeDeleteOutcome {
    /// The node is deleted, with so many edges.
    Gone {
        /// Number of edges that were deleted with the node.
        edges: u64,
    },
    /// No node has this id.
    NotThere,
    /// The node is an entity that this number of memories mention. It can be forgotten, but not deleted from under them.
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
    /// Until when the edge holds.
    pub valid_until: Option<Timestamp>,
    /// Time at which the edge was last found to hold.
    pub last_confirmed_at: Option<Timestamp>,
}

/// A node that waits for a vector.
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

/// Storage of the graph. Each method is one transaction. What was merged into an entity is that entity, also as the end
/// of an edge.
#[async_trait]
pub trait GraphStore: Send + Sync {
    /// All nodes of the scope, the last changed first, softly deleted ones too.
    async fn graph_nodes(&self, scope: &Scope) -> Result<Vec<GraphNode>, StoreError>;
    /// The nodes of these ids that are there, in the order asked, softly deleted ones too.
    async fn graph_nodes_of(&self, scope: &Scope, ids: &[Uuid]) -> Result<Vec<GraphNode>, StoreError>;
    /// All edges of the scope, the last changed first, softly deleted ones too.
    async fn graph_edges(&self, scope: &Scope) -> Result<Vec<GraphEdge>, StoreError>;
    /// The edges that begin or end at one of these nodes, the first written first, softly deleted ones too.
    async fn graph_edges_at(&self, scope: &Scope, nodes: &[Uuid]) -> Result<Vec<GraphEdge>, StoreError>;
    /// Writes nodes, then edges, all or none. A node of the same type and label stays as it is and gains the memory that
    /// it depends on; a softly deleted one comes back. An edge of the same type between the same nodes gains weight,
    /// evidence and memory.
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
    /// Changes an edge that is there; none if it is not, or if one of the new type joins the same nodes.
    async fn change_graph_edge(
        &self,
        scope: &Scope,
        id: Uuid,
        change: EdgeChange,
        at: Timestamp,
    ) -> Result<Option<GraphEdge>, StoreError>;
    /// Deletes an edge softly; false if it is not there.
    async fn delete_graph_edge(&self, scope: &Scope, id: Uuid, at: Timestamp) -> Result<bool, StoreError>;
    /// Sessions that are over and have events that the graph was not drawn from yet, the oldest first, without those that
    /// are to be passed over.
    async fn unread_sessions(
        &self,
        passed_over: &[SessionId],
        limit: u32,
    ) -> Result<Vec<UnreadSession>, StoreError>;
    /// Writes what was drawn from a session and notes that its events were read. What depends on events that these have
    /// replaced holds no longer. None, and nothing is written, if what was read has changed or is gone.
    async fn commit_facts(
        &self,
        session: &UnreadSession,
        write: GraphWrite,
    ) -> Result<Option<GraphWritten>, StoreError>;
    /// The next daily or significant memory with lines that were not read: by a model, or by rules if that is asked; the
    /// oldest first, without those whose numbers are to be passed over.
    async fn unread_document(
        &self,
        passed_over: &[i64],
        by_rules: bool,
    ) -> Result<Option<UnreadDocument>, StoreError>;
    /// Writes what was drawn from lines of a document and notes that they were read. What depends on lines that are not
    /// there any more is withdrawn. None, and nothing is written, if the document has changed.
    async fn commit_document_facts(
        &self,
        document: &UnreadDocument,
        write: GraphWrite,
        by_rules: bool,
    ) -> Result<Option<GraphWritten>, StoreError>;
    /// Takes away what depends on this memory alone, and its evidence from what depends on others too.
    async fn withdraw_from_graph(
        &self,
        scope: &Scope,
        memory_id: &str,
        at: Timestamp,
    ) -> Result<GraphWithdrawal, StoreError>;
    /// Number of nodes that a folded text names each memory is linked to, by itself or by an edge.
    async fn memories_linked_to(
        &self,
        scope: &Scope,
        folded: &str,
    ) -> Result<HashMap<String, u32>, StoreError>;
    /// The nodes and entities that a folded text names, each with all its folded names.
    async fn names_in_text(&self, scope: &Scope, folded: &str) -> Result<Vec<Vec<String>>, StoreError>;
    /// Vectors of this model, of entities too.
    async fn graph_vectors(
        &self,
        scope: &Scope,
        fingerprint: &str,
    ) -> Result<Vec<(Uuid, Embedding)>, StoreError>;
    /// Nodes that are no entities and have no vector of this model.
    async fn graph_nodes_without_vector(
        &self,
        scope: &Scope,
        fingerprint: &str,
        limit: u32,
    ) -> Result<Vec<UnembeddedNode>, StoreError>;
    /// Writes vectors; one of a node whose text has changed meanwhile is passed over.
    async fn put_graph_vectors(
        &self,
        fingerprint: &str,
        vectors: Vec<(UnembeddedNode, Embedding)>,
    ) -> Result<(), StoreError>;
    /// Takes all vectors of nodes that are no entities away; they are made again. Gives how many there were.
    async fn clear_graph_vectors(&self, scope: &Scope) -> Result<u64, StoreError>;
}
