//! Links from a query's names to memories.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use memory::entities::is_named_in_text;
use uuid::Uuid;

use crate::engine::sql::{Connection, Result};

type RowKey = [u8; 16];

/// For each memory, the number of linked nodes that the folded text names.
pub(super) fn count_links_by_memory(
    connection: &Connection,
    scope: i64,
    folded: &str,
) -> Result<HashMap<String, u32>> {
    let mut linked = HashMap::new();
    let any: bool = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM graph_sources WHERE scope = ?1 AND memory <> '')")?
        .query_row([scope], |row| row.get(0))?;
    if !any {
        return Ok(linked);
    }
    let named = nodes_by_name(connection, scope, folded)?;
    let mut memories = connection.prepare_cached(
        "SELECT memory FROM graph_sources WHERE node_id = ?1 AND memory <> ''
         UNION
         SELECT s.memory FROM graph_edges e JOIN graph_sources s ON s.edge_id = e.id
         WHERE (e.from_id = ?1 OR e.to_id = ?1) AND e.deleted_at IS NULL AND s.memory <> ''",
    )?;
    let mut diaries = connection.prepare_cached(
        "SELECT d.kind || '-' || d.stem FROM hub_lines l JOIN hub_documents d ON d.number = l.document
         WHERE l.node_id = ?1",
    )?;
    for id in named.into_keys() {
        // A node counts once for a memory, however many of its events it is linked to.
        let mut linked_to: BTreeSet<String> = BTreeSet::new();
        for memory in memories.query_map([id], |row| row.get::<String>(0))? {
            let memory = memory?;
            if let Ok(event) = Uuid::parse_str(&memory) {
                for document in diaries.query_map([event.into_bytes()], |row| row.get(0))? {
                    linked_to.insert(document?);
                }
            }
            linked_to.insert(memory);
        }
        for memory in linked_to {
            *linked.entry(memory).or_default() += 1;
        }
    }
    Ok(linked)
}

/// The nodes and entities that the folded text names, each with all its folded names.
pub(super) fn names_in_text(connection: &Connection, scope: i64, folded: &str) -> Result<Vec<Vec<String>>> {
    Ok(nodes_by_name(connection, scope, folded)?.into_values().collect())
}

fn nodes_by_name(connection: &Connection, scope: i64, folded: &str) -> Result<BTreeMap<RowKey, Vec<String>>> {
    let mut all: BTreeMap<RowKey, Vec<String>> = BTreeMap::new();
    let mut names = connection.prepare_cached(
        "SELECT n.id, n.folded FROM graph_nodes n
         WHERE n.scope = ?1 AND n.deleted_at IS NULL AND n.folded IS NOT NULL
         UNION ALL
         SELECT a.entity_id, a.folded FROM entity_aliases a
         WHERE a.scope = ?1 AND NOT EXISTS
             (SELECT 1 FROM graph_nodes n WHERE n.id = a.entity_id AND n.deleted_at IS NOT NULL)",
    )?;
    for name in names.query_map([scope], |row| Ok((row.get::<RowKey>(0)?, row.get::<String>(1)?)))? {
        let (id, name) = name?;
        all.entry(id).or_default().push(name);
    }
    all.retain(|_, names| names.iter().any(|name| is_named_in_text(folded, name)));
    Ok(all)
}
