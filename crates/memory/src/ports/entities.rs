//! Port for entities (L5).

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::entities::{
    ChangedBy, Entity, EntityChange, EntityChanged, EntityKind, EntityUndone, MergeStatus,
};
use crate::identifiers::{EntityId, NodeId};
use crate::ports::{Embedding, StoreError};
use crate::scope::Scope;

/// Newest links of an entity to search for the nodes with the highest impact. For somebody who is named daily, a
/// search in all of the past would slow down every turn.
pub const LINKS_WEIGHED_MAX: u32 = 2_000;

/// An entity to store.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEntity {
    pub id: EntityId,
    /// The main name of the entity.
    pub canonical_name: String,
    pub kind: EntityKind,
    /// A possible identity with a known entity under another name.
    pub doubt: Option<IdentityDoubt>,
    /// Vector of [`crate::entities::embedded_text`]; its readability is the lower one of the name's and the text's.
    pub embedding: Option<Embedding>,
}

impl NewEntity {
    /// An entity that is certainly not another one.
    pub fn settled(id: EntityId, canonical_name: impl Into<String>, kind: EntityKind) -> Self {
        Self { id, canonical_name: canonical_name.into(), kind, doubt: None, embedding: None }
    }
}

/// A new entity that is, or may be, the same as a known one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityDoubt {
    /// The known entity that is the same: they are written as one, and can be separated again.
    Same(EntityId),
    /// The known entity that may be the same: the new one stays uncertain until somebody decides.
    Perhaps(EntityId),
}

/// A statement of the user about two entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdentityStatement {
    pub entity: EntityId,
    pub other: EntityId,
    /// True if the two entities are the same.
    pub same: bool,
}

/// An entity that a person writes.
#[derive(Clone, Debug, PartialEq)]
pub struct AuthoredEntity {
    pub id: EntityId,
    /// The main name of the entity.
    pub canonical_name: String,
    pub kind: EntityKind,
    /// A description in prose. If it is not blank, nobody but the owner changes it.
    pub description: Option<String>,
    pub aliases: Vec<String>,
}

/// A vector of an entity, or of one that was merged into it.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityVector {
    /// The entity; never one that was merged into another.
    pub entity_id: EntityId,
    /// The vector, with the lower readability of name and text.
    pub embedding: Embedding,
}

/// Position of an entity in the order of [`EntityStore::entity_page`], descending. A changed entity moves to the
/// front.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EntityPlace {
    pub is_open: bool,
    pub updated_at: Timestamp,
    pub id: EntityId,
}

impl From<&Entity> for EntityPlace {
    fn from(entity: &Entity) -> Self {
        let is_open = entity.merge_status == MergeStatus::Uncertain;
        Self { is_open, updated_at: entity.updated_at, id: entity.id }
    }
}

/// Number and time of an entity's mentions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityMentions {
    pub entity_id: EntityId,
    /// Number of live, current events linked to the entity or to entities merged into it.
    pub events: u64,
    /// Time at which the newest live, current node of any kind was linked.
    pub last_at: Option<Timestamp>,
}

/// An alias that occurs in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct AliasHit {
    /// The alias in its folded form.
    pub folded: String,
    /// The entity with that name; never one that was merged into another.
    pub entity: Entity,
    /// The entity that had the name before any merge.
    pub named: EntityId,
}

/// Storage of entities (L5). An entity that was merged into another is part of it, and is returned under its own id
/// only where a method says so.
#[async_trait]
pub trait EntityStore: Send + Sync {
    /// Entities with a folded alias in the list. A name may belong to several, of different kinds.
    async fn entities_named(&self, scope: &Scope, folded: &[String]) -> Result<Vec<AliasHit>, StoreError>;
    /// Entities, the last changed first.
    async fn entities(&self, scope: &Scope, limit: u32) -> Result<Vec<Entity>, StoreError>;
    /// Entities, first those of uncertain identity, then the last changed; with `below`, only those after it in this
    /// order.
    async fn entity_page(
        &self,
        scope: &Scope,
        below: Option<EntityPlace>,
        limit: u32,
    ) -> Result<Vec<Entity>, StoreError>;
    /// An entity; `None` if it does not exist or was merged into another.
    async fn entity(&self, scope: &Scope, id: EntityId) -> Result<Option<Entity>, StoreError>;
    /// Entities that nodes are about.
    async fn entities_of_nodes(&self, nodes: &[NodeId]) -> Result<Vec<(NodeId, EntityId)>, StoreError>;
    /// Counts of the mentions of each entity, in the order of `ids`; unknown ids are left out.
    async fn entity_mentions(
        &self,
        scope: &Scope,
        ids: &[EntityId],
    ) -> Result<Vec<EntityMentions>, StoreError>;
    /// Uncertain entities with the entities that they may be, the last changed first; with `about`, only pairs that
    /// include one of these.
    async fn entities_in_doubt(
        &self,
        scope: &Scope,
        about: Option<&[EntityId]>,
        limit: u32,
    ) -> Result<Vec<(Entity, Entity)>, StoreError>;
    /// All vectors of this model in the scope; a scope has few entities.
    async fn entity_vectors(&self, scope: &Scope, fingerprint: &str)
    -> Result<Vec<EntityVector>, StoreError>;
    /// Writes an entity that a person describes.
    async fn create_entity(
        &self,
        scope: &Scope,
        entity: AuthoredEntity,
        at: Timestamp,
    ) -> Result<EntityChanged, StoreError>;
    /// Changes an entity, and stores what is needed to undo it.
    async fn change_entity(
        &self,
        scope: &Scope,
        id: EntityId,
        change: EntityChange,
        by: ChangedBy,
        at: Timestamp,
    ) -> Result<EntityChanged, StoreError>;
    /// Undoes the last change of an entity, exactly.
    async fn undo_entity_change(&self, scope: &Scope, id: EntityId) -> Result<EntityUndone, StoreError>;
    /// Stores a description that the memory wrote. `None`, with nothing written, if the entity does not exist or a
    /// person has described it.
    async fn describe_entity(
        &self,
        scope: &Scope,
        id: EntityId,
        description: &str,
        at: Timestamp,
    ) -> Result<Option<Entity>, StoreError>;
    /// Entities without a vector of this fingerprint.
    async fn entities_without_vector(
        &self,
        fingerprint: &str,
        limit: u32,
    ) -> Result<Vec<UnembeddedEntity>, StoreError>;
    /// Stores entity vectors; skips those of entities whose name or description has changed.
    async fn put_entity_vectors(
        &self,
        fingerprint: &str,
        vectors: Vec<(UnembeddedEntity, Embedding)>,
    ) -> Result<(), StoreError>;
}

/// An entity without a vector; also one that was merged into another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnembeddedEntity {
    pub id: EntityId,
    pub canonical_name: String,
    pub description: Option<String>,
}
