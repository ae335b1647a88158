//! Changes of entities, and undoing them. A change stores only the columns that it overwrote; a merge moves nothing,
//! so that undoing it restores both exactly.

use jiff::Timestamp;
use memory::entities::{
    ChangedBy, Entity, EntityChange, EntityChanged, EntityUndone, MergeStatus, fold_name, merge_order,
};
use memory::identifiers::EntityId;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::engine::failure::Failure;
use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::entities::entity_queries::{self, by_id, has_name, is_uncertain};
use crate::entities::{self, entity_vectors};
use crate::rows::{self, StoredEnum, microseconds};

/// Values that a change overwrote; only those of the changed fields are set.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Before {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    identities: Vec<Identity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    canonical_name: Option<String>,
    /// The alias that was added with a new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    added_alias: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<DescriptionColumns>,
    /// Time of the entity's previous change.
    updated_at: Option<i64>,
}

/// Identity of an entity before a change.
#[derive(Debug, Serialize, Deserialize)]
struct Identity {
    id: Uuid,
    merged_into: Option<Uuid>,
    merge_status: String,
    merge_target: Option<Uuid>,
    updated_at: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct DescriptionColumns {
    text: Option<String>,
    owner_override: bool,
    described_at: Option<i64>,
}

/// Changes an entity, and stores the former values.
pub(crate) fn change(
    connection: &Connection,
    scope: i64,
    id: EntityId,
    change: &EntityChange,
    by: ChangedBy,
    at: Timestamp,
) -> Result<EntityChanged> {
    let work = EntityWriter { connection, scope, by, at };
    match change {
        EntityChange::Merge { other } => work.merge(id, *other),
        EntityChange::Separate { other } => work.separate(id, *other),
        EntityChange::Rename { name } => work.rename(id, name),
        EntityChange::Describe { description } => work.describe(id, description),
    }
}

/// Stores a description written by the memory, unless a person has described the entity.
pub(crate) fn describe(
    connection: &Connection,
    scope: i64,
    id: EntityId,
    description: &str,
    at: Timestamp,
) -> Result<Option<Entity>> {
    if by_id(connection, scope, id)?.is_none_or(|entity| entity.owner_override) {
        return Ok(None);
    }
    write_description(connection, id, description, false, at)?;
    by_id(connection, scope, id)
}

fn write_description(
    connection: &Connection,
    id: EntityId,
    text: &str,
    by_owner: bool,
    at: Timestamp,
) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE entities SET description = ?2, owner_override = ?3, described_at = ?4, updated_at = ?4
             WHERE id = ?1",
        )?
        .execute(params![id.0.into_bytes(), text, by_owner, microseconds(at)])?;
    entity_vectors::clear(connection, id)
}

/// State that every change of an entity needs.
struct EntityWriter<'a> {
    connection: &'a Connection,
    scope: i64,
    by: ChangedBy,
    at: Timestamp,
}

