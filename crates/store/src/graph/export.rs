//! All nodes and edges of a scope, and inserting them into another graph.

use std::collections::HashMap;

use hub::export::{ExportedEdge, ExportedNode, ExportedSource};
use hub::graph::{GraphEdge, GraphNode, entity_kind};
use jiff::Timestamp;
use memory::entities::fold_name;
use memory::identifiers::EntityId;
use memory::ports::NewEntity;
use uuid::Uuid;

use super::{read, write};
use crate::engine::sql::{self, Connection, OptionalExtension, Result, params};
use crate::entities::{self, entity_queries};
use crate::ids::id_within;
use crate::rows::{self, microseconds, to_json};

pub(crate) fn whole_graph(
    connection: &Connection,
    scope: i64,
) -> Result<(Vec<ExportedNode>, Vec<ExportedEdge>)> {
    let mut nodes = read::all_nodes(connection, scope)?.into_iter();
    let mut nodes = nodes.try_fold(Vec::new(), |mut nodes, node| {
        nodes.push(exported_node(connection, node)?);
        Ok::<_, sql::Error>(nodes)
    })?;
    let mut edges = read::edges(connection, scope)?.into_iter();
    let mut edges = edges.try_fold(Vec::new(), |mut edges, edge| {
        let (deleted_at, sources) = (
            deleted_at(connection, "graph_edges", edge.id)?,
            export_sources(connection, "edge_id", edge.id)?,
        );
        edges.push(ExportedEdge { edge, deleted_at, sources });
        Ok::<_, sql::Error>(edges)
    })?;
    nodes.sort_by_key(|kept| kept.node.id);
    edges.sort_by_key(|kept| kept.edge.id);
    Ok((nodes, edges))
}

