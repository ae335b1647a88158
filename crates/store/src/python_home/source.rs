//! Rows of the Python program's database. Its columns were added over the years: a missing one reads as `NULL`.

use std::collections::HashMap;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::PythonHomeError;
use crate::engine::sql::{self, Connection, ValueRef};
use crate::rows::column;

/// A cell of a row, without blobs.
#[derive(PartialEq)]
enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
}

/// A row, by column names.
pub(super) struct SourceRow(HashMap<String, Value>);

impl SourceRow {
    pub(super) fn text_column(&self, column: &str) -> Option<&str> {
        match self.0.get(column) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn text_or_empty(&self, column: &str) -> &str {
        self.text_column(column).unwrap_or_default()
    }

    pub(super) fn owned_text(&self, column: &str) -> Option<String> {
        self.text_column(column).map(str::to_owned)
    }

    pub(super) fn integer_column(&self, column: &str) -> Option<i64> {
        match self.0.get(column) {
            Some(Value::Integer(integer)) => Some(*integer),
            _ => None,
        }
    }

    pub(super) fn count(&self, column: &str) -> i64 {
        self.integer_column(column).unwrap_or_default().max(0)
    }

    pub(super) fn real_column(&self, column: &str) -> Option<f64> {
        match self.0.get(column) {
            Some(Value::Real(real)) => Some(*real),
            Some(Value::Integer(integer)) => Some(*integer as f64),
            _ => None,
        }
    }

    pub(super) fn is_true(&self, column: &str) -> bool {
        self.integer_column(column).is_some_and(|value| value != 0)
    }

    /// True if the Python program had deleted the row, which it only marks.
    pub(super) fn is_deleted(&self) -> bool {
        self.0.get("deleted_at").is_some_and(|value| *value != Value::Null)
    }

    pub(super) fn time(&self, column: &str, zone: &TimeZone) -> Option<Timestamp> {
        self.text_column(column).and_then(|text| time_of(text, zone))
    }
}

/// Parses a time without an offset. The program wrote some with microseconds, in the local time of its machine, and
/// the database others in whole seconds, in UTC.
pub(super) fn time_of(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Some(instant);
    }
    let at: DateTime = text.parse().ok()?;
    let zone = if text.contains('.') { zone.clone() } else { TimeZone::UTC };
    Some(at.to_zoned(zone).ok()?.timestamp())
}

pub(super) fn has_table(connection: &Connection, table: &str) -> sql::Result<bool> {
    let known = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1)";
    connection.query_row(known, [table], |row| row.get(0))
}

/// Reads a table in the order of its rows; nothing if it does not exist.
pub(super) fn each_row(
    connection: &Connection,
    table: &str,
    mut take: impl FnMut(SourceRow) -> Result<(), PythonHomeError>,
) -> Result<(), PythonHomeError> {
    if !has_table(connection, table).map_err(PythonHomeError::Source)? {
        return Ok(());
    }
    let names: Vec<String> = column(connection, "SELECT name FROM pragma_table_info(?1) ORDER BY cid", table)
        .map_err(PythonHomeError::Source)?;
    let mut statement = connection
        .prepare_cached(&format!("SELECT * FROM \"{table}\" ORDER BY rowid"))
        .map_err(PythonHomeError::Source)?;
    let mut rows = statement.query([]).map_err(PythonHomeError::Source)?;
    while let Some(row) = rows.next().map_err(PythonHomeError::Source)? {
        let mut columns = HashMap::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            let value = match row.get_ref(index).map_err(PythonHomeError::Source)? {
                ValueRef::Integer(integer) => Value::Integer(integer),
                ValueRef::Real(real) => Value::Real(real),
                ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
                ValueRef::Null | ValueRef::Blob(_) => Value::Null,
            };
            columns.insert(name.clone(), value);
        }
        take(SourceRow(columns))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_program_are_local_and_those_of_its_database_are_utc() {
        let zone = TimeZone::get("Asia/Shanghai").unwrap();
        let at = |text: &str| time_of(text, &zone).map(|at| at.to_string());
        assert_eq!(at("2026-01-05 20:00:00.250000").as_deref(), Some("2026-01-05T12:00:00.25Z"));
        assert_eq!(at("2026-01-05T20:00:00.000000").as_deref(), Some("2026-01-05T12:00:00Z"));
        assert_eq!(at("2026-01-05 20:00:00").as_deref(), Some("2026-01-05T20:00:00Z"));
        assert_eq!(at("2026-01-05T20:00:00+08:00").as_deref(), Some("2026-01-05T12:00:00Z"));
        assert_eq!(at("yesterday"), None);
    }
}
