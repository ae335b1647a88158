//! L5, asked for in the memory's own words.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::entities::{
    ChangedBy, Entity, EntityChange, EntityChanged, EntityKind, EntityUndone, MergeStatus,
};
use crate::identifiers::{EntityId, NodeId};
use crate::ports::{Embedding, StoreError};
use crate::scope::Scope;

/// Newest links of an entity among which the weightiest nodes are looked for. The weightiest of somebody who is named daily
/// would otherwise be looked for in all of the past, on the way of a turn.
pub const LINKS_WEIGHED_MAX: u32 = 2_000;

/// An entity about to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEntity {
    pub id: EntityId,
    /// The name to show the entity by.
    pub canonical_name: String,
    pub kind: EntityKind,
    /// A doubt about whether it is a known one under another name.
    pub doubt: Option<IdentityDoubt>,
    /// Vector of [`crate::entities::embedded_text`]; its readability is the lesser of the name's and the text's.
    pub embedding: Option<Embedding>,
}

impl NewEntity {
    /// An entity that is certainly not another one.
    pub fn settled(id: EntityId, canonical_name: impl Into<String>, kind: EntityKind) -> Self {
        Self { id, canonical_name: canonical_name.into(), kind, doubt: None, embedding: None }
    }
}

/// A new entity that is, or may be, a known one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityDoubt {
    /// The known entity that the new one surely is: they are written as one, and can be separated again.
    Same(EntityId),
    /// The known entity that the new one may be: it stays uncertain until somebody says.
    Perhaps(EntityId),
}

/// A statement of the user about two entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettledIdentity {
    pub entity: EntityId,
    pub other: EntityId,
    /// True if the two entities are the same.
    pub same: bool,
}

/// An entity that a person writes.
#[derive(Clone, Debug, PartialEq)]
pub struct AuthoredEntity {
    pub id: EntityId,
    /// The name to show the entity by.
    pub canonical_name: String,
    pub kind: EntityKind,
    /// A description in prose. One that is not blank belongs to the owner; nobody else overwrites it.
    pub description: Option<String>,
    pub aliases: Vec<String>,
}

/// A vector of an entity, or of one that was merged into it.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityVector {
    /// The entity; never one that was merged into another.
    pub entity_id: EntityId,
    /// The vector and the lesser readability of name and text.
    pub embedding: Embedding,
}

/// Place of an entity in the order of [`EntityStore::entity_page`], descending. One that changes moves to the front.
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
    /// Live, current events that are linked to it or to what was merged into it.
    pub events: u64,
    /// Time at which the newest live, current node of any kind was linked.
    pub last_at: Option<Timestamp>,
}

/// An alias that is in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct AliasHit {
    /// The alias in its folded form.
    pub folded: String,
    /// The entity of that name; never one that was merged into another.
    pub entity: Entity,
    /// The entity that had the name before any merge; else the entity itself.
    pub named: EntityId,
}

/// L5. An entity that was merged into another is part of it, and is met under its id only where that is said.
#[async_trait]
pub trait EntityStore: Send + Sync {
    /// Entities one of whose folded aliases is in the list. A name may lead to several, of different kinds.
    async fn entities_named(&self, scope: &Scope, folded: &[String]) -> Result<Vec<AliasHit>, StoreError>;
    /// Entities, the last changed first.
    async fn entities(&self, scope: &Scope, limit: u32) -> Result<Vec<Entity>, StoreError>;
    /// Entities, those whose identity is open first, then the last changed first; with `below`, only those that come after
    /// it in this order.
    async fn entity_page(
        &self,
        scope: &Scope,
        below: Option<EntityPlace>,
        limit: u32,
    ) -> Result<Vec<Entity>, StoreError>;
    /// An entity; none if it is not there or was merged into another.
    async fn entity(&self, scope: &Scope, id: EntityId) -> Result<Option<Entity>, StoreError>;
    /// Entities that nodes are about.
    async fn entities_of_nodes(&self, nodes: &[NodeId]) -> Result<Vec<(NodeId, EntityId)>, StoreError>;
    /// Counts of the mentions of each entity, in the order of `ids`; unknown ids are left out.
    async fn entity_mentions(
        &self,
        scope: &Scope,
        ids: &[EntityId],
    ) -> Result<Vec<EntityMentions>, StoreError>;
    /// Uncertain entities with whom they may be, the last changed first; with `about`, only pairs of which one is
    /// among these.
    async fn entities_in_doubt(
        &self,
        scope: &Scope,
        about: Option<&[EntityId]>,
        limit: u32,
    ) -> Result<Vec<(Entity, Entity)>, StoreError>;
    /// The vectors of this model, all of the scope: there are few names in a life.
    async fn entity_vectors(&self, scope: &Scope, fingerprint: &str)
    -> Result<Vec<EntityVector>, StoreError>;
    /// Writes an entity that a person describes.
    async fn create_entity(
        &self,
        scope: &Scope,
        entity: AuthoredEntity,
        at: Timestamp,
    ) -> Result<EntityChanged, StoreError>;
    /// Changes an entity, and keeps what is needed to undo it.
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
    /// Writes what the memory has made of an entity. None, and nothing is written, if it is not there or a person
    /// has described it.
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
    /// Writes entity vectors; one whose name or description is no longer as given is passed over.
    async fn put_entity_vectors(
        &self,
        fingerprint: &str,
        vectors: Vec<(UnembeddedEntity, Embedding)>,
    ) -> Result<(), StoreError>;
}

/// An entity that waits for a vector; also one that was merged into another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnembeddedEntity {
    pub id: EntityId,
    pub canonical_name: String,
    pub description: Option<String>,
}
