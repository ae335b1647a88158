//! Converts a person's selection to rows.

use memory::entities::{fold_name, is_named_in_text};
use memory::forget::Selection;

use super::removal::{RemovalSet, RowKey};
use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use crate::entities::entity_queries::parts;
use crate::rows::{column, saved_memories_channel};

/// Finds the rows of the selection.
pub(super) fn select(connection: &Connection, going: &mut RemovalSet, selection: &Selection) -> Result<()> {
    for id in &selection.messages {
        let found = row_number(connection, "recall_messages", going.scope, id.0.into_bytes())?;
        found.map_or(Ok(()), |seq| going.add_message(connection, seq))?;
    }
    for id in &selection.sessions {
        let statement = "SELECT seq FROM recall_messages WHERE session_id = ?1";
        for seq in column::<i64>(connection, statement, id.0.into_bytes())? {
            going.add_message(connection, seq)?;
        }
        select_saved_memories(connection, going, id.0.into_bytes())?;
    }
    for id in &selection.nodes {
        if let Some(seq) = row_number(connection, "concept_nodes", going.scope, id.0.into_bytes())? {
            going.add_node(connection, seq)?;
        }
    }
    for id in &selection.entities {
        let key = id.0.into_bytes();
        let known: Option<RowKey> = connection
            .prepare_cached("SELECT id FROM entities WHERE id = ?1 AND scope = ?2")?
            .query_row(params![key, going.scope], |row| row.get(0))
            .optional()?;
        // Entities that were found to be the same are also forgotten together.
        if let Some(key) = known {
            let parts = concat!(parts!(), " SELECT id FROM parts");
            going.entities.extend(column::<RowKey>(connection, parts, key)?);
        }
    }
    nodes_about_entities(connection, going)?;
    if going.text.is_some() {
        select_by_text(connection, going)?;
    }
    if selection.with_messages {
        for seq in ids_with_same_text(connection, going)? {
            going.add_message(connection, seq)?;
        }
    }
    Ok(())
}

/// Selects memories that another program had saved, if the session has such, including approved ones.
fn select_saved_memories(connection: &Connection, going: &mut RemovalSet, session: RowKey) -> Result<()> {
    let of_session = concat!(
        "SELECT j.id FROM rejected_memories j JOIN sessions c ON c.id = j.session_id
         WHERE c.id = ?1 AND c.channel_id = ",
        saved_memories_channel!()
    );
    for id in column::<RowKey>(connection, of_session, session)? {
        let accepted =
            "SELECT approved_node FROM rejected_memories WHERE id = ?1 AND approved_node IS NOT NULL";
        for seq in column::<i64>(connection, accepted, id)? {
            going.add_node(connection, seq)?;
        }
        going.rejected.insert(id);
    }
    Ok(())
}

/// Messages that still contain the text of a selected node or entity: those that it quotes, and those that name it.
pub(super) fn ids_with_same_text(connection: &Connection, going: &RemovalSet) -> Result<Vec<i64>> {
    let mut seqs = Vec::new();
    for node in going.nodes.keys() {
        let quoted = "SELECT message_seq FROM node_evidence WHERE node_seq = ?1";
        seqs.extend(column::<i64>(connection, quoted, node)?);
    }
    if !going.entities.is_empty() {
        let names = names_of(connection, going)?;
        for (seq, content) in texts_of_scope(connection, "recall_messages", "content", going.scope)? {
            let content = fold_name(&content);
            if names.iter().any(|name| is_named_in_text(&content, name)) {
                seqs.push(seq);
            }
        }
    }
    seqs.retain(|seq| !going.messages.contains_key(seq));
    seqs.sort_unstable();
    seqs.dedup();
    Ok(seqs)
}

fn row_number(connection: &Connection, table: &str, scope: i64, id: RowKey) -> Result<Option<i64>> {
    connection
        .prepare_cached(&format!("SELECT seq FROM {table} WHERE id = ?1 AND scope = ?2"))?
        .query_row(params![id, scope], |row| row.get(0))
        .optional()
}

/// Nodes that are linked to a selected entity, or name it.
fn nodes_about_entities(connection: &Connection, going: &mut RemovalSet) -> Result<()> {
    if going.entities.is_empty() {
        return Ok(());
    }
    for entity in going.entities.clone() {
        let linked = "SELECT node_seq FROM concept_node_entities WHERE entity_id = ?1";
        for seq in column::<i64>(connection, linked, entity)? {
            going.add_node(connection, seq)?;
        }
    }
    let names = names_of(connection, going)?;
    for (seq, description) in texts_of_scope(connection, "concept_nodes", "description", going.scope)? {
        let description = fold_name(&description);
        if names.iter().any(|name| is_named_in_text(&description, name)) {
            going.add_node(connection, seq)?;
        }
    }
    Ok(())
}

