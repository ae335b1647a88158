//! The interface of the store's statements: prepared statements with numbered parameters (`?1`), and typed columns of
//! rows. Only [`crate::engine`] uses the drivers.

use crate::engine::postgres::{Server, ServerRow, to_sql_values};

pub(super) mod error;
pub(super) mod parameters;
pub(super) mod values;
pub(super) mod word_dialect;

pub(crate) use error::{Error, OptionalExtension, Result};
pub(crate) use parameters::{Parameters, params};
pub(crate) use values::{FromSql, ToSql, ValueRef};
use word_dialect::FULL_TEXT;
pub(crate) use word_dialect::WordDialect;

/// A connection to a home's database. It belongs to one thread at a time.
pub(crate) enum Connection {
    Sqlite(rusqlite::Connection),
    Postgres(Box<Server>),
}

impl From<rusqlite::Connection> for Connection {
    fn from(sqlite: rusqlite::Connection) -> Self {
        Self::Sqlite(sqlite)
    }
}

impl Connection {
    /// The connection to a file, for code that is specific to SQLite.
    pub(crate) fn sqlite(&self) -> Option<&rusqlite::Connection> {
        match self {
            Self::Sqlite(sqlite) => Some(sqlite),
            Self::Postgres(_) => None,
        }
    }