impl EntityWriter<'_> {
    fn merge(&self, id: EntityId, other: EntityId) -> Result<EntityChanged> {
        let (Some(entity), Some(other)) = (self.read(id)?, self.read(other)?) else {
            return Ok(EntityChanged::NotThere);
        };
        if entity.id == other.id {
            return Ok(EntityChanged::NotThere);
        }
        let (part, whole) = merge_order(&entity, &other);
        let before = Before {
            identities: vec![self.identity(whole.id)?, self.identity(part.id)?],
            ..Before::default()
        };
        self.connection
            .prepare_cached("UPDATE entities SET merged_into = ?2 WHERE id = ?1")?
            .execute(params![part.id.0.into_bytes(), whole.id.0.into_bytes()])?;
        // Only the doubt about these two is settled; one about a third stays.
        if is_uncertain(whole) && whole.merge_target == Some(part.id) {
            self.set_status(whole.id, MergeStatus::Confirmed, None)?;
        }
        self.mark_changed(whole.id)?;
        self.insert_change(whole.id, Some(part.id), "merge", &before)?;
        self.changed_entities(&[whole.id], vec![part.clone()])
    }

    fn separate(&self, id: EntityId, other: EntityId) -> Result<EntityChanged> {
        let roots = [
            entity_queries::merged_into(self.connection, self.scope, id)?,
            entity_queries::merged_into(self.connection, self.scope, other)?,
        ];
        let [Some(first), Some(second)] = roots else { return Ok(EntityChanged::NotThere) };
        let joined = first == second;
        if id == other || (!joined && (first != id || second != other)) {
            return Ok(EntityChanged::NotThere);
        }
        // The merged one of the two is separated again.
        let (stays, parted) = if joined && id != first { (first, id) } else { (first, other) };
        let before =
            Before { identities: vec![self.identity(stays)?, self.identity(parted)?], ..Before::default() };
        self.connection
            .prepare_cached("UPDATE entities SET merged_into = NULL WHERE id = ?1")?
            .execute([parted.0.into_bytes()])?;
        for (entity, from) in [(stays, parted), (parted, stays)] {
            // Only the question between the two is settled: a settled entity stays settled, a question about a third
            // stays open.
            let asked = self.read(entity)?.is_some_and(|entity| {
                is_uncertain(&entity) && entity.merge_target.is_none_or(|target| target == from)
            });
            if asked {
                self.set_status(entity, MergeStatus::Disambiguated, None)?;
            }
            self.mark_changed(entity)?;
        }
        self.insert_change(stays, Some(parted), "separate", &before)?;
        let both = if stays == id { [stays, parted] } else { [parted, stays] };
        self.changed_entities(&both, Vec::new())
    }

    fn rename(&self, id: EntityId, name: &str) -> Result<EntityChanged> {
        let Some(entity) = self.read(id)? else { return Ok(EntityChanged::NotThere) };
        let folded = fold_name(name);
        let taken =
            entity_queries::find_by_name(self.connection, self.scope, &folded, entity.kind, Some(id))?;
        if let Some(taken) = taken {
            return Ok(EntityChanged::NameTaken(Box::new(taken)));
        }
        let mut before = Before {
            canonical_name: Some(entity.canonical_name.clone()),
            updated_at: Some(microseconds(entity.updated_at)),
            ..Before::default()
        };
        if !has_name(&entity, &folded) {
            entities::add_alias(self.connection, self.scope, id, name, &folded, self.at)?;
            before.added_alias = self
                .connection
                .prepare_cached("SELECT number FROM entity_aliases WHERE entity_id = ?1 AND folded = ?2")?
                .query_row(params![id.0.into_bytes(), folded], |row| row.get(0))
                .optional()?;
        }
        self.connection
            .prepare_cached("UPDATE entities SET canonical_name = ?2 WHERE id = ?1")?
            .execute(params![id.0.into_bytes(), name])?;
        entity_vectors::clear(self.connection, id)?;
        self.mark_changed(id)?;
        self.insert_change(id, None, "rename", &before)?;
        self.changed_entities(&[id], Vec::new())
    }

    fn describe(&self, id: EntityId, text: &str) -> Result<EntityChanged> {
        let Some(entity) = self.read(id)? else { return Ok(EntityChanged::NotThere) };
        let description = self
            .connection
            .prepare_cached("SELECT description, owner_override, described_at FROM entities WHERE id = ?1")?
            .query_row([id.0.into_bytes()], |row| {
                Ok(DescriptionColumns {
                    text: row.get(0)?,
                    owner_override: row.get(1)?,
                    described_at: row.get(2)?,
                })
            })?;
        let before = Before {
            description: Some(description),
            updated_at: Some(microseconds(entity.updated_at)),
            ..Before::default()
        };
        write_description(self.connection, id, text, true, self.at)?;
        self.insert_change(id, None, "describe", &before)?;
        self.changed_entities(&[id], Vec::new())
    }

    fn read(&self, id: EntityId) -> Result<Option<Entity>> {
        by_id(self.connection, self.scope, id)
    }

    fn identity(&self, id: EntityId) -> Result<Identity> {
        self.connection
            .prepare_cached(
                "SELECT merged_into, merge_status, merge_target, updated_at FROM entities WHERE id = ?1",
            )?
            .query_row([id.0.into_bytes()], |row| {
                Ok(Identity {
                    id: id.0,
                    merged_into: rows::optional_uuid(row, 0)?,
                    merge_status: row.get(1)?,
                    merge_target: rows::optional_uuid(row, 2)?,
                    updated_at: row.get(3)?,
                })
            })
    }

    fn set_status(&self, id: EntityId, status: MergeStatus, target: Option<EntityId>) -> Result<()> {
        self.connection
            .prepare_cached("UPDATE entities SET merge_status = ?2, merge_target = ?3 WHERE id = ?1")?
            .execute(params![id.0.into_bytes(), status.as_str(), target.map(|id| id.0.into_bytes())])?;
        Ok(())
    }

    fn mark_changed(&self, id: EntityId) -> Result<()> {
        self.connection
            .prepare_cached("UPDATE entities SET updated_at = ?2 WHERE id = ?1")?
            .execute(params![id.0.into_bytes(), microseconds(self.at)])?;
        Ok(())
    }

    fn insert_change(
        &self,
        id: EntityId,
        other: Option<EntityId>,
        change: &str,
        before: &Before,
    ) -> Result<()> {
        let by = match self.by {
            ChangedBy::Owner => "owner",
            ChangedBy::Conversation => "conversation",
            ChangedBy::Likeness => "likeness",
        };
        self.connection
            .prepare_cached(
                "INSERT INTO entity_changes (scope, entity_id, other_id, change, changed_by, before, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                self.scope,
                id.0.into_bytes(),
                other.map(|other| other.0.into_bytes()),
                change,
                by,
                rows::to_json(before)?,
                microseconds(self.at),
            ])?;
        Ok(())
    }

    fn changed_entities(&self, ids: &[EntityId], others: Vec<Entity>) -> Result<EntityChanged> {
        let mut changed = Vec::new();
        for id in ids {
            changed.extend(self.read(*id)?);
        }
        changed.extend(others);
        Ok(EntityChanged::Changed(changed))
    }
}

