//! Conflicts and their versions.

use hub::documents::{Conflict, Version};
use hub::names::DocumentName;
use jiff::Timestamp;
use memory::Scope;
use uuid::Uuid;

use super::documents::{self, read_version, version_columns};
use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use crate::rows::{self, microseconds, to_json};

/// Opens a conflict between two stored versions, unless the two already have an open one.
pub(super) fn open(connection: &Connection, scope: &Scope, conflict: &Conflict) -> Result<()> {
    let Some(document) = documents::number(connection, scope, &conflict.name)? else { return Ok(()) };
    let (Some(kept), Some(shown)) = (
        version_number(connection, document, &conflict.kept)?,
        version_number(connection, document, &conflict.shown)?,
    ) else {
        return Ok(());
    };
    connection
        .prepare_cached(
            "INSERT INTO hub_conflicts (id, document, kept, shown, opened_at)
             SELECT ?1, ?2, ?3, ?4, ?5 WHERE NOT EXISTS (
                 SELECT 1 FROM hub_conflicts WHERE document = ?2 AND settled_at IS NULL
                     AND ((kept = ?3 AND shown = ?4) OR (kept = ?4 AND shown = ?3)))",
        )?
        .execute(params![
            conflict.id.into_bytes(),
            document,
            kept,
            shown,
            microseconds(conflict.opened_at)
        ])?;
    Ok(())
}

fn version_number(connection: &Connection, document: i64, version: &Version) -> Result<Option<i64>> {
    if version.number > 0 {
        return Ok(Some(version.number));
    }
    connection
        .prepare_cached(
            "SELECT max(number) FROM hub_versions WHERE document = ?1 AND vector = ?2 AND content IS ?3",
        )?
        .query_row(params![document, to_json(&version.vector)?, version.content], |row| row.get(0))
        .optional()
        .map(Option::flatten)
}

pub(super) fn settle(connection: &Connection, id: Uuid, how: &str, at: Option<Timestamp>) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE hub_conflicts SET settled_at = ?2, settled = ?3 WHERE id = ?1 AND settled_at IS NULL",
        )?
        .execute(params![id.into_bytes(), at.map_or(0, microseconds), how])?;
    Ok(())
}

/// Settles conflicts of a document whose other version was replaced by one that includes it: somebody decided
/// elsewhere.
pub(super) fn close_superseded_conflicts(
    connection: &Connection,
    scope: &Scope,
    name: &DocumentName,
    at: Option<Timestamp>,
) -> Result<()> {
    let Some(document) = documents::number(connection, scope, name)? else { return Ok(()) };
    connection
        .prepare_cached(
            "UPDATE hub_conflicts SET settled_at = ?2, settled = 'elsewhere' WHERE document = ?1 AND settled_at IS NULL
                 AND EXISTS (SELECT 1 FROM hub_versions v WHERE v.document = ?1 AND v.number = kept AND v.state = 'past')",
        )?
        .execute(params![document, at.map_or(0, microseconds)])?;
    Ok(())
}

pub(super) fn list(connection: &Connection, scope: &Scope, only_open: bool) -> Result<Vec<Conflict>> {
    let mut statement = connection.prepare_cached(
        "SELECT c.id, c.opened_at, c.settled_at, c.settled, d.kind, d.stem, c.document, c.kept, c.shown
         FROM hub_conflicts c JOIN hub_documents d ON d.number = c.document
         WHERE d.persona_id = ?1 AND (d.user_id IS NULL OR d.user_id = ?2) AND (c.settled_at IS NULL OR NOT ?3)
         ORDER BY c.opened_at DESC, c.id DESC",
    )?;
    let mut rows = statement.query(params![scope.persona.as_str(), scope.user.as_str(), only_open])?;
    let mut found = Vec::new();
    while let Some(row) = &rows.next()? {
        let name = DocumentName::parse(row.get_ref(4)?.as_str()?, row.get_ref(5)?.as_str()?)
            .map_err(|error| rows::unreadable_column(5, error))?;
        let document: i64 = row.get(6)?;
        let settled_at = rows::optional_time(row, 2)?;
        // The waiting version is compared with the shown one in its present state, also after edits.
        let shown = match settled_at {
            None => read_shown_version(connection, document)?,
            Some(_) => find_version(connection, document, row.get(8)?)?,
        };
        let (Some(kept), Some(shown)) = (find_version(connection, document, row.get(7)?)?, shown) else {
            continue;
        };
        found.push(Conflict {
            id: rows::read_uuid(row, 0)?,
            name,
            kept,
            shown,
            opened_at: rows::time(row, 1)?,
            settled_at,
            settled: row.get(3)?,
        });
    }
    Ok(found)
}

fn find_version(connection: &Connection, document: i64, number: i64) -> Result<Option<Version>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            version_columns!(),
            " FROM hub_versions v WHERE v.document = ?1 AND v.number = ?2"
        ))?
        .query_row([document, number], |row| read_version(row, 0))
        .optional()
}

fn read_shown_version(connection: &Connection, document: i64) -> Result<Option<Version>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            version_columns!(),
            " FROM hub_versions v WHERE v.document = ?1 AND v.state = 'shown'"
        ))?
        .query_row([document], |row| read_version(row, 0))
        .optional()
}
