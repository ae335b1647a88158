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

use super::document_facts::UnreadDocument;
use super::relations::UnreadSession;

/// A node, as stored and as on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphNode {
    /// Its id; an entity's own for an entity.
    pub id: Uuid,
    /// What it is: `person`, `topic`, `goal`, …
    #[serde(rename = "type")]
    pub node_type: String,
    /// What it is called.
    pub label: String,
    /// What is known of it, in prose; may be empty.
    pub description: String,
    /// Properties of clients, kept as they are.
    pub properties: Map<String, Value>,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
    /// Other names of an entity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Who wrote it first; empty for what the memory itself found out.
    pub source_instance: String,
    /// The memories that it depends on, the newest first.
    pub source_memory_ids: Vec<String>,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it became known.
    pub first_learned_at: Option<Timestamp>,
    /// When it was last found to hold.
    pub last_confirmed_at: Option<Timestamp>,
    /// Rises with every change.
    pub version: u32,
    /// Whether it was deleted softly.
    pub deleted: bool,
    /// Whether it is an entity of the memory.
    pub entity: bool,
    /// What its label or description says that is no longer current.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_longer_current: Option<FormerValue>,
}

/// An edge, as stored and as on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphEdge {
    /// Its id.
    pub id: Uuid,
    /// Where it begins.
    pub from_id: Uuid,
    /// Where it ends.
    pub to_id: Uuid,
    /// What joins them, in the client's words.
    #[serde(rename = "type")]
    pub edge_type: String,
    /// Whatever clients keep with it.
    pub properties: Map<String, Value>,
    /// How strong it is, 0 to 1.
    pub weight: f64,
    /// The newest evidence for it.
    pub evidence: Option<String>,
    /// Who wrote it first.
    pub source_instance: String,
    /// The memories that it depends on, the newest first.
    pub source_memory_ids: Vec<String>,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When what it says happened.
    pub occurred_at: Option<Timestamp>,
    /// Until when it holds.
    pub valid_until: Option<Timestamp>,
    /// When it was last found to hold.
    pub last_confirmed_at: Option<Timestamp>,
    /// Rises with every change.
    pub version: u32,
    /// Whether it was deleted softly.
    pub deleted: bool,
}

impl GraphEdge {
    /// Whether it is there and holds at this moment.
    pub fn holds_at(&self, now: Timestamp) -> bool {
        !self.deleted && self.valid_until.is_none_or(|until| now < until)
    }
}

/// A node about to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct NewGraphNode {
    /// Its id, unless one of this type and label is there.
    pub id: Uuid,
    /// What it is.
    pub node_type: String,
    /// What it is called.
    pub label: String,
    /// What is known of it.
    pub description: String,
    /// Whatever clients keep with it.
    pub properties: Map<String, Value>,
    /// How sure it is.
    pub confidence: f64,
    /// The memory that it depends on.
    pub source_memory_id: Option<String>,
    /// When it became known.
    pub first_learned_at: Option<Timestamp>,
}

/// One end of an edge about to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EdgeEnd {
    /// A node that is there, or is written in the same transaction.
    Id(Uuid),
    /// The node that is called so: of the same transaction first, else the one that last changed.
    Label(String),
}

/// An edge about to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct NewGraphEdge {
    /// Its id, unless there is one of this type between the same nodes.
    pub id: Uuid,
    /// Where it begins.
    pub from: EdgeEnd,
    /// Where it ends.
    pub to: EdgeEnd,
    /// What joins them.
    pub edge_type: String,
    /// Whatever clients keep with it.
    pub properties: Map<String, Value>,
    /// How strong it is.
    pub weight: f64,
    /// What it is known from.
    pub evidence: Option<String>,
    /// The memory that it depends on.
    pub source_memory_id: Option<String>,
    /// When what it says happened.
    pub occurred_at: Option<Timestamp>,
    /// Until when it holds.
    pub valid_until: Option<Timestamp>,
}

/// Nodes and edges that are written together.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphWrite {
    /// Nodes, written before the edges.
    pub nodes: Vec<NewGraphNode>,
    /// Edges.
    pub edges: Vec<NewGraphEdge>,
    /// Who writes.
    pub instance: String,
    /// When.
    pub at: Timestamp,
}

/// A node or edge that was written, or was there already.
#[derive(Clone, Debug, PartialEq)]
pub struct Written<T> {
    /// As it is now.
    pub value: T,
    /// Whether it is new.
    pub is_new: bool,
}

/// An edge that was not written, because an end of it is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unresolved {
    /// Its place in the list of edges, from 0.
    pub index: usize,
    /// What is not there: labels, or ids.
    pub missing: Vec<String>,
}

/// What a write came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphWritten {
    /// In the order asked.
    pub nodes: Vec<Written<GraphNode>>,
    /// Those that could be written, in the order asked.
    pub edges: Vec<Written<GraphEdge>>,
    /// The others.
    pub unresolved: Vec<Unresolved>,
}

/// What changes of a node; none leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeChange {
    /// What it is.
    pub node_type: Option<String>,
    /// What it is called.
    pub label: Option<String>,
    /// What is known of it.
    pub description: Option<String>,
    /// All properties: they take the place of those that were there.
    pub properties: Option<Map<String, Value>>,
    /// How sure it is.
    pub confidence: Option<f64>,
    /// When it was last found to hold.
    pub last_confirmed_at: Option<Timestamp>,
}

/// What a change of a node came to. In all cases but the first nothing was changed.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeUpdateOutcome {
    /// It is done.
    Changed(Box<GraphNode>),
    /// There is no such node.
    NotThere,
    /// Another of its type is called so.
    LabelTaken(Box<GraphNode>),
    /// A person described this entity, and nobody else overwrites that.
    DescribedByPerson,
    /// An entity stays what it is, and nothing else becomes an entity.
    TypeIsFixed,
}

/// What became of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeDeleteOutcome {
    /// It is deleted, with so many edges.
    Gone {
        /// Edges that went with it.
        edges: u64,
    },
    /// There is no such node.
    NotThere,
    /// It is an entity that so many memories speak of: it can be forgotten, not taken out from under them.
    SpokenOf {
        /// Memories that speak of it.
        memories: u64,
    },
}

/// What changes of an edge; none leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeChange {
    /// What joins the nodes.
    pub edge_type: Option<String>,
    /// All properties.
    pub properties: Option<Map<String, Value>>,
    /// How strong it is.
    pub weight: Option<f64>,
    /// What it is known from.
    pub evidence: Option<String>,
    /// Until when it holds.
    pub valid_until: Option<Timestamp>,
    /// When it was last found to hold.
    pub last_confirmed_at: Option<Timestamp>,
}

/// A node that waits for a vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnembeddedNode {
    /// Its id.
    pub id: Uuid,
    /// Its label.
    pub label: String,
    /// Its description.
    pub description: String,
}

/// What was withdrawn with the memories that it rested on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphWithdrawal {
    /// Nodes.
    pub nodes: u64,
    /// Edges.
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
    /// Changes a node that is there.
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
    /// How many nodes that a folded text names each memory is linked to, by itself or by an edge.
    async fn memories_linked_to(
        &self,
        scope: &Scope,
        folded: &str,
    ) -> Result<HashMap<String, u32>, StoreError>;
    /// The nodes and entities that a folded text names, each with all its folded names.
    async fn names_standing_in(&self, scope: &Scope, folded: &str) -> Result<Vec<Vec<String>>, StoreError>;
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
