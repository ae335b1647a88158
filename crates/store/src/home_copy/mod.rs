//! Copies of a whole home between databases of any engine: every row unchanged, with the same numbers. Word indexes
//! are built from the rows.
//!
//! A copy is one transaction on the target, from one snapshot of the source: a failed copy leaves nothing, and can be
//! repeated.

mod digest;
mod into_file;
mod into_server;

use std::fmt;
use std::path::PathBuf;

use memory::ports::StoreError;

use crate::engine::connection::{inspect_existing, open_for_reading};
use crate::engine::failure::Failure;
use crate::engine::sql::{Connection, Error, ValueRef};
use crate::engine::{ServerAddress, StoreOptions, migrate, postgres, schema};

use digest::TableDigest;

/// A database that contains or will contain a home.
#[derive(Clone, Debug)]
pub enum HomeDatabase {
    File(PathBuf),
    /// A database on a PostgreSQL server.
    Server(ServerAddress),
}

impl fmt::Display for HomeDatabase {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(out, "{}", path.display()),
            Self::Server(address) => write!(out, "{address}"),
        }
    }
}

/// Settings for copying a home.
#[derive(Clone, Copy, Debug, Default)]
pub struct CopySettings {
    /// True to refuse a source on a server that a daemon uses. Otherwise the copy has the state at its beginning.
    pub refuses_used_source: bool,
    /// True to replace an existing home on a server. Files are never replaced.
    pub replaces: bool,
}

/// Progress of copying a home.
#[derive(Clone, Copy, Debug)]
pub struct CopyProgress<'a> {
    pub table: &'a str,
    /// Number of its rows copied so far.
    pub rows: u64,
    /// True if all rows of the table are copied.
    pub is_complete: bool,
}

/// Counts of copied rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyReport {
    /// Number of tables, including empty ones.
    pub tables: u64,
    /// Number of rows of all tables.
    pub rows: u64,
    /// Counts of live rows.
    pub home: HomeCounts,
}

/// Rows between two reports of progress. They take a second or less.
const PROGRESS_ROWS: u64 = 50_000;

/// Copies a home, reads the copy back, and compares the number of rows and their digest for every table. Blocks: call
/// it on a thread for blocking work.
///
/// # Errors
///
/// [`StoreError::Unusable`] if the source can't be read, is not a home, or has another schema, or if a target on a
/// server is not empty. [`StoreError::Unwritable`] if the target can't be written or the file exists. The target is
/// then unchanged.
pub fn copy_home(
    from: &HomeDatabase,
    to: &HomeDatabase,
    settings: CopySettings,
    progress: &mut dyn FnMut(CopyProgress<'_>),
) -> Result<CopyReport, StoreError> {
    let source = begin_reading(from, settings.refuses_used_source)?;
    let mut copy = HomeCopy { source: &source, progress };
    match to {
        HomeDatabase::File(path) => into_file::copy(&mut copy, path),
        HomeDatabase::Server(address) => into_server::copy(&mut copy, address, settings.replaces),
    }
    .map_err(|error| error.into_store_error(from, to))
}

/// A connection with one snapshot of the home. With `refuses_used`, no program may hold a database on a server.
pub(crate) fn begin_reading(from: &HomeDatabase, refuses_used: bool) -> Result<Connection, StoreError> {
    let read = |error: Error| Failure::from(error).into_read_error();
    match from {
        HomeDatabase::File(path) => {
            if inspect_existing(path)? {
                return Err(StoreError::Unusable(format!("{} is empty", path.display())));
            }
            let file = open_for_reading(path, &StoreOptions::default())?;
            migrate::check(&file, path, migrate::MIGRATIONS)?;
            let newest = migrate::MIGRATIONS.last().map_or(0, |migration| migration.number);
            let connection = Connection::from(file);
            if migrate::recorded_version(&connection).map_err(read)? != newest {
                return Err(StoreError::Unusable(format!(
                    "{} is of an older version; `echovessel run` upgrades it. Nothing was changed",
                    path.display()
                )));
            }
            connection.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema;").map_err(read)?;
            Ok(connection)
        }
        HomeDatabase::Server(address) => {
            let server = postgres::open_for_reading(address)?;
            if refuses_used && postgres::is_held(address)? {
                return Err(address.database_in_use_error());
            }
            let connection = Connection::Postgres(Box::new(server));
            connection.execute_batch("BEGIN DEFERRED").map_err(read)?;
            Ok(connection)
        }
    }
}

/// Counts of a home's live rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomeCounts {
    pub messages: u64,
    /// Number of events, thoughts, intentions and expectations.
    pub nodes: u64,
}

impl HomeCounts {
    fn count_rows(connection: &Connection) -> crate::engine::sql::Result<Self> {
        let count = |statement| connection.query_row(statement, [], |row| row.get(0));
        Ok(Self {
            messages: count("SELECT count(*) FROM recall_messages WHERE deleted_at IS NULL")?,
            nodes: count("SELECT count(*) FROM concept_nodes WHERE deleted_at IS NULL")?,
        })
    }
}

