//! Writes a merged state over a row, and what follows from it: words, counters, links. Vectors are made again in the
//! background.

mod nodes;
mod entities;

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use ::sync::{Field, Kind, PageRow};
use jiff::Timestamp;
use memory::core_blocks::CoreBlockLabel;
use memory::ports::Corpus;
use memory::text::index_terms;
use memory::{PersonaId, Scope, UserId};
use serde_json::Value;

use crate::engine::failure::Failure;
use crate::engine::writer::UnitOfWork;
use crate::{hub, scopes};

/// A row that is written: its state, and which fields say something else than before.
pub(super) struct Written<'a> {
    pub(super) row: &'a PageRow,
    pub(super) changed: &'a BTreeSet<String>,
    pub(super) now: i64,
}

impl Written<'_> {
    fn field(&self, name: &str) -> Option<&Value> {
        self.row.state.fields.get(name).map(|field| &field.value).filter(|value| !value.is_null())
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.field(name).and_then(Value::as_str)
    }

    fn integer(&self, name: &str) -> Option<i64> {
        self.field(name).and_then(Value::as_i64)
    }

    fn id(&self) -> &str {
        &self.row.key.id
    }

    /// Elements of a set: what follows the name, and the value.
    fn elements(&self, set: &str) -> impl Iterator<Item = (&str, &Value)> {
        let prefix = format!("{set}/");
        let fields: &BTreeMap<String, Field> = &self.row.state.fields;
        fields
            .iter()
            .filter(|(_, field)| !field.value.is_null())
            .filter_map(move |(name, field)| Some((name.strip_prefix(&prefix)?, &field.value)))
    }

    fn has_changed(&self, set: &str) -> bool {
        let prefix = format!("{set}/");
        self.changed.iter().any(|name| name.starts_with(&prefix))
    }
}

/// Writes the row. Rows that it must refer to are there.
pub(super) fn write(unit: &mut UnitOfWork<'_>, written: &Written<'_>) -> std::result::Result<(), Failure> {
    let connection = unit.connection;
    match written.row.key.kind {
        Kind::Erasure => {}
        Kind::Persona => persona(connection, written)?,
        Kind::User => user(connection, written)?,
        Kind::Session => session(connection, written)?,
        Kind::Message => message(unit, written)?,
        Kind::Entity => entities::write(connection, scope(connection, written)?, written)?,
        Kind::Node => nodes::write(unit, written)?,
        Kind::Mood => mood(connection, written)?,
        Kind::CoreBlock => core_block(connection, written)?,
    }
    Ok(())
}

/// The number of the row's scope; its persona and user are created if they have not arrived yet.
fn scope(connection: &Connection, written: &Written<'_>) -> std::result::Result<i64, Failure> {
    let refused = || Failure::Refused(format!("row {} names no persona and user", written.id()));
    let persona = written.row.persona.clone().ok_or_else(refused)?;
    let user = written.row.user.clone().ok_or_else(refused)?;
    let scope = Scope::new(
        PersonaId::new(persona).map_err(|_| refused())?,
        UserId::new(user).map_err(|_| refused())?,
    );
    connection
        .prepare_cached(
            "INSERT INTO personas (id, display_name, created_at) VALUES (?1, ?1, ?2) ON CONFLICT DO NOTHING",
        )?
        .execute(params![scope.persona.as_str(), written.now])?;
    connection
        .prepare_cached("INSERT INTO users (id, created_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
        .execute(params![scope.user.as_str(), written.now])?;
    Ok(scopes::number_or_new(connection, &scope)?)
}

const FACTS: [&str; 16] = [
    "display_name",
    "full_name",
    "gender",
    "birth_date",
    "ethnicity",
    "nationality",
    "native_language",
    "locale_region",
    "education_level",
    "occupation",
    "occupation_field",
    "location",
    "timezone",
    "relationship_status",
    "life_stage",
    "health_status",
];

fn persona(connection: &Connection, written: &Written<'_>) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO personas (id, display_name, created_at) VALUES (?1, ?1, ?2) ON CONFLICT DO NOTHING",
        )?
        .execute(params![written.id(), written.integer("created_at").unwrap_or(written.now)])?;
    for name in FACTS {
        let value = written.text(name);
        if value.is_some() || name != "display_name" {
            connection
                .prepare_cached(&format!("UPDATE personas SET {name} = ?2 WHERE id = ?1"))?
                .execute(params![written.id(), value])?;
        }
    }
    Ok(())
}

