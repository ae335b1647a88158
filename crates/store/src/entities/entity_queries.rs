//! Queries for entities, each together with those merged into it.

use jiff::Timestamp;
use memory::entities::{Entity, EntityKind, MergeStatus, fold_name, kinds_agree};
use memory::identifiers::{EntityId, NodeId};
use memory::ports::{AliasHit, EntityMentions, EntityPlace};
use uuid::Uuid;

use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::rows::{self, microseconds};

/// Maximum merges to follow from one entity to the one that it is part of. They form no circle; this is only a bound.
const MERGES_FOLLOWED_MAX: usize = 1_000;

/// Columns for [`read`]: `e` is `entities`.
macro_rules! entity_columns {
    () => {
        "e.id, e.canonical_name, e.kind, e.description, e.owner_override, e.merge_status, e.merge_target, \
         e.created_at, e.updated_at"
    };
}
pub(crate) use entity_columns;

/// The entity ?1 and all entities merged into it, the entity first.
macro_rules! parts {
    () => {
        "WITH RECURSIVE parts (id, depth) AS (
             SELECT ?1, 0
             UNION ALL SELECT m.id, p.depth + 1 FROM parts p JOIN entities m ON m.merged_into = p.id
         )"
    };
}
pub(crate) use parts;

/// Reads [`entity_columns`] and the entities merged into the entity.
pub(crate) fn read(connection: &Connection, row: &Row<'_>) -> Result<Entity> {
    let id = EntityId(rows::read_uuid(row, 0)?);
    let mut entity = Entity {
        id,
        canonical_name: row.get(1)?,
        kind: rows::read_enum(row, 2)?,
        description: row.get(3)?,
        owner_override: row.get(4)?,
        merge_status: rows::read_enum(row, 5)?,
        merge_target: rows::optional_uuid(row, 6)?.map(EntityId),
        aliases: names_of(connection, id)?,
        created_at: rows::time(row, 7)?,
        updated_at: rows::time(row, 8)?,
    };
    if !entity.aliases.contains(&entity.canonical_name) {
        entity.aliases.insert(0, entity.canonical_name.clone());
    }
    if let Some(target) = entity.merge_target {
        entity.merge_target = merge_root(connection, target)?.filter(|target| *target != id);
    }
    if !entity.owner_override {
        describe_by_parts(connection, &mut entity)?;
    }
    Ok(entity)
}

/// All names of the entity and of those merged into it, each once.
fn names_of(connection: &Connection, id: EntityId) -> Result<Vec<String>> {
    let mut statement = connection.prepare_cached(concat!(
        parts!(),
        " SELECT a.name, a.folded FROM parts p JOIN entity_aliases a ON a.entity_id = p.id ORDER BY p.depth, a.number"
    ))?;
    let rows = statement.query_map([id.0.into_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut names: Vec<(String, String)> = Vec::new();
    for row in rows {
        let (name, folded) = row?;
        if !names.iter().any(|(_, known)| *known == folded) {
            names.push((name, folded));
        }
    }
    Ok(names.into_iter().map(|(name, _)| name).collect())
}

/// Combines the descriptions of an entity's parts: a person's text comes first; merged entities fill in a missing one.
fn describe_by_parts(connection: &Connection, entity: &mut Entity) -> Result<()> {
    let found = connection
        .prepare_cached(concat!(
            parts!(),
            " SELECT e.description, e.owner_override FROM parts p JOIN entities e ON e.id = p.id
             WHERE p.depth > 0 AND e.description IS NOT NULL
             ORDER BY e.owner_override DESC, p.depth, e.created_at, e.id LIMIT 1"
        ))?
        .query_row([entity.id.0.into_bytes()], |row| Ok((row.get::<String>(0)?, row.get::<bool>(1)?)))
        .optional()?;
    if let Some((description, owner_override)) = found
        && (owner_override || entity.description.is_none())
    {
        entity.description = Some(description);
        entity.owner_override = owner_override;
    }
    Ok(())
}

/// The entity that this one is part of, or itself; `None` if it is not in the scope.
pub(crate) fn merged_into(connection: &Connection, scope: i64, id: EntityId) -> Result<Option<EntityId>> {
    if kind_of(connection, scope, id)?.is_none() {
        return Ok(None);
    }
    merge_root(connection, id)
}

fn merge_root(connection: &Connection, id: EntityId) -> Result<Option<EntityId>> {
    let mut statement = connection.prepare_cached("SELECT merged_into FROM entities WHERE id = ?1")?;
    let mut at = id;
    for _ in 0..MERGES_FOLLOWED_MAX {
        let next = statement
            .query_row([at.0.into_bytes()], |row| Ok(rows::optional_uuid(row, 0)?.map(EntityId)))
            .optional()?;
        match next {
            None => return Ok(None),
            Some(None) => return Ok(Some(at)),
            Some(Some(next)) => at = next,
        }
    }
    Ok(None)
}

/// The kind of the entity, merged or not; `None` if it is not in the scope.
pub(crate) fn kind_of(connection: &Connection, scope: i64, id: EntityId) -> Result<Option<EntityKind>> {
    connection
        .prepare_cached("SELECT kind FROM entities WHERE id = ?1 AND scope = ?2")?
        .query_row(params![id.0.into_bytes(), scope], |row| rows::read_enum(row, 0))
        .optional()
}

/// An entity that was not merged into another.
pub(crate) fn by_id(connection: &Connection, scope: i64, id: EntityId) -> Result<Option<Entity>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            entity_columns!(),
            " FROM entities e WHERE e.id = ?1 AND e.scope = ?2 AND e.merged_into IS NULL"
        ))?
        .query_row(params![id.0.into_bytes(), scope], |row| read(connection, row))
        .optional()
}

