//! L5: entities, the names they go by, and the nodes that are about them.

use async_trait::async_trait;
use jiff::Timestamp;
use memory::Scope;
use memory::entities::{Entity, fold_name};
use memory::identifiers::{EntityId, NodeId};
use memory::ports::{AliasHit, EntityStore, NewEntity, StoreError};
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use super::rows::{self, Word, microseconds};
use super::{SqliteStore, new_nodes, scopes};

#[async_trait]
impl EntityStore for SqliteStore {
    async fn entities_named(&self, scope: &Scope, folded: &[String]) -> Result<Vec<AliasHit>, StoreError> {
        let folded = folded.to_vec();
        self.read_scope(scope, move |connection, scope| Ok(named(connection, scope, &folded)?)).await
    }

    async fn entities(&self, scope: &Scope, limit: u32) -> Result<Vec<Entity>, StoreError> {
        self.read_scope(scope, move |connection, scope| Ok(last_changed(connection, scope, limit)?)).await
    }

    async fn describe_entity(
        &self,
        scope: &Scope,
        id: EntityId,
        description: &str,
        at: Timestamp,
    ) -> Result<Option<Entity>, StoreError> {
        let (scope, description) = (scope.clone(), description.to_owned());
        self.write(move |unit| match scopes::number(unit.connection, &scope)? {
            Some(scope) => Ok(describe(unit.connection, scope, id, &description, at)?),
            None => Ok(None),
        })
        .await
    }

    async fn entities_of_nodes(&self, nodes: &[NodeId]) -> Result<Vec<(NodeId, EntityId)>, StoreError> {
        let nodes = nodes.to_vec();
        self.read(move |connection| Ok(of_nodes(connection, &nodes)?)).await
    }
}

/// What [`read`] reads: `e` is `entities`.
macro_rules! entity_columns {
    () => {
        "e.id, e.canonical_name, e.kind, e.description, e.owner_override, e.merge_status, e.merge_target, \
         e.created_at, e.updated_at"
    };
}
pub(super) use entity_columns;

/// Writes a new entity; its own name is its first alias, unless somebody else goes by it.
pub(super) fn insert(connection: &Connection, scope: i64, entity: &NewEntity, at: Timestamp) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO entities (id, scope, canonical_name, kind, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?5)",
        )?
        .execute(params![
            entity.id.0.into_bytes(),
            scope,
            entity.canonical_name,
            entity.kind.word(),
            microseconds(at)
        ])?;
    add_alias(connection, scope, entity.id, &entity.canonical_name, &fold_name(&entity.canonical_name), at)
}

/// Gives the entity a name, unless the name is taken or the entity is gone.
pub(super) fn add_alias(
    connection: &Connection,
    scope: i64,
    entity: EntityId,
    name: &str,
    folded: &str,
    at: Timestamp,
) -> Result<()> {
    let added = connection
        .prepare_cached(
            "INSERT INTO entity_aliases (scope, folded, name, entity_id)
             SELECT ?1, ?2, ?3, id FROM entities WHERE id = ?4 AND scope = ?1
             ON CONFLICT (scope, folded) DO NOTHING",
        )?
        .execute(params![scope, folded, name, entity.0.into_bytes()])?;
    if added > 0 {
        connection
            .prepare_cached("UPDATE entities SET updated_at = ?2 WHERE id = ?1")?
            .execute(params![entity.0.into_bytes(), microseconds(at)])?;
    }
    Ok(())
}

/// Describes the entity, unless a person has; gives it as it is then.
pub(super) fn describe(
    connection: &Connection,
    scope: i64,
    id: EntityId,
    description: &str,
    at: Timestamp,
) -> Result<Option<Entity>> {
    let changed = connection
        .prepare_cached(
            "UPDATE entities SET description = ?3, updated_at = ?4
             WHERE id = ?1 AND scope = ?2 AND owner_override = 0",
        )?
        .execute(params![id.0.into_bytes(), scope, description, microseconds(at)])?;
    if changed == 0 {
        return Ok(None);
    }
    connection
        .prepare_cached(concat!("SELECT ", entity_columns!(), " FROM entities e WHERE e.id = ?1"))?
        .query_row([id.0.into_bytes()], |row| read(connection, row))
        .optional()
}

/// Records that the node is about the entity, if both are there.
pub(super) fn link(connection: &Connection, scope: i64, node: NodeId, entity: EntityId) -> Result<()> {
    let Some(node) = new_nodes::number(connection, scope, node)? else { return Ok(()) };
    connection
        .prepare_cached(
            "INSERT INTO concept_node_entities (entity_id, node_seq)
             SELECT id, ?1 FROM entities WHERE id = ?2 AND scope = ?3
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![node, entity.0.into_bytes(), scope])?;
    Ok(())
}

/// Reads [`entity_columns`] and fetches the aliases.
pub(super) fn read(connection: &Connection, row: &Row<'_>) -> Result<Entity> {
    let id = EntityId(rows::uuid(row, 0)?);
    let canonical_name: String = row.get(1)?;
    let mut aliases: Vec<String> = connection
        .prepare_cached("SELECT name FROM entity_aliases WHERE entity_id = ?1 ORDER BY number")?
        .query_map([id.0.into_bytes()], |row| row.get(0))?
        .collect::<Result<_>>()?;
    // Somebody else may go by the folded name; it is the entity's own all the same.
    if !aliases.contains(&canonical_name) {
        aliases.insert(0, canonical_name.clone());
    }
    Ok(Entity {
        id,
        canonical_name,
        kind: rows::word(row, 2)?,
        description: row.get(3)?,
        owner_override: row.get(4)?,
        merge_status: rows::word(row, 5)?,
        merge_target: rows::optional_uuid(row, 6)?.map(EntityId),
        aliases,
        created_at: rows::time(row, 7)?,
        updated_at: rows::time(row, 8)?,
    })
}

fn named(connection: &Connection, scope: i64, folded: &[String]) -> Result<Vec<AliasHit>> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        entity_columns!(),
        " FROM entity_aliases a JOIN entities e ON e.id = a.entity_id
         WHERE a.scope = ?1 AND a.folded = ?2"
    ))?;
    let mut hits = Vec::new();
    for name in folded {
        let entity = statement.query_row(params![scope, name], |row| read(connection, row)).optional()?;
        hits.extend(entity.map(|entity| AliasHit { folded: name.clone(), entity }));
    }
    Ok(hits)
}

fn last_changed(connection: &Connection, scope: i64, limit: u32) -> Result<Vec<Entity>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            entity_columns!(),
            " FROM entities e WHERE e.scope = ?1
             ORDER BY e.updated_at DESC, e.id DESC LIMIT ?2"
        ))?
        .query_map(params![scope, limit], |row| read(connection, row))?
        .collect()
}

fn of_nodes(connection: &Connection, nodes: &[NodeId]) -> Result<Vec<(NodeId, EntityId)>> {
    let mut statement = connection.prepare_cached(
        "SELECT l.entity_id FROM concept_nodes n JOIN concept_node_entities l ON l.node_seq = n.seq
         WHERE n.id = ?1 AND n.deleted_at IS NULL",
    )?;
    let mut links = Vec::new();
    for node in nodes {
        for entity in statement.query_map([node.0.into_bytes()], |row| rows::uuid(row, 0))? {
            links.push((*node, EntityId(entity?)));
        }
    }
    Ok(links)
}