/// Counts what a database on a server contains; `None` if it is empty. Blocks.
///
/// # Errors
///
/// [`StoreError::Unusable`] if it can't be read, is another program's, or has another schema.
pub fn count_home(address: &ServerAddress) -> Result<Option<HomeCounts>, StoreError> {
    if postgres::is_empty(address)? {
        return Ok(None);
    }
    let connection = begin_reading(&HomeDatabase::Server(address.clone()), false)?;
    HomeCounts::count_rows(&connection).map(Some).map_err(|error| Failure::from(error).into_read_error())
}

/// Why a copy failed.
enum CopyError {
    Source(Error),
    Target(Error),
    Store(StoreError),
    /// The copy differs from its source, or is damaged.
    Different(String),
}

/// Errors of reading rows are errors of the source.
impl From<Error> for CopyError {
    fn from(error: Error) -> Self {
        Self::Source(error)
    }
}

impl CopyError {
    fn into_store_error(self, from: &HomeDatabase, to: &HomeDatabase) -> StoreError {
        let named = |database: &HomeDatabase, error: StoreError| {
            let words = |reason| format!("{database}: {reason}. Nothing was copied");
            match error {
                StoreError::Unusable(reason) => StoreError::Unusable(words(reason)),
                StoreError::Unwritable(reason) => StoreError::Unwritable(words(reason)),
                StoreError::Busy(reason) => StoreError::Busy(words(reason)),
                error => StoreError::Failed(words(error.to_string())),
            }
        };
        match self {
            Self::Source(error) => named(from, Failure::from(error).into_read_error()),
            Self::Target(error) => named(to, Failure::from(error).into_write_error()),
            Self::Store(error) => error,
            Self::Different(reason) => StoreError::Failed(format!(
                "the copy in {to} differs: {reason}. It was removed; check the source with `echovessel doctor`"
            )),
        }
    }
}

/// A copy in progress.
struct HomeCopy<'a> {
    source: &'a Connection,
    progress: &'a mut dyn FnMut(CopyProgress<'_>),
}

impl HomeCopy<'_> {
    /// Copies the rows of all tables in a transaction of the target, with foreign keys and triggers disabled, and
    /// compares them with the rows read back.
    fn copy_rows(&mut self, target: &Connection) -> Result<CopyReport, CopyError> {
        let tables = schema::tables(self.source)?;
        if tables != schema::tables(target).map_err(CopyError::Target)? {
            return Err(CopyError::Different("the databases have different tables".to_owned()));
        }
        let mut rows = 0;
        for table in &tables {
            let columns: Vec<String> =
                schema::columns(self.source, table)?.into_iter().map(|(name, _)| name).collect();
            let copied = self.table(target, table, &columns)?;
            let mut found = TableDigest::default();
            target
                .each_row(&select(table, &columns), [], |row| found.add(&row.values(columns.len())?))
                .map_err(CopyError::Target)?;
            if copied != found {
                return Err(CopyError::Different(format!(
                    "table {table} has {} rows but the source has {}, or its values differ",
                    found.rows, copied.rows
                )));
            }
            rows += copied.rows;
        }
        Ok(CopyReport { tables: tables.len() as u64, rows, home: HomeCounts::count_rows(self.source)? })
    }

    fn table(
        &mut self,
        target: &Connection,
        table: &str,
        columns: &[String],
    ) -> Result<TableDigest, CopyError> {
        let (source, progress) = (self.source, &mut *self.progress);
        let mut digest = TableDigest::default();
        target.insert_rows(table, columns, CopyError::Target, |add| {
            source.each_row(&select(table, columns), [], |row| {
                let values: Vec<ValueRef<'_>> = row.values(columns.len())?;
                digest.add(&values)?;
                if digest.rows % PROGRESS_ROWS == 0 {
                    progress(CopyProgress { table, rows: digest.rows, is_complete: false });
                }
                add(&values).map_err(CopyError::Target)
            })
        })?;
        progress(CopyProgress { table, rows: digest.rows, is_complete: true });
        Ok(digest)
    }

    /// The highest number of each numbered column of the target, if it has one.
    fn last_numbers(&self, target: &Connection) -> Result<Vec<(String, String, i64)>, CopyError> {
        let numbered = schema::numbered_columns(target).map_err(CopyError::Target)?;
        let mut numbers = Vec::with_capacity(numbered.len());
        let known = schema::numbered_columns(self.source)?;
        for (table, column) in numbered {
            let greatest = format!("SELECT coalesce(max(\"{column}\"), 0) FROM \"{table}\"");
            let mut last: i64 = self.source.query_row(&greatest, [], |row| row.get(0))?;
            if known.iter().any(|(name, _)| *name == table) {
                last = last.max(schema::last_number(self.source, &table, &column)?);
            }
            if last > 0 {
                numbers.push((table, column, last));
            }
        }
        Ok(numbers)
    }
}

fn select(table: &str, columns: &[String]) -> String {
    format!("SELECT {} FROM \"{table}\"", quote_columns(columns))
}

fn quote_columns(columns: &[String]) -> String {
    columns.iter().map(|column| format!("\"{column}\"")).collect::<Vec<_>>().join(", ")
}
