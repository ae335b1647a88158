//! What the graph's tools answer, as on the wire.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use super::ports::{GraphEdge, GraphNode, Unresolved};

/// Whether something was done, and to which node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeResponse {
    /// Whether it was done.
    pub success: bool,
    /// What happened, and where it was not done what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<GraphNode>,
}

impl NodeResponse {
    pub(super) fn of(node: GraphNode, message: impl Into<String>) -> Self {
        Self { success: true, message: Some(message.into()), node: Some(node) }
    }

    pub(super) fn refused(message: impl Into<String>) -> Self {
        Self { success: false, message: Some(message.into()), node: None }
    }
}

/// Whether something was done, and to which edge.
#[derive(Clone, Debug, Serialize)]
pub struct EdgeResponse {
    /// Whether it was done.
    pub success: bool,
    /// What happened, and where it was not done what to do.
    pub message: String,
    /// The edge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edge: Option<GraphEdge>,
}

impl EdgeResponse {
    pub(super) fn of(edge: GraphEdge, message: impl Into<String>) -> Self {
        Self { success: true, message: message.into(), edge: Some(edge) }
    }

    pub(super) fn refused(message: impl Into<String>) -> Self {
        Self { success: false, message: message.into(), edge: None }
    }
}

/// What became of a deletion.
#[derive(Clone, Debug, Serialize)]
pub struct Deleted {
    /// Whether it is deleted.
    pub success: bool,
    /// What happened.
    pub message: String,
}

/// Edges that were asked for.
#[derive(Clone, Debug, Serialize)]
pub struct EdgesResponse {
    /// The edges.
    pub edges: Vec<GraphEdge>,
}

/// A page of nodes.
#[derive(Clone, Debug, Serialize)]
pub struct NodeListResponse {
    /// The page, the last changed first.
    pub nodes: Vec<GraphNode>,
    /// How many there are in all.
    pub total: usize,
}

/// A node that a search found.
#[derive(Clone, Debug, Serialize)]
pub struct NodeHit {
    /// The node.
    pub node: GraphNode,
    /// How well it fits, 0 to 1.
    pub score: f64,
}

/// What a search found.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSearchResponse {
    /// The best first.
    pub results: Vec<NodeHit>,
    /// Whether vectors were compared; else words alone.
    pub vector_search_used: bool,
}

/// A node that a walk came to.
#[derive(Clone, Debug, Serialize)]
pub struct Visited {
    /// The node.
    pub node: GraphNode,
    /// Ids of the edges from the start to it.
    pub path: Vec<Uuid>,
    /// How many edges away it is.
    pub depth: u32,
}

/// Where a walk came to.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraverseResponse {
    /// Where it began; of type `unknown` if that node is not there.
    pub start_node: serde_json::Value,
    /// What it came to, the nearest first.
    pub results: Vec<Visited>,
}

/// A part of the graph.
#[derive(Clone, Debug, Serialize)]
pub struct SubgraphResponse {
    /// Nodes within reach, the nearest first.
    pub nodes: Vec<GraphNode>,
    /// All edges among them that hold.
    pub edges: Vec<GraphEdge>,
}

/// Something that stands out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Insight {
    /// `bridge`: joined with many; `cluster`: a type with many nodes.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// In words.
    pub description: String,
    /// The nodes that it is about.
    pub node_ids: Vec<Uuid>,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
}

/// What stands out.
#[derive(Clone, Debug, Serialize)]
pub struct InsightsResponse {
    /// Bridges first.
    pub insights: Vec<Insight>,
}

/// How much there is.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatsResponse {
    /// Nodes that are there.
    pub total_nodes: usize,
    /// Edges that are there.
    pub total_edges: usize,
    /// Nodes by type.
    pub nodes_by_type: BTreeMap<String, usize>,
    /// Edges by type.
    pub edges_by_type: BTreeMap<String, usize>,
    /// Softly deleted nodes.
    pub deleted_nodes: usize,
    /// Softly deleted edges.
    pub deleted_edges: usize,
    /// When the oldest node was written.
    pub oldest_node: Option<Timestamp>,
    /// When the newest node was written.
    pub newest_node: Option<Timestamp>,
    /// Whether nodes can be searched by meaning.
    pub vector_search_available: bool,
}

/// What a transaction came to.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TransactionResponse {
    /// Whether it was written.
    pub success: bool,
    /// What happened.
    pub message: String,
    /// Nodes that are new.
    pub nodes_created: usize,
    /// Nodes that were there already.
    pub nodes_reused: usize,
    /// Edges that are new.
    pub edges_created: usize,
    /// Edges that were there already and gained weight or evidence.
    pub edges_reused: usize,
    /// The nodes, in the order asked.
    pub nodes: Vec<GraphNode>,
    /// The edges that were written, in the order asked.
    pub edges: Vec<GraphEdge>,
    /// The edges that were not, and what they lack.
    pub unresolved: Vec<Unresolved>,
}