fn user(connection: &Connection, written: &Written<'_>) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO users (id, display_name, timezone, created_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (id) DO UPDATE SET display_name = excluded.display_name, timezone = excluded.timezone",
        )?
        .execute(params![
            written.id(),
            written.text("display_name"),
            written.text("timezone"),
            written.integer("created_at").unwrap_or(written.now)
        ])?;
    Ok(())
}

/// A session of another home is closed here: it is consolidated where it was held. One of this home keeps its status.
fn session(connection: &Connection, written: &Written<'_>) -> std::result::Result<(), Failure> {
    let scope = scope(connection, written)?;
    connection
        .prepare_cached(
            "INSERT INTO sessions (id, scope, channel_id, status, message_count, total_tokens, first_message_at,
                 last_message_at, closed_at, close_trigger, extracted, reflected, extracted_events, trivial, summary)
             VALUES (unhex(?1), ?2, ?3, 'closed', 0, 0, ?4, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
             ON CONFLICT (id) DO UPDATE SET closed_at = excluded.closed_at, close_trigger = excluded.close_trigger,
                 extracted = excluded.extracted, reflected = excluded.reflected,
                 extracted_events = excluded.extracted_events, trivial = excluded.trivial, summary = excluded.summary",
        )?
        .execute(params![
            written.id(),
            scope,
            written.text("channel").unwrap_or_default(),
            written.integer("first_message_at").unwrap_or_default(),
            written.integer("closed_at"),
            written.text("close_trigger"),
            written.integer("extracted").unwrap_or_default(),
            written.integer("reflected").unwrap_or_default(),
            written.integer("extracted_events").unwrap_or_default(),
            written.integer("trivial").unwrap_or_default(),
            written.text("summary"),
        ])?;
    count_session(connection, written.id())?;
    Ok(())
}

/// Counts the session's messages again.
pub(super) fn count_session(connection: &Connection, id: &str) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE sessions SET
                 (message_count, total_tokens, last_message_at) = (
                     SELECT count(*), coalesce(sum(token_count), 0), coalesce(max(created_at), first_message_at)
                     FROM recall_messages WHERE session_id = sessions.id)
             WHERE id = unhex(?1)",
        )?
        .execute([id])?;
    Ok(())
}

