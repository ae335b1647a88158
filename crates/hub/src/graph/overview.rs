//! Statistics of the graph, and its most connected parts.

use std::collections::{BTreeMap, HashMap};

use memory::Scope;
use memory::ports::StoreError;
use uuid::Uuid;

use super::ports::{GraphEdge, GraphNode};
use super::responses::{Insight, InsightsResponse, StatsResponse};
use super::service::Graph;

/// Edges from which a node counts as a bridge, and maximum number of bridges listed.
const BRIDGE_LINKS_MIN: usize = 3;
const BRIDGES_MAX: usize = 5;
/// Nodes from which a type counts as a cluster. Two of a type may be chance.
const CLUSTER_NODES_MIN: usize = 3;
/// Confidence of a cluster. The type is certain; that nodes of a type belong together is not.
const CLUSTER_CONFIDENCE: f64 = 0.7;

impl Graph {
    /// Nodes that join many others, and types with many nodes.
    pub async fn insights(&self, scope: &Scope) -> Result<InsightsResponse, StoreError> {
        let now = self.clock.now();
        let mut nodes = self.store.graph_nodes(scope).await?;
        nodes.retain(|node| !node.deleted);
        let mut edges = self.store.graph_edges(scope).await?;
        edges.retain(|edge| edge.is_valid_at(now));
        Ok(InsightsResponse { insights: insights(&nodes, &edges) })
    }

    /// Counts of nodes and edges by type.
    pub async fn stats(&self, scope: &Scope) -> Result<StatsResponse, StoreError> {
        let (nodes, deleted_nodes): (Vec<_>, Vec<_>) =
            self.store.graph_nodes(scope).await?.into_iter().partition(|node| !node.deleted);
        let (edges, deleted_edges): (Vec<_>, Vec<_>) =
            self.store.graph_edges(scope).await?.into_iter().partition(|edge| !edge.deleted);
        let count = |types: Vec<&String>| {
            types.into_iter().fold(BTreeMap::new(), |mut counts: BTreeMap<String, usize>, word| {
                *counts.entry(word.clone()).or_default() += 1;
                counts
            })
        };
        Ok(StatsResponse {
            total_nodes: nodes.len(),
            total_edges: edges.len(),
            nodes_by_type: count(nodes.iter().map(|node| &node.node_type).collect()),
            edges_by_type: count(edges.iter().map(|edge| &edge.edge_type).collect()),
            deleted_nodes: deleted_nodes.len(),
            deleted_edges: deleted_edges.len(),
            oldest_node: nodes.iter().map(|node| node.created_at).min(),
            newest_node: nodes.iter().map(|node| node.created_at).max(),
            vector_search_available: self.fingerprint().await.is_some(),
        })
    }
}

/// Returns at most five bridges, the most connected first, then clusters by type.
pub fn insights(nodes: &[GraphNode], edges: &[GraphEdge]) -> Vec<Insight> {
    let mut links: HashMap<Uuid, usize> = HashMap::new();
    for edge in edges {
        *links.entry(edge.from_id).or_default() += 1;
        if edge.to_id != edge.from_id {
            *links.entry(edge.to_id).or_default() += 1;
        }
    }
    let degree = |node: &GraphNode| links.get(&node.id).copied().unwrap_or_default();
    let mut bridges: Vec<&GraphNode> = nodes.iter().filter(|node| degree(node) >= BRIDGE_LINKS_MIN).collect();
    bridges.sort_by(|a, b| degree(b).cmp(&degree(a)).then_with(|| a.id.cmp(&b.id)));
    let bridges = bridges.into_iter().take(BRIDGES_MAX).map(|node| Insight {
        kind: "bridge",
        description: format!("{:?} ({}) is joined with {} others", node.label, node.node_type, degree(node)),
        node_ids: vec![node.id],
        confidence: (degree(node) as f64 / 10.0).min(0.9),
    });
    let mut by_type: BTreeMap<&str, Vec<Uuid>> = BTreeMap::new();
    for node in nodes {
        by_type.entry(&node.node_type).or_default().push(node.id);
    }
    let clusters = by_type.into_iter().filter(|(_, ids)| ids.len() >= CLUSTER_NODES_MIN);
    let clusters = clusters.map(|(node_type, node_ids)| Insight {
        kind: "cluster",
        description: format!("{} nodes of type {node_type}", node_ids.len()),
        node_ids,
        confidence: CLUSTER_CONFIDENCE,
    });
    bridges.chain(clusters).collect()
}
