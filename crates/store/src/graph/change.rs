//! Changes and deletions of nodes and edges.

use hub::graph::{
    EdgeChange, GraphEdge, GraphNode, NodeChange, NodeDeleteOutcome, NodeUpdateOutcome, entity_kind,
};
use jiff::Timestamp;
use memory::entities::{ChangedBy, EntityChange, EntityChanged, fold_name};
use memory::identifiers::EntityId;
use uuid::Uuid;

use super::{read, withdraw, write};
use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use crate::entities::{entity_changes, entity_queries, entity_vectors};
use crate::rows::{microseconds, read_uuid, to_json};

/// Changes an existing node.
pub(super) fn change_node(
    connection: &Connection,
    scope: i64,
    id: Uuid,
    change: &NodeChange,
    at: Timestamp,
) -> Result<NodeUpdateOutcome> {
    let Some(node) = read::load_node(connection, scope, id)?.filter(|node| !node.deleted) else {
        return Ok(NodeUpdateOutcome::NotThere);
    };
    let refused = if node.entity {
        change_entity(connection, scope, &node, change, at)?
    } else {
        change_own_node(connection, scope, &node, change)?
    };
    if let Some(refused) = refused {
        return Ok(refused);
    }
    write::ensure_entity_row(connection, scope, node.id, microseconds(at))?;
    let properties = change.properties.as_ref().map(to_json).transpose()?;
    connection
        .prepare_cached(
            "UPDATE graph_nodes SET properties = coalesce(?2, properties), confidence = coalesce(?3, confidence),
                 last_confirmed_at = coalesce(?4, last_confirmed_at), updated_at = ?5, version = version + 1
             WHERE id = ?1",
        )?
        .execute(params![
            node.id.into_bytes(),
            properties,
            change.confidence,
            change.last_confirmed_at.map(microseconds),
            microseconds(at),
        ])?;
    let changed = read::load_node(connection, scope, node.id)?;
    Ok(changed.map_or(NodeUpdateOutcome::NotThere, |node| NodeUpdateOutcome::Changed(Box::new(node))))
}

/// Changes an entity by the memory's rules. Returns the reason if nothing was changed.
fn change_entity(
    connection: &Connection,
    scope: i64,
    node: &GraphNode,
    change: &NodeChange,
    at: Timestamp,
) -> Result<Option<NodeUpdateOutcome>> {
    if change.node_type.as_ref().is_some_and(|wanted| *wanted != node.node_type) {
        return Ok(Some(NodeUpdateOutcome::TypeIsFixed));
    }
    let id = EntityId(node.id);
    let description = change.description.as_ref().filter(|text| **text != node.description);
    let by_person = entity_queries::by_id(connection, scope, id)?.is_some_and(|entity| entity.owner_override);
    if description.is_some() && by_person {
        return Ok(Some(NodeUpdateOutcome::DescribedByPerson));
    }
    if let Some(name) = change.label.as_ref().filter(|label| **label != node.label) {
        let rename = EntityChange::Rename { name: name.clone() };
        match entity_changes::change(connection, scope, id, &rename, ChangedBy::Conversation, at)? {
            EntityChanged::NameTaken(other) => {
                let other = read::load_node(connection, scope, other.id.0)?;
                return Ok(Some(other.map_or(NodeUpdateOutcome::NotThere, |other| {
                    NodeUpdateOutcome::LabelTaken(Box::new(other))
                })));
            }
            EntityChanged::NotThere => return Ok(Some(NodeUpdateOutcome::NotThere)),
            EntityChanged::Changed(_) => {}
        }
    }
    if let Some(text) = description {
        entity_changes::describe(connection, scope, id, text, at)?;
        connection
            .prepare_cached("UPDATE graph_nodes SET described_by = NULL WHERE id = ?1")?
            .execute([node.id.into_bytes()])?;
    }
    Ok(None)
}

fn change_own_node(
    connection: &Connection,
    scope: i64,
    node: &GraphNode,
    change: &NodeChange,
) -> Result<Option<NodeUpdateOutcome>> {
    let node_type = change.node_type.as_deref().unwrap_or(&node.node_type);
    if entity_kind(node_type).is_some() {
        return Ok(Some(NodeUpdateOutcome::TypeIsFixed));
    }
    let label = change.label.as_deref().unwrap_or(&node.label);
    let folded = fold_name(label);
    let id = node.id.into_bytes();
    let taken = connection
        .prepare_cached(
            "SELECT id FROM graph_nodes
             WHERE scope = ?1 AND type = ?2 AND folded = ?3 AND id <> ?4 AND deleted_at IS NULL",
        )?
        .query_row(params![scope, node_type, folded, id], |row| read_uuid(row, 0))
        .optional()?;
    if let Some(taken) = taken {
        let other = read::load_node(connection, scope, taken)?;
        return Ok(other.map(|other| NodeUpdateOutcome::LabelTaken(Box::new(other))));
    }
    let description = change.description.as_deref().unwrap_or(&node.description);
    // A vector belongs to the text that it was computed from.
    connection
        .prepare_cached(
            "UPDATE graph_nodes SET type = ?2, label = ?3, folded = ?4, description = ?5,
                 described_by = CASE WHEN description = ?5 THEN described_by END,
                 embedding_model = NULL, readability = NULL, vector = NULL
             WHERE id = ?1",
        )?
        .execute(params![id, node_type, label, folded, description])?;
    Ok(None)
}

