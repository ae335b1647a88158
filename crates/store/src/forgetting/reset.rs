//! Resets a persona.

use jiff::Timestamp;
use memory::PersonaId;
use memory::forget::ResetCounts;
use memory::ports::Corpus;

use super::overwrite;
use crate::engine::failure::Failure;
use crate::engine::sql::{Result, params};
use crate::engine::writer::UnitOfWork;
use crate::rows::microseconds;

/// Statement that clears the facts of a persona.
const FACTS: &str = "full_name = NULL, gender = NULL, birth_date = NULL, ethnicity = NULL, nationality = NULL, \
                     native_language = NULL, locale_region = NULL, education_level = NULL, occupation = NULL, \
                     occupation_field = NULL, location = NULL, timezone = NULL, relationship_status = NULL, \
                     life_stage = NULL, health_status = NULL, voice_enabled = 0, voice_id = NULL, \
                     character_card = NULL";

/// Removes all scopes of the persona with everything in them, its core blocks and their history, and its facts.
pub(super) fn reset(
    unit: &mut UnitOfWork<'_>,
    persona: &PersonaId,
    name: &str,
    at: Timestamp,
) -> std::result::Result<Option<ResetCounts>, Failure> {
    let connection = unit.connection;
    let at = microseconds(at);
    let known: bool = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM personas WHERE id = ?1)")?
        .query_row([persona.as_str()], |row| row.get(0))?;
    if !known {
        return Ok(None);
    }
    let scopes: Vec<i64> = connection
        .prepare_cached("SELECT number FROM scopes WHERE persona_id = ?1")?
        .query_map([persona.as_str()], |row| row.get(0))?
        .collect::<Result<_>>()?;
    let mut counts = ResetCounts { users: scopes.len() as u64, ..ResetCounts::default() };
    for scope in scopes {
        clear(unit, scope, at, &mut counts)?;
    }
    for table in ["core_blocks", "core_block_appends", "persona_avatars"] {
        let statement = format!("DELETE FROM {table} WHERE persona_id = ?1");
        let gone = connection.prepare_cached(&statement)?.execute([persona.as_str()])?;
        if table == "core_blocks" {
            counts.core_blocks = gone as u64;
        }
    }
    crate::hub::forget_persona(connection, persona.as_str())?;
    connection
        .prepare_cached(&format!("UPDATE personas SET display_name = ?2, {FACTS} WHERE id = ?1"))?
        .execute([persona.as_str(), name])?;
    overwrite::mark_overwriting_due(connection)?;
    Ok(Some(counts))
}

fn clear(unit: &mut UnitOfWork<'_>, scope: i64, at: i64, counts: &mut ResetCounts) -> Result<()> {
    let connection = unit.connection;
    for (kind, table) in [
        ("message", "recall_messages"),
        ("node", "concept_nodes"),
        ("entity", "entities"),
        ("rejected", "rejected_memories"),
        ("turn", "turns"),
        ("session", "sessions"),
    ] {
        let buried = connection
            .prepare_cached(&format!(
                "INSERT INTO tombstones (kind, id, forgotten_at, scope)
                 SELECT ?2, id, ?3, ?1 FROM {table} WHERE scope = ?1 ON CONFLICT DO NOTHING"
            ))?
            .execute(params![scope, kind, at])? as u64;
        match table {
            "recall_messages" => counts.messages += buried,
            "concept_nodes" => counts.nodes += buried,
            "entities" => counts.entities += buried,
            "sessions" => counts.sessions += buried,
            _ => {}
        }
    }
    for (corpus, table) in [(Corpus::Messages, "recall_messages"), (Corpus::Nodes, "concept_nodes")] {
        let mut statement =
            connection.prepare_cached(&format!("SELECT seq, terms FROM {table} WHERE scope = ?1"))?;
        let mut rows = statement.query([scope])?;
        while let Some(row) = &rows.next()? {
            unit.unindex_words(corpus, row.get(0)?, scope, row.get_ref(1)?.as_str()?);
        }
    }
    // Everything of a scope refers to it and is deleted with it.
    connection.prepare_cached("DELETE FROM scopes WHERE number = ?1")?.execute([scope])?;
    Ok(())
}