fn message(unit: &mut UnitOfWork<'_>, written: &Written<'_>) -> std::result::Result<(), Failure> {
    let connection = unit.connection;
    let scope = scope(connection, written)?;
    let content = written.text("content").unwrap_or_default();
    let terms = index_terms(content);
    let before: Option<(i64, String, String)> = connection
        .prepare_cached("SELECT seq, content, terms FROM recall_messages WHERE id = unhex(?1)")?
        .query_row([written.id()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let seq = match before {
        Some((seq, old, old_terms)) => {
            if old != content {
                unit.unindex_words(Corpus::Messages, seq, scope, &old_terms);
                unit.index_words(Corpus::Messages, seq, scope, &terms);
                connection.prepare_cached("DELETE FROM message_vectors WHERE seq = ?1")?.execute([seq])?;
            }
            connection
                .prepare_cached(
                    "UPDATE recall_messages SET incomplete = ?2, token_count = ?3, terms = ?5,
                         embedding_model = CASE WHEN content = ?4 THEN embedding_model END, content = ?4
                     WHERE seq = ?1",
                )?
                .execute(params![
                    seq,
                    written.integer("incomplete").unwrap_or_default(),
                    tokens(written),
                    content,
                    terms
                ])?;
            seq
        }
        None => {
            let seq = insert_message(connection, scope, written, content, &terms)?;
            unit.index_words(Corpus::Messages, seq, scope, &terms);
            scopes::count_message(connection, scope)?;
            seq
        }
    };
    if written.has_changed("version") {
        connection.prepare_cached("DELETE FROM message_versions WHERE message_seq = ?1")?.execute([seq])?;
        for (at, text) in written.elements("version") {
            connection
                .prepare_cached(
                    "INSERT INTO message_versions (message_seq, content, replaced_at) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![seq, text.as_str(), at.parse::<i64>().unwrap_or_default()])?;
        }
    }
    Ok(())
}

fn tokens(written: &Written<'_>) -> i64 {
    written.integer("tokens").unwrap_or_default().max(0)
}

fn insert_message(
    connection: &Connection,
    scope: i64,
    written: &Written<'_>,
    content: &str,
    terms: &str,
) -> Result<i64> {
    let at = written.integer("created_at").unwrap_or_default();
    connection
        .prepare_cached(
            "INSERT INTO recall_messages (id, scope, session_id, turn_id, channel_id, role, token_count, day,
                 created_at, incomplete, content, terms, external_ref, placed_at)
             VALUES (unhex(?1), ?2, unhex(?3), unhex(?4), ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .insert(params![
            written.id(),
            scope,
            written.text("session"),
            written.text("turn"),
            written.text("channel").unwrap_or_default(),
            written.text("role"),
            tokens(written),
            written.text("day").unwrap_or_default(),
            at,
            written.integer("incomplete").unwrap_or_default(),
            content,
            terms,
            written.text("external_ref"),
            written.integer("placed_at").unwrap_or(at),
        ])
}

fn mood(connection: &Connection, written: &Written<'_>) -> std::result::Result<(), Failure> {
    connection
        .prepare_cached("DELETE FROM mood_history WHERE session_id = unhex(?1)")?
        .execute([written.id()])?;
    if let (Some(at), Some(state)) = (written.integer("felt_at"), written.text("state")) {
        let scope = scope(connection, written)?;
        connection
            .prepare_cached(
                "INSERT INTO mood_history (scope, session_id, felt_at, episodic_state) VALUES (?1, unhex(?2), ?3, ?4)",
            )?
            .execute(params![scope, written.id(), at, state])?;
    }
    Ok(())
}

/// Writes the block and its document.
fn core_block(connection: &Connection, written: &Written<'_>) -> std::result::Result<(), Failure> {
    let refused = || Failure::Refused(format!("{:?} names no core block", written.id()));
    let [persona, label, user] = written.id().split('\u{1f}').collect::<Vec<_>>()[..] else {
        return Err(refused());
    };
    let label =
        CoreBlockLabel::ALL.iter().copied().find(|known| known.as_str() == label).ok_or_else(refused)?;
    let owner = Some(user).filter(|user| !user.is_empty());
    let user = UserId::new(owner.unwrap_or("self")).map_err(|_| refused())?;
    let whose = Scope::new(PersonaId::new(persona).map_err(|_| refused())?, user);
    let row = PageRow {
        persona: Some(persona.to_owned()),
        user: Some(whose.user.to_string()),
        ..written.row.clone()
    };
    scope(connection, &Written { row: &row, ..*written })?;
    let before: Option<i64> = connection
        .prepare_cached(
            "SELECT version FROM core_blocks WHERE persona_id = ?1 AND label = ?2 AND user_id IS ?3",
        )?
        .query_row(params![persona, label.as_str(), owner], |row| row.get(0))
        .optional()?;
    connection
        .prepare_cached("DELETE FROM core_blocks WHERE persona_id = ?1 AND label = ?2 AND user_id IS ?3")?
        .execute(params![persona, label.as_str(), owner])?;
    let Some(content) = written.text("content") else { return Ok(()) };
    let (by, at) =
        (written.text("edited_by").unwrap_or("owner"), written.integer("updated_at").unwrap_or(written.now));
    connection
        .prepare_cached(
            "INSERT INTO core_blocks (persona_id, user_id, label, content, version, last_edited_by, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![persona, owner, label.as_str(), content, before.unwrap_or_default() + 1, by, at])?;
    let at = Timestamp::from_microsecond(at).map_err(|_| refused())?;
    Ok(hub::follow_core_block(connection, &whose, label, content, by, at)?)
}
