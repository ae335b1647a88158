//! The checks of `doctor`: is the database intact, and does every row belong to something?

use std::path::Path;

use memory::ports::StoreError;
use rusqlite::{Connection, Result};

use crate::engine::connection::open_for_maintenance;
use crate::engine::failure::Failure;
use crate::engine::{StoreOptions, sql};

/// Maximum errors of SQLite to list. One damaged page can lead to thousands, and the first ones show where it is.
const COMPLAINTS_MAX: u32 = 20;

/// The result of [`HomeStore::check`](crate::home_store::HomeStore::check). An intact database has no errors and all
/// counts are zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// Error texts of SQLite's integrity check.
    pub complaints: Vec<String>,
    /// Number of rows that refer to a missing row.
    pub broken_references: u64,
    /// Number of vectors whose message or node is missing or deleted.
    pub orphan_vectors: u64,
    /// Number of rows in the full-text index whose message or node is missing or deleted.
    pub orphan_words: u64,
    /// Number of live messages and nodes whose terms are missing in the full-text index.
    pub missing_words: u64,
    /// Number of scopes whose counters differ from their live rows.
    pub wrong_counters: u64,
}

impl Check {
    /// True if nothing was found.
    pub fn is_intact(&self) -> bool {
        *self == Self::default()
    }
}

pub(crate) fn check(path: &Path, options: &StoreOptions) -> Result<Check, StoreError> {
    let connection = open_for_maintenance(path, options)?;
    run(&connection).map_err(|error| Failure::from(error).into_read_error())
}

/// Checks a database on a server, which enforces references itself.
pub(crate) fn check_on_server(connection: &sql::Connection) -> sql::Result<Check> {
    let count = |statement: &str| connection.query_row(statement, [], |row| row.get::<u64>(0));
    let mut found =
        Check { wrong_counters: count(WRONG_SCOPES)? + count(WRONG_CHUNK_COUNTS)?, ..Check::default() };
    for (rows, vectors, words) in INDEXED_TABLES {
        found.orphan_vectors += count(&orphan_vectors(rows, vectors))?;
        found.orphan_words += count(&format!(
            "SELECT count(*) FROM {words} w LEFT JOIN {rows} r ON r.seq = w.number AND r.deleted_at IS NULL
             WHERE r.seq IS NULL"
        ))?;
        found.missing_words += count(&format!(
            "SELECT count(*) FROM {rows} r LEFT JOIN {words} w ON w.number = r.seq
             WHERE r.deleted_at IS NULL AND r.terms <> '' AND w.number IS NULL"
        ))?;
    }
    found.orphan_words += count(
        "SELECT count(*) FROM hub_words w LEFT JOIN hub_chunks c ON c.number = w.number WHERE c.number IS NULL",
    )?;
    found.missing_words += count(
        "SELECT count(*) FROM hub_chunks c LEFT JOIN hub_words w ON w.number = c.number
         WHERE c.terms <> '' AND w.number IS NULL",
    )?;
    found.orphan_words += count(
        "SELECT count(*) FROM hub_gram_words w LEFT JOIN hub_chunks c ON c.number = w.number WHERE c.number IS NULL",
    )?;
    found.missing_words += count(
        "SELECT count(*) FROM hub_chunks c LEFT JOIN hub_gram_words w ON w.number = c.number
         WHERE c.grams <> '' AND w.number IS NULL",
    )?;
    Ok(found)
}

/// Tables of rows, with the tables of their vectors and terms.
const INDEXED_TABLES: [(&str, &str, &str); 2] = [
    ("recall_messages", "message_vectors", "message_words"),
    ("concept_nodes", "node_vectors", "node_words"),
];

const WRONG_SCOPES: &str = "SELECT count(*) FROM scopes s
    WHERE message_count <> (SELECT count(*) FROM recall_messages WHERE scope = s.number AND deleted_at IS NULL)
       OR node_count <> (SELECT count(*) FROM concept_nodes WHERE scope = s.number AND deleted_at IS NULL)";

const WRONG_CHUNK_COUNTS: &str = "SELECT count(*) FROM hub_chunk_counts n
    WHERE n.pieces <> (SELECT count(*) FROM hub_chunks c WHERE c.scope = n.scope)";