fn exported_node(connection: &Connection, node: GraphNode) -> Result<ExportedNode> {
    let row = connection
        .prepare_cached("SELECT described_by, made_entity FROM graph_nodes WHERE id = ?1")?
        .query_row([node.id.into_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (described_by, made_here) = row.unwrap_or((None, false));
    let by_person = "SELECT owner_override FROM entities WHERE id = ?1";
    let described_by_person = connection
        .prepare_cached(by_person)?
        .query_row([node.id.into_bytes()], |row| row.get(0))
        .optional()?;
    Ok(ExportedNode {
        described_by_person: described_by_person.unwrap_or(false),
        described_by,
        made_here,
        deleted_at: deleted_at(connection, "graph_nodes", node.id)?,
        sources: export_sources(connection, "node_id", node.id)?,
        node,
    })
}

fn deleted_at(connection: &Connection, table: &'static str, id: Uuid) -> Result<Option<Timestamp>> {
    let found = connection
        .prepare_cached(&format!("SELECT deleted_at FROM {table} WHERE id = ?1"))?
        .query_row([id.into_bytes()], |row| rows::optional_time(row, 0))
        .optional()?;
    Ok(found.flatten())
}

fn export_sources(connection: &Connection, of: &'static str, id: Uuid) -> Result<Vec<ExportedSource>> {
    connection
        .prepare_cached(&format!(
            "SELECT memory, evidence FROM graph_sources WHERE {of} = ?1 ORDER BY number"
        ))?
        .query_map([id.into_bytes()], |row| {
            Ok(ExportedSource { memory: row.get(0)?, evidence: row.get(1)? })
        })?
        .collect()
}

/// Inserts what is missing, under the same ids if these are free. A node with the name and type of an existing one is
/// merged into it.
pub(crate) fn restore(
    connection: &Connection,
    scope: i64,
    nodes: &[ExportedNode],
    edges: &[ExportedEdge],
) -> Result<()> {
    let mut ids: HashMap<Uuid, Uuid> = HashMap::new();
    for kept in nodes {
        ids.insert(kept.node.id, restore_node(connection, scope, kept)?);
    }
    for kept in edges {
        let ends = (ids.get(&kept.edge.from_id), ids.get(&kept.edge.to_id));
        if let (Some(from), Some(to)) = ends {
            restore_edge(connection, scope, kept, *from, *to)?;
        }
    }
    Ok(())
}

fn restore_node(connection: &Connection, scope: i64, kept: &ExportedNode) -> Result<Uuid> {
    let node = &kept.node;
    let is_elsewhere = "SELECT EXISTS (SELECT 1 FROM graph_nodes WHERE id = ?1 AND scope <> ?2
                                       UNION ALL SELECT 1 FROM entities WHERE id = ?1 AND scope <> ?2)";
    let id = id_within(connection, is_elsewhere, node.id, scope)?;
    if let Some(known) = known_node(connection, scope, kept, id)? {
        return Ok(known);
    }
    let kind = entity_kind(&node.node_type);
    if let Some(kind) = kind {
        let entity = NewEntity::settled(EntityId(id), node.label.clone(), kind);
        entities::insert(connection, scope, &entity, None, node.created_at)?;
        for alias in &node.aliases {
            entities::add_alias(connection, scope, EntityId(id), alias, &fold_name(alias), node.created_at)?;
        }
        let description = Some(&node.description).filter(|text| !text.is_empty());
        connection
            .prepare_cached(
                "UPDATE entities SET description = ?2, owner_override = ?3, updated_at = ?4,
                     described_at = CASE WHEN CAST(?2 AS TEXT) IS NULL THEN described_at ELSE ?4 END WHERE id = ?1",
            )?
            .execute(params![
                id.into_bytes(),
                description,
                kept.described_by_person,
                microseconds(node.updated_at)
            ])?;
    }
    let own = |text: &str| kind.is_none().then(|| text.to_owned());
    connection
        .prepare_cached(
            "INSERT INTO graph_nodes (id, scope, entity_id, made_entity, type, label, folded, description, described_by,
                                      properties, confidence, source_instance, created_at, updated_at,
                                      first_learned_at, last_confirmed_at, version, deleted_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
        )?
        .execute(params![
            id.into_bytes(),
            scope,
            kind.is_some().then(|| id.into_bytes()),
            kept.made_here,
            own(&node.node_type),
            own(&node.label),
            own(&fold_name(&node.label)),
            own(&node.description).unwrap_or_default(),
            kept.described_by,
            to_json(&node.properties)?,
            node.confidence,
            node.source_instance,
            microseconds(node.created_at),
            microseconds(node.updated_at),
            node.first_learned_at.map(microseconds),
            node.last_confirmed_at.map(microseconds),
            node.version,
            kept.deleted_at.map(microseconds),
        ])?;
    restore_sources(connection, scope, "node_id", id, &kept.sources)?;
    Ok(id)
}

/// The existing node with this id, or with the same name and type.
fn known_node(connection: &Connection, scope: i64, kept: &ExportedNode, id: Uuid) -> Result<Option<Uuid>> {
    let node = &kept.node;
    if let Some(known) = read::load_node(connection, scope, id)? {
        // An entity may have stayed while its graph row was removed.
        write::ensure_entity_row(connection, scope, known.id, microseconds(node.updated_at))?;
        return Ok(Some(known.id));
    }
    let folded = fold_name(&node.label);
    if let Some(kind) = entity_kind(&node.node_type) {
        let known = entity_queries::find_by_name(connection, scope, &folded, kind, None)?;
        if let Some(known) = &known {
            write::ensure_entity_row(connection, scope, known.id.0, microseconds(node.updated_at))?;
        }
        return Ok(known.map(|known| known.id.0));
    }
    if kept.deleted_at.is_some() {
        return Ok(None);
    }
    connection
        .prepare_cached(
            "SELECT id FROM graph_nodes WHERE scope = ?1 AND type = ?2 AND folded = ?3 AND deleted_at IS NULL",
        )?
        .query_row(params![scope, node.node_type, folded], |row| rows::read_uuid(row, 0))
        .optional()
}

fn restore_edge(
    connection: &Connection,
    scope: i64,
    kept: &ExportedEdge,
    from: Uuid,
    to: Uuid,
) -> Result<()> {
    let edge: &GraphEdge = &kept.edge;
    let is_elsewhere = "SELECT EXISTS (SELECT 1 FROM graph_edges WHERE id = ?1 AND scope <> ?2)";
    let id = id_within(connection, is_elsewhere, edge.id, scope)?;
    let written = connection
        .prepare_cached(
            "INSERT INTO graph_edges (id, scope, from_id, to_id, type, properties, weight, source_instance, created_at,
                                      updated_at, occurred_at, valid_until, last_confirmed_at, version, deleted_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            id.into_bytes(),
            scope,
            from.into_bytes(),
            to.into_bytes(),
            edge.edge_type,
            to_json(&edge.properties)?,
            edge.weight,
            edge.source_instance,
            microseconds(edge.created_at),
            microseconds(edge.updated_at),
            edge.occurred_at.map(microseconds),
            edge.valid_until.map(microseconds),
            edge.last_confirmed_at.map(microseconds),
            edge.version,
            kept.deleted_at.map(microseconds),
        ])?;
    match written {
        0 => Ok(()),
        _ => restore_sources(connection, scope, "edge_id", id, &kept.sources),
    }
}

fn restore_sources(
    connection: &Connection,
    scope: i64,
    of: &'static str,
    id: Uuid,
    sources: &[ExportedSource],
) -> Result<()> {
    let statement = format!(
        "INSERT INTO graph_sources (scope, {of}, memory, evidence) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING"
    );
    let mut insert = connection.prepare_cached(&statement)?;
    for source in sources {
        insert.execute(params![scope, id.into_bytes(), source.memory, source.evidence])?;
    }
    Ok(())
}
