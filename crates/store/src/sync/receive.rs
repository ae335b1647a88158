//! Takes a page of a peer: erasures first, then rows in the order in which they refer to one another, then the log. All in
//! one transaction, so a page is taken whole or not at all.

use std::collections::BTreeSet;

use crate::engine::sql::{Connection, Result, params};
use ::sync::{Erasures, Kind, LocalErasure, Page, PageRow, ReceiveOutcome, RowKey, RowState, merge};
use memory::Scope;

use super::write::{self, Written};
use super::{conflicts, numbering, pages, states};
use crate::engine::failure::Failure;
use crate::engine::writer::UnitOfWork;
use crate::rows::{self, to_json};

pub(super) fn receive(
    unit: &mut UnitOfWork<'_>,
    page: &Page,
    now: i64,
) -> std::result::Result<ReceiveOutcome, Failure> {
    let connection = unit.connection;
    // What changed here is compared with its numbers.
    while numbering::number(connection, now, 1_000)? > 0 {}
    set_applying(connection, true)?;
    let mut outcome =
        ReceiveOutcome { received: add_entries(connection, page, now)?, ..ReceiveOutcome::default() };
    let mut rows: Vec<PageRow> = page.rows.iter().map(|row| bounded(row.clone(), now)).collect();
    rows.sort_by(|a, b| a.key.cmp(&b.key));
    for row in rows.iter().filter(|row| row.key.kind == Kind::Erasure) {
        add_erasure(connection, row, now)?;
    }
    admit_waiting_again(connection)?;
    let mut sessions = BTreeSet::new();
    for row in rows.into_iter().filter(|row| row.key.kind != Kind::Erasure) {
        apply(unit, row, now, &mut outcome, &mut sessions)?;
    }
    while retry_waiting(unit, now, &mut outcome, &mut sessions)? {}
    for session in &sessions {
        write::count_session(connection, session)?;
    }
    outcome.waiting =
        connection.prepare_cached("SELECT count(*) FROM sync_waiting")?.query_row([], |row| row.get(0))?;
    set_applying(connection, false)?;
    Ok(outcome)
}

fn set_applying(connection: &Connection, applying: bool) -> Result<()> {
    connection
        .prepare_cached("UPDATE sync_state SET applying = ?1 WHERE only_row = 1")?
        .execute([applying])?;
    Ok(())
}

fn add_entries(connection: &Connection, page: &Page, now: i64) -> Result<u64> {
    let known = pages::known(connection)?;
    let mut new = 0;
    for entry in page.entries.iter().filter(|entry| !known.has_seen(&entry.actor, entry.index)) {
        let time = entry.time.bounded(now);
        if time != entry.time {
            tracing::warn!(actor = %entry.actor, "a change is dated more than 24 hours ahead; its time was bounded");
        }
        numbering::saw_time(connection, time)?;
        let actor = numbering::actor_number(connection, &entry.actor)?;
        // The log keeps the time as it was written, so that its digest is the same everywhere.
        numbering::add_to_log(connection, actor, entry.index, entry.time.0, &entry.row)?;
        new += 1;
    }
    Ok(new)
}

fn bounded(mut row: PageRow, now: i64) -> PageRow {
    for field in row.state.fields.values_mut() {
        field.stamp.time = field.stamp.time.bounded(now);
    }
    row
}

fn add_erasure(connection: &Connection, row: &PageRow, now: i64) -> std::result::Result<(), Failure> {
    let at = row.state.fields.get("at").and_then(|field| field.value.as_i64()).unwrap_or(now);
    let Some((kind, id)) = row.key.id.split_once(':') else {
        return Err(Failure::Refused(format!("{:?} names no row", row.key.id)));
    };
    connection
        .prepare_cached(
            "INSERT INTO tombstones (kind, id, forgotten_at, scope)
             VALUES (?1, unhex(?2), ?3, (SELECT number FROM scopes WHERE persona_id = ?4 AND user_id = ?5))
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![kind, id, at, row.persona, row.user])?;
    Ok(states::keep_state(connection, &row.key, &row.state)?)
}

/// The erasures that matter for this row.
fn erasures(connection: &Connection, key: &RowKey, state: &RowState) -> Result<Erasures> {
    let mut erasures = Erasures::default();
    for candidate in Erasures::candidates(key, state) {
        if is_erased(connection, &candidate)? {
            erasures.add(candidate);
        }
    }
    Ok(erasures)
}

pub(super) fn is_erased(connection: &Connection, key: &RowKey) -> Result<bool> {
    if !matches!(key.kind, Kind::Message | Kind::Node | Kind::Entity | Kind::Session) {
        return Ok(false);
    }
    connection
        .prepare_cached("SELECT 1 FROM tombstones WHERE kind = ?1 AND id = unhex(?2)")?
        .exists([key.kind.as_str(), key.id.as_str()])
}

/// Takes from waiting rows what was erased since they came.
pub(super) fn admit_waiting_again(connection: &Connection) -> Result<()> {
    for row in waiting(connection)? {
        let before = row.state.clone();
        let admitted = erasures(connection, &row.key, &row.state)?.admit(&row.key, row.state.clone());
        match admitted {
            Some(state) if state == before => {}
            Some(state) => wait(connection, &PageRow { state, ..row })?,
            None => stop_waiting(connection, &row.key)?,
        }
    }
    Ok(())
}

fn waiting(connection: &Connection) -> Result<Vec<PageRow>> {
    let mut statement = connection.prepare_cached("SELECT row FROM sync_waiting ORDER BY kind, id")?;
    statement.query_map([], |row| rows::json(row, 0))?.collect()
}

