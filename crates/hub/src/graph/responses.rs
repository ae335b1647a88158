//! Responses of the graph's tools, as on the wire.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use super::ports::{GraphEdge, GraphNode, UnresolvedEdge};

/// The result of a write to a node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeResponse {
    /// True if the request was carried out.
    pub success: bool,
    /// A description of the result; after a failure it says what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<GraphNode>,
}

impl NodeResponse {
    pub(super) fn from_node(node: GraphNode, message: impl Into<String>) -> Self {
        Self { success: true, message: Some(message.into()), node: Some(node) }
    }

    pub(super) fn refused(message: impl Into<String>) -> Self {
        Self { success: false, message: Some(message.into()), node: None }
    }
}

/// The result of a write to an edge.
#[derive(Clone, Debug, Serialize)]
pub struct EdgeResponse {
    /// True if the request was carried out.
    pub success: bool,
    /// A description of the result; after a failure it says what to do.
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edge: Option<GraphEdge>,
}

impl EdgeResponse {
    pub(super) fn from_edge(edge: GraphEdge, message: impl Into<String>) -> Self {
        Self { success: true, message: message.into(), edge: Some(edge) }
    }

    pub(super) fn refused(message: impl Into<String>) -> Self {
        Self { success: false, message: message.into(), edge: None }
    }
}

/// The result of a deletion.
#[derive(Clone, Debug, Serialize)]
pub struct Deleted {
    /// True if the node or edge is deleted.
    pub success: bool,
    pub message: String,
}

/// Result of the tool `graph_edge_get`.
#[derive(Clone, Debug, Serialize)]
pub struct EdgesResponse {
    pub edges: Vec<GraphEdge>,
}

/// A page of nodes.
#[derive(Clone, Debug, Serialize)]
pub struct NodeListResponse {
    /// The page, the last changed first.
    pub nodes: Vec<GraphNode>,
    /// Number of matching nodes on all pages.
    pub total: usize,
}

/// A node found by a search.
#[derive(Clone, Debug, Serialize)]
pub struct NodeHit {
    pub node: GraphNode,
    /// The match with the query, from 0 to 1.
    pub score: f64,
}

/// Result of the tool `graph_node_search`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSearchResponse {
    pub results: Vec<NodeHit>,
    /// True if vectors were compared; else words alone.
    pub vector_search_used: bool,
}

/// A node that a traversal reached.
#[derive(Clone, Debug, Serialize)]
pub struct VisitedNode {
    pub node: GraphNode,
    /// Ids of the edges on the way from the start to the node.
    pub path: Vec<Uuid>,
    /// Number of edges between the start and the node.
    pub depth: u32,
}

/// Result of the tool `graph_traverse`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraverseResponse {
    /// The first node of the walk; of type `unknown` if it does not exist.
    pub start_node: serde_json::Value,
    /// Visited nodes, the nearest first.
    pub results: Vec<VisitedNode>,
}

/// A part of the graph.
#[derive(Clone, Debug, Serialize)]
pub struct SubgraphResponse {
    /// Nodes within reach, the nearest first.
    pub nodes: Vec<GraphNode>,
    /// All valid edges between the nodes.
    pub edges: Vec<GraphEdge>,
}

/// A finding about the graph, such as an entity with many edges.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Insight {
    /// `bridge`: a node with many edges; `cluster`: a type with many nodes.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub description: String,
    /// The nodes that the insight is about.
    pub node_ids: Vec<Uuid>,
    /// The certainty of the insight, from 0 to 1.
    pub confidence: f64,
}

/// Result of the tool `graph_insights`.
#[derive(Clone, Debug, Serialize)]
pub struct InsightsResponse {
    pub insights: Vec<Insight>,
}

/// Counts of nodes and edges by type.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatsResponse {
    /// Number of nodes, without deleted ones.
    pub total_nodes: usize,
    /// Number of edges, without deleted ones.
    pub total_edges: usize,
    pub nodes_by_type: BTreeMap<String, usize>,
    pub edges_by_type: BTreeMap<String, usize>,
    pub deleted_nodes: usize,
    pub deleted_edges: usize,
    /// Time at which the oldest node was written.
    pub oldest_node: Option<Timestamp>,
    /// Time at which the newest node was written.
    pub newest_node: Option<Timestamp>,
    /// True if nodes can be searched by meaning.
    pub vector_search_available: bool,
}

/// Result of the tool `graph_write_transaction`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TransactionResponse {
    /// True if the transaction was written.
    pub success: bool,
    pub message: String,
    /// Number of new nodes.
    pub nodes_created: usize,
    /// Number of nodes that existed already.
    pub nodes_reused: usize,
    /// Number of new edges.
    pub edges_created: usize,
    /// Number of edges that existed already and gained weight or evidence.
    pub edges_reused: usize,
    /// The nodes, in the order of the request.
    pub nodes: Vec<GraphNode>,
    /// The written edges, in the order of the request.
    pub edges: Vec<GraphEdge>,
    /// Edges that were not written, each with the missing label.
    pub unresolved: Vec<UnresolvedEdge>,
}
