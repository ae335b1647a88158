//! Removes facts of the graph when memories are removed.

use hub::DocumentName;
use hub::graph::GraphWithdrawal;
use hub::names::DiaryName;
use memory::Scope;
use memory::identifiers::EntityId;

use crate::engine::sql::{Connection, Result, params};
use crate::entities::entity_queries::parts;
use crate::scopes;

type RowKey = [u8; 16];

/// Statement that removes a memory's sources. The condition on the memory is repeated for the index, which excludes
/// sources without a memory.
const FORGET_SOURCES: &str = "DELETE FROM graph_sources WHERE scope = ?1 AND memory = ?2 AND memory <> ''";
const NODES_OF_MEMORY: &str = "SELECT node_id FROM graph_sources
                             WHERE scope = ?1 AND memory = ?2 AND memory <> '' AND node_id IS NOT NULL";
const EDGES_OF_MEMORY: &str = "SELECT edge_id FROM graph_sources
                             WHERE scope = ?1 AND memory = ?2 AND memory <> '' AND edge_id IS NOT NULL";

/// Removes edges and nodes that depend only on this memory, and its evidence and description from others. A node that
/// edges of other memories need stays.
pub(crate) fn withdraw(
    connection: &Connection,
    scope: i64,
    memory: &str,
    at: i64,
) -> Result<GraphWithdrawal> {
    if memory.is_empty() {
        return Ok(GraphWithdrawal::default());
    }
    let nodes = rows_of_memory(connection, NODES_OF_MEMORY, scope, memory)?;
    let edges = rows_of_memory(connection, EDGES_OF_MEMORY, scope, memory)?;
    connection.prepare_cached(FORGET_SOURCES)?.execute(params![scope, memory])?;
    let mut withdrawn = GraphWithdrawal::default();
    for edge in edges {
        let gone = connection
            .prepare_cached(
                "DELETE FROM graph_edges
                 WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM graph_sources WHERE edge_id = ?1)",
            )?
            .execute([edge])?;
        withdrawn.edges += gone as u64;
    }
    for node in nodes {
        withdraw_description(connection, node, memory)?;
        withdrawn.nodes += u64::from(withdraw_node(connection, node, at)?);
    }
    Ok(withdrawn)
}

/// Removes what depends on a deleted document.
pub(crate) fn withdraw_document(
    connection: &Connection,
    scope: &Scope,
    name: &DocumentName,
    at: i64,
) -> Result<GraphWithdrawal> {
    let DocumentName::Diary(name) = name else { return Ok(GraphWithdrawal::default()) };
    unread_all_lines(connection, scope, name)?;
    let Some(scope) = scopes::number(connection, scope)? else { return Ok(GraphWithdrawal::default()) };
    withdraw(connection, scope, &name.id(), at)
}

/// Marks all lines of a document as unread, because everything extracted from it was withdrawn.
fn unread_all_lines(connection: &Connection, scope: &Scope, name: &DiaryName) -> Result<()> {
    connection
        .prepare_cached(
            "DELETE FROM graph_read_lines WHERE document = (
                 SELECT number FROM hub_documents
                 WHERE persona_id = ?1 AND user_id = ?2 AND kind = ?3 AND stem = ?4)",
        )?
        .execute([scope.persona.as_str(), scope.user.as_str(), name.granularity().as_str(), &name.stem()])?;
    Ok(())
}

/// Dependencies on lines that a document no longer has.
pub(super) struct LostSupport<'a> {
    /// The instance that extracted them; facts written by clients are not affected.
    pub(super) instance: &'a str,
    pub(super) is_evidence_gone: &'a dyn Fn(&str) -> bool,
    /// True if an existing line contains this name.
    pub(super) is_named: &'a dyn Fn(&str) -> bool,
}

