//! Writes nodes and edges in one transaction.

use hub::graph::{
    EdgeEnd, GraphEdge, GraphNode, GraphWrite, GraphWritten, NewGraphEdge, NewGraphNode, UnresolvedEdge,
    WriteResult, entity_kind,
};
use jiff::Timestamp;
use memory::entities::{EntityKind, fold_name};
use memory::identifiers::EntityId;
use memory::ports::NewEntity;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::read;
use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use crate::entities::{self, entity_changes, entity_queries};
use crate::rows::{microseconds, read_uuid, to_json};

/// Writes to the graph within a transaction.
struct GraphWriter<'a> {
    connection: &'a Connection,
    scope: i64,
    instance: &'a str,
    at: i64,
    moment: Timestamp,
}

pub(super) fn write(connection: &Connection, scope: i64, asked: &GraphWrite) -> Result<GraphWritten> {
    let (instance, moment) = (asked.instance.as_str(), asked.at);
    let work = GraphWriter { connection, scope, instance, at: microseconds(moment), moment };
    let mut written = GraphWritten::default();
    let mut named: Vec<(String, Uuid)> = Vec::with_capacity(asked.nodes.len());
    for node in &asked.nodes {
        let node_written = work.write_node(node)?;
        if let Some(done) = node_written {
            named.push((fold_name(&node.label), done.value.id));
            written.nodes.push(done);
        }
    }
    for (index, edge) in asked.edges.iter().enumerate() {
        let from = work.find_end(&edge.from, &named)?;
        let to = work.find_end(&edge.to, &named)?;
        let (Some(from_id), Some(to_id)) = (from, to) else {
            let missing =
                [(&edge.from, from), (&edge.to, to)].into_iter().filter(|(_, found)| found.is_none());
            let missing = missing.map(|(end, _)| match end {
                EdgeEnd::Id(id) => id.to_string(),
                EdgeEnd::Label(label) => label.clone(),
            });
            written.unresolved.push(UnresolvedEdge { index, missing: missing.collect() });
            continue;
        };
        written.edges.extend(work.write_edge(edge, from_id, to_id)?);
    }
    Ok(written)
}

