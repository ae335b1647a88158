//! Columns as JSON without loss: ids and times as text, fractions as text, other bytes in hexadecimal.

use jiff::Timestamp;
use serde_json::Value;

use crate::engine::schema;
use crate::engine::sql::{Connection, Result, ToSql, ValueRef};

/// A value for a column.
pub(super) enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

impl ToSql for Cell {
    fn to_sql(&self) -> Result<ValueRef<'_>> {
        Ok(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        })
    }
}

/// A column of a table.
pub(super) struct Column {
    pub(super) name: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Integer,
    /// Microseconds since 1970 (Unix time).
    Time,
    Real,
    Bytes,
}

/// Columns with times, besides those whose name ends with `_at`.
const TIME_COLUMNS: [&str; 6] =
    ["at", "event_time_start", "event_time_end", "valid_until", "muted_until", "last_sync"];
const ID_BYTES: usize = 16;

pub(super) fn list_columns(connection: &Connection, table: &str) -> Result<Vec<Column>> {
    let columns = schema::columns(connection, table)?.into_iter().map(|(name, declared)| {
        let kind = match declared.as_str() {
            "INTEGER" if name.ends_with("_at") || TIME_COLUMNS.contains(&name.as_str()) => Kind::Time,
            "INTEGER" => Kind::Integer,
            "REAL" => Kind::Real,
            "BLOB" => Kind::Bytes,
            _ => Kind::Text,
        };
        Column { name, kind }
    });
    Ok(columns.collect())
}

impl Column {
    pub(super) fn to_json(&self, cell: ValueRef<'_>) -> Value {
        match cell {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) if self.kind == Kind::Time => {
                Timestamp::from_microsecond(number).map_or(number.into(), |time| time.to_string().into())
            }
            ValueRef::Integer(number) => number.into(),
            // The shortest text that parses to the same number.
            ValueRef::Real(number) => number.to_string().into(),
            ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
            ValueRef::Blob(bytes) => match <[u8; ID_BYTES]>::try_from(bytes) {
                Ok(id) => uuid::Uuid::from_bytes(id).to_string().into(),
                Err(_) => hex::encode(bytes).into(),
            },
        }
    }

    /// Converts a JSON value; `None` if it does not fit the column.
    pub(super) fn read_json(&self, value: &Value) -> Option<Cell> {
        Some(match (self.kind, value) {
            (_, Value::Null) => Cell::Null,
            (Kind::Text, Value::String(text)) => Cell::Text(text.clone()),
            (Kind::Integer | Kind::Time, Value::Number(number)) => Cell::Integer(number.as_i64()?),
            (Kind::Time, Value::String(text)) => {
                Cell::Integer(text.parse::<Timestamp>().ok()?.as_microsecond())
            }
            (Kind::Real, Value::String(text)) => Cell::Real(text.parse().ok()?),
            (Kind::Bytes, Value::String(text)) => Cell::Blob(hex::decode(text.replace('-', "")).ok()?),
            _ => return None,
        })
    }
}