/// Removes edges without evidence, and nodes that no line names any more.
pub(super) fn withdraw_unsupported(
    connection: &Connection,
    scope: i64,
    memory: &str,
    at: i64,
    unsupported: &LostSupport<'_>,
) -> Result<()> {
    let edges: Vec<(i64, RowKey, String)> = connection
        .prepare_cached(
            "SELECT s.number, e.id, s.evidence FROM graph_sources s JOIN graph_edges e ON e.id = s.edge_id
             WHERE s.scope = ?1 AND s.memory = ?2 AND s.memory <> '' AND s.evidence IS NOT NULL",
        )?
        .query_map(params![scope, memory], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_>>()?;
    let mut forget = connection.prepare_cached("DELETE FROM graph_sources WHERE number = ?1")?;
    for (source, edge, _) in edges.iter().filter(|edge| (unsupported.is_evidence_gone)(&edge.2)) {
        forget.execute([source])?;
        connection
            .prepare_cached(
                "DELETE FROM graph_edges
                 WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM graph_sources WHERE edge_id = ?1)",
            )?
            .execute([edge])?;
    }
    let nodes: Vec<(i64, RowKey, String)> = connection
        .prepare_cached(
            "SELECT s.number, n.id, coalesce(n.label, e.canonical_name, '')
             FROM graph_sources s JOIN graph_nodes n ON n.id = s.node_id LEFT JOIN entities e ON e.id = n.id
             WHERE s.scope = ?1 AND s.memory = ?2 AND s.memory <> '' AND n.source_instance = ?3",
        )?
        .query_map(params![scope, memory, unsupported.instance], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?
        .collect::<Result<_>>()?;
    for (source, node, _) in nodes.iter().filter(|node| !(unsupported.is_named)(&node.2)) {
        forget.execute([source])?;
        withdraw_node(connection, *node, at)?;
    }
    Ok(())
}

fn rows_of_memory(connection: &Connection, statement: &str, scope: i64, memory: &str) -> Result<Vec<RowKey>> {
    connection.prepare_cached(statement)?.query_map(params![scope, memory], |row| row.get(0))?.collect()
}

/// Removes a node's description if it came from the memory.
fn withdraw_description(connection: &Connection, id: RowKey, memory: &str) -> Result<()> {
    let described = connection
        .prepare_cached(
            "UPDATE graph_nodes SET description = '', described_by = NULL, embedding_model = NULL,
                 readability = NULL, vector = NULL
             WHERE id = ?1 AND described_by = ?2",
        )?
        .execute(params![id, memory])?;
    if described == 0 {
        return Ok(());
    }
    let undescribed = connection
        .prepare_cached(
            "UPDATE entities SET description = NULL, described_at = NULL, embedding_model = NULL
             WHERE id = ?1 AND owner_override = 0",
        )?
        .execute([id])?;
    if undescribed > 0 {
        connection.prepare_cached("DELETE FROM entity_vectors WHERE entity_id = ?1")?.execute([id])?;
        connection
            .prepare_cached("DELETE FROM entity_changes WHERE entity_id = ?1 AND change = 'describe'")?
            .execute([id])?;
    }
    Ok(())
}

fn withdraw_node(connection: &Connection, id: RowKey, at: i64) -> Result<bool> {
    let needed: bool = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM graph_sources WHERE node_id = ?1)
                 OR EXISTS (SELECT 1 FROM graph_edges WHERE (from_id = ?1 OR to_id = ?1) AND deleted_at IS NULL)",
        )?
        .query_row([id], |row| row.get(0))?;
    if needed {
        return Ok(false);
    }
    let made_here: bool = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM graph_nodes WHERE id = ?1 AND made_entity = 1)")?
        .query_row([id], |row| row.get(0))?;
    let entity = EntityId(uuid::Uuid::from_bytes(id));
    if made_here && memories_about(connection, entity)? == 0 && !is_owner_entity(connection, id)? {
        remove_entity(connection, entity, at)?;
        return Ok(true);
    }
    // An entity that the memory itself knows stays there; its graph row is removed.
    let gone = connection.prepare_cached("DELETE FROM graph_nodes WHERE id = ?1")?.execute([id])?;
    Ok(gone > 0)
}

fn is_owner_entity(connection: &Connection, id: RowKey) -> Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM entities WHERE id = ?1 AND owner_override = 1)")?
        .query_row([id], |row| row.get(0))
}

