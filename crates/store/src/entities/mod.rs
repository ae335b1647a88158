//! L5: entities, their names, and the nodes about them.

pub(crate) mod entity_queries;
pub(crate) mod entity_changes;
pub(crate) mod entity_vectors;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::Scope;
use memory::entities::{ChangedBy, Entity, EntityChange, EntityChanged, EntityUndone, fold_name};
use memory::identifiers::{EntityId, NodeId};
use memory::ports::{
    AliasHit, AuthoredEntity, Embedding, EntityMentions, EntityPlace, EntityStore, EntityVector,
    IdentityDoubt, NewEntity, StoreError, UnembeddedEntity,
};

use crate::engine::sql::{Connection, Result, params};
use crate::home_store::HomeStore;
use crate::nodes::new_nodes;
use crate::rows::microseconds;
use crate::scopes;

#[async_trait]
impl EntityStore for HomeStore {
    async fn entities_named(&self, scope: &Scope, folded: &[String]) -> Result<Vec<AliasHit>, StoreError> {
        let folded = folded.to_vec();
        self.read_scope(scope, move |connection, scope| {
            Ok(entity_queries::entities_named(connection, scope, &folded)?)
        })
        .await
    }

    async fn entities(&self, scope: &Scope, limit: u32) -> Result<Vec<Entity>, StoreError> {
        self.read_scope(scope, move |connection, scope| {
            Ok(entity_queries::last_changed_entities(connection, scope, limit)?)
        })
        .await
    }

    async fn entity_page(
        &self,
        scope: &Scope,
        below: Option<EntityPlace>,
        limit: u32,
    ) -> Result<Vec<Entity>, StoreError> {
        self.read_scope(scope, move |connection, scope| {
            Ok(entity_queries::page_of_entities(connection, scope, below, limit)?)
        })
        .await
    }

    async fn entity(&self, scope: &Scope, id: EntityId) -> Result<Option<Entity>, StoreError> {
        self.read_scope(scope, move |connection, scope| Ok(entity_queries::by_id(connection, scope, id)?))
            .await
    }

    async fn entities_of_nodes(&self, nodes: &[NodeId]) -> Result<Vec<(NodeId, EntityId)>, StoreError> {
        let nodes = nodes.to_vec();
        self.read(move |connection| Ok(entity_queries::entities_of_nodes(connection, &nodes)?)).await
    }

    async fn entity_mentions(
        &self,
        scope: &Scope,
        ids: &[EntityId],
    ) -> Result<Vec<EntityMentions>, StoreError> {
        let ids = ids.to_vec();
        self.read_scope(scope, move |connection, scope| {
            Ok(entity_queries::count_mentions(connection, scope, &ids)?)
        })
        .await
    }

    async fn entities_in_doubt(
        &self,
        scope: &Scope,
        about: Option<&[EntityId]>,
        limit: u32,
    ) -> Result<Vec<(Entity, Entity)>, StoreError> {
        let about = about.map(<[EntityId]>::to_vec);
        self.read_scope(scope, move |connection, scope| {
            Ok(entity_queries::entities_in_doubt(connection, scope, about.as_deref(), limit)?)
        })
        .await
    }

    async fn entity_vectors(
        &self,
        scope: &Scope,
        fingerprint: &str,
    ) -> Result<Vec<EntityVector>, StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.read_scope(scope, move |connection, scope| {
            Ok(entity_vectors::vectors_of_scope(connection, scope, &fingerprint)?)
        })
        .await
    }

    async fn create_entity(
        &self,
        scope: &Scope,
        entity: AuthoredEntity,
        at: Timestamp,
    ) -> Result<EntityChanged, StoreError> {
        let scope = scope.clone();
        self.write(move |unit| {
            let scope = scopes::number_or_new(unit.connection, &scope)?;
            Ok(create(unit.connection, scope, &entity, at)?)
        })
        .await
    }

    async fn change_entity(
        &self,
        scope: &Scope,
        id: EntityId,
        change: EntityChange,
        by: ChangedBy,
        at: Timestamp,
    ) -> Result<EntityChanged, StoreError> {
        let scope = scope.clone();
        self.write(move |unit| match scopes::number(unit.connection, &scope)? {
            Some(scope) => Ok(entity_changes::change(unit.connection, scope, id, &change, by, at)?),
            None => Ok(EntityChanged::NotThere),
        })
        .await
    }

    async fn undo_entity_change(&self, scope: &Scope, id: EntityId) -> Result<EntityUndone, StoreError> {
        let scope = scope.clone();
        self.write(move |unit| match scopes::number(unit.connection, &scope)? {
            Some(scope) => entity_changes::undo(unit.connection, scope, id),
            None => Ok(EntityUndone::NotThere),
        })
        .await
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
            Some(scope) => Ok(entity_changes::describe(unit.connection, scope, id, &description, at)?),
            None => Ok(None),
        })
        .await
    }

    async fn entities_without_vector(
        &self,
        fingerprint: &str,
        limit: u32,
    ) -> Result<Vec<UnembeddedEntity>, StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.read(move |connection| {
            Ok(entity_vectors::entities_without_vector(connection, &fingerprint, limit)?)
        })
        .await
    }

    async fn put_entity_vectors(
        &self,
        fingerprint: &str,
        vectors: Vec<(UnembeddedEntity, Embedding)>,
    ) -> Result<(), StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.write(move |unit| Ok(entity_vectors::write_vectors(unit.connection, &fingerprint, &vectors)?))
            .await
    }
}