impl GraphWriter<'_> {
    fn write_node(&self, node: &NewGraphNode) -> Result<Option<WriteResult<GraphNode>>> {
        let (id, is_new) = match entity_kind(&node.node_type) {
            Some(kind) => self.write_entity(node, kind)?,
            None => self.write_own_node(node)?,
        };
        add_source(
            self.connection,
            self.scope,
            SourceOwner::Node(id),
            node.source_memory_id.as_deref(),
            None,
        )?;
        let value = read::load_node(self.connection, self.scope, id)?;
        Ok(value.map(|value| WriteResult { value, is_new }))
    }

    /// Writes a node that is an entity. The memory's rules decide if it is a known one.
    fn write_entity(&self, node: &NewGraphNode, kind: EntityKind) -> Result<(Uuid, bool)> {
        let folded = fold_name(&node.label);
        let known = entity_queries::find_by_name(self.connection, self.scope, &folded, kind, None)?;
        if let Some(known) = known {
            let id = known.id.0;
            let came_back = self.undelete_node(id)?;
            self.ensure_entity_row(id)?;
            return Ok((id, came_back));
        }
        let entity = NewEntity::settled(EntityId(node.id), node.label.clone(), kind);
        entities::insert(self.connection, self.scope, &entity, None, self.moment)?;
        if !node.description.trim().is_empty() {
            entity_changes::describe(self.connection, self.scope, entity.id, &node.description, self.moment)?;
        }
        self.connection
            .prepare_cached(
                "INSERT INTO graph_nodes (id, scope, entity_id, made_entity, described_by, properties, confidence,
                                          source_instance, created_at, updated_at, first_learned_at)
                 VALUES (?1, ?2, ?1, 1, ?3, ?4, ?5, ?6, ?7, ?7, ?8)",
            )?
            .execute(params![
                node.id.into_bytes(),
                self.scope,
                node.source_memory_id,
                to_json(&node.properties)?,
                node.confidence,
                self.instance,
                self.at,
                node.first_learned_at.map(microseconds).unwrap_or(self.at),
            ])?;
        Ok((node.id, true))
    }

    fn write_own_node(&self, node: &NewGraphNode) -> Result<(Uuid, bool)> {
        let folded = fold_name(&node.label);
        let known = self
            .connection
            .prepare_cached(
                "SELECT id FROM graph_nodes WHERE scope = ?1 AND type = ?2 AND folded = ?3
                 ORDER BY deleted_at IS NOT NULL, deleted_at DESC LIMIT 1",
            )?
            .query_row(params![self.scope, node.node_type, folded], |row| read_uuid(row, 0))
            .optional()?;
        if let Some(id) = known {
            let came_back = self.undelete_node(id)?;
            return Ok((id, came_back));
        }
        self.connection
            .prepare_cached(
                "INSERT INTO graph_nodes (id, scope, type, label, folded, description, described_by, properties,
                                          confidence, source_instance, created_at, updated_at, first_learned_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11, ?12)",
            )?
            .execute(params![
                node.id.into_bytes(),
                self.scope,
                node.node_type,
                node.label,
                folded,
                node.description,
                node.source_memory_id,
                to_json(&node.properties)?,
                node.confidence,
                self.instance,
                self.at,
                node.first_learned_at.map(microseconds).unwrap_or(self.at),
            ])?;
        Ok((node.id, true))
    }

    /// Restores a softly deleted node; true if it was deleted.
    fn undelete_node(&self, id: Uuid) -> Result<bool> {
        let changed = self
            .connection
            .prepare_cached(
                "UPDATE graph_nodes SET deleted_at = NULL, updated_at = ?2, version = version + 1
                 WHERE id = ?1 AND deleted_at IS NOT NULL",
            )?
            .execute(params![id.into_bytes(), self.at])?;
        Ok(changed > 0)
    }

    fn ensure_entity_row(&self, id: Uuid) -> Result<()> {
        ensure_entity_row(self.connection, self.scope, id, self.at)
    }

    /// The node at the end of an edge.
    fn find_end(&self, end: &EdgeEnd, named: &[(String, Uuid)]) -> Result<Option<Uuid>> {
        let label = match end {
            EdgeEnd::Id(id) => {
                let node = read::load_node(self.connection, self.scope, *id)?.filter(|node| !node.deleted);
                return Ok(node.map(|node| node.id));
            }
            EdgeEnd::Label(label) => fold_name(label),
        };
        // A label means a node of the same write rather than an older one with this label.
        if let Some((_, id)) = named.iter().find(|(name, _)| *name == label) {
            return Ok(Some(*id));
        }
        let mut ids: Vec<Uuid> = self
            .connection
            .prepare_cached(
                "SELECT id FROM graph_nodes WHERE scope = ?1 AND folded = ?2 AND deleted_at IS NULL",
            )?
            .query_map(params![self.scope, label], |row| read_uuid(row, 0))?
            .collect::<Result<_>>()?;
        let hits = entity_queries::entities_named(self.connection, self.scope, &[label])?;
        ids.extend(hits.into_iter().map(|hit| hit.entity.id.0));
        let mut nodes = Vec::new();
        for id in ids {
            nodes.extend(read::load_node(self.connection, self.scope, id)?.filter(|node| !node.deleted));
        }
        Ok(nodes.into_iter().max_by_key(|node| (node.updated_at, node.id)).map(|node| node.id))
    }

    fn write_edge(
        &self,
        edge: &NewGraphEdge,
        from: Uuid,
        to: Uuid,
    ) -> Result<Option<WriteResult<GraphEdge>>> {
        for end in [from, to] {
            self.ensure_entity_row(end)?;
        }
        let ends = [from.into_bytes(), to.into_bytes()];
        let known = self
            .connection
            .prepare_cached(
                "SELECT id, properties FROM graph_edges
                 WHERE scope = ?1 AND from_id = ?2 AND to_id = ?3 AND type = ?4 AND deleted_at IS NULL",
            )?
            .query_row(params![self.scope, ends[0], ends[1], edge.edge_type], |row| {
                Ok((read_uuid(row, 0)?, read::read_properties(row, 1)?))
            })
            .optional()?;
        let is_new = known.is_none();
        let id = known.as_ref().map_or(edge.id, |(id, _)| *id);
        let occurred_at = edge.occurred_at.map(microseconds);
        let valid_until = edge.valid_until.map(microseconds);
        if let Some((_, mut properties)) = known {
            // The greater weight stays: another mention is no reason to trust an edge less.
            merge_patch(&mut properties, &edge.properties);
            self.connection
                .prepare_cached(
                    "UPDATE graph_edges SET weight = max(weight, ?2), properties = ?3,
                         occurred_at = coalesce(?4, occurred_at), valid_until = coalesce(?5, valid_until),
                         last_confirmed_at = ?6, updated_at = ?6, version = version + 1
                     WHERE id = ?1",
                )?
                .execute(params![
                    id.into_bytes(),
                    edge.weight,
                    to_json(&properties)?,
                    occurred_at,
                    valid_until,
                    self.at
                ])?;
        } else {
            self.connection
                .prepare_cached(
                    "INSERT INTO graph_edges (id, scope, from_id, to_id, type, properties, weight, source_instance,
                                              created_at, updated_at, occurred_at, valid_until, last_confirmed_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10, ?11, ?9)",
                )?
                .execute(params![
                    id.into_bytes(),
                    self.scope,
                    ends[0],
                    ends[1],
                    edge.edge_type,
                    to_json(&edge.properties)?,
                    edge.weight,
                    self.instance,
                    self.at,
                    occurred_at,
                    valid_until,
                ])?;
        }
        let memory = edge.source_memory_id.as_deref();
        add_source(self.connection, self.scope, SourceOwner::Edge(id), memory, edge.evidence.as_deref())?;
        let value = read::edge(self.connection, self.scope, id)?;
        Ok(value.map(|value| WriteResult { value, is_new }))
    }
}

