//! Snapshots of identity documents.

use hub::names::DocumentName;
use hub::ports::Snapshot;
use memory::Scope;

use super::state::owner;
use crate::engine::sql::{Connection, Result, params};
use crate::rows::{self, microseconds};

pub(super) fn insert_snapshot(connection: &Connection, scope: &Scope, snapshot: &Snapshot) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO hub_snapshots (id, persona_id, user_id, kind, stem, content, reason, source, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            snapshot.id,
            scope.persona.as_str(),
            owner(scope, &snapshot.name),
            snapshot.name.kind(),
            snapshot.name.stem(),
            snapshot.content,
            snapshot.reason,
            snapshot.source,
            microseconds(snapshot.created_at),
        ])?;
    Ok(())
}

pub(super) fn list(connection: &Connection, scope: &Scope) -> Result<Vec<Snapshot>> {
    connection
        .prepare_cached(
            "SELECT id, kind, stem, content, created_at, reason, source FROM hub_snapshots
             WHERE persona_id = ?1 AND user_id IN ('', ?2) ORDER BY created_at DESC, id",
        )?
        .query_map([scope.persona.as_str(), scope.user.as_str()], |row| {
            let name = DocumentName::parse(row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?)
                .map_err(|error| rows::unreadable_column(2, error))?;
            Ok(Snapshot {
                id: row.get(0)?,
                name,
                content: row.get(3)?,
                created_at: rows::time(row, 4)?,
                reason: row.get(5)?,
                source: row.get(6)?,
            })
        })?
        .collect()
}
