//! Values in PostgreSQL's wire format.

use std::error::Error as StdError;

use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::engine::sql::{Error, Result, ValueRef};

type Outcome<T> = std::result::Result<T, Box<dyn StdError + Sync + Send>>;

/// A parameter, whose type the server determines.
#[derive(Debug)]
pub(crate) enum SqlValue {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

impl From<ValueRef<'_>> for SqlValue {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(text) => Self::Text(encode_nul(&String::from_utf8_lossy(text))),
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }
}

impl ToSql for SqlValue {
    fn to_sql(&self, wanted: &Type, out: &mut BytesMut) -> Outcome<IsNull> {
        match (self, wanted) {
            (Self::Null, _) => Ok(IsNull::Yes),
            (Self::Integer(number), &Type::INT8) => number.to_sql(wanted, out),
            (Self::Integer(number), &Type::INT4) => i32::try_from(*number)?.to_sql(wanted, out),
            (Self::Integer(number), &Type::BOOL) => (*number != 0).to_sql(wanted, out),
            (Self::Integer(number), &Type::FLOAT8) => (*number as f64).to_sql(wanted, out),
            (Self::Integer(number), &Type::TEXT) => number.to_string().to_sql(wanted, out),
            (Self::Real(number), &Type::FLOAT8) => number.to_sql(wanted, out),
            (Self::Text(text), &Type::TEXT) => text.to_sql(wanted, out),
            (Self::Text(text), &Type::INT8) => text.parse::<i64>()?.to_sql(wanted, out),
            (Self::Blob(bytes), &Type::BYTEA) => bytes.to_sql(wanted, out),
            (value, wanted) => Err(format!("{value:?} was given where {wanted} is wanted").into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Encodes a character that PostgreSQL's text can't hold. It is a noncharacter, so no text uses it.
const ESCAPE_CHARACTER: char = '\u{10FFFE}';

/// Encodes NUL characters, which PostgreSQL refuses. [`decode_nul`] restores them.
fn encode_nul(text: &str) -> String {
    if !text.contains(['\0', ESCAPE_CHARACTER]) {
        return text.to_owned();
    }
    let mut encoded = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\0' => encoded.extend([ESCAPE_CHARACTER, '0']),
            ESCAPE_CHARACTER => encoded.extend([ESCAPE_CHARACTER, ESCAPE_CHARACTER]),
            _ => encoded.push(character),
        }
    }
    encoded
}

/// Decodes a text; `nul` is the encoding of NUL in its source. `None` if nothing was encoded.
fn decode_nul(text: &str, nul: &str) -> Option<String> {
    if !text.contains(ESCAPE_CHARACTER) {
        return None;
    }
    let mut decoded = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character == ESCAPE_CHARACTER).then(|| characters.next()) {
            None => decoded.push(character),
            Some(Some('0')) => decoded.push_str(nul),
            Some(other) => decoded.extend(other),
        }
    }
    Some(decoded)
}

/// A row of a query, with its decoded texts.
pub(crate) struct ServerRow {
    row: Row,
    decoded: Vec<(usize, String)>,
}

impl From<Row> for ServerRow {
    fn from(row: Row) -> Self {
        let decoded = row.columns().iter().enumerate().filter_map(|(column, description)| {
            let text = match *description.type_() {
                Type::TEXT => decode_nul(row.try_get::<_, Option<&str>>(column).ok()??, "\0"),
                Type::JSON => decode_nul(row.try_get::<_, Option<JsonText<'_>>>(column).ok()??.0, "\\u0000"),
                _ => None,
            };
            text.map(|text| (column, text))
        });
        Self { decoded: decoded.collect(), row }
    }
}

impl ServerRow {
    /// The value of a column.
    pub(crate) fn get_ref(&self, column: usize) -> Result<ValueRef<'_>> {
        if let Some((_, text)) = self.decoded.iter().find(|(decoded, _)| *decoded == column) {
            return Ok(ValueRef::Text(text.as_bytes()));
        }
        value_at(&self.row, column)
    }
}

fn value_at(row: &Row, column: usize) -> Result<ValueRef<'_>> {
    let Some(description) = row.columns().get(column) else {
        return Err(Error::OutOfRange(format!("column {column}")));
    };
    let real = |value: Option<f64>| value.map_or(ValueRef::Null, ValueRef::Real);
    let integer = |value: Option<i64>| value.map_or(ValueRef::Null, ValueRef::Integer);
    Ok(match *description.type_() {
        Type::INT8 => integer(row.try_get(column)?),
        Type::INT4 => integer(row.try_get::<_, Option<i32>>(column)?.map(i64::from)),
        Type::BOOL => integer(row.try_get::<_, Option<bool>>(column)?.map(i64::from)),
        Type::FLOAT8 => real(row.try_get(column)?),
        Type::NUMERIC => integer(row.try_get::<_, Option<WholeNumber>>(column)?.map(|number| number.0)),
        Type::TEXT | Type::VARCHAR | Type::UNKNOWN | Type::NAME => {
            let text: Option<&str> = row.try_get(column)?;
            text.map_or(ValueRef::Null, |text| ValueRef::Text(text.as_bytes()))
        }
        Type::JSON => {
            let text: Option<JsonText<'_>> = row.try_get(column)?;
            text.map_or(ValueRef::Null, |text| ValueRef::Text(text.0.as_bytes()))
        }
        Type::BYTEA => row.try_get::<_, Option<&[u8]>>(column)?.map_or(ValueRef::Null, ValueRef::Blob),
        _ => {
            return Err(Error::WrongType { found: "of a type that columns do not have", wanted: "readable" });
        }
    })
}

/// JSON in its original form.
struct JsonText<'a>(&'a str);

impl<'a> FromSql<'a> for JsonText<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Outcome<Self> {
        Ok(Self(std::str::from_utf8(raw)?))
    }

    fn accepts(wanted: &Type) -> bool {
        *wanted == Type::JSON
    }
}

/// A whole number from a NUMERIC, the type of sums.
struct WholeNumber(i64);

impl<'a> FromSql<'a> for WholeNumber {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Outcome<Self> {
        let digit = |place: usize| -> Outcome<i64> {
            let bytes = raw.get(place * 2..place * 2 + 2).ok_or("a number is cut off")?;
            Ok(i64::from(u16::from_be_bytes(bytes.try_into()?)))
        };
        let (count, weight, sign) = (digit(0)?, digit(1)? as i16, digit(2)?);
        let mut number: i64 = 0;
        for place in 0..=i64::from(weight).max(-1) {
            let next = if place < count { digit(4 + usize::try_from(place)?)? } else { 0 };
            number = number.checked_mul(10_000).and_then(|n| n.checked_add(next)).ok_or("too large")?;
        }
        Ok(Self(if sign == 0x4000 { -number } else { number }))
    }

    fn accepts(wanted: &Type) -> bool {
        *wanted == Type::NUMERIC
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nul_is_kept_in_text() {
        for text in ["", "安心", "a\0b", "\0\0", "\u{10FFFE}0", "\0\u{10FFFE}"] {
            let encoded = encode_nul(text);
            assert!(!encoded.contains('\0'), "{text:?}");
            assert_eq!(decode_nul(&encoded, "\0").as_deref().unwrap_or(&encoded), text);
        }
    }
}
