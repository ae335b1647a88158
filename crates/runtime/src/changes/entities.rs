//! Changes of entities by people: stored, then published.

use memory::Scope;
use memory::consolidate::ConsolidationEvent;
use memory::entities::{
    ChangedBy, Entity, EntityChange, EntityChanged, EntityKind, EntityUndone, MergeStatus,
};
use memory::identifiers::EntityId;
use memory::ports::{AuthoredEntity, StoreError};

use crate::changes::Changes;
use crate::events::memory_bodies::EntityDescribed;

impl Changes {
    /// Creates an entity for a person, and notifies subscribers. A description that is not blank belongs to the
    /// owner.
    pub async fn create_entity(
        &self,
        scope: &Scope,
        canonical_name: String,
        kind: EntityKind,
        description: Option<String>,
        aliases: Vec<String>,
    ) -> Result<EntityChanged, StoreError> {
        self.core.ensure_scope_exists(scope).await?;
        let at = self.core.clock().now();
        let id = EntityId(self.core.ids().next(at));
        let entity = AuthoredEntity { id, canonical_name, kind, description, aliases };
        let outcome = self.core.store().create_entity(scope, entity, at).await?;
        if let EntityChanged::Changed(entities) = &outcome {
            self.core.written.notify_one();
            entities.iter().for_each(|entity| self.publish_settled(scope, entity));
        }
        Ok(outcome)
    }

    /// Merges, separates, renames or describes an entity for a person. Subscribers are notified of settled identities
    /// and of a new description; the vector of a renamed or described entity is computed in the background.
    pub async fn change_entity(
        &self,
        scope: &Scope,
        id: EntityId,
        change: EntityChange,
    ) -> Result<EntityChanged, StoreError> {
        let (describes, settled) = match &change {
            EntityChange::Describe { .. } => (true, 0),
            EntityChange::Merge { .. } => (false, 1),
            EntityChange::Separate { .. } => (false, 2),
            EntityChange::Rename { .. } => (false, 0),
        };
        let at = self.core.clock().now();
        let outcome = self.core.store().change_entity(scope, id, change, ChangedBy::Owner, at).await?;
        if let EntityChanged::Changed(entities) = &outcome {
            self.core.written.notify_one();
            entities.iter().take(settled).for_each(|entity| self.publish_settled(scope, entity));
            for entity in entities.iter().filter(|_| describes) {
                self.core.publish(scope, EntityDescribed::new(entity.clone()));
            }
        }
        Ok(outcome)
    }

    /// Undoes the last change of an entity.
    pub async fn undo_entity_change(&self, scope: &Scope, id: EntityId) -> Result<EntityUndone, StoreError> {
        let outcome = self.core.store().undo_entity_change(scope, id).await?;
        if let EntityUndone::Undone { change, entities } = &outcome {
            self.core.written.notify_one();
            for entity in entities {
                match *change {
                    "describe" => self.core.publish(scope, EntityDescribed::new(entity.clone())),
                    "merge" => self.publish_settled(scope, entity),
                    _ => {}
                }
            }
        }
        Ok(outcome)
    }

    fn publish_settled(&self, scope: &Scope, entity: &Entity) {
        if entity.merge_status != MergeStatus::Uncertain {
            let formed =
                ConsolidationEvent::Entity { scope: scope.clone(), entity: Box::new(entity.clone()) };
            self.core.publish_formed(formed);
        }
    }
}
