//! Gives a node another text, or restores the former one.

use jiff::Timestamp;
use memory::corrections::Correction;
use memory::identifiers::{EntityId, NodeId};
use memory::nodes::{Node, RelationalTag};
use memory::ports::Corpus;
use memory::text::index_terms;

use crate::engine::failure::Failure;
use crate::engine::sql::{Connection, Result, params};
use crate::engine::writer::UnitOfWork;
use crate::index::vectors;
use crate::nodes::node_queries::live_node;
use crate::rows::{self, microseconds, to_json};
use crate::sessions::reconciliation;
use crate::{entities, graph, hub};

pub(super) fn correct(unit: &mut UnitOfWork<'_>, correction: &Correction) -> Result<Option<Node>, Failure> {
    let connection = unit.connection;
    let Some(node) = live_node(connection, correction.node_id)? else { return Ok(None) };
    reconciliation::remove_of_node(connection, node.seq)?;
    connection
        .prepare_cached(
            "INSERT INTO node_changes (node_seq, kind, author, created_at, description, relational_tags, entities)
             VALUES (?1, 'correction', 'person', ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            node.seq,
            microseconds(correction.at),
            node.description,
            tags_to_json(&node.relational_tags)?,
            to_json(&linked_entities(connection, node.seq)?)?,
        ])?;
    let at = microseconds(correction.at);
    rewrite(unit, node.seq, &correction.text, &correction.terms, &correction.relational_tags, at)?;
    link_entities(connection, correction.node_id, &correction.entities)?;
    if let Some((fingerprint, embedding)) = &correction.embedding {
        let model = vectors::model_or_new(connection, fingerprint)?;
        vectors::write_vector(connection, Corpus::Nodes, node.seq, model, embedding)?;
    }
    Ok(live_node(connection, correction.node_id)?)
}

/// Restores the text that a correction replaced, and stores the correction's text instead.
pub(super) fn restore_text(
    unit: &mut UnitOfWork<'_>,
    change: i64,
    node: i64,
    at: Timestamp,
) -> Result<(), Failure> {
    let connection = unit.connection;
    let (text, old_tags, old_links): (String, Vec<String>, Vec<EntityId>) = connection
        .prepare_cached("SELECT description, relational_tags, entities FROM node_changes WHERE number = ?1")?
        .query_row([change], |row| Ok((row.get(0)?, rows::read_json(row, 1)?, rows::read_json(row, 2)?)))?;
    let links = linked_entities(connection, node)?;
    connection
        .prepare_cached(
            "UPDATE node_changes SET undone_at = ?2, entities = ?3,
                 (description, relational_tags) = (SELECT description, relational_tags FROM concept_nodes WHERE seq = ?4)
             WHERE number = ?1",
        )?
        .execute(params![change, microseconds(at), to_json(&links)?, node])?;
    let old_tags: Vec<RelationalTag> = old_tags.iter().filter_map(|tag| RelationalTag::parse(tag)).collect();
    rewrite(unit, node, &text, &index_terms(&text), &old_tags, microseconds(at))?;
    let id = connection
        .prepare_cached("SELECT id FROM concept_nodes WHERE seq = ?1")?
        .query_row([node], |row| rows::read_uuid(row, 0).map(NodeId))?;
    link_entities(connection, id, &old_links)?;
    Ok(())
}

/// Replaces a node's text and its index terms; removes its vector, its links to entities and its facts in the graph.
fn rewrite(
    unit: &mut UnitOfWork<'_>,
    node: i64,
    text: &str,
    terms: &str,
    relational_tags: &[RelationalTag],
    at: i64,
) -> Result<(), Failure> {
    let connection = unit.connection;
    let (scope, old_terms, id): (i64, String, uuid::Uuid) = connection
        .prepare_cached("SELECT scope, terms, id FROM concept_nodes WHERE seq = ?1")?
        .query_row([node], |row| Ok((row.get(0)?, row.get(1)?, rows::read_uuid(row, 2)?)))?;
    // The graph's facts of the former text are removed; those of the new one are extracted later.
    graph::withdraw(connection, scope, &id.to_string(), at)?;
    unit.unindex_words(Corpus::Nodes, node, scope, &old_terms);
    unit.index_words(Corpus::Nodes, node, scope, terms);
    vectors::remove(connection, Corpus::Nodes, node)?;
    connection
        .prepare_cached(
            "UPDATE concept_nodes SET description = ?2, terms = ?3, relational_tags = ?4 WHERE seq = ?1",
        )?
        .execute(params![node, text, terms, tags_to_json(relational_tags)?])?;
    connection.prepare_cached("DELETE FROM concept_node_entities WHERE node_seq = ?1")?.execute([node])?;
    hub::mark_outdated(connection, node)?;
    Ok(())
}

fn tags_to_json(tags: &[RelationalTag]) -> Result<String> {
    to_json(&tags.iter().copied().map(RelationalTag::as_str).collect::<Vec<_>>())
}

fn linked_entities(connection: &Connection, node: i64) -> Result<Vec<EntityId>> {
    connection
        .prepare_cached("SELECT entity_id FROM concept_node_entities WHERE node_seq = ?1 ORDER BY entity_id")?
        .query_map([node], |row| rows::read_uuid(row, 0).map(EntityId))?
        .collect()
}

/// Links a node to those of the entities that still exist.
pub(super) fn link_entities(connection: &Connection, node: NodeId, links: &[EntityId]) -> Result<()> {
    let scope: i64 = connection
        .prepare_cached("SELECT scope FROM concept_nodes WHERE id = ?1")?
        .query_row([node.0.into_bytes()], |row| row.get(0))?;
    for entity in links {
        entities::link_entity(connection, scope, node, *entity)?;
    }
    Ok(())
}