/// Folded names of the selected entities.
fn names_of(connection: &Connection, going: &RemovalSet) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entity in &going.entities {
        let aliases = "SELECT name FROM entity_aliases WHERE entity_id = ?1";
        names.extend(column::<String>(connection, aliases, entity)?);
        let own = "SELECT canonical_name FROM entities WHERE id = ?1";
        names.extend(column::<String>(connection, own, entity)?);
    }
    Ok(names.iter().map(|name| fold_name(name)).collect())
}

/// Messages, nodes, repeated mentions and refused memories that contain the text. Names are handled with the
/// entities.
fn select_by_text(connection: &Connection, going: &mut RemovalSet) -> Result<()> {
    for (seq, content) in texts_of_scope(connection, "recall_messages", "content", going.scope)? {
        if going.is_part_of(&content) {
            going.add_message(connection, seq)?;
        }
    }
    for column in ["description", "emotion_tags"] {
        for (seq, text) in texts_of_scope(connection, "concept_nodes", column, going.scope)? {
            if going.is_part_of(&text) {
                going.add_node(connection, seq)?;
            }
        }
    }
    select_by_earlier_text(connection, going)?;
    crate::imports::forget_names(connection, going.scope, |text| going.is_part_of(text))?;
    let mut statement = connection.prepare_cached(
        "SELECT g.number, g.description || char(10) || coalesce(g.merged, '') FROM mention_merges g JOIN concept_nodes n ON n.seq = g.node_seq
         WHERE n.scope = ?1",
    )?;
    let mentions = statement.query_map([going.scope], |row| Ok((row.get(0)?, row.get::<String>(1)?)))?;
    for mention in mentions {
        let (number, description) = mention?;
        if going.is_part_of(&description) {
            going.mentions.insert(number);
        }
    }
    let mut statement = connection.prepare_cached(
        "SELECT id, description, evidence, reason, proposal FROM rejected_memories WHERE scope = ?1",
    )?;
    let mut rows = statement.query([going.scope])?;
    while let Some(row) = &rows.next()? {
        let said: [String; 4] = [row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?];
        if said.iter().any(|text| going.is_part_of(text)) {
            going.rejected.insert(row.get(0)?);
        }
    }
    Ok(())
}

/// Adds messages whose speaker's name contains the text, and messages and nodes with an earlier version that contains
/// it.
fn select_by_earlier_text(connection: &Connection, going: &mut RemovalSet) -> Result<()> {
    let versions = "SELECT v.message_seq, v.content FROM message_versions v
         JOIN recall_messages m ON m.seq = v.message_seq WHERE m.scope = ?1";
    let speakers_of_versions = "SELECT v.message_seq, v.speaker FROM message_versions v
         JOIN recall_messages m ON m.seq = v.message_seq WHERE m.scope = ?1 AND v.speaker IS NOT NULL";
    let speakers = "SELECT seq, speaker FROM recall_messages WHERE scope = ?1 AND speaker IS NOT NULL";
    for texts in [versions, speakers_of_versions, speakers] {
        for (seq, text) in earlier_texts(connection, texts, going.scope)? {
            if going.is_part_of(&text) {
                going.add_message(connection, seq)?;
            }
        }
    }
    let nodes =
        "SELECT c.node_seq, c.description FROM node_changes c JOIN concept_nodes n ON n.seq = c.node_seq
         WHERE n.scope = ?1 AND c.description IS NOT NULL";
    for (seq, description) in earlier_texts(connection, nodes, going.scope)? {
        if going.is_part_of(&description) {
            going.add_node(connection, seq)?;
        }
    }
    Ok(())
}

fn earlier_texts(connection: &Connection, statement: &str, scope: i64) -> Result<Vec<(i64, String)>> {
    connection.prepare_cached(statement)?.query_map([scope], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// A text column of all rows in the scope, with their numbers.
fn texts_of_scope(
    connection: &Connection,
    table: &str,
    column: &str,
    scope: i64,
) -> Result<Vec<(i64, String)>> {
    connection
        .prepare_cached(&format!("SELECT seq, {column} FROM {table} WHERE scope = ?1"))?
        .query_map([scope], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}
