//! What the store's statements are written against: prepared statements with numbered parameters (`?1`), and typed
//! columns of rows. An engine is behind it; nothing outside of [`crate::engine`] names its driver.

mod error;
mod parameters;
mod values;

pub(crate) use error::{Error, OptionalExtension, Result};
pub(crate) use parameters::{Parameters, params};
pub(crate) use values::{FromSql, ToSql, ValueRef};

/// A connection to a home's database. It belongs to one thread at a time.
pub(crate) struct Connection {
    sqlite: rusqlite::Connection,
}

impl From<rusqlite::Connection> for Connection {
    fn from(sqlite: rusqlite::Connection) -> Self {
        Self { sqlite }
    }
}

impl Connection {
    /// The driver's connection, for what belongs to its engine alone.
    pub(crate) fn sqlite(&self) -> &rusqlite::Connection {
        &self.sqlite
    }

    /// The statement; the connection keeps it prepared for the next time.
    pub(crate) fn prepare_cached(&self, statement: &str) -> Result<Statement<'_>> {
        Ok(Statement { connection: &self.sqlite, prepared: self.sqlite.prepare_cached(statement)? })
    }

    /// Runs a statement that is rarely used; returns the number of rows it changed.
    pub(crate) fn execute(&self, statement: &str, parameters: impl Parameters) -> Result<usize> {
        self.prepare_cached(statement)?.execute(parameters)
    }

    /// The first row of a query that is rarely used.
    pub(crate) fn query_row<T>(
        &self,
        statement: &str,
        parameters: impl Parameters,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.prepare_cached(statement)?.query_row(parameters, read)
    }

    /// Runs several statements without parameters, separated by semicolons.
    pub(crate) fn execute_batch(&self, statements: &str) -> Result<()> {
        Ok(self.sqlite.execute_batch(statements)?)
    }

    /// Whether a transaction has begun and neither ended nor been given up by the engine.
    pub(crate) fn is_in_transaction(&self) -> bool {
        !self.sqlite.is_autocommit()
    }

    pub(crate) fn close(self) -> Result<()> {
        self.sqlite.close().map_err(|(_, error)| error.into())
    }
}

/// A prepared statement of a [`Connection`].
pub(crate) struct Statement<'c> {
    connection: &'c rusqlite::Connection,
    prepared: rusqlite::CachedStatement<'c>,
}

impl Statement<'_> {
    /// Runs a statement that returns no rows; returns the number of rows it changed.
    pub(crate) fn execute(&mut self, parameters: impl Parameters) -> Result<usize> {
        self.bind(parameters)?;
        Ok(self.prepared.raw_execute()?)
    }

    /// Inserts one row; returns its number.
    pub(crate) fn insert(&mut self, parameters: impl Parameters) -> Result<i64> {
        match self.execute(parameters)? {
            1 => Ok(self.connection.last_insert_rowid()),
            changed => Err(Error::ChangedRows(changed)),
        }
    }

    /// The rows of a query, to be read one after the other.
    pub(crate) fn query(&mut self, parameters: impl Parameters) -> Result<Rows<'_>> {
        self.bind(parameters)?;
        Ok(Rows { rows: self.prepared.raw_query() })
    }

    /// The rows of a query, each as `read` makes it.
    pub(crate) fn query_map<T, F>(
        &mut self,
        parameters: impl Parameters,
        read: F,
    ) -> Result<MappedRows<'_, F>>
    where
        F: FnMut(&Row<'_>) -> Result<T>,
    {
        Ok(MappedRows { rows: self.query(parameters)?, read })
    }

    /// The first row of a query. [`Error::QueryReturnedNoRows`] if there is none.
    pub(crate) fn query_row<T>(
        &mut self,
        parameters: impl Parameters,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.query(parameters)?.next()?.ok_or(Error::QueryReturnedNoRows).and_then(|row| read(&row))
    }

    /// Whether a query returns any row.
    pub(crate) fn exists(&mut self, parameters: impl Parameters) -> Result<bool> {
        Ok(self.query(parameters)?.next()?.is_some())
    }

    fn bind(&mut self, parameters: impl Parameters) -> Result<()> {
        let mut bound = 0;
        parameters.each(|value| {
            bound += 1;
            Ok(self.prepared.raw_bind_parameter(bound, value)?)
        })?;
        match self.prepared.parameter_count() {
            wanted if wanted == bound => Ok(()),
            wanted => Err(Error::ParameterCount { bound, wanted }),
        }
    }
}

/// The rows of a query.
pub(crate) struct Rows<'s> {
    rows: rusqlite::Rows<'s>,
}

impl Rows<'_> {
    /// The next row; `None` after the last one.
    pub(crate) fn next(&mut self) -> Result<Option<Row<'_>>> {
        Ok(self.rows.next()?.map(|row| Row { row }))
    }
}

/// The rows of a query, each made into something else.
pub(crate) struct MappedRows<'s, F> {
    rows: Rows<'s>,
    read: F,
}

impl<T, F> Iterator for MappedRows<'_, F>
where
    F: FnMut(&Row<'_>) -> Result<T>,
{
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.rows.next() {
            Ok(row) => row.map(|row| (self.read)(&row)),
            Err(error) => Some(Err(error)),
        }
    }
}

/// One row of a query.
pub(crate) struct Row<'r> {
    row: &'r rusqlite::Row<'r>,
}

impl Row<'_> {
    /// The value of a column, counted from 0.
    pub(crate) fn get<T: FromSql>(&self, column: usize) -> Result<T> {
        T::from_sql(self.get_ref(column)?).map_err(|error| error.at(column))
    }

    /// The value of a column as the engine holds it.
    pub(crate) fn get_ref(&self, column: usize) -> Result<ValueRef<'_>> {
        Ok(self.row.get_ref(column)?.into())
    }
}

#[cfg(test)]
mod tests;
