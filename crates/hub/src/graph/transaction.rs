//! Writes nodes and edges together, all or none.

use memory::Scope;
use memory::ports::StoreError;
use schemars::JsonSchema;
use serde::Deserialize;

use super::TRANSACTION_MAX;
use super::edges::EdgeText;
use super::nodes::{NodeText, checked_label};
use super::ports::{EdgeEnd, GraphWrite, UnresolvedEdge};
use super::responses::TransactionResponse;
use super::service::Graph;

/// An edge of a transaction. Its ends are named by label.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransactionEdge {
    /// The label of the node that the edge leaves.
    pub from_label: String,
    /// The label of the node that the edge reaches.
    pub to_label: String,
    /// The fields of the edge.
    #[serde(flatten)]
    pub edge: EdgeText,
}

/// Arguments of the tool `graph_write_transaction`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WriteTransaction {
    /// The nodes to write.
    #[serde(default)]
    pub nodes: Vec<NodeText>,
    /// The edges to write.
    #[serde(default)]
    pub edges: Vec<TransactionEdge>,
    /// The instance that writes.
    pub instance_id: String,
}

impl Graph {
    /// Writes nodes and edges in one transaction. Edges without an existing end are skipped and listed.
    pub async fn write_transaction(
        &self,
        scope: &Scope,
        asked: WriteTransaction,
    ) -> Result<TransactionResponse, StoreError> {
        let write = match self.to_graph_write(asked) {
            Ok(write) => write,
            Err(reason) => return Ok(refused_response(reason)),
        };
        let written = self.store.write_graph(scope, write).await?;
        let new_nodes = written.nodes.iter().filter(|node| node.is_new).count();
        let new_edges = written.edges.iter().filter(|edge| edge.is_new).count();
        let fresh: Vec<_> =
            written.nodes.iter().filter(|node| node.is_new).map(|node| node.value.clone()).collect();
        if !fresh.is_empty() {
            self.embed_written(scope, &fresh).await?;
        }
        let (reused_nodes, reused_edges) = (written.nodes.len() - new_nodes, written.edges.len() - new_edges);
        Ok(TransactionResponse {
            success: true,
            message: outcome_message(new_nodes, new_edges, reused_nodes, reused_edges, &written.unresolved),
            nodes_created: new_nodes,
            nodes_reused: reused_nodes,
            edges_created: new_edges,
            edges_reused: reused_edges,
            nodes: written.nodes.into_iter().map(|node| node.value).collect(),
            edges: written.edges.into_iter().map(|edge| edge.value).collect(),
            unresolved: written.unresolved,
        })
    }

    fn to_graph_write(&self, asked: WriteTransaction) -> Result<GraphWrite, String> {
        let count = asked.nodes.len().max(asked.edges.len());
        if count > TRANSACTION_MAX {
            return Err(format!(
                "a transaction may write at most {TRANSACTION_MAX} nodes and as many edges, but this one \
                    has {count}; nothing was written"
            ));
        }
        let instance = asked.instance_id;
        let mut nodes = Vec::with_capacity(asked.nodes.len());
        for (index, node) in asked.nodes.into_iter().enumerate() {
            nodes.push(self.new_node(node).map_err(|reason| format!("nodes[{index}]: {reason}"))?);
        }
        let mut edges = Vec::with_capacity(asked.edges.len());
        for (index, edge) in asked.edges.into_iter().enumerate() {
            let at = |reason: String| format!("edges[{index}]: {reason}");
            let from = EdgeEnd::Label(checked_label(&edge.from_label).map_err(at)?);
            let to = EdgeEnd::Label(checked_label(&edge.to_label).map_err(at)?);
            edges.push(self.new_edge(edge.edge, from, to).map_err(at)?);
        }
        Ok(GraphWrite { nodes, edges, instance, at: self.clock.now() })
    }
}

fn outcome_message(
    new_nodes: usize,
    new_edges: usize,
    reused_nodes: usize,
    reused_edges: usize,
    unresolved: &[UnresolvedEdge],
) -> String {
    let mut message = format!("Created {new_nodes} nodes and {new_edges} edges");
    if reused_nodes + reused_edges > 0 {
        message.push_str(&format!("; {reused_nodes} nodes and {reused_edges} edges already existed"));
    }
    if !unresolved.is_empty() {
        message.push_str(&format!(
            "; {} edges were skipped, because one of their nodes is missing",
            unresolved.len()
        ));
    }
    message
}

fn refused_response(reason: String) -> TransactionResponse {
    TransactionResponse {
        success: false,
        message: reason,
        nodes_created: 0,
        nodes_reused: 0,
        edges_created: 0,
        edges_reused: 0,
        nodes: Vec::new(),
        edges: Vec::new(),
        unresolved: Vec::new(),
    }
}
