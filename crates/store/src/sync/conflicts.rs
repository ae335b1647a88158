//! Texts that lost against a concurrent one, until a person decides.

use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use ::sync::{ConflictRecord, Field, FieldConflict, RowKey, RowState};

use super::{fields, numbering, states};
use crate::engine::failure::Failure;
use crate::engine::writer::UnitOfWork;
use crate::rows;

/// Returns whether the conflict is new.
pub(super) fn add(connection: &Connection, key: &RowKey, conflict: &FieldConflict, now: i64) -> Result<bool> {
    let other = rows::to_json(&conflict.lost)?;
    let added = connection
        .prepare_cached(
            "INSERT INTO sync_conflicts (kind, id, field, other, opened_at)
             SELECT ?1, ?2, ?3, ?4, ?5 WHERE NOT EXISTS (
                 SELECT 1 FROM sync_conflicts WHERE kind = ?1 AND id = ?2 AND field = ?3 AND other = ?4)",
        )?
        .execute(params![key.kind.as_str(), key.id, conflict.field, other, now])?;
    Ok(added > 0)
}

/// Closes conflicts of the row whose shown value has seen the other: somebody decided elsewhere.
pub(super) fn close_seen(connection: &Connection, key: &RowKey, state: &RowState) -> Result<()> {
    let mut statement = connection
        .prepare_cached("SELECT number, field, other FROM sync_conflicts WHERE kind = ?1 AND id = ?2")?;
    let open: Vec<(i64, String, Field)> = statement
        .query_map([key.kind.as_str(), key.id.as_str()], |row| {
            Ok((row.get(0)?, row.get(1)?, rows::json(row, 2)?))
        })?
        .collect::<Result<_>>()?;
    for (number, field, other) in open {
        let opened: i64 = connection
            .prepare_cached("SELECT opened_at FROM sync_conflicts WHERE number = ?1")?
            .query_row([number], |row| row.get(0))?;
        let shown = state.fields.get(&field);
        if shown.is_some_and(|shown| shown.value == other.value || shown.stamp.time.0 > opened) {
            connection.prepare_cached("DELETE FROM sync_conflicts WHERE number = ?1")?.execute([number])?;
        }
    }
    Ok(())
}

fn record(connection: &Connection, row: &Row<'_>) -> Result<ConflictRecord> {
    let key = states::key(row.get_ref(1)?.as_str()?, row.get(2)?)?;
    let field: String = row.get(3)?;
    let other: Field = rows::json(row, 4)?;
    let shown = fields::read(connection, &key)?.and_then(|found| found.values.get(&field).cloned());
    let text = |value: Option<serde_json::Value>| value.and_then(|value| value.as_str().map(str::to_owned));
    Ok(ConflictRecord {
        id: row.get(0)?,
        row: key,
        field,
        shown: text(shown).unwrap_or_default(),
        other: text(Some(other.value)).unwrap_or_default(),
        opened_at: rows::time(row, 5)?,
    })
}

pub(super) fn open(connection: &Connection) -> Result<Vec<ConflictRecord>> {
    connection
        .prepare_cached(
            "SELECT number, kind, id, field, other, opened_at FROM sync_conflicts ORDER BY number DESC LIMIT 1000",
        )?
        .query_map([], |row| record(connection, row))?
        .collect()
}

/// Closes a conflict on every machine: the shown text, or the other one, is written once more.
pub(super) fn settle(
    unit: &mut UnitOfWork<'_>,
    id: i64,
    take_other: bool,
    now: i64,
) -> std::result::Result<Option<ConflictRecord>, Failure> {
    let connection = unit.connection;
    while numbering::number(connection, now, 1_000)? > 0 {}
    let found = connection
        .prepare_cached(
            "SELECT number, kind, id, field, other, opened_at FROM sync_conflicts WHERE number = ?1",
        )?
        .query_row([id], |row| record(connection, row))
        .optional()?;
    let Some(record) = found else { return Ok(None) };
    connection.prepare_cached("DELETE FROM sync_conflicts WHERE number = ?1")?.execute([id])?;
    let text = if take_other { &record.other } else { &record.shown };
    if let Some((found, mut state)) = states::state(connection, &record.row)?
        && let Some(field) = state.fields.get_mut(&record.field)
    {
        field.value = serde_json::Value::String(text.clone());
        let row =
            ::sync::PageRow { key: record.row.clone(), persona: found.persona, user: found.user, state };
        if take_other {
            let changed = [record.field.clone()].into_iter().collect();
            super::write::write(unit, &super::write::Written { row: &row, changed: &changed, now })?;
        }
        numbering::number_again(connection, &record.row, &record.field, now)?;
    }
    Ok(Some(record))
}