/// Inserts an entity with its vector; its name becomes its first alias, unless one of its kind has that name. One
/// that is almost certainly known is written as part of the known one, so that a mistake can be undone without loss.
pub(crate) fn insert(
    connection: &Connection,
    scope: i64,
    entity: &NewEntity,
    model: Option<i64>,
    at: Timestamp,
) -> Result<()> {
    // The newer of two uncertain entities is merged into the older, so an almost certainly known one is uncertain at
    // first.
    let known = match entity.doubt {
        Some(IdentityDoubt::Perhaps(other) | IdentityDoubt::Same(other)) => {
            entity_queries::merged_into(connection, scope, other)?
        }
        None => None,
    };
    connection
        .prepare_cached(
            "INSERT INTO entities (id, scope, canonical_name, kind, merge_status, merge_target, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)",
        )?
        .execute(params![
            entity.id.0.into_bytes(),
            scope,
            entity.canonical_name,
            entity.kind.as_str(),
            if known.is_some() { "uncertain" } else { "confirmed" },
            known.map(|other| other.0.into_bytes()),
            microseconds(at)
        ])?;
    let folded = fold_name(&entity.canonical_name);
    add_alias(connection, scope, entity.id, &entity.canonical_name, &folded, at)?;
    if let (Some(model), Some(embedding)) = (model, &entity.embedding) {
        entity_vectors::write_vector(connection, entity.id, model, embedding)?;
    }
    if let (Some(IdentityDoubt::Same(_)), Some(other)) = (entity.doubt, known) {
        let change = EntityChange::Merge { other };
        entity_changes::change(connection, scope, entity.id, &change, ChangedBy::Likeness, at)?;
    }
    Ok(())
}

fn create(
    connection: &Connection,
    scope: i64,
    entity: &AuthoredEntity,
    at: Timestamp,
) -> Result<EntityChanged> {
    let folded = fold_name(&entity.canonical_name);
    if let Some(taken) = entity_queries::find_by_name(connection, scope, &folded, entity.kind, None)? {
        return Ok(EntityChanged::NameTaken(Box::new(taken)));
    }
    let new = NewEntity::settled(entity.id, entity.canonical_name.clone(), entity.kind);
    insert(connection, scope, &new, None, at)?;
    for alias in &entity.aliases {
        add_alias(connection, scope, entity.id, alias, &fold_name(alias), at)?;
    }
    if let Some(description) = entity.description.as_deref().filter(|text| !text.trim().is_empty()) {
        connection
            .prepare_cached(
                "UPDATE entities SET description = ?2, owner_override = 1, described_at = ?3 WHERE id = ?1",
            )?
            .execute(params![entity.id.0.into_bytes(), description, microseconds(at)])?;
    }
    let created = entity_queries::by_id(connection, scope, entity.id)?;
    Ok(created.map_or(EntityChanged::NotThere, |entity| EntityChanged::Changed(vec![entity])))
}

/// Adds a name to the entity, unless the entity is deleted or another of a matching kind has the name.
pub(crate) fn add_alias(
    connection: &Connection,
    scope: i64,
    entity: EntityId,
    name: &str,
    folded: &str,
    at: Timestamp,
) -> Result<()> {
    let Some(kind) = entity_queries::kind_of(connection, scope, entity)? else { return Ok(()) };
    let root = entity_queries::merged_into(connection, scope, entity)?;
    if folded.is_empty() || entity_queries::find_by_name(connection, scope, folded, kind, root)?.is_some() {
        return Ok(());
    }
    let added = connection
        .prepare_cached(
            "INSERT INTO entity_aliases (scope, folded, name, entity_id)
             SELECT ?1, ?2, ?3, ?4
             WHERE NOT EXISTS (SELECT 1 FROM entity_aliases WHERE scope = ?1 AND folded = ?2 AND entity_id = ?5)
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            scope,
            folded,
            name,
            entity.0.into_bytes(),
            root.unwrap_or(entity).0.into_bytes()
        ])?;
    if added > 0 {
        connection
            .prepare_cached("UPDATE entities SET updated_at = ?2 WHERE id = ?1")?
            .execute(params![entity.0.into_bytes(), microseconds(at)])?;
    }
    Ok(())
}

/// Records that the node is about the entity, if both exist.
pub(crate) fn link_entity(connection: &Connection, scope: i64, node: NodeId, entity: EntityId) -> Result<()> {
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