fn orphan_vectors(rows: &str, vectors: &str) -> String {
    format!(
        "SELECT count(*) FROM {vectors} v LEFT JOIN {rows} r ON r.seq = v.seq AND r.deleted_at IS NULL
         WHERE r.seq IS NULL"
    )
}

/// Error texts of SQLite's integrity check; reads the whole file.
pub(crate) fn integrity_errors(connection: &Connection) -> Result<Vec<String>> {
    connection
        .prepare(&format!("PRAGMA integrity_check({COMPLAINTS_MAX})"))?
        .query_map([], |row| row.get::<_, String>(0))?
        .filter(|line| !line.as_ref().is_ok_and(|line| line == "ok"))
        .collect()
}

fn run(connection: &Connection) -> Result<Check> {
    // All counts use one snapshot.
    let snapshot = connection.unchecked_transaction()?;
    let complaints = integrity_errors(&snapshot)?;
    let count = |statement: &str| snapshot.query_row(statement, [], |row| row.get::<_, u64>(0));
    let mut found = Check {
        complaints,
        broken_references: count("SELECT count(*) FROM pragma_foreign_key_check")?,
        wrong_counters: count(WRONG_SCOPES)?,
        ..Check::default()
    };
    for (rows, vectors, words) in INDEXED_TABLES {
        found.orphan_vectors += count(&orphan_vectors(rows, vectors))?;
        // The vocabulary's column has no type, and an index of such a column is not used for an integer: each row
        // would be searched among all. A key with a type is.
        snapshot.execute_batch(&format!(
            "CREATE VIRTUAL TABLE temp.{words}_instances USING fts5vocab (main, {words}, instance);
             CREATE TEMP TABLE {words}_rows (doc INTEGER NOT NULL PRIMARY KEY);
             INSERT INTO temp.{words}_rows SELECT DISTINCT doc FROM {words}_instances;"
        ))?;
        found.orphan_words += count(&format!(
            "SELECT count(*) FROM {words}_rows w LEFT JOIN {rows} r ON r.seq = w.doc AND r.deleted_at IS NULL
             WHERE r.seq IS NULL"
        ))?;
        found.missing_words += count(&format!(
            "SELECT count(*) FROM {rows} r LEFT JOIN {words}_rows w ON w.doc = r.seq
             WHERE r.deleted_at IS NULL AND r.terms <> '' AND w.doc IS NULL"
        ))?;
    }
    check_pieces(&snapshot, &mut found)?;
    Ok(found)
}

/// Checks the chunks of the hub's memories.
fn check_pieces(snapshot: &Connection, found: &mut Check) -> Result<()> {
    let count = |statement: &str| snapshot.query_row(statement, [], |row| row.get::<_, u64>(0));
    snapshot.execute_batch(
        "CREATE VIRTUAL TABLE temp.hub_words_instances USING fts5vocab (main, hub_words, instance);
         CREATE TEMP TABLE hub_words_rows (doc INTEGER NOT NULL PRIMARY KEY);
         INSERT INTO temp.hub_words_rows SELECT DISTINCT doc FROM hub_words_instances;",
    )?;
    found.orphan_words += count(
        "SELECT count(*) FROM hub_words_rows w LEFT JOIN hub_chunks c ON c.number = w.doc WHERE c.number IS NULL",
    )?;
    found.missing_words += count(
        "SELECT count(*) FROM hub_chunks c LEFT JOIN hub_words_rows w ON w.doc = c.number
         WHERE c.terms <> '' AND w.doc IS NULL",
    )?;
    snapshot.execute_batch(
        "CREATE VIRTUAL TABLE temp.hub_gram_words_instances USING fts5vocab (main, hub_gram_words, instance);
         CREATE TEMP TABLE hub_gram_words_rows (doc INTEGER NOT NULL PRIMARY KEY);
         INSERT INTO temp.hub_gram_words_rows SELECT DISTINCT doc FROM hub_gram_words_instances;",
    )?;
    found.orphan_words += count(
        "SELECT count(*) FROM hub_gram_words_rows w LEFT JOIN hub_chunks c ON c.number = w.doc WHERE c.number IS NULL",
    )?;
    found.missing_words += count(
        "SELECT count(*) FROM hub_chunks c LEFT JOIN hub_gram_words_rows w ON w.doc = c.number
         WHERE c.grams <> '' AND w.doc IS NULL",
    )?;
    found.wrong_counters += count(WRONG_CHUNK_COUNTS)?;
    Ok(())
}
