//! Events, thoughts, intentions and expectations, with their quotes, links and history.

use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use memory::ports::Corpus;
use memory::text::index_terms;

use super::{Written, scope};
use crate::engine::failure::Failure;
use crate::engine::writer::UnitOfWork;
use crate::scopes;

/// A node as it was.
struct Before {
    seq: i64,
    description: String,
    terms: String,
    lives: bool,
}

pub(super) fn write(unit: &mut UnitOfWork<'_>, written: &Written<'_>) -> std::result::Result<(), Failure> {
    let connection = unit.connection;
    let scope = scope(connection, written)?;
    let description = written.text("description").unwrap_or_default();
    let lives = written.integer("deleted_at").is_none();
    let terms = if lives { index_terms(description) } else { String::new() };
    let before = connection
        .prepare_cached(
            "SELECT seq, description, terms, deleted_at IS NULL FROM concept_nodes WHERE id = unhex(?1)",
        )?
        .query_row([written.id()], |row| {
            Ok(Before { seq: row.get(0)?, description: row.get(1)?, terms: row.get(2)?, lives: row.get(3)? })
        })
        .optional()?;
    if let Some(before) = &before
        && before.terms != terms
    {
        unit.unindex_words(Corpus::Nodes, before.seq, scope, &before.terms);
    }
    let seq = upsert(connection, scope, written, description, &terms)?;
    if before.as_ref().is_none_or(|before| before.terms != terms) {
        unit.index_words(Corpus::Nodes, seq, scope, &terms);
    }
    if before.as_ref().is_some_and(|before| before.description != description) {
        connection.prepare_cached("DELETE FROM node_vectors WHERE seq = ?1")?.execute([seq])?;
        connection
            .prepare_cached("UPDATE concept_nodes SET embedding_model = NULL WHERE seq = ?1")?
            .execute([seq])?;
    }
    match (before.is_some_and(|before| before.lives), lives) {
        (false, true) => scopes::count_node(connection, scope)?,
        (true, false) => scopes::uncount(connection, scope, 0, 1)?,
        _ => {}
    }
    Ok(parts(connection, seq, written)?)
}

fn upsert(
    connection: &Connection,
    scope: i64,
    written: &Written<'_>,
    description: &str,
    terms: &str,
) -> Result<i64> {
    connection
        .prepare_cached(
            "INSERT INTO concept_nodes (id, scope, type, subject, emotional_impact, emotion_tags, relational_tags,
                 event_time_start, event_time_end, source_session_id, mention_count, superseded_by, pinned, created_at,
                 deleted_at, description, terms)
             VALUES (unhex(?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, (SELECT id FROM sessions WHERE id = unhex(?10)), ?11,
                 (SELECT id FROM concept_nodes WHERE id = unhex(?12)), ?13, ?14, ?15, ?16, ?17)
             ON CONFLICT (id) DO UPDATE SET subject = excluded.subject, emotional_impact = excluded.emotional_impact,
                 emotion_tags = excluded.emotion_tags, relational_tags = excluded.relational_tags,
                 event_time_start = excluded.event_time_start, event_time_end = excluded.event_time_end,
                 mention_count = excluded.mention_count, superseded_by = excluded.superseded_by,
                 pinned = excluded.pinned, deleted_at = excluded.deleted_at, description = excluded.description,
                 terms = excluded.terms
             RETURNING seq",
        )?
        .query_row(
            params![
                written.id(),
                scope,
                written.text("type"),
                written.text("subject"),
                written.integer("impact").unwrap_or_default(),
                written.text("emotion_tags").unwrap_or("[]"),
                written.text("relational_tags").unwrap_or("[]"),
                written.integer("event_start"),
                written.integer("event_end"),
                written.text("session"),
                written.integer("mentions").unwrap_or(1),
                written.text("superseded_by"),
                written.integer("pinned").unwrap_or_default(),
                written.integer("created_at").unwrap_or_default(),
                written.integer("deleted_at"),
                description,
                terms,
            ],
            |row| row.get(0),
        )
}

/// Quotes, cited events, entities and history, each written again if it changed.
fn parts(connection: &Connection, seq: i64, written: &Written<'_>) -> Result<()> {
    if written.has_changed("evidence") {
        connection.prepare_cached("DELETE FROM node_evidence WHERE node_seq = ?1")?.execute([seq])?;
        for (name, quote) in written.elements("evidence") {
            let [message, start, end] = name.split('/').collect::<Vec<_>>()[..] else { continue };
            connection
                .prepare_cached(
                    "INSERT INTO node_evidence (node_seq, message_seq, span_start, span_end, quote)
                     SELECT ?1, seq, CAST(?3 AS INTEGER), CAST(?4 AS INTEGER), ?5 FROM recall_messages WHERE id = unhex(?2)
                     ON CONFLICT DO NOTHING",
                )?
                .execute(params![seq, message, start, end, quote.as_str()])?;
        }
    }
    if written.has_changed("cites") {
        connection
            .prepare_cached("DELETE FROM concept_node_filling WHERE thought_seq = ?1")?
            .execute([seq])?;
        for (event, value) in written.elements("cites") {
            connection
                .prepare_cached(
                    "INSERT INTO concept_node_filling (thought_seq, event_seq, orphaned, created_at)
                     SELECT ?1, seq, ?3, ?4 FROM concept_nodes WHERE id = unhex(?2) ON CONFLICT DO NOTHING",
                )?
                .execute(params![
                    seq,
                    event,
                    value[0].as_i64().unwrap_or_default(),
                    value[1].as_i64().unwrap_or_default()
                ])?;
        }
    }
    if written.has_changed("about") {
        connection.prepare_cached("DELETE FROM concept_node_entities WHERE node_seq = ?1")?.execute([seq])?;
        for (entity, _) in written.elements("about") {
            connection
                .prepare_cached(
                    "INSERT INTO concept_node_entities (entity_id, node_seq)
                     SELECT id, ?1 FROM entities WHERE id = unhex(?2) ON CONFLICT DO NOTHING",
                )?
                .execute(params![seq, entity])?;
        }
    }
    if written.has_changed("change") { history(connection, seq, written) } else { Ok(()) }
}

fn history(connection: &Connection, seq: i64, written: &Written<'_>) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM node_changes WHERE node_seq = ?1 AND kind <> 'mention_merge'")?
        .execute([seq])?;
    for (name, value) in written.elements("change") {
        let [at, kind, newer] = name.split('/').collect::<Vec<_>>()[..] else { continue };
        let text = |field: &str| value[field].as_str();
        connection
            .prepare_cached(
                "INSERT INTO node_changes (node_seq, kind, author, created_at, undone_at, description, relational_tags,
                     entities, newer_seq)
                 SELECT ?1, ?2, ?3, CAST(?4 AS INTEGER), ?5, ?6, ?7, CASE WHEN ?2 = 'correction' THEN '[]' END,
                     (SELECT seq FROM concept_nodes WHERE id = unhex(?8))
                 WHERE ?2 <> 'supersession' OR EXISTS (SELECT 1 FROM concept_nodes WHERE id = unhex(?8))",
            )?
            .execute(params![
                seq,
                kind,
                text("author"),
                at,
                value["undone_at"].as_i64(),
                text("description"),
                text("relational_tags"),
                newer
            ])?;
    }
    Ok(())
}