/// Deletes a node with its edges.
pub(super) fn delete_node(
    connection: &Connection,
    scope: i64,
    id: Uuid,
    permanent: bool,
    at: Timestamp,
) -> Result<NodeDeleteOutcome> {
    let found = read::load_node(connection, scope, id)?.filter(|node| permanent || !node.deleted);
    let Some(node) = found else { return Ok(NodeDeleteOutcome::NotThere) };
    let edges = read::edges_at(connection, scope, &[node.id])?;
    let live = edges.iter().filter(|edge| !edge.deleted).count() as u64;
    if !permanent {
        write::ensure_entity_row(connection, scope, node.id, microseconds(at))?;
        for edge in &edges {
            delete_edge(connection, scope, edge.id, at)?;
        }
        connection
            .prepare_cached(
                "UPDATE graph_nodes SET deleted_at = ?2, updated_at = ?2, version = version + 1 WHERE id = ?1",
            )?
            .execute(params![node.id.into_bytes(), microseconds(at)])?;
        return Ok(NodeDeleteOutcome::Gone { edges: live });
    }
    if node.entity {
        let memories = withdraw::memories_about(connection, EntityId(node.id))?;
        if memories > 0 {
            return Ok(NodeDeleteOutcome::SpokenOf { memories });
        }
        withdraw::remove_entity(connection, EntityId(node.id), microseconds(at))?;
        entity_vectors::clear(connection, EntityId(node.id))?;
    }
    for edge in &edges {
        connection
            .prepare_cached("DELETE FROM graph_edges WHERE id = ?1")?
            .execute([edge.id.into_bytes()])?;
    }
    connection.prepare_cached("DELETE FROM graph_nodes WHERE id = ?1")?.execute([node.id.into_bytes()])?;
    Ok(NodeDeleteOutcome::Gone { edges: live })
}

/// Changes an existing edge.
pub(super) fn change_edge(
    connection: &Connection,
    scope: i64,
    id: Uuid,
    change: &EdgeChange,
    at: Timestamp,
) -> Result<Option<GraphEdge>> {
    if read::edge(connection, scope, id)?.is_none_or(|edge| edge.deleted) {
        return Ok(None);
    }
    let changed = connection
        .prepare_cached(
            "UPDATE graph_edges SET type = coalesce(?2, type), properties = coalesce(?3, properties),
                 weight = coalesce(?4, weight), valid_until = coalesce(?5, valid_until),
                 last_confirmed_at = coalesce(?6, last_confirmed_at), updated_at = ?7, version = version + 1
             WHERE id = ?1 AND NOT EXISTS (
                 SELECT 1 FROM graph_edges o
                 WHERE o.scope = graph_edges.scope AND o.from_id = graph_edges.from_id AND o.to_id = graph_edges.to_id
                   AND o.type = coalesce(?2, graph_edges.type) AND o.deleted_at IS NULL AND o.id <> ?1)",
        )?
        .execute(params![
            id.into_bytes(),
            change.edge_type,
            change.properties.as_ref().map(to_json).transpose()?,
            change.weight,
            change.valid_until.map(microseconds),
            change.last_confirmed_at.map(microseconds),
            microseconds(at),
        ])?;
    if changed == 0 {
        return Ok(None);
    }
    if let Some(evidence) = &change.evidence {
        // It is still supported by the memories that it depended on before.
        let evidence = Some(evidence.as_str()).filter(|text| !text.trim().is_empty());
        connection
            .prepare_cached(
                "UPDATE graph_sources SET evidence = ?2
                 WHERE number = (SELECT max(number) FROM graph_sources WHERE edge_id = ?1)",
            )?
            .execute(params![id.into_bytes(), evidence])?;
    }
    read::edge(connection, scope, id)
}

/// Deletes an edge softly.
pub(super) fn delete_edge(connection: &Connection, scope: i64, id: Uuid, at: Timestamp) -> Result<bool> {
    let changed = connection
        .prepare_cached(
            "UPDATE graph_edges SET deleted_at = ?3, updated_at = ?3, version = version + 1
             WHERE id = ?1 AND scope = ?2 AND deleted_at IS NULL",
        )?
        .execute(params![id.into_bytes(), scope, microseconds(at)])?;
    Ok(changed > 0)
}