/// Applies a JSON merge patch (RFC 7396): null removes a property, objects are merged, anything else replaces.
fn merge_patch(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (key, value) in patch {
        match (target.get_mut(key), value) {
            (_, Value::Null) => {
                target.remove(key);
            }
            (Some(Value::Object(known)), Value::Object(value)) => merge_patch(known, value),
            (_, Value::Object(value)) => {
                let mut added = Map::new();
                merge_patch(&mut added, value);
                target.insert(key.clone(), Value::Object(added));
            }
            _ => {
                target.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Adds the row on which edges and the graph's own fields depend to an entity. Other nodes always have it.
pub(super) fn ensure_entity_row(connection: &Connection, scope: i64, id: Uuid, at: i64) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO graph_nodes (id, scope, entity_id, confidence, created_at, updated_at, first_learned_at)
             SELECT id, scope, id, CASE merge_status WHEN 'uncertain' THEN 0.5 ELSE 1.0 END, created_at, ?3, created_at
             FROM entities WHERE id = ?1 AND scope = ?2
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![id.into_bytes(), scope, at])?;
    Ok(())
}

/// The row that depends on a memory.
#[derive(Clone, Copy)]
pub(super) enum SourceOwner {
    Node(Uuid),
    Edge(Uuid),
}

/// Stores the source of a node or an edge as its newest; without a memory it is the instance itself. Earlier evidence
/// stays unless it is replaced.
pub(super) fn add_source(
    connection: &Connection,
    scope: i64,
    what: SourceOwner,
    memory: Option<&str>,
    evidence: Option<&str>,
) -> Result<()> {
    let (column, id) = match what {
        SourceOwner::Node(id) => ("node_id", id.into_bytes()),
        SourceOwner::Edge(id) => ("edge_id", id.into_bytes()),
    };
    let memory = memory.unwrap_or_default();
    let before: Option<Option<String>> = connection
        .prepare_cached(&format!(
            "DELETE FROM graph_sources WHERE {column} = ?1 AND memory = ?2 RETURNING evidence"
        ))?
        .query_row(params![id, memory], |row| row.get(0))
        .optional()?;
    let evidence = evidence.map(str::to_owned).or(before.flatten());
    connection
        .prepare_cached(&format!(
            "INSERT INTO graph_sources (scope, {column}, memory, evidence) VALUES (?1, ?2, ?3, ?4)"
        ))?
        .execute(params![scope, id, memory, evidence])?;
    Ok(())
}
