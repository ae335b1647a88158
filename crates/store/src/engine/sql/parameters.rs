//! Lists of parameters: arrays of one type, `params!` and tuples of several types.

use super::error::Result;
use super::values::{ToSql, ValueRef};

/// The parameters of one call, in the order of their numbers.
pub(crate) trait Parameters {
    /// Passes each value to `bind`.
    fn bind_each(self, bind: impl FnMut(ValueRef<'_>) -> Result<()>) -> Result<()>;
}

impl Parameters for &[&dyn ToSql] {
    fn bind_each(self, mut bind: impl FnMut(ValueRef<'_>) -> Result<()>) -> Result<()> {
        self.iter().try_for_each(|value| bind(value.to_sql()?))
    }
}

impl Parameters for &[ValueRef<'_>] {
    fn bind_each(self, mut bind: impl FnMut(ValueRef<'_>) -> Result<()>) -> Result<()> {
        self.iter().try_for_each(|value| bind(*value))
    }
}

impl Parameters for [&(dyn ToSql + Send + Sync); 0] {
    fn bind_each(self, _: impl FnMut(ValueRef<'_>) -> Result<()>) -> Result<()> {
        Ok(())
    }
}

macro_rules! arrays {
    ($($length:literal)+) => {$(
        impl<T: ToSql> Parameters for [T; $length] {
            fn bind_each(self, mut bind: impl FnMut(ValueRef<'_>) -> Result<()>) -> Result<()> {
                self.iter().try_for_each(|value| bind(value.to_sql()?))
            }
        }
    )+};
}

arrays! { 1 2 3 4 5 6 }

macro_rules! tuples {
    ($(($($name:ident $field:tt),+))+) => {$(
        impl<$($name: ToSql),+> Parameters for ($($name,)+) {
            fn bind_each(self, mut bind: impl FnMut(ValueRef<'_>) -> Result<()>) -> Result<()> {
                $(bind(self.$field.to_sql()?)?;)+
                Ok(())
            }
        }
    )+};
}

tuples! { (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) (A 0, B 1, C 2, D 3, E 4) }

/// Creates parameters of different types.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$(&$value as &dyn $crate::engine::sql::ToSql),*] as &[&dyn $crate::engine::sql::ToSql]
    };
}
pub(crate) use params;
