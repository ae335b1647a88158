//! People, places, topics, and what joins them.

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
    /// Its id.
    id: String,
}

/// A tool of the graph: a method of its door.
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

/// A tool of the graph that takes nothing.
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

/// A tool that takes an id alone.
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
    let mut tools = nodes();
    tools.extend(edges());
    tools.extend(whole());
    tools
}

fn nodes() -> Vec<Tool> {
    vec![
        of_graph!(
            "graph_node_create",
            Adds,
            create_node,
            NodeCreate,
            "Writes a node (type: self, person, topic, preference, place, goal, health, boundary, tradition, insight or any \
             word). One of the same type and label is answered as it is. person, place, org, pet and other are the memory's \
             own entities. sourceMemoryId is the memory that it rests on: when that is deleted, the node is withdrawn."
        ),
        of_one!("graph_node_get", Reads, node, "One node."),
        of_graph!(
            "graph_node_update",
            Changes,
            update_node,
            NodeUpdate,
            "Changes a node; properties are replaced whole. A description that a person wrote stays."
        ),
        of_graph!(
            "graph_node_delete",
            Destroys,
            delete_node,
            NodeDelete,
            "Deletes a node and its edges; softly, or for good with permanent."
        ),
        of_graph!(
            "graph_node_search",
            Reads,
            search_nodes,
            NodeSearch,
            "Nodes that fit a text, by words and by meaning, the best first."
        ),
        of_graph!("graph_node_list", Reads, list_nodes, NodeList, "Nodes, the last changed first."),
    ]
}

fn edges() -> Vec<Tool> {
    vec![
        of_graph!(
            "graph_edge_create",
            Adds,
            create_edge,
            EdgeCreate,
            "Joins two nodes. An edge of the same type between them gains weight and the new evidence. sourceMemoryId is the \
             memory that it rests on: when that is deleted, the edge is withdrawn."
        ),
        of_graph!(
            "graph_edge_get",
            Reads,
            edges,
            EdgeGet,
            "Edges by id, ends and type; without any, all edges."
        ),
        of_graph!("graph_edge_update", Changes, update_edge, EdgeUpdate, "Changes an edge."),
        of_one!("graph_edge_delete", Destroys, delete_edge, "Deletes an edge softly."),
    ]
}

fn whole() -> Vec<Tool> {
    vec![
        of_graph!(
            "graph_traverse",
            Reads,
            traverse,
            Traverse,
            "What is within reach of a node along edges that hold now, the nearest first, with the way to each."
        ),
        of_graph!(
            "graph_subgraph",
            Reads,
            subgraph,
            Subgraph,
            "A node, what is around it, and all edges among these."
        ),
        of_whole_graph!(
            "graph_insights",
            insights,
            "Nodes that join many others, and types with many nodes."
        ),
        of_whole_graph!("graph_stats", stats, "How many nodes and edges there are, by type."),
        of_graph!(
            "graph_write_transaction",
            Adds,
            write_transaction,
            WriteTransaction,
            "Writes nodes and edges together, all or none. Edges name their ends by label; those an end of which is not \
             there are left out and listed as unresolved."
        ),
    ]
}
