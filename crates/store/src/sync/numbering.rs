//! Gives noted changes their numbers and times, and their fields the stamps.

use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use ::sync::{Actor, HybridTime, Kind, RowKey};
use serde_json::Value;

use super::states::{self, KeptStamp, can_be_emptied, digest};
use super::{fields, receive};
use crate::rows::unreadable;

/// Every row that is there, for a log that begins.
const ALL_ROWS: &str = "
    INSERT INTO sync_noted SELECT 'persona', id FROM personas WHERE true ON CONFLICT DO NOTHING;
    INSERT INTO sync_noted SELECT 'user', id FROM users WHERE true ON CONFLICT DO NOTHING;
    INSERT INTO sync_noted SELECT 'session', lower(hex(id)) FROM sessions WHERE true ON CONFLICT DO NOTHING;
    INSERT INTO sync_noted SELECT 'message', lower(hex(id)) FROM recall_messages WHERE true ON CONFLICT DO NOTHING;
    INSERT INTO sync_noted SELECT 'entity', lower(hex(id)) FROM entities WHERE true ON CONFLICT DO NOTHING;
    INSERT INTO sync_noted SELECT 'node', lower(hex(id)) FROM concept_nodes WHERE true ON CONFLICT DO NOTHING;
    INSERT INTO sync_noted
        SELECT 'mood', lower(hex(session_id)) FROM mood_history WHERE session_id IS NOT NULL
        ON CONFLICT DO NOTHING;
    INSERT INTO sync_noted
        SELECT 'core_block', persona_id || char(31) || label || char(31) || coalesce(user_id, '') FROM core_blocks WHERE true ON CONFLICT DO NOTHING;
    INSERT INTO sync_noted
        SELECT 'erasure', kind || ':' || lower(hex(id)) FROM tombstones
        WHERE kind IN ('message', 'node', 'entity', 'session')
        ON CONFLICT DO NOTHING;";

pub(super) fn own(connection: &Connection) -> Result<Option<(i64, Actor)>> {
    connection
        .prepare_cached(
            "SELECT a.number, a.actor FROM sync_state s JOIN sync_actors a ON a.number = s.own WHERE s.enabled = 1",
        )?
        .query_row([], |row| Ok((row.get(0)?, actor(row, 1)?)))
        .optional()
}

pub(super) fn actor(row: &Row<'_>, column: usize) -> Result<Actor> {
    row.get::<String>(column)?.parse().map_err(|error: ::sync::InvalidActor| unreadable(column, error))
}

pub(super) fn actor_number(connection: &Connection, actor: &Actor) -> Result<i64> {
    let actor = actor.to_string();
    connection
        .prepare_cached("INSERT INTO sync_actors (actor) VALUES (?1) ON CONFLICT DO NOTHING")?
        .execute([&actor])?;
    connection
        .prepare_cached("SELECT number FROM sync_actors WHERE actor = ?1")?
        .query_row([&actor], |row| row.get(0))
}

pub(super) fn enable(connection: &Connection, actor: &Actor) -> Result<Actor> {
    if let Some((_, actor)) = own(connection)? {
        return Ok(actor);
    }
    let number = actor_number(connection, actor)?;
    connection
        .prepare_cached("UPDATE sync_state SET enabled = 1, own = ?1 WHERE only_row = 1")?
        .execute([number])?;
    connection.execute_batch(ALL_ROWS)?;
    Ok(actor.clone())
}

pub(super) fn is_waiting(connection: &Connection) -> Result<bool> {
    connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM sync_noted)")?.query_row([], |row| row.get(0))
}

