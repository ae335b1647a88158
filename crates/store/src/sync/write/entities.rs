//! Entities and their names.

use crate::engine::sql::{Connection, Result, params};
use memory::identifiers::EntityId;
use uuid::Uuid;

use super::Written;
use crate::entities::entity_vectors;

pub(super) fn write(connection: &Connection, scope: i64, written: &Written<'_>) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO entities (id, scope, canonical_name, kind, description, owner_override, merge_status,
                 merge_target, created_at, updated_at, merged_into, described_at)
             VALUES (unhex(?1), ?2, ?3, ?4, ?5, ?6, ?7, (SELECT id FROM entities WHERE id = unhex(?8)), ?9, ?10,
                 (SELECT id FROM entities WHERE id = unhex(?11)), ?12)
             ON CONFLICT (id) DO UPDATE SET canonical_name = excluded.canonical_name, kind = excluded.kind,
                 description = excluded.description, owner_override = excluded.owner_override,
                 merge_status = excluded.merge_status, merge_target = excluded.merge_target,
                 updated_at = excluded.updated_at, merged_into = excluded.merged_into,
                 described_at = excluded.described_at",
        )?
        .execute(params![
            written.id(),
            scope,
            written.text("name").unwrap_or_default(),
            written.text("kind").unwrap_or("other"),
            written.text("description"),
            written.integer("owner_override").unwrap_or_default(),
            written.text("merge_status").unwrap_or("confirmed"),
            written.text("merge_target"),
            written.integer("created_at").unwrap_or_default(),
            written.integer("updated_at").unwrap_or_default(),
            written.text("merged_into"),
            written.integer("described_at"),
        ])?;
    if written.has_changed("alias") {
        connection
            .prepare_cached("DELETE FROM entity_aliases WHERE entity_id = unhex(?1)")?
            .execute([written.id()])?;
        for (folded, name) in written.elements("alias") {
            connection
                .prepare_cached(
                    "INSERT INTO entity_aliases (scope, folded, name, entity_id) VALUES (?1, ?2, ?3, unhex(?4))
                     ON CONFLICT DO NOTHING",
                )?
                .execute(params![scope, folded, name.as_str(), written.id()])?;
        }
    }
    if let Ok(id) = Uuid::try_parse(written.id()) {
        entity_vectors::clear(connection, EntityId(id))?;
    }
    merge_namesakes(connection, scope, written.id())
}

/// Two machines may coin one name: entities of one canonical name and kind are one, the older id stays. Nobody has said
/// that they are two, and a person may say so afterwards.
fn merge_namesakes(connection: &Connection, scope: i64, id: &str) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE entities SET merged_into = (
                 SELECT min(o.id) FROM entities o
                 WHERE o.scope = ?1 AND o.kind = entities.kind AND o.canonical_name = entities.canonical_name
                   AND o.merged_into IS NULL AND o.merge_status = 'confirmed')
             WHERE scope = ?1 AND merged_into IS NULL AND merge_status = 'confirmed'
               AND canonical_name = (SELECT canonical_name FROM entities WHERE id = unhex(?2))
               AND kind = (SELECT kind FROM entities WHERE id = unhex(?2))
               AND id > (SELECT min(o.id) FROM entities o
                         WHERE o.scope = ?1 AND o.kind = entities.kind
                           AND o.canonical_name = entities.canonical_name
                           AND o.merged_into IS NULL AND o.merge_status = 'confirmed')",
        )?
        .execute(params![scope, id])?;
    Ok(())
}
