//! Reads nodes and edges. An entity without a graph row is a node like any other.

use hub::graph::{GraphEdge, GraphNode};
use memory::entities::MergeStatus;
use memory::identifiers::EntityId;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::entities::entity_queries::{self, entity_columns, parts};
use crate::rows;

/// Certainty of an entity without a row in the graph.
const DEFAULT_CERTAINTY: f64 = 1.0;
const CERTAINTY_OF_UNDECIDED_MERGE: f64 = 0.5;

/// Columns of a graph node beside those of an entity: `g` is `graph_nodes`.
macro_rules! beside_columns {
    () => {
        "g.properties, g.confidence, g.source_instance, g.created_at, g.updated_at, g.first_learned_at, \
         g.last_confirmed_at, g.version, g.deleted_at"
    };
}

/// All nodes of the scope, the last changed first.
pub(super) fn all_nodes(connection: &Connection, scope: i64) -> Result<Vec<GraphNode>> {
    let mut nodes: Vec<GraphNode> = connection
        .prepare_cached(concat!(
            "SELECT ",
            entity_columns!(),
            ", ",
            beside_columns!(),
            " FROM entities e LEFT JOIN graph_nodes g ON g.id = e.id
             WHERE e.scope = ?1 AND e.merged_into IS NULL"
        ))?
        .query_map([scope], |row| entity_node(connection, row))?
        .collect::<Result<_>>()?;
    let own = connection
        .prepare_cached(concat!(
            "SELECT g.id, g.type, g.label, g.description, ",
            beside_columns!(),
            " FROM graph_nodes g WHERE g.scope = ?1 AND g.entity_id IS NULL"
        ))?
        .query_map([scope], |row| read_own_node(connection, row))?
        .collect::<Result<Vec<_>>>()?;
    nodes.extend(own);
    nodes.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| b.id.cmp(&a.id)));
    Ok(nodes)
}

/// A node by its id. For the id of a merged entity, returns the entity that it is part of.
pub(super) fn load_node(connection: &Connection, scope: i64, id: Uuid) -> Result<Option<GraphNode>> {
    if let Some(root) = entity_queries::merged_into(connection, scope, EntityId(id))? {
        return connection
            .prepare_cached(concat!(
                "SELECT ",
                entity_columns!(),
                ", ",
                beside_columns!(),
                " FROM entities e LEFT JOIN graph_nodes g ON g.id = e.id WHERE e.id = ?1"
            ))?
            .query_row([root.0.into_bytes()], |row| entity_node(connection, row))
            .optional();
    }
    connection
        .prepare_cached(concat!(
            "SELECT g.id, g.type, g.label, g.description, ",
            beside_columns!(),
            " FROM graph_nodes g WHERE g.id = ?1 AND g.scope = ?2 AND g.entity_id IS NULL"
        ))?
        .query_row(params![id.into_bytes(), scope], |row| read_own_node(connection, row))
        .optional()
}

fn entity_node(connection: &Connection, row: &Row<'_>) -> Result<GraphNode> {
    let entity = entity_queries::read(connection, row)?;
    let confidence: Option<f64> = row.get(10)?;
    let settled = if entity.merge_status == MergeStatus::Uncertain {
        CERTAINTY_OF_UNDECIDED_MERGE
    } else {
        DEFAULT_CERTAINTY
    };
    let id = entity.id.0;
    let updated_at = rows::optional_time(row, 13)?.map_or(entity.updated_at, |at| at.max(entity.updated_at));
    Ok(GraphNode {
        id,
        node_type: entity.kind.as_str().to_owned(),
        aliases: entity.aliases.into_iter().filter(|alias| *alias != entity.canonical_name).collect(),
        label: entity.canonical_name,
        description: entity.description.unwrap_or_default(),
        properties: read_properties(row, 9)?,
        confidence: confidence.unwrap_or(settled),
        source_instance: row.get::<Option<String>>(11)?.unwrap_or_default(),
        source_memory_ids: source_memories(connection, "node_id", id)?,
        created_at: entity.created_at,
        updated_at,
        first_learned_at: rows::optional_time(row, 14)?.or(Some(entity.created_at)),
        last_confirmed_at: rows::optional_time(row, 15)?,
        version: row.get::<Option<u32>>(16)?.unwrap_or(1),
        deleted: row.get::<Option<i64>>(17)?.is_some(),
        entity: true,
        no_longer_current: None,
    })
}

fn read_own_node(connection: &Connection, row: &Row<'_>) -> Result<GraphNode> {
    let id = rows::read_uuid(row, 0)?;
    Ok(GraphNode {
        id,
        node_type: row.get(1)?,
        label: row.get(2)?,
        aliases: Vec::new(),
        description: row.get(3)?,
        properties: read_properties(row, 4)?,
        confidence: row.get(5)?,
        source_instance: row.get(6)?,
        source_memory_ids: source_memories(connection, "node_id", id)?,
        created_at: rows::time(row, 7)?,
        updated_at: rows::time(row, 8)?,
        first_learned_at: rows::optional_time(row, 9)?,
        last_confirmed_at: rows::optional_time(row, 10)?,
        version: row.get(11)?,
        deleted: row.get::<Option<i64>>(12)?.is_some(),
        entity: false,
        no_longer_current: None,
    })
}

