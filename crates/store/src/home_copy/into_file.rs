//! Copies a home into a new database file.

use std::path::Path;

use memory::ports::StoreError;

use super::{CopyError, CopyReport, HomeCopy};
use crate::engine::connection::open_for_copying;
use crate::engine::sql::{Connection, params};
use crate::engine::{StoreOptions, check, move_into_place, remove_database_file, schema};
use crate::index::words::with_scope;

/// Copies a home to a file. The file gets its name once it is complete and compared.
pub(super) fn copy(copy: &mut HomeCopy<'_>, path: &Path) -> Result<CopyReport, CopyError> {
    let unwritable = |reason: String| {
        CopyError::Store(StoreError::Unwritable(format!("{}: {reason}. Nothing was copied", path.display())))
    };
    if path.exists() {
        return Err(unwritable("it already exists and was not changed; choose another file".to_owned()));
    }
    let partial = path.with_extension("partial");
    remove_database_file(&partial).map_err(|error| unwritable(error.to_string()))?;
    let outcome = fill_target(copy, &partial).and_then(|report| {
        move_into_place(&partial, path).map_err(|error| unwritable(error.to_string()))?;
        Ok(report)
    });
    if outcome.is_err() {
        let _removed = remove_database_file(&partial);
    }
    outcome
}

fn fill_target(copy: &mut HomeCopy<'_>, partial: &Path) -> Result<CopyReport, CopyError> {
    let options = StoreOptions::default();
    let connection = open_for_copying(partial, &options).map_err(CopyError::Store)?;
    let run = |statements: &str| connection.execute_batch(statements).map_err(CopyError::Target);
    run("BEGIN IMMEDIATE")?;
    for table in schema::tables(&connection).map_err(CopyError::Target)? {
        // Some steps of the schema write rows.
        run(&format!("DELETE FROM \"{table}\""))?;
    }
    let report = copy.copy_rows(&connection)?;
    for (table, _, last) in copy.last_numbers(&connection)? {
        let noted =
            connection.execute("DELETE FROM sqlite_sequence WHERE name = ?1", [&table]).and_then(|_| {
                connection
                    .execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)", params![table, last])
            });
        noted.map_err(CopyError::Target)?;
    }
    index_words(&connection).map_err(CopyError::Target)?;
    // One file, also for those who can only read it.
    run("COMMIT; PRAGMA journal_mode = DELETE;")?;
    connection.close().map_err(CopyError::Target)?;
    let found = check::check(partial, &options).map_err(CopyError::Store)?;
    match found.is_intact() {
        true => Ok(report),
        false => Err(CopyError::Different(format!("{found:?}"))),
    }
}

/// Fills the empty word indexes.
fn index_words(connection: &Connection) -> crate::engine::sql::Result<()> {
    for (words, table) in [("message_words", "recall_messages"), ("node_words", "concept_nodes")] {
        let mut insert =
            connection.prepare_cached(&format!("INSERT INTO \"{words}\" (rowid, terms) VALUES (?1, ?2)"))?;
        let rows =
            format!("SELECT seq, scope, terms FROM \"{table}\" WHERE deleted_at IS NULL AND terms <> ''");
        connection.each_row(&rows, [], |row| {
            let terms: String = row.get(2)?;
            insert.execute((row.get::<i64>(0)?, with_scope(row.get(1)?, &terms))).map(|_| ())
        })?;
    }
    connection.execute_batch(
        "INSERT INTO hub_words (rowid, terms) SELECT number, terms FROM hub_chunks WHERE terms <> '';
         INSERT INTO hub_gram_words (rowid, grams) SELECT number, grams FROM hub_chunks WHERE grams <> '';",
    )
}