fn wait(connection: &Connection, row: &PageRow) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO sync_waiting (kind, id, row) VALUES (?1, ?2, ?3)
             ON CONFLICT (kind, id) DO UPDATE SET row = excluded.row",
        )?
        .execute(params![row.key.kind.as_str(), row.key.id, to_json(row)?])?;
    Ok(())
}

fn stop_waiting(connection: &Connection, key: &RowKey) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM sync_waiting WHERE kind = ?1 AND id = ?2")?
        .execute([key.kind.as_str(), key.id.as_str()])?;
    Ok(())
}

/// Applies waiting rows of which every reference has arrived. Returns whether one was applied.
fn retry_waiting(
    unit: &mut UnitOfWork<'_>,
    now: i64,
    outcome: &mut ReceiveOutcome,
    sessions: &mut BTreeSet<String>,
) -> std::result::Result<bool, Failure> {
    let mut applied = false;
    for row in waiting(unit.connection)? {
        if missing(unit.connection, &row)? == Missing::Nothing {
            stop_waiting(unit.connection, &row.key)?;
            apply(unit, row, now, outcome, sessions)?;
            applied = true;
        }
    }
    Ok(applied)
}

/// What a row lacks to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Missing {
    Nothing,
    /// It can be written without a link, and again when the other row is here.
    Link,
    /// It can't be written.
    Owner,
}

fn missing(connection: &Connection, row: &PageRow) -> Result<Missing> {
    let mut missing = Missing::Nothing;
    for reference in Erasures::candidates(&row.key, &row.state).into_iter().filter(|key| *key != row.key) {
        let table = match reference.kind {
            Kind::Session => "sessions",
            Kind::Message => "recall_messages",
            Kind::Node => "concept_nodes",
            Kind::Entity => "entities",
            _ => continue,
        };
        let is_here = connection
            .prepare_cached(&format!("SELECT 1 FROM {table} WHERE id = unhex(?1)"))?
            .exists([&reference.id])?;
        if !is_here && !is_erased(connection, &reference)? {
            let needs_it =
                reference.kind == Kind::Session && matches!(row.key.kind, Kind::Message | Kind::Mood);
            missing = missing.max(if needs_it { Missing::Owner } else { Missing::Link });
        }
    }
    Ok(missing)
}

fn apply(
    unit: &mut UnitOfWork<'_>,
    mut row: PageRow,
    now: i64,
    outcome: &mut ReceiveOutcome,
    sessions: &mut BTreeSet<String>,
) -> std::result::Result<(), Failure> {
    let connection = unit.connection;
    if let Some(waiting) = pages::waiting(connection, &row.key)? {
        row.state = merge(&waiting.state, &row.state).state;
    }
    let erasures = erasures(connection, &row.key, &row.state)?;
    let Some(arrived) = erasures.admit(&row.key, row.state) else {
        return Ok(stop_waiting(connection, &row.key)?);
    };
    let local = states::state(connection, &row.key)?.map(|(_, state)| state).unwrap_or_default();
    let merged = merge(&local, &arrived);
    row.state = merged.state;
    let missing = missing(connection, &row)?;
    if missing == Missing::Owner {
        return Ok(wait(connection, &row)?);
    }
    let changed: BTreeSet<String> = row
        .state
        .fields
        .iter()
        .filter(|(name, field)| local.fields.get(*name).map(|before| &before.value) != Some(&field.value))
        .map(|(name, _)| name.clone())
        .collect();
    if !changed.is_empty() {
        write::write(unit, &Written { row: &row, changed: &changed, now })?;
        note_what_changed(&row, outcome, sessions);
    }
    states::keep_state(connection, &row.key, &row.state)?;
    conflicts::close_seen(connection, &row.key, &row.state)?;
    for conflict in merged.conflicts.iter().filter(|conflict| row.key.kind.is_for_people(&conflict.field)) {
        outcome.conflicts += u64::from(conflicts::add(connection, &row.key, conflict, now)?);
    }
    match missing {
        Missing::Link => wait(connection, &row)?,
        _ => stop_waiting(connection, &row.key)?,
    }
    Ok(())
}

fn note_what_changed(row: &PageRow, outcome: &mut ReceiveOutcome, sessions: &mut BTreeSet<String>) {
    if row.key.kind == Kind::Message
        && let Some(session) = row.state.fields.get("session").and_then(|field| field.value.as_str())
    {
        sessions.insert(session.to_owned());
    }
    let scope = row.persona.clone().zip(row.user.clone()).and_then(|(persona, user)| {
        Some(Scope::new(memory::PersonaId::new(persona).ok()?, memory::UserId::new(user).ok()?))
    });
    if let Some(scope) = scope
        && !outcome.scopes.contains(&scope)
    {
        outcome.scopes.push(scope);
    }
}

/// Rows that are still here although an erasure names them.
pub(super) fn local_erasures(connection: &Connection) -> Result<Vec<LocalErasure>> {
    let mut found: Vec<LocalErasure> = Vec::new();
    for (kind, table) in
        [(Kind::Message, "recall_messages"), (Kind::Node, "concept_nodes"), (Kind::Entity, "entities")]
    {
        let mut statement = connection.prepare_cached(&format!(
            "SELECT s.persona_id, s.user_id, lower(hex(r.id)) FROM tombstones t JOIN {table} r ON r.id = t.id
                 JOIN scopes s ON s.number = r.scope WHERE t.kind = ?1"
        ))?;
        let rows = statement
            .query_map([kind.as_str()], |row| Ok((rows::scope(row, 0)?, row.get::<String>(2)?)))?
            .collect::<Result<Vec<_>>>()?;
        for (scope, id) in rows {
            match found.iter_mut().find(|erasure| erasure.scope == scope) {
                Some(erasure) => erasure.rows.push((kind, id)),
                None => found.push(LocalErasure { scope, rows: vec![(kind, id)] }),
            }
        }
    }
    Ok(found)
}