/// Columns of an edge: `e` is `graph_edges`. An edge that depends only on replaced events is valid until the last of
/// them was replaced: so it ends with the change, even if no facts were extracted from the newer event, and becomes
/// valid again when that is undone.
macro_rules! edge_columns {
    () => {
        "e.id, e.from_id, e.to_id, e.type, e.properties, e.weight, e.source_instance, e.created_at, e.updated_at, \
         e.occurred_at, coalesce(e.valid_until, (
             SELECT max(c.created_at) FROM graph_sources s
             JOIN concept_nodes n ON n.id = unhex(replace(s.memory, '-', ''))
             JOIN node_changes c ON c.node_seq = n.seq AND c.kind = 'supersession' AND c.undone_at IS NULL
             WHERE s.edge_id = e.id AND s.memory <> '' AND n.superseded_by IS NOT NULL
             HAVING count(DISTINCT s.number) = (SELECT count(*) FROM graph_sources a WHERE a.edge_id = e.id))), \
         e.last_confirmed_at, e.version, e.deleted_at"
    };
}

/// All edges of the scope, the last changed first.
pub(super) fn edges(connection: &Connection, scope: i64) -> Result<Vec<GraphEdge>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            edge_columns!(),
            " FROM graph_edges e WHERE e.scope = ?1 ORDER BY e.updated_at DESC, e.id DESC"
        ))?
        .query_map([scope], |row| read_edge(connection, scope, row))?
        .collect()
}

/// The edges at these nodes and at those merged into them, the first written first.
pub(super) fn edges_at(connection: &Connection, scope: i64, nodes: &[Uuid]) -> Result<Vec<GraphEdge>> {
    let mut part = connection.prepare_cached(concat!(parts!(), " SELECT id FROM parts"))?;
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        edge_columns!(),
        " FROM graph_edges e WHERE e.scope = ?2 AND (e.from_id = ?1 OR e.to_id = ?1)"
    ))?;
    let mut edges: Vec<GraphEdge> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for node in nodes {
        let ids: Vec<[u8; 16]> =
            part.query_map([node.into_bytes()], |row| row.get(0))?.collect::<Result<_>>()?;
        for id in ids {
            let found = statement.query_map(params![id, scope], |row| read_edge(connection, scope, row))?;
            for edge in found {
                let edge = edge?;
                if known.insert(edge.id) {
                    edges.push(edge);
                }
            }
        }
    }
    edges.sort_by_key(|edge| edge.id);
    Ok(edges)
}

/// An edge by its id.
pub(super) fn edge(connection: &Connection, scope: i64, id: Uuid) -> Result<Option<GraphEdge>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            edge_columns!(),
            " FROM graph_edges e WHERE e.id = ?1 AND e.scope = ?2"
        ))?
        .query_row(params![id.into_bytes(), scope], |row| read_edge(connection, scope, row))
        .optional()
}

fn read_edge(connection: &Connection, scope: i64, row: &Row<'_>) -> Result<GraphEdge> {
    let id = rows::read_uuid(row, 0)?;
    let end = |column| -> Result<Uuid> {
        let id = rows::read_uuid(row, column)?;
        Ok(entity_queries::merged_into(connection, scope, EntityId(id))?.map_or(id, |root| root.0))
    };
    Ok(GraphEdge {
        id,
        from_id: end(1)?,
        to_id: end(2)?,
        edge_type: row.get(3)?,
        properties: read_properties(row, 4)?,
        weight: row.get(5)?,
        evidence: edge_evidence(connection, id)?,
        source_instance: row.get(6)?,
        source_memory_ids: source_memories(connection, "edge_id", id)?,
        created_at: rows::time(row, 7)?,
        updated_at: rows::time(row, 8)?,
        occurred_at: rows::optional_time(row, 9)?,
        valid_until: rows::optional_time(row, 10)?,
        last_confirmed_at: rows::optional_time(row, 11)?,
        version: row.get(12)?,
        deleted: row.get::<Option<i64>>(13)?.is_some(),
    })
}

fn edge_evidence(connection: &Connection, edge: Uuid) -> Result<Option<String>> {
    connection
        .prepare_cached(
            "SELECT evidence FROM graph_sources WHERE edge_id = ?1 AND evidence IS NOT NULL
             ORDER BY number DESC LIMIT 1",
        )?
        .query_row([edge.into_bytes()], |row| row.get(0))
        .optional()
}

fn source_memories(connection: &Connection, of: &'static str, id: Uuid) -> Result<Vec<String>> {
    connection
        .prepare_cached(&format!(
            "SELECT memory FROM graph_sources WHERE {of} = ?1 AND memory <> '' ORDER BY number DESC"
        ))?
        .query_map([id.into_bytes()], |row| row.get(0))?
        .collect()
}

pub(super) fn read_properties(row: &Row<'_>, column: usize) -> Result<Map<String, Value>> {
    match row.get_ref(column)?.as_str_or_null()? {
        None => Ok(Map::new()),
        Some(_) => rows::read_json(row, column),
    }
}