/// Another entity than `except` with the name and a matching kind.
pub(crate) fn find_by_name(
    connection: &Connection,
    scope: i64,
    folded: &str,
    kind: EntityKind,
    except: Option<EntityId>,
) -> Result<Option<Entity>> {
    let hits = entities_named(connection, scope, &[folded.to_owned()])?;
    let others = hits.into_iter().map(|hit| hit.entity);
    Ok(others.into_iter().find(|entity| Some(entity.id) != except && kinds_agree(entity.kind, kind)))
}

pub(crate) fn entities_named(
    connection: &Connection,
    scope: i64,
    folded: &[String],
) -> Result<Vec<AliasHit>> {
    let names = rows::to_json(&folded)?;
    let mut statement = connection.prepare_cached(
        "SELECT j.atom, a.entity_id FROM json_each(?2) j
             CROSS JOIN entity_aliases a ON a.scope = ?1 AND a.folded = j.atom
         ORDER BY j.key, a.number",
    )?;
    let found = statement.query_map(params![scope, names], |row| {
        Ok((row.get::<String>(0)?, EntityId(rows::read_uuid(row, 1)?)))
    })?;
    let mut hits: Vec<AliasHit> = Vec::new();
    for row in found {
        let (folded, named) = row?;
        let Some(root) = merge_root(connection, named)? else { continue };
        if hits.iter().any(|hit| hit.folded == folded && hit.entity.id == root) {
            continue;
        }
        let entity = by_id(connection, scope, root)?;
        hits.extend(entity.map(|entity| AliasHit { folded, entity, named }));
    }
    Ok(hits)
}

pub(crate) fn last_changed_entities(connection: &Connection, scope: i64, limit: u32) -> Result<Vec<Entity>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            entity_columns!(),
            " FROM entities e WHERE e.scope = ?1 AND e.merged_into IS NULL
             ORDER BY e.updated_at DESC, e.id DESC LIMIT ?2"
        ))?
        .query_map(params![scope, limit], |row| read(connection, row))?
        .collect()
}

/// Entities of uncertain identity first, then the last changed first; with `below`, those after it in this order.
pub(crate) fn page_of_entities(
    connection: &Connection,
    scope: i64,
    below: Option<EntityPlace>,
    limit: u32,
) -> Result<Vec<Entity>> {
    let (is_open, updated_at, id) = match below {
        Some(place) => (i64::from(place.is_open), microseconds(place.updated_at), place.id.0),
        // There is no entity at or after this position.
        None => (2, 0, Uuid::nil()),
    };
    connection
        .prepare_cached(concat!(
            "SELECT ",
            entity_columns!(),
            " FROM entities e WHERE e.scope = ?1 AND e.merged_into IS NULL
               AND (CASE e.merge_status WHEN 'uncertain' THEN 1 ELSE 0 END, e.updated_at, e.id) < (?2, ?3, ?4)
             ORDER BY CASE e.merge_status WHEN 'uncertain' THEN 1 ELSE 0 END DESC, e.updated_at DESC, e.id DESC LIMIT ?5"
        ))?
        .query_map(params![scope, is_open, updated_at, id.into_bytes(), limit], |row| read(connection, row))?
        .collect()
}

