//! Tools for the graph of people, places and topics.

use hub::graph::{
    EdgeCreate, EdgeGet, EdgeUpdate, NodeCreate, NodeDelete, NodeList, NodeSearch, NodeUpdate, Subgraph,
    Traverse, WriteTransaction,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::mcp::tool::{Effect, NoArgs, Tool, tool};

/// A node or an edge.
#[derive(Deserialize, JsonSchema)]
struct NodeIdArgs {
    /// The id of the node.
    id: String,
}

/// Declares a tool that calls a method of the graph.
macro_rules! of_graph {
    ($name:literal, $effect:ident, $method:ident, $input:ty, $description:literal) => {
        tool(
            $name,
            Effect::$effect,
            $description,
            |context: std::sync::Arc<crate::mcp::ToolContext>, caller: hub::Caller, input: $input| async move {
                context.graph.$method(&caller.scope, input).await
            },
        )
    };
}

/// Declares a tool of the graph without arguments.
macro_rules! of_whole_graph {
    ($name:literal, $method:ident, $description:literal) => {
        tool(
            $name,
            Effect::Reads,
            $description,
            |context: std::sync::Arc<crate::mcp::ToolContext>, caller: hub::Caller, _: NoArgs| async move {
                context.graph.$method(&caller.scope).await
            },
        )
    };
}

/// Declares a tool of the graph with an id as its only argument.
macro_rules! of_one {
    ($name:literal, $effect:ident, $method:ident, $description:literal) => {
        tool(
            $name,
            Effect::$effect,
            $description,
            |context: std::sync::Arc<crate::mcp::ToolContext>, caller: hub::Caller, input: NodeIdArgs| async move {
                context.graph.$method(&caller.scope, &input.id).await
            },
        )
    };
}

pub(super) fn tools() -> Vec<Tool> {
    let mut tools = node_tools();
    tools.extend(edges());
    tools.extend(whole_graph_tools());
    tools
}

fn node_tools() -> Vec<Tool> {
    vec![
        of_graph!(
            "graph_node_create",
            Adds,
            create_node,
            NodeCreate,
            "Create a node (type: self, person, topic, preference, place, goal, health, boundary, tradition, insight or any \
             word). If one of the same type and label exists, it is returned. person, place, org, pet and other are entities \
             of the memory. sourceMemoryId is the memory that supports it: when that is deleted, the node is withdrawn."
        ),
        of_one!("graph_node_get", Reads, live_node, "Get a node."),
        of_graph!(
            "graph_node_update",
            Changes,
            update_node,
            NodeUpdate,
            "Update a node; properties are replaced as a whole. A description written by the owner is kept."
        ),
        of_graph!(
            "graph_node_delete",
            Destroys,
            delete_node,
            NodeDelete,
            "Delete a node and its edges; softly, or permanently with permanent."
        ),
        of_graph!(
            "graph_node_search",
            Reads,
            search_nodes,
            NodeSearch,
            "Search nodes by words and by meaning, best first."
        ),
        of_graph!("graph_node_list", Reads, list_nodes, NodeList, "List nodes, newest changes first."),
    ]
}

fn edges() -> Vec<Tool> {
    vec![
        of_graph!(
            "graph_edge_create",
            Adds,
            create_edge,
            EdgeCreate,
            "Create an edge between two nodes. An existing edge of the same type gains weight and the new evidence. \
             sourceMemoryId is the memory that supports it: when that is deleted, the edge is withdrawn."
        ),
        of_graph!(
            "graph_edge_get",
            Reads,
            edges,
            EdgeGet,
            "Get edges by id, ends and type; without any, all edges."
        ),
        of_graph!("graph_edge_update", Changes, update_edge, EdgeUpdate, "Update an edge."),
        of_one!("graph_edge_delete", Destroys, delete_edge, "Delete an edge softly."),
    ]
}

fn whole_graph_tools() -> Vec<Tool> {
    vec![
        of_graph!(
            "graph_traverse",
            Reads,
            traverse,
            Traverse,
            "List nodes reachable along current edges, nearest first, with the path to each."
        ),
        of_graph!(
            "graph_subgraph",
            Reads,
            subgraph,
            Subgraph,
            "Get a node, its neighbours and all edges among them."
        ),
        of_whole_graph!(
            "graph_insights",
            insights,
            "Get the nodes with the most edges and the types with the most nodes."
        ),
        of_whole_graph!("graph_stats", stats, "Count nodes and edges by type."),
        of_graph!(
            "graph_write_transaction",
            Adds,
            write_transaction,
            WriteTransaction,
            "Write nodes and edges together, all or none. Edges name their ends by label; edges with a \
                missing end are skipped and listed as unresolved."
        ),
    ]
}