    /// Connects to the server again if the connection was lost. A file is never lost.
    pub(crate) fn reconnect_if_lost(&self) -> Result<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(server) => server.reconnect_if_lost(),
        }
    }

    /// Returns the statement; the connection caches it in prepared form.
    pub(crate) fn prepare_cached(&self, statement: &str) -> Result<Statement<'_>> {
        Ok(match self {
            Self::Sqlite(connection) => {
                Statement::Sqlite { connection, prepared: connection.prepare_cached(statement)? }
            }
            Self::Postgres(server) => {
                server.note(statement)?;
                Statement::Postgres { server, prepared: server.prepare(statement)?, rows: Vec::new() }
            }
        })
    }

    /// Runs an uncached statement; returns the number of rows that it changed.
    pub(crate) fn execute(&self, statement: &str, parameters: impl Parameters) -> Result<usize> {
        self.prepare_cached(statement)?.execute(parameters)
    }

    /// The first row of an uncached query.
    pub(crate) fn query_row<T>(
        &self,
        statement: &str,
        parameters: impl Parameters,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.prepare_cached(statement)?.query_row(parameters, read)
    }

    /// The rows of several queries. On a server they take one round trip.
    pub(crate) fn query_all<'q, T, P: Parameters>(
        &self,
        queries: impl IntoIterator<Item = (&'q str, P)>,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<Vec<T>>> {
        let queries = queries.into_iter();
        let Self::Postgres(server) = self else {
            let mut rows =
                |(query, parameters)| self.prepare_cached(query)?.query_map(parameters, &mut read)?.collect();
            return queries.map(&mut rows).collect();
        };
        let asked =
            queries.map(|(query, parameters)| Ok((server.prepare(query)?, to_sql_values(parameters)?)));
        let answers = server.query_all(asked.collect::<Result<_>>()?)?;
        let mut rows = |rows: &Vec<ServerRow>| rows.iter().map(|row| read(&Row::Postgres(row))).collect();
        answers.iter().map(&mut rows).collect()
    }

    /// The rows of a query for each set of parameters. On a server they take one round trip.
    pub(crate) fn query_each<T, P: Parameters>(
        &self,
        query: &str,
        sets: impl IntoIterator<Item = P>,
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<Vec<T>>> {
        self.query_all(sets.into_iter().map(|parameters| (query, parameters)), read)
    }

    /// The query syntax of the engine's word index.
    pub(crate) fn word_dialect(&self) -> &'static WordDialect {
        match self {
            Self::Sqlite(_) => &FULL_TEXT,
            Self::Postgres(_) => &crate::engine::postgres::TEXT_SEARCH,
        }
    }

    /// Runs several statements without parameters, separated by semicolons.
    pub(crate) fn execute_batch(&self, statements: &str) -> Result<()> {
        match self {
            Self::Sqlite(sqlite) => Ok(sqlite.execute_batch(statements)?),
            Self::Postgres(server) => {
                server.note(statements)?;
                server.execute_batch(statements)
            }
        }
    }

    /// Calls `each` for the rows of a query, without holding all of them in memory. Needs an open transaction.
    pub(crate) fn each_row<E: From<Error>>(
        &self,
        query: &str,
        parameters: impl Parameters,
        mut each: impl FnMut(&Row<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        match self {
            Self::Sqlite(_) => {
                let mut statement = self.prepare_cached(query)?;
                let mut rows = statement.query(parameters)?;
                while let Some(row) = rows.next()? {
                    each(&row)?;
                }
                Ok(())
            }
            Self::Postgres(server) => server.each_row(query, parameters, |row| each(&Row::Postgres(row))),
        }
    }

    /// Inserts many rows into a table. `produce` is called once, with a function that adds a row of values in the
    /// order of the columns.
    pub(crate) fn insert_rows<E>(
        &self,
        table: &str,
        columns: &[String],
        failed: fn(Error) -> E,
        produce: impl FnOnce(&mut dyn FnMut(&[ValueRef<'_>]) -> Result<()>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        match self {
            Self::Sqlite(_) => {
                let names: Vec<String> = columns.iter().map(|column| format!("\"{column}\"")).collect();
                let places = vec!["?"; columns.len()].join(", ");
                let insert = format!("INSERT INTO \"{table}\" ({}) VALUES ({places})", names.join(", "));
                let mut insert = self.prepare_cached(&insert).map_err(failed)?;
                produce(&mut |values| insert.execute(values).map(|_| ()))
            }
            Self::Postgres(server) => server.copy_rows_in(table, columns, failed, produce),
        }
    }

    /// True if a transaction is open: neither ended nor aborted by the engine.
    pub(crate) fn is_in_transaction(&self) -> bool {
        match self {
            Self::Sqlite(sqlite) => !sqlite.is_autocommit(),
            Self::Postgres(server) => server.is_in_transaction(),
        }
    }

    /// Begins a writing transaction.
    pub(crate) fn begin_write(&self) -> Result<()> {
        match self {
            Self::Sqlite(sqlite) => Ok(sqlite.prepare_cached("BEGIN IMMEDIATE")?.execute([]).map(drop)?),
            Self::Postgres(server) => server.begin_write(),
        }
    }

    /// Prepares for one reading statement outside of a transaction. A connection that the server has closed is opened
    /// again.
    pub(crate) fn begin_statement(&self) -> Result<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(server) => server.begin_statement(),
        }
    }

    /// Ends the permission of [`Self::begin_statement`]; further statements are an error of this program.
    pub(crate) fn end_statement(&self) {
        if let Self::Postgres(server) = self {
            server.end_statement();
        }
    }

    /// Begins a reading transaction with one snapshot.
    pub(crate) fn begin_read(&self) -> Result<()> {
        match self {
            Self::Sqlite(sqlite) => Ok(sqlite.prepare_cached("BEGIN DEFERRED")?.execute([]).map(drop)?),
            Self::Postgres(server) => server.begin_read(),
        }
    }

    /// Ends a reading transaction, unless it has ended already, for instance because a device failed.
    pub(crate) fn end_read(&self) -> Result<()> {
        match self {
            Self::Sqlite(sqlite) if sqlite.is_autocommit() => Ok(()),
            Self::Sqlite(sqlite) => Ok(sqlite.prepare_cached("ROLLBACK")?.execute([]).map(drop)?),
            Self::Postgres(server) => {
                server.end_read();
                Ok(())
            }
        }
    }

    /// Commits a writing transaction. On a server, [`Error::NotCommitted`] and [`Error::MaybeCommitted`] report the
    /// result if the confirmation was lost.
    pub(crate) fn commit_write(&self) -> Result<()> {
        match self {
            Self::Sqlite(sqlite) => Ok(sqlite.prepare_cached("COMMIT")?.execute([]).map(drop)?),
            Self::Postgres(server) => server.commit_write(),
        }
    }

    /// Rolls back a writing transaction.
    pub(crate) fn roll_back(&self) -> Result<()> {
        match self {
            Self::Sqlite(sqlite) => Ok(sqlite.prepare_cached("ROLLBACK")?.execute([]).map(drop)?),
            Self::Postgres(server) => server.roll_back(),
        }
    }

    /// Runs an operation without a time limit, for those that read or rewrite everything.
    pub(crate) fn without_limit<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        match self {
            Self::Sqlite(_) => Ok(work()),
            Self::Postgres(server) => server.without_limit(work),
        }
    }

    pub(crate) fn close(self) -> Result<()> {
        match self {
            Self::Sqlite(sqlite) => sqlite.close().map_err(|(_, error)| error.into()),
            Self::Postgres(server) => server.close(),
        }
    }
}

/// A prepared statement of a [`Connection`].
pub(crate) enum Statement<'c> {
    Sqlite { connection: &'c rusqlite::Connection, prepared: rusqlite::CachedStatement<'c> },
    Postgres { server: &'c Server, prepared: tokio_postgres::Statement, rows: Vec<ServerRow> },
}