/// Returns how many noted rows were looked at.
pub(super) fn number(connection: &Connection, now: i64, limit: u32) -> Result<u64> {
    let Some((own_number, own)) = own(connection)? else { return Ok(0) };
    // Erasures first, so that no change of an erased row gets a number.
    let noted: Vec<(String, String)> = connection
        .prepare_cached("SELECT kind, id FROM sync_noted ORDER BY kind <> 'erasure' LIMIT ?1")?
        .query_map([limit], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_>>()?;
    let mut erased = false;
    for (kind, id) in &noted {
        let key = states::key(kind, id.clone())?;
        erased |= key.kind == Kind::Erasure;
        number_one(connection, own_number, &own, &key, now)?;
        connection
            .prepare_cached("DELETE FROM sync_noted WHERE kind = ?1 AND id = ?2")?
            .execute([kind, id])?;
    }
    if erased {
        receive::admit_waiting_again(connection)?;
    }
    Ok(noted.len() as u64)
}

/// Numbers the change of one row, if any of its fields says something else than before.
fn number_one(connection: &Connection, own_number: i64, own: &Actor, key: &RowKey, now: i64) -> Result<()> {
    if receive::is_erased(connection, key)? {
        return Ok(());
    }
    let mut row = states::kept(connection, key)?;
    let found = fields::read(connection, key)?;
    if found.is_none() && (row.stamps.is_empty() || !can_be_emptied(key.kind)) {
        return Ok(());
    }
    let mut values = found.map(|found| found.values).unwrap_or_default();
    for name in row.stamps.keys() {
        values.entry(name.clone()).or_insert(Value::Null);
    }
    let changed: Vec<(String, String)> = values
        .iter()
        .map(|(name, value)| (name.clone(), digest(value)))
        .filter(|(name, digest)| match row.stamps.get(name) {
            Some(kept) => kept.0 != *digest,
            // What was never given claims nothing against what another home was given.
            None => !values[name].is_null(),
        })
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    let (index, time) = next(connection, own_number, now)?;
    add_to_log(connection, own_number, index, time, key)?;
    let written_at = if row.stamps.is_empty() { first_time(key.kind, &values, time) } else { time };
    for (name, digest) in changed {
        row.stamps.insert(name, KeptStamp(digest, written_at, own.clone(), index));
    }
    row.vector.raise(own, index);
    states::keep(connection, key, &row)
}

/// The time of the values of a row that no log knew before. When two homes meet for the first time both have a persona and a
/// user of the same name: the one that is older has been spoken with, so its values are later than those of the other,
/// and earlier than every change.
fn first_time(kind: Kind, values: &serde_json::Map<String, Value>, now: i64) -> i64 {
    const BEFORE_EVERY_CHANGE: i64 = 1_000_000_000_000;
    match (kind, values.get("created_at").and_then(Value::as_i64)) {
        (Kind::Persona | Kind::User, Some(created)) => BEFORE_EVERY_CHANGE - created / 1_000_000,
        _ => now,
    }
}

/// Numbers a row's change once more as if the field had changed, so that every machine hears of a decision.
pub(super) fn number_again(connection: &Connection, key: &RowKey, field: &str, now: i64) -> Result<()> {
    let mut row = states::kept(connection, key)?;
    if let Some(stamp) = row.stamps.get_mut(field) {
        stamp.0.clear();
        states::keep(connection, key, &row)?;
    }
    let Some((own_number, own)) = own(connection)? else { return Ok(()) };
    number_one(connection, own_number, &own, key, now)
}

/// The number and the time of the next change of this home.
fn next(connection: &Connection, own_number: i64, now: i64) -> Result<(u64, i64)> {
    let last: i64 = connection
        .prepare_cached("SELECT time FROM sync_state WHERE only_row = 1")?
        .query_row([], |row| row.get(0))?;
    let time = HybridTime(last).next(now);
    saw_time(connection, time)?;
    let index: u64 = connection
        .prepare_cached("SELECT coalesce(max(idx), 0) + 1 FROM sync_log WHERE actor = ?1")?
        .query_row([own_number], |row| row.get(0))?;
    Ok((index, time.0))
}

/// Later changes of this home are later than this.
pub(super) fn saw_time(connection: &Connection, time: HybridTime) -> Result<()> {
    connection
        .prepare_cached("UPDATE sync_state SET time = max(time, ?1) WHERE only_row = 1")?
        .execute([time.0])?;
    Ok(())
}

pub(super) fn add_to_log(
    connection: &Connection,
    actor: i64,
    index: u64,
    time: i64,
    key: &RowKey,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO sync_log (actor, idx, time, kind, id) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
        )?
        .execute(params![actor, index, time, key.kind.as_str(), key.id])?;
    Ok(())
}

/// Takes a new incarnation. Every row that this home has changed is changed once more under it, so that nothing is lost
/// which a peer took for something that it knew.
pub(super) fn renew(connection: &Connection, actor: &Actor, now: i64) -> Result<()> {
    let Some((before, _)) = own(connection)? else { return Ok(()) };
    while number(connection, now, 1_000)? > 0 {}
    let number = actor_number(connection, actor)?;
    connection.prepare_cached("UPDATE sync_state SET own = ?1 WHERE only_row = 1")?.execute([number])?;
    let mut statement = connection.prepare_cached(
        "SELECT kind, id FROM sync_log WHERE actor = ?1 GROUP BY kind, id ORDER BY min(idx)",
    )?;
    let changed: Vec<(String, String)> =
        statement.query_map([before], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_>>()?;
    for (kind, id) in changed {
        let key = states::key(&kind, id)?;
        let mut row = states::kept(connection, &key)?;
        if row.stamps.is_empty() {
            continue;
        }
        let (index, time) = next(connection, number, now)?;
        add_to_log(connection, number, index, time, &key)?;
        row.vector.raise(actor, index);
        states::keep(connection, &key, &row)?;
    }
    // Peers may hold other changes under these numbers: they come from there.
    connection.prepare_cached("DELETE FROM sync_log WHERE actor = ?1")?.execute([before])?;
    Ok(())
}
