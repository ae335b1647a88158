//! Renames the dailies of an instance that continues under another name.

use hub::names::{DiaryName, DocumentName, InstanceId};
use memory::Scope;

use super::{chunks, state};
use crate::engine::sql::{Connection, Result, params};
use crate::rows;

/// Gives the dailies of one instance to another.
pub(super) fn rename_days(
    connection: &Connection,
    from: &InstanceId,
    to: &InstanceId,
) -> Result<Vec<(Scope, DocumentName)>> {
    let days: Vec<(i64, Scope, String)> = connection
        .prepare_cached(
            "SELECT number, persona_id, user_id, stem FROM hub_documents
             WHERE kind = 'daily' AND user_id IS NOT NULL AND stem = substr(stem, 1, 10) || '_' || ?1
                 AND NOT EXISTS (SELECT 1 FROM hub_documents other WHERE other.persona_id = hub_documents.persona_id
                     AND other.user_id = hub_documents.user_id AND other.kind = 'daily'
                     AND other.stem = substr(hub_documents.stem, 1, 10) || '_' || ?2)",
        )?
        .query_map([from.as_str(), to.as_str()], |row| {
            Ok((row.get(0)?, rows::scope(row, 1)?, row.get(3)?))
        })?
        .collect::<Result<_>>()?;
    let (old, new) = (format!("[via:{from}]"), format!("[via:{to}]"));
    let mut renamed = Vec::new();
    for (number, scope, stem) in days {
        let before =
            DocumentName::parse("daily", &stem).map_err(|error| rows::unreadable_column(3, error))?;
        let DocumentName::Diary(DiaryName::Daily(day, _)) = &before else { continue };
        let after = DocumentName::Diary(DiaryName::Daily(*day, to.clone()));
        for (table, column) in [("hub_versions", "content"), ("hub_lines", "line")] {
            let statement =
                format!("UPDATE {table} SET {column} = replace({column}, ?2, ?3) WHERE document = ?1");
            connection.prepare_cached(&statement)?.execute(params![number, old, new])?;
        }
        // Digests of erased lines include the name; no copy under the old name can come back, because it is not
        // written any more.
        connection.prepare_cached("DELETE FROM hub_erased_lines WHERE document = ?1")?.execute([number])?;
        connection.prepare_cached("DELETE FROM hub_chunks WHERE document = ?1")?.execute([number])?;
        let revision = state::raise_revision(connection, &scope)?;
        connection
            .prepare_cached("UPDATE hub_documents SET stem = ?2, revision = ?3 WHERE number = ?1")?
            .execute(params![number, after.stem(), revision])?;
        chunks::replace_chunks(connection, &scope, &after, number)?;
        renamed.push((scope, before));
    }
    Ok(renamed)
}