impl Statement<'_> {
    /// Runs a statement without rows; returns the number of rows that it changed.
    pub(crate) fn execute(&mut self, parameters: impl Parameters) -> Result<usize> {
        match self {
            Self::Sqlite { prepared, .. } => {
                bind(prepared, parameters)?;
                Ok(prepared.raw_execute()?)
            }
            Self::Postgres { server, prepared, .. } => server.execute(prepared, parameters),
        }
    }

    /// Runs a statement whose result is not needed. On a server it is not waited for: if it fails, so does the next
    /// statement of the transaction that is waited for, or the commit.
    pub(crate) fn send(&mut self, parameters: impl Parameters) -> Result<()> {
        match self {
            Self::Sqlite { .. } => self.execute(parameters).map(drop),
            Self::Postgres { server, prepared, .. } => server.send(prepared, parameters),
        }
    }

    /// Inserts one row; returns its number.
    pub(crate) fn insert(&mut self, parameters: impl Parameters) -> Result<i64> {
        let (changed, number) = match self {
            Self::Sqlite { connection, prepared } => {
                bind(prepared, parameters)?;
                (prepared.raw_execute()?, connection.last_insert_rowid())
            }
            Self::Postgres { server, prepared, .. } => {
                let inserted = server.insert_each(prepared, vec![to_sql_values(parameters)?])?;
                return inserted.into_iter().next().ok_or(Error::ChangedRows(0));
            }
        };
        match changed {
            1 => Ok(number),
            changed => Err(Error::ChangedRows(changed)),
        }
    }

    /// Inserts one row for each item; returns their numbers. `bind` is called with an item and a function that takes
    /// its parameters. On a server they take one round trip.
    pub(crate) fn insert_each<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        bind: impl Fn(T, &mut dyn FnMut(&[&dyn ToSql]) -> Result<()>) -> Result<()>,
    ) -> Result<Vec<i64>> {
        if let Self::Postgres { server, prepared, .. } = self {
            let mut rows = Vec::new();
            for item in items {
                bind(item, &mut |parameters| {
                    rows.push(to_sql_values(parameters)?);
                    Ok(())
                })?;
            }
            return server.insert_each(prepared, rows);
        }
        let mut numbers = Vec::new();
        for item in items {
            bind(item, &mut |parameters| {
                numbers.push(self.insert(parameters)?);
                Ok(())
            })?;
        }
        Ok(numbers)
    }

    /// The rows of a query, one after another.
    pub(crate) fn query(&mut self, parameters: impl Parameters) -> Result<Rows<'_>> {
        match self {
            Self::Sqlite { prepared, .. } => {
                bind(prepared, parameters)?;
                Ok(Rows::Sqlite(prepared.raw_query()))
            }
            Self::Postgres { server, prepared, rows } => {
                *rows = server.query(prepared, parameters)?;
                Ok(Rows::Postgres(rows.iter()))
            }
        }
    }

    /// The rows of a query, converted by `read`.
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

    /// True if a query returns any row.
    pub(crate) fn exists(&mut self, parameters: impl Parameters) -> Result<bool> {
        Ok(self.query(parameters)?.next()?.is_some())
    }
}

fn bind(prepared: &mut rusqlite::CachedStatement<'_>, parameters: impl Parameters) -> Result<()> {
    let mut bound = 0;
    parameters.bind_each(|value| {
        bound += 1;
        Ok(prepared.raw_bind_parameter(bound, value)?)
    })?;
    match prepared.parameter_count() {
        wanted if wanted == bound => Ok(()),
        wanted => Err(Error::ParameterCount { bound, wanted }),
    }
}

/// The rows of a query.
pub(crate) enum Rows<'s> {
    Sqlite(rusqlite::Rows<'s>),
    Postgres(std::slice::Iter<'s, ServerRow>),
}

impl Rows<'_> {
    /// The next row; `None` after the last one.
    pub(crate) fn next(&mut self) -> Result<Option<Row<'_>>> {
        match self {
            Self::Sqlite(rows) => Ok(rows.next()?.map(Row::Sqlite)),
            Self::Postgres(rows) => Ok(rows.next().map(Row::Postgres)),
        }
    }
}

/// The rows of a query, converted.
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
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r ServerRow),
}

impl Row<'_> {
    /// The value of a column, by its zero-based index.
    pub(crate) fn get<T: FromSql>(&self, column: usize) -> Result<T> {
        T::from_sql(self.get_ref(column)?).map_err(|error| error.with_column(column))
    }

    /// The values of the first columns.
    pub(crate) fn values(&self, columns: usize) -> Result<Vec<ValueRef<'_>>> {
        (0..columns).map(|column| self.get_ref(column)).collect()
    }

    /// The value of a column in the engine's form.
    pub(crate) fn get_ref(&self, column: usize) -> Result<ValueRef<'_>> {
        match self {
            Self::Sqlite(row) => Ok(row.get_ref(column)?.into()),
            Self::Postgres(row) => row.get_ref(column),
        }
    }
}

#[cfg(test)]
mod tests;
