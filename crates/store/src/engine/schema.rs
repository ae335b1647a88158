//! Tables, columns and counters, as listed by the engine itself.

use crate::engine::sql::{Connection, Result};

/// A column: its name, and its declared type in SQLite (`TEXT`, `INTEGER`, `REAL`, `BLOB`).
pub(crate) type DeclaredColumn = (String, String);

/// Tables with rows, by name: without word indexes, which are derived, and without the record of migrations.
pub(crate) fn tables(connection: &Connection) -> Result<Vec<String>> {
    let statement = match connection {
        Connection::Sqlite(_) => {
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                 AND name NOT LIKE '%\\_words%' ESCAPE '\\' AND name <> 'schema_migrations' ORDER BY name"
        }
        Connection::Postgres(_) => {
            "SELECT CAST(tablename AS TEXT) AS name FROM pg_tables WHERE schemaname = current_schema()
                 AND tablename NOT LIKE '%\\_words'
                 AND tablename NOT IN ('schema_migrations', 'writer', 'daemons', 'shared_access') ORDER BY name"
        }
    };
    let mut tables: Vec<String> =
        connection.prepare_cached(statement)?.query_map([], |row| row.get(0))?.collect::<Result<_>>()?;
    // Servers sort by the rules of a language.
    tables.sort();
    Ok(tables)
}

/// Columns of a table, in its order.
pub(crate) fn columns(connection: &Connection, table: &str) -> Result<Vec<DeclaredColumn>> {
    let statement = match connection {
        Connection::Sqlite(_) => "SELECT name, type FROM pragma_table_info(?1)",
        Connection::Postgres(_) => {
            "SELECT CAST(column_name AS TEXT), CASE data_type WHEN 'bigint' THEN 'INTEGER' WHEN 'bytea' THEN 'BLOB'
                        WHEN 'double precision' THEN 'REAL' ELSE 'TEXT' END
             FROM information_schema.columns WHERE table_schema = current_schema() AND CAST(table_name AS TEXT) = ?1
             ORDER BY ordinal_position"
        }
    };
    let mut statement = connection.prepare_cached(statement)?;
    statement.query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Columns that the engine numbers without reusing a number: table, column.
pub(crate) fn numbered_columns(connection: &Connection) -> Result<Vec<(String, String)>> {
    let statement = match connection {
        Connection::Sqlite(_) => {
            "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c
             WHERE t.type = 'table' AND t.sql LIKE '%AUTOINCREMENT%' AND c.pk = 1"
        }
        Connection::Postgres(_) => {
            "SELECT CAST(table_name AS TEXT), CAST(column_name AS TEXT) FROM information_schema.columns
             WHERE table_schema = current_schema() AND is_identity = 'YES'"
        }
    };
    let mut statement = connection.prepare_cached(statement)?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// The highest number ever given to such a column; 0 for none.
pub(crate) fn last_number(connection: &Connection, table: &str, column: &str) -> Result<i64> {
    match connection {
        Connection::Sqlite(_) => connection.query_row(
            "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?1",
            [table],
            |row| row.get(0),
        ),
        Connection::Postgres(_) => connection.query_row(
            "SELECT coalesce(pg_sequence_last_value(CAST(pg_get_serial_sequence(?1, ?2) AS regclass)), 0)",
            [table, column],
            |row| row.get(0),
        ),
    }
}