pub(crate) fn entities_of_nodes(
    connection: &Connection,
    nodes: &[NodeId],
) -> Result<Vec<(NodeId, EntityId)>> {
    let mut statement = connection.prepare_cached(
        "SELECT l.entity_id FROM concept_nodes n JOIN concept_node_entities l ON l.node_seq = n.seq
         WHERE n.id = ?1 AND n.deleted_at IS NULL",
    )?;
    let mut links = Vec::new();
    for node in nodes {
        for entity in statement.query_map([node.0.into_bytes()], |row| rows::read_uuid(row, 0))? {
            let Some(entity) = merge_root(connection, EntityId(entity?))? else { continue };
            if !links.contains(&(*node, entity)) {
                links.push((*node, entity));
            }
        }
    }
    Ok(links)
}

/// Number of mentions of each entity.
pub(crate) fn count_mentions(
    connection: &Connection,
    scope: i64,
    ids: &[EntityId],
) -> Result<Vec<EntityMentions>> {
    let mut statement = connection.prepare_cached(concat!(
        parts!(),
        " SELECT count(*) FILTER (WHERE n.type = 'event'), max(n.created_at)
         FROM (SELECT DISTINCT l.node_seq FROM parts p JOIN concept_node_entities l ON l.entity_id = p.id) linked
         CROSS JOIN concept_nodes n ON n.seq = linked.node_seq
         WHERE n.deleted_at IS NULL AND n.superseded_by IS NULL"
    ))?;
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        if kind_of(connection, scope, *id)?.is_some() {
            found.push(statement.query_row([id.0.into_bytes()], |row| {
                Ok(EntityMentions {
                    entity_id: *id,
                    events: row.get(0)?,
                    last_at: rows::optional_time(row, 1)?,
                })
            })?);
        }
    }
    Ok(found)
}

/// Pairs of entities of which it is not certain whether they are the same.
pub(crate) fn entities_in_doubt(
    connection: &Connection,
    scope: i64,
    about: Option<&[EntityId]>,
    limit: u32,
) -> Result<Vec<(Entity, Entity)>> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        entity_columns!(),
        " FROM entities e INDEXED BY entities_in_doubt
         WHERE e.scope = ?1 AND e.merge_status = 'uncertain' AND e.merged_into IS NULL
         ORDER BY e.updated_at DESC, e.id DESC"
    ))?;
    let mut pairs = Vec::new();
    for entity in statement.query_map([scope], |row| read(connection, row))? {
        let entity = entity?;
        let Some(target) = entity.merge_target else { continue };
        if about.is_some_and(|about| !about.contains(&entity.id) && !about.contains(&target)) {
            continue;
        }
        if let Some(other) = by_id(connection, scope, target)? {
            pairs.push((entity, other));
        }
        if pairs.len() >= usize::try_from(limit).unwrap_or(usize::MAX) {
            break;
        }
    }
    Ok(pairs)
}

/// Live entities in the order of their latest description, for the timeline.
pub(crate) fn entities_before(
    connection: &Connection,
    scope: i64,
    end: i64,
    limit: u32,
) -> Result<Vec<(Timestamp, Entity)>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            entity_columns!(),
            ", e.described_at FROM entities e
             WHERE e.scope = ?1 AND e.described_at < ?2 AND e.described_at > e.created_at AND e.merged_into IS NULL
               AND e.description <> '' AND e.merge_status <> 'uncertain'
             ORDER BY e.described_at DESC, e.id DESC LIMIT ?3"
        ))?
        .query_map(params![scope, end, limit], |row| Ok((rows::time(row, 9)?, read(connection, row)?)))?
        .collect()
}

/// True if the name belongs to the entity or to one merged into it.
pub(crate) fn has_name(entity: &Entity, folded: &str) -> bool {
    entity.aliases.iter().any(|alias| fold_name(alias) == folded)
}

/// True if the entity's identity is uncertain.
pub(crate) fn is_uncertain(entity: &Entity) -> bool {
    entity.merge_status == MergeStatus::Uncertain
}
