//! Copies a home into a database on a PostgreSQL server.

use super::{CopyError, CopyReport, HomeCopy};
use crate::engine::postgres::{self, ServerAddress};
use crate::engine::sql::{Connection, Result, params};
use crate::engine::{check, schema};

/// Copies a home to a server in one transaction, including the schema, so that a failure leaves the database
/// unchanged.
pub(super) fn copy(
    copy: &mut HomeCopy<'_>,
    address: &ServerAddress,
    replaces: bool,
) -> std::result::Result<CopyReport, CopyError> {
    let connection = postgres::begin_home(address, replaces).map_err(CopyError::Store)?;
    let tables = schema::tables(&connection).map_err(CopyError::Target)?;
    let references = empty_tables(&connection, &tables).map_err(CopyError::Target)?;
    let report = copy.copy_rows(&connection)?;
    for (table, column, last) in copy.last_numbers(&connection)? {
        let set = "SELECT setval(CAST(pg_get_serial_sequence(?1, ?2) AS regclass), ?3)";
        connection.query_row(set, params![table, column, last], |_| Ok(())).map_err(CopyError::Target)?;
    }
    let found = index_words(&connection)
        .and_then(|()| restore(&connection, &tables, &references))
        .and_then(|()| check::check_on_server(&connection))
        .map_err(CopyError::Target)?;
    if !found.is_intact() {
        return Err(CopyError::Different(format!("{found:?}")));
    }
    // Until the server has analysed the tables it guesses the number of rows.
    connection.execute_batch("ANALYZE").map_err(CopyError::Target)?;
    connection.execute_batch("COMMIT").map_err(CopyError::Target)?;
    connection.close().map_err(CopyError::Target)?;
    Ok(report)
}

/// Table, name and definition of a foreign key.
type Reference = (String, String, String);

/// Empties all tables and disables foreign keys and triggers. Disabling foreign keys needs a superuser, so they are
/// dropped instead.
fn empty_tables(connection: &Connection, tables: &[String]) -> Result<Vec<Reference>> {
    let references: Vec<Reference> = connection
        .prepare_cached(
            "SELECT CAST(c.relname AS TEXT), CAST(k.conname AS TEXT), pg_get_constraintdef(k.oid)
             FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
             WHERE k.contype = 'f' AND c.relnamespace = CAST(CAST(current_schema() AS TEXT) AS regnamespace)",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_>>()?;
    for (table, name, _) in &references {
        connection.execute_batch(&format!("ALTER TABLE \"{table}\" DROP CONSTRAINT \"{name}\""))?;
    }
    for table in tables {
        connection.execute_batch(&format!("ALTER TABLE \"{table}\" DISABLE TRIGGER USER"))?;
    }
    let words = ["message_words", "node_words", "hub_words", "hub_gram_words"].map(str::to_owned);
    let all: Vec<String> = tables.iter().chain(&words).map(|table| format!("\"{table}\"")).collect();
    connection.execute_batch(&format!("TRUNCATE {}", all.join(", ")))?;
    Ok(references)
}

/// Enables foreign keys and triggers again; the server checks every reference.
fn restore(connection: &Connection, tables: &[String], references: &[Reference]) -> Result<()> {
    for table in tables {
        connection.execute_batch(&format!("ALTER TABLE \"{table}\" ENABLE TRIGGER USER"))?;
    }
    for (table, name, definition) in references {
        connection
            .execute_batch(&format!("ALTER TABLE \"{table}\" ADD CONSTRAINT \"{name}\" {definition}"))?;
    }
    Ok(())
}

/// Fills the word indexes. Terms of messages and nodes include the id of their scope.
fn index_words(connection: &Connection) -> Result<()> {
    for (words, table) in [("message_words", "recall_messages"), ("node_words", "concept_nodes")] {
        connection.execute_batch(&format!(
            "INSERT INTO {words} (number, terms)
             SELECT seq, words_at_places((SELECT string_agg(scope || 'x' || word, ' ' ORDER BY place)
                 FROM unnest(string_to_array(terms, ' ')) WITH ORDINALITY AS each_word (word, place) WHERE word <> ''))
             FROM {table} WHERE deleted_at IS NULL AND terms <> ''"
        ))?;
    }
    connection.execute_batch(
        "INSERT INTO hub_words (number, terms) SELECT number, words_at_places(terms) FROM hub_chunks WHERE terms <> '';
         INSERT INTO hub_gram_words (number, terms)
         SELECT number, words_at_places(grams) FROM hub_chunks WHERE grams <> ''",
    )
}
