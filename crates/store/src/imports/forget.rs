//! Names in the records of runs, and forgetting them.

use crate::engine::sql::{Connection, Result};

/// Removes names of files and skipped items from the scope's runs if they contain forgotten text.
pub(crate) fn forget_names(
    connection: &Connection,
    scope: i64,
    is_forgotten: impl Fn(&str) -> bool,
) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT k.number, k.place, k.reason FROM import_runs r JOIN import_skips k ON k.run = r.number WHERE r.scope = ?1",
    )?;
    let skips: Vec<(i64, String, String)> = statement
        .query_map([scope], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_>>()?;
    for (number, _, _) in
        skips.iter().filter(|(_, place, reason)| is_forgotten(place) || is_forgotten(reason))
    {
        let cleared = "UPDATE import_skips SET place = '', reason = '' WHERE number = ?1";
        connection.prepare_cached(cleared)?.execute([number])?;
    }
    let mut statement =
        connection.prepare_cached("SELECT number, files, position FROM import_runs WHERE scope = ?1")?;
    let runs: Vec<(i64, String, String)> = statement
        .query_map([scope], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_>>()?;
    for (number, _, _) in
        runs.iter().filter(|(_, files, position)| is_forgotten(files) || is_forgotten(position))
    {
        let cleared = "UPDATE import_runs SET files = '[]', position = 'null' WHERE number = ?1";
        connection.prepare_cached(cleared)?.execute([number])?;
    }
    let mut statement = connection.prepare_cached(
        "SELECT d.digest, d.name FROM import_runs r JOIN import_documents d ON d.run = r.number WHERE r.scope = ?1",
    )?;
    let documents: Vec<([u8; 16], String)> =
        statement.query_map([scope], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_>>()?;
    // Names are made from titles, with hyphens for spaces.
    let is_named = |name: &str| is_forgotten(name) || is_forgotten(&name.replace(['-', '_'], " "));
    for (digest, _) in documents.iter().filter(|(_, name)| is_named(name)) {
        connection.prepare_cached("DELETE FROM import_documents WHERE digest = ?1")?.execute([digest])?;
    }
    Ok(())
}
