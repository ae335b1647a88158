//! Names in what runs tell of themselves, and how they are forgotten.

use crate::engine::sql::{Connection, Result};

/// Takes names of files and what was skipped out of the scope's runs, where they contain what is forgotten.
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
    // Names are made of titles, with hyphens for blanks.
    let is_named = |name: &str| is_forgotten(name) || is_forgotten(&name.replace(['-', '_'], " "));
    for (digest, _) in documents.iter().filter(|(_, name)| is_named(name)) {
        connection.prepare_cached("DELETE FROM import_documents WHERE digest = ?1")?.execute([digest])?;
    }
    Ok(())
}
