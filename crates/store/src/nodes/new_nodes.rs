//! Inserts a node with everything that belongs to it: evidence or cited events, terms, vector, counter.

use jiff::Timestamp;
use memory::identifiers::{NodeId, SessionId};
use memory::nodes::{Evidence, NewNode, RelationalTag};
use memory::ports::Corpus;

use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use crate::engine::writer::UnitOfWork;
use crate::index::vectors;
use crate::rows::{StoredEnum, microseconds, to_json};
use crate::scopes;

/// Fields shared by the nodes of one commit.
pub(crate) struct CommitOrigin {
    pub(crate) scope: i64,
    /// The session of the nodes; `None` for thoughts between sessions.
    pub(crate) session_id: Option<SessionId>,
    pub(crate) at: Timestamp,
    /// The model of the nodes' vectors.
    pub(crate) model: Option<i64>,
}

/// Inserts a node that quotes messages. `None`, with nothing written, if all of these messages are deleted.
pub(crate) fn insert_evidenced(
    unit: &mut UnitOfWork<'_>,
    origin: &CommitOrigin,
    node: &NewNode,
) -> Result<Option<i64>> {
    let evidence = quotes_still_in_messages(unit.connection, origin.scope, &node.evidence)?;
    if evidence.is_empty() {
        return Ok(None);
    }
    let seq = insert(unit, origin, node)?;
    add_evidence(unit.connection, seq, &evidence)?;
    insert_fillings(unit.connection, origin, seq, &node.filling)?;
    Ok(Some(seq))
}

/// Inserts a node that cites events. `None`, with nothing written, if all of them are deleted.
pub(crate) fn insert_filled(
    unit: &mut UnitOfWork<'_>,
    origin: &CommitOrigin,
    node: &NewNode,
) -> Result<Option<i64>> {
    let mut lives = false;
    for event in &node.filling {
        lives |= number(unit.connection, origin.scope, *event)?.is_some();
    }
    if !lives {
        return Ok(None);
    }
    let seq = insert(unit, origin, node)?;
    insert_fillings(unit.connection, origin, seq, &node.filling)?;
    Ok(Some(seq))
}

/// Inserts a node that a person approved, with its evidence.
pub(crate) fn insert_approved(
    unit: &mut UnitOfWork<'_>,
    origin: &CommitOrigin,
    node: &NewNode,
) -> Result<i64> {
    let evidence = quotes_still_in_messages(unit.connection, origin.scope, &node.evidence)?;
    let seq = insert(unit, origin, node)?;
    add_evidence(unit.connection, seq, &evidence)?;
    insert_fillings(unit.connection, origin, seq, &node.filling)?;
    Ok(seq)
}

/// The number of a live node of the scope.
pub(crate) fn number(connection: &Connection, scope: i64, id: NodeId) -> Result<Option<i64>> {
    connection
        .prepare_cached("SELECT seq FROM concept_nodes WHERE id = ?1 AND scope = ?2 AND deleted_at IS NULL")?
        .query_row(params![id.0.into_bytes(), scope], |row| row.get(0))
        .optional()
}

/// Quotes that are still at their position in live messages, with the messages' numbers.
pub(crate) fn quotes_still_in_messages<'a>(
    connection: &Connection,
    scope: i64,
    evidence: &'a [Evidence],
) -> Result<Vec<(i64, &'a Evidence)>> {
    let mut statement = connection.prepare_cached(
        "SELECT seq FROM recall_messages
         WHERE id = ?1 AND scope = ?2 AND deleted_at IS NULL AND substr(content, ?3 + 1, ?4 - ?3) = ?5",
    )?;
    let mut found = Vec::with_capacity(evidence.len());
    for quote in evidence {
        let message: Option<i64> = statement
            .query_row(
                params![quote.message_id.0.into_bytes(), scope, quote.start, quote.end, quote.quote],
                |row| row.get(0),
            )
            .optional()?;
        found.extend(message.map(|seq| (seq, quote)));
    }
    Ok(found)
}

/// Adds quotes to a node, except for those that it has.
pub(crate) fn add_evidence(connection: &Connection, node: i64, evidence: &[(i64, &Evidence)]) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO node_evidence (node_seq, message_seq, span_start, span_end, quote) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO NOTHING",
    )?;
    for (message, quote) in evidence {
        statement.execute(params![node, message, quote.start, quote.end, quote.quote])?;
    }
    Ok(())
}

fn insert(unit: &mut UnitOfWork<'_>, origin: &CommitOrigin, node: &NewNode) -> Result<i64> {
    let connection = unit.connection;
    let tags: Vec<&str> = node.relational_tags.iter().copied().map(RelationalTag::as_str).collect();
    let seq = connection
        .prepare_cached(
            "INSERT INTO concept_nodes (id, scope, type, subject, emotional_impact, emotion_tags, relational_tags,
                 event_time_start, event_time_end, source_session_id, created_at, description, terms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )?
        .insert(params![
            node.id.0.into_bytes(),
            origin.scope,
            node.kind.as_str(),
            node.subject.as_str(),
            node.emotional_impact,
            to_json(&node.emotion_tags)?,
            to_json(&tags)?,
            node.event_time.map(|time| microseconds(time.start)),
            node.event_time.and_then(|time| time.end).map(microseconds),
            origin.session_id.map(|session| session.0.into_bytes()),
            microseconds(origin.at),
            node.description,
            node.terms,
        ])?;
    unit.index_words(Corpus::Nodes, seq, origin.scope, &node.terms);
    scopes::count_node(connection, origin.scope)?;
    if let (Some(model), Some(embedding)) = (origin.model, &node.embedding) {
        vectors::write_vector(connection, Corpus::Nodes, seq, model, embedding)?;
    }
    Ok(seq)
}

/// Records the events that a node cites; deleted ones are left out.
fn insert_fillings(
    connection: &Connection,
    origin: &CommitOrigin,
    node: i64,
    events: &[NodeId],
) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO concept_node_filling (thought_seq, event_seq, created_at) VALUES (?1, ?2, ?3)
         ON CONFLICT DO NOTHING",
    )?;
    for event in events {
        if let Some(event) = number(connection, origin.scope, *event)? {
            statement.execute(params![node, event, microseconds(origin.at)])?;
        }
    }
    Ok(())
}