/// Number of memories about an entity or those merged into it.
pub(super) fn memories_about(connection: &Connection, id: EntityId) -> Result<u64> {
    connection
        .prepare_cached(concat!(
            parts!(),
            " SELECT count(DISTINCT l.node_seq) FROM parts p JOIN concept_node_entities l ON l.entity_id = p.id"
        ))?
        .query_row([id.0.into_bytes()], |row| row.get(0))
}

/// Removes an entity without memories, with its names and everything that depends on it.
pub(super) fn remove_entity(connection: &Connection, id: EntityId, at: i64) -> Result<()> {
    let id = id.0.into_bytes();
    connection
        .prepare_cached(
            "UPDATE entities SET merge_target = NULL, merge_status = 'confirmed' WHERE merge_target = ?1",
        )?
        .execute([id])?;
    connection
        .prepare_cached(
            "INSERT INTO tombstones (kind, id, forgotten_at, scope)
             SELECT 'entity', id, ?2, scope FROM entities WHERE id = ?1 ON CONFLICT DO NOTHING",
        )?
        .execute(params![id, at])?;
    connection.prepare_cached("DELETE FROM entities WHERE id = ?1")?.execute([id])?;
    Ok(())
}

/// Removes everything that contains an erased text: nodes, edges, and what depends on memories named after it. Names
/// and descriptions of entities are handled separately.
pub(crate) fn forget_text(
    connection: &Connection,
    scope: i64,
    is_in: &dyn Fn(&str) -> bool,
    at: i64,
) -> Result<GraphWithdrawal> {
    let mut withdrawn = GraphWithdrawal::default();
    let memories: Vec<String> = connection
        .prepare_cached("SELECT DISTINCT memory FROM graph_sources WHERE scope = ?1")?
        .query_map([scope], |row| row.get(0))?
        .collect::<Result<_>>()?;
    for memory in memories.iter().filter(|memory| is_in(memory)) {
        withdrawn += withdraw(connection, scope, memory, at)?;
    }
    let edges = texts_of_rows(
        connection,
        "SELECT e.id, e.type || char(10) || e.properties || char(10) ||
                coalesce((SELECT group_concat(s.evidence, char(10)) FROM graph_sources s WHERE s.edge_id = e.id), '')
         FROM graph_edges e WHERE e.scope = ?1",
        scope,
    )?;
    for (id, _) in edges.into_iter().filter(|(_, text)| is_in(text)) {
        let gone = connection.prepare_cached("DELETE FROM graph_edges WHERE id = ?1")?.execute([id])?;
        withdrawn.edges += gone as u64;
    }
    let nodes = texts_of_rows(
        connection,
        "SELECT id, coalesce(type, '') || char(10) || coalesce(label, '') || char(10) || description || char(10) ||
                properties
         FROM graph_nodes WHERE scope = ?1",
        scope,
    )?;
    for (id, _) in nodes.into_iter().filter(|(_, text)| is_in(text)) {
        let edges: u64 = connection
            .prepare_cached("SELECT count(*) FROM graph_edges WHERE from_id = ?1 OR to_id = ?1")?
            .query_row([id], |row| row.get(0))?;
        let gone = connection.prepare_cached("DELETE FROM graph_nodes WHERE id = ?1")?.execute([id])?;
        withdrawn.nodes += gone as u64;
        withdrawn.edges += edges;
    }
    Ok(withdrawn)
}

fn texts_of_rows(connection: &Connection, statement: &str, scope: i64) -> Result<Vec<(RowKey, String)>> {
    connection.prepare_cached(statement)?.query_map([scope], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::plans::empty_database;
    use crate::engine::plans::explain_plan;

    #[test]
    fn dependent_memories_are_found_by_an_index() {
        let connection = empty_database();
        for statement in [FORGET_SOURCES, NODES_OF_MEMORY, EDGES_OF_MEMORY] {
            let plan = explain_plan(&connection, statement);
            assert!(plan.contains("graph_sources_of_memory (scope=? AND memory=?)"), "{plan}");
            assert!(!plan.contains("SCAN"), "{plan}");
        }
    }
}
