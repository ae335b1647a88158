//! Values of columns and parameters.

use super::error::{Error, Result};

/// A value of one of the five column types.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ValueRef<'a> {
    Null,
    Integer(i64),
    Real(f64),
    /// Bytes that should be UTF-8; checked when they are read as text.
    Text(&'a [u8]),
    Blob(&'a [u8]),
}

impl<'a> ValueRef<'a> {
    pub(crate) fn as_str(self) -> Result<&'a str> {
        match self {
            Self::Text(text) => std::str::from_utf8(text).map_err(|error| Error::Unstorable(Box::new(error))),
            _ => Err(self.is_not("text")),
        }
    }

    pub(crate) fn as_str_or_null(self) -> Result<Option<&'a str>> {
        match self {
            Self::Null => Ok(None),
            _ => self.as_str().map(Some),
        }
    }

    pub(crate) fn as_blob(self) -> Result<&'a [u8]> {
        match self {
            Self::Blob(bytes) => Ok(bytes),
            _ => Err(self.is_not("bytes")),
        }
    }

    fn as_integer(self) -> Result<i64> {
        match self {
            Self::Integer(number) => Ok(number),
            _ => Err(self.is_not("an integer")),
        }
    }

    fn as_real(self) -> Result<f64> {
        match self {
            Self::Real(number) => Ok(number),
            Self::Integer(number) => Ok(number as f64),
            _ => Err(self.is_not("a number")),
        }
    }

    fn is_not(self, wanted: &'static str) -> Error {
        let found = match self {
            Self::Null => "NULL",
            Self::Integer(_) => "an integer",
            Self::Real(_) => "a number",
            Self::Text(_) => "text",
            Self::Blob(_) => "bytes",
        };
        Error::WrongType { found, wanted }
    }
}

impl<'a> From<rusqlite::types::ValueRef<'a>> for ValueRef<'a> {
    fn from(value: rusqlite::types::ValueRef<'a>) -> Self {
        match value {
            rusqlite::types::ValueRef::Null => Self::Null,
            rusqlite::types::ValueRef::Integer(number) => Self::Integer(number),
            rusqlite::types::ValueRef::Real(number) => Self::Real(number),
            rusqlite::types::ValueRef::Text(text) => Self::Text(text),
            rusqlite::types::ValueRef::Blob(bytes) => Self::Blob(bytes),
        }
    }
}

impl rusqlite::ToSql for ValueRef<'_> {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        Ok(rusqlite::types::ToSqlOutput::Borrowed(match *self {
            Self::Null => rusqlite::types::ValueRef::Null,
            Self::Integer(number) => rusqlite::types::ValueRef::Integer(number),
            Self::Real(number) => rusqlite::types::ValueRef::Real(number),
            Self::Text(text) => rusqlite::types::ValueRef::Text(text),
            Self::Blob(bytes) => rusqlite::types::ValueRef::Blob(bytes),
        }))
    }
}

/// Types that can be read from a column.
pub(crate) trait FromSql: Sized {
    fn from_sql(value: ValueRef<'_>) -> Result<Self>;
}

/// Types that can be parameters.
pub(crate) trait ToSql {
    fn to_sql(&self) -> Result<ValueRef<'_>>;
}

macro_rules! integers {
    ($($type:ty)+) => {$(
        impl FromSql for $type {
            fn from_sql(value: ValueRef<'_>) -> Result<Self> {
                let number = value.as_integer()?;
                Self::try_from(number).map_err(|_| Error::OutOfRange(number.to_string()))
            }
        }

        impl ToSql for $type {
            fn to_sql(&self) -> Result<ValueRef<'_>> {
                i64::try_from(*self).map(ValueRef::Integer).map_err(|_| Error::OutOfRange(self.to_string()))
            }
        }
    )+};
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 usize }

macro_rules! reals {
    ($($type:ty)+) => {$(
        impl FromSql for $type {
            fn from_sql(value: ValueRef<'_>) -> Result<Self> {
                Ok(value.as_real()? as $type)
            }
        }

        impl ToSql for $type {
            fn to_sql(&self) -> Result<ValueRef<'_>> {
                Ok(ValueRef::Real(f64::from(*self)))
            }
        }
    )+};
}

reals! { f32 f64 }

impl FromSql for bool {
    fn from_sql(value: ValueRef<'_>) -> Result<Self> {
        Ok(value.as_integer()? != 0)
    }
}

impl ToSql for bool {
    fn to_sql(&self) -> Result<ValueRef<'_>> {
        Ok(ValueRef::Integer(i64::from(*self)))
    }
}

impl FromSql for String {
    fn from_sql(value: ValueRef<'_>) -> Result<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl ToSql for String {
    fn to_sql(&self) -> Result<ValueRef<'_>> {
        self.as_str().to_sql()
    }
}

impl ToSql for str {
    fn to_sql(&self) -> Result<ValueRef<'_>> {
        Ok(ValueRef::Text(self.as_bytes()))
    }
}

impl FromSql for Vec<u8> {
    fn from_sql(value: ValueRef<'_>) -> Result<Self> {
        value.as_blob().map(<[u8]>::to_vec)
    }
}

impl ToSql for Vec<u8> {
    fn to_sql(&self) -> Result<ValueRef<'_>> {
        Ok(ValueRef::Blob(self))
    }
}

impl ToSql for [u8] {
    fn to_sql(&self) -> Result<ValueRef<'_>> {
        Ok(ValueRef::Blob(self))
    }
}

impl<const N: usize> FromSql for [u8; N] {
    fn from_sql(value: ValueRef<'_>) -> Result<Self> {
        let bytes = value.as_blob()?;
        bytes.try_into().map_err(|_| Error::OutOfRange(format!("a value of {} bytes", bytes.len())))
    }
}

impl<const N: usize> ToSql for [u8; N] {
    fn to_sql(&self) -> Result<ValueRef<'_>> {
        Ok(ValueRef::Blob(self))
    }
}

impl<T: FromSql> FromSql for Option<T> {
    fn from_sql(value: ValueRef<'_>) -> Result<Self> {
        match value {
            ValueRef::Null => Ok(None),
            value => T::from_sql(value).map(Some),
        }
    }
}

impl<T: ToSql> ToSql for Option<T> {
    fn to_sql(&self) -> Result<ValueRef<'_>> {
        self.as_ref().map_or(Ok(ValueRef::Null), ToSql::to_sql)
    }
}

impl<T: ToSql + ?Sized> ToSql for &T {
    fn to_sql(&self) -> Result<ValueRef<'_>> {
        (**self).to_sql()
    }
}