/// A change, as stored for undoing it.
struct RecordedChange {
    number: i64,
    entity: EntityId,
    other: Option<EntityId>,
    change: String,
    before: Before,
}

/// Undoes the last change that involves the entity.
pub(crate) fn undo(connection: &Connection, scope: i64, id: EntityId) -> Result<EntityUndone, Failure> {
    if entity_queries::kind_of(connection, scope, id)?.is_none() {
        return Ok(EntityUndone::NotThere);
    }
    let Some(kept) = last_change(connection, id)? else { return Ok(EntityUndone::NothingToUndo) };
    for side in std::iter::once(kept.entity).chain(kept.other) {
        if identity_changed_after(connection, side, &kept)? {
            return Ok(EntityUndone::ChangedSince);
        }
    }
    let change = ["merge", "separate", "rename", "describe"].into_iter().find(|word| *word == kept.change);
    let Some(change) = change else {
        return Err(Failure::Refused(format!("{:?} is no change of an entity", kept.change)));
    };
    restore(connection, &kept)?;
    connection.prepare_cached("DELETE FROM entity_changes WHERE number = ?1")?.execute([kept.number])?;
    let mut entities = Vec::new();
    for side in std::iter::once(kept.entity).chain(kept.other) {
        entities.extend(by_id(connection, scope, side)?);
    }
    Ok(EntityUndone::Undone { change, entities })
}

fn last_change(connection: &Connection, id: EntityId) -> Result<Option<RecordedChange>> {
    let read = |row: &Row<'_>| {
        Ok(RecordedChange {
            number: row.get(0)?,
            entity: EntityId(rows::read_uuid(row, 1)?),
            other: rows::optional_uuid(row, 2)?.map(EntityId),
            change: row.get(3)?,
            before: rows::read_json(row, 4)?,
        })
    };
    connection
        .prepare_cached(
            "SELECT number, entity_id, other_id, change, before FROM entity_changes
             WHERE entity_id = ?1 OR other_id = ?1 ORDER BY number DESC LIMIT 1",
        )?
        .query_row([id.0.into_bytes()], read)
        .optional()
}

/// True if the entity's identity was settled again after the stored change, which can then not be undone by itself.
fn identity_changed_after(connection: &Connection, id: EntityId, kept: &RecordedChange) -> Result<bool> {
    if kept.before.identities.is_empty() {
        return Ok(false);
    }
    connection
        .prepare_cached(
            "SELECT 1 FROM entity_changes
             WHERE (entity_id = ?1 OR other_id = ?1) AND number > ?2 AND change IN ('merge', 'separate')",
        )?
        .exists(params![id.0.into_bytes(), kept.number])
}

fn restore(connection: &Connection, kept: &RecordedChange) -> Result<()> {
    let id = kept.entity.0.into_bytes();
    for identity in &kept.before.identities {
        connection
            .prepare_cached(
                "UPDATE entities SET merged_into = ?2, merge_status = ?3, merge_target = ?4, updated_at = ?5
                 WHERE id = ?1",
            )?
            .execute(params![
                identity.id.into_bytes(),
                identity.merged_into.map(Uuid::into_bytes),
                identity.merge_status,
                identity.merge_target.map(Uuid::into_bytes),
                identity.updated_at,
            ])?;
    }
    if let Some(name) = &kept.before.canonical_name {
        connection
            .prepare_cached("UPDATE entities SET canonical_name = ?2 WHERE id = ?1")?
            .execute(params![id, name])?;
        connection
            .prepare_cached("DELETE FROM entity_aliases WHERE number = ?1")?
            .execute([kept.before.added_alias])?;
        entity_vectors::clear(connection, kept.entity)?;
    }
    if let Some(description) = &kept.before.description {
        connection
            .prepare_cached(
                "UPDATE entities SET description = ?2, owner_override = ?3, described_at = ?4 WHERE id = ?1",
            )?
            .execute(params![id, description.text, description.owner_override, description.described_at])?;
        entity_vectors::clear(connection, kept.entity)?;
    }
    if let Some(updated_at) = kept.before.updated_at {
        connection
            .prepare_cached("UPDATE entities SET updated_at = ?2 WHERE id = ?1")?
            .execute(params![id, updated_at])?;
    }
    Ok(())
}
