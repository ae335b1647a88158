//! How the database goes about a statement: for tests that none walks over the past.

use std::path::Path;

use rusqlite::{Connection, Result};

use super::migrate::{MIGRATIONS, migrate};

/// An empty database with everything in it that there can be.
pub(super) fn empty() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    migrate(&connection, Path::new("empty.db"), MIGRATIONS).unwrap();
    connection
}

/// The steps of a statement, in one line.
pub(super) fn plan(connection: &Connection, statement: &str) -> String {
    let mut prepared = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
    let count = prepared.parameter_count();
    let blanks = rusqlite::params_from_iter(std::iter::repeat_n("", count));
    let steps: Vec<String> =
        prepared.query_map(blanks, |row| row.get(3)).unwrap().collect::<Result<_>>().unwrap();
    steps.join("; ")
}
