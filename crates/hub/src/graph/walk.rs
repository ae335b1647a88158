//! Traversals along valid edges, breadth first.

use std::collections::{HashMap, HashSet};

use memory::Scope;
use memory::ports::StoreError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::ports::{GraphEdge, GraphNode};
use super::responses::{SubgraphResponse, TraverseResponse, VisitedNode};
use super::service::Graph;

/// Maximum nodes of a subgraph. A picture of more is unreadable, and too large for an agent's context.
const SUBGRAPH_NODES_MAX: usize = 100;
/// Default depth of a walk, in edges. Two reach the friends of a friend.
const DEPTH_DEFAULT: u32 = 2;
const VISITED_MAX: usize = 50;

/// Direction in which a walk follows edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Along the edge, from its beginning to its end.
    #[default]
    Out,
    /// Against the edge, from its end to its beginning.
    In,
    /// Edges of both directions.
    Both,
}

/// Arguments of the tool `graph_traverse`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Traverse {
    /// The id of the first node.
    pub start_node_id: String,
    /// The direction of the edges to follow.
    #[serde(default)]
    #[schemars(extend("default" = "out"))]
    pub direction: Direction,
    /// Maximum number of steps.
    #[schemars(range(min = 1, max = 5), extend("default" = DEPTH_DEFAULT))]
    pub max_depth: Option<u32>,
    /// Follows edges of these types only.
    #[serde(default)]
    pub edge_types: Option<Vec<String>>,
    /// Maximum number of nodes.
    #[schemars(range(min = 1, max = 200), extend("default" = VISITED_MAX))]
    pub limit: Option<usize>,
}

/// Arguments of the tool `graph_subgraph`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subgraph {
    /// The id of the central node.
    pub node_id: String,
    /// Maximum number of steps.
    #[schemars(range(min = 1, max = 3), extend("default" = DEPTH_DEFAULT))]
    pub depth: Option<u32>,
}

/// A node's place in a walk.
struct Step {
    id: Uuid,
    path: Vec<Uuid>,
    depth: u32,
}

impl Graph {
    /// Finds nodes within reach of a node.
    pub async fn traverse(&self, scope: &Scope, asked: Traverse) -> Result<TraverseResponse, StoreError> {
        let start = match Uuid::parse_str(&asked.start_node_id) {
            Ok(id) => self.store.graph_nodes_of(scope, &[id]).await?.into_iter().find(|node| !node.deleted),
            Err(_) => None,
        };
        let Some(mut start) = start else {
            let unknown = json!({"id": asked.start_node_id, "type": "unknown", "label": "Unknown"});
            return Ok(TraverseResponse { start_node: unknown, results: Vec::new() });
        };
        let limit = asked.limit.unwrap_or(VISITED_MAX);
        let types = asked.edge_types.as_deref();
        let depth = asked.max_depth.unwrap_or(DEPTH_DEFAULT);
        let (steps, mut nodes) =
            self.walk_edges(scope, start.id, asked.direction, depth, types, limit).await?;
        let mut results: Vec<VisitedNode> = steps
            .into_iter()
            .filter_map(|step| {
                Some(VisitedNode { node: nodes.remove(&step.id)?, path: step.path, depth: step.depth })
            })
            .collect();
        let visited = results.iter_mut().map(|visited| &mut visited.node);
        self.set_outdated_values(scope, visited.chain([&mut start])).await?;
        let start_node = serde_json::to_value(&start).unwrap_or_default();
        Ok(TraverseResponse { start_node, results })
    }

    /// Returns a node, the nodes around it, and all edges between them.
    pub async fn subgraph(&self, scope: &Scope, asked: Subgraph) -> Result<SubgraphResponse, StoreError> {
        let nothing = SubgraphResponse { nodes: Vec::new(), edges: Vec::new() };
        let Ok(id) = Uuid::parse_str(&asked.node_id) else { return Ok(nothing) };
        let found = self.store.graph_nodes_of(scope, &[id]).await?.into_iter().find(|node| !node.deleted);
        let Some(middle) = found else { return Ok(nothing) };
        let depth = asked.depth.unwrap_or(DEPTH_DEFAULT);
        let limit = SUBGRAPH_NODES_MAX - 1;
        let (steps, mut around) =
            self.walk_edges(scope, middle.id, Direction::Both, depth, None, limit).await?;
        let mut nodes = vec![middle];
        nodes.extend(steps.iter().filter_map(|step| around.remove(&step.id)));
        let ids: Vec<Uuid> = nodes.iter().map(|node| node.id).collect();
        let inside: HashSet<Uuid> = ids.iter().copied().collect();
        self.set_outdated_values(scope, nodes.iter_mut()).await?;
        let now = self.clock.now();
        let mut edges = self.store.graph_edges_at(scope, &ids).await?;
        edges.retain(|edge| {
            edge.is_valid_at(now) && inside.contains(&edge.from_id) && inside.contains(&edge.to_id)
        });
        Ok(SubgraphResponse { nodes, edges })
    }

    async fn walk_edges(
        &self,
        scope: &Scope,
        start: Uuid,
        direction: Direction,
        depth_max: u32,
        types: Option<&[String]>,
        limit: usize,
    ) -> Result<(Vec<Step>, HashMap<Uuid, GraphNode>), StoreError> {
        let now = self.clock.now();
        let mut seen = HashSet::from([start]);
        let mut frontier: Vec<(Uuid, Vec<Uuid>)> = vec![(start, Vec::new())];
        let (mut steps, mut nodes) = (Vec::new(), HashMap::new());
        for depth in 1..=depth_max {
            let ids: Vec<Uuid> = frontier.iter().map(|(id, _)| *id).collect();
            if ids.is_empty() || steps.len() >= limit {
                break;
            }
            let mut edges = self.store.graph_edges_at(scope, &ids).await?;
            edges.retain(|edge| {
                edge.is_valid_at(now) && types.is_none_or(|types| types.contains(&edge.edge_type))
            });
            let mut reached = Vec::new();
            for (from, path) in &frontier {
                for (to, edge) in edges.iter().flat_map(|edge| reachable_ends(edge, *from, direction)) {
                    if seen.insert(to) {
                        let path: Vec<Uuid> = path.iter().copied().chain([edge]).collect();
                        reached.push((to, path));
                    }
                }
            }
            let ids: Vec<Uuid> = reached.iter().map(|(id, _)| *id).collect();
            let found = self.store.graph_nodes_of(scope, &ids).await?;
            nodes.extend(found.into_iter().filter(|node| !node.deleted).map(|node| (node.id, node)));
            reached.retain(|(id, _)| nodes.contains_key(id));
            reached.truncate(limit - steps.len());
            steps.extend(reached.iter().map(|(id, path)| Step { id: *id, path: path.clone(), depth }));
            frontier = reached;
        }
        Ok((steps, nodes))
    }
}

/// The other ends of an edge that can be reached from a node.
fn reachable_ends(edge: &GraphEdge, from: Uuid, direction: Direction) -> Vec<(Uuid, Uuid)> {
    let mut ways = Vec::new();
    if edge.from_id == from && direction != Direction::In {
        ways.push((edge.to_id, edge.id));
    }
    if edge.to_id == from && direction != Direction::Out {
        ways.push((edge.from_id, edge.id));
    }
    ways
}
