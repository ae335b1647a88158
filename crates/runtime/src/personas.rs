//! Changes of personas by people: name, core blocks, facts, picture and voice. Subscribers are notified.

use std::sync::Arc;

use hub::HubError;
use memory::core_blocks::{CoreBlockLabel, CoreBlocks};
use memory::facts::Fact;
use memory::forget::ResetCounts;
use memory::ports::{Avatar, FirstPersona, StoreError};
use memory::text::fold;
use memory::{PersonaId, Scope};
use tokio::sync::{Mutex, MutexGuard};

use crate::changes::Changes;
use crate::core::RuntimeCore;
use crate::events::bodies::SettingsUpdated;
use crate::hub_work::shared_self::SharedSelf;

/// Creates and edits personas.
pub struct Personas {
    core: Arc<RuntimeCore>,
    shared_self: Arc<SharedSelf>,
    changes: Arc<Changes>,
    /// Locked from reading a persona until it is written: the name is compared with all others, and no edit
    /// overwrites one that it has not seen.
    edits: Mutex<()>,
}

/// Result of creating a persona. Nothing was written unless it is `Created`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonaCreation {
    Created,
    IdTaken,
    /// Another persona has this name, ignoring case.
    NameTaken,
}

impl Personas {
    pub(crate) fn new(
        core: Arc<RuntimeCore>,
        shared_self: Arc<SharedSelf>,
        changes: Arc<Changes>,
    ) -> Arc<Self> {
        Arc::new(Self { core, shared_self, changes, edits: Mutex::default() })
    }

    /// Waits until nobody else edits a persona, for callers that read before they decide what to write.
    pub async fn lock_edits(&self) -> PersonaEdits<'_> {
        PersonaEdits { personas: self, _alone: self.edits.lock().await }
    }

    /// Creates a persona, completely or not at all.
    ///
    /// # Errors
    ///
    /// When storage fails.
    pub async fn create(
        &self,
        scope: &Scope,
        first: FirstPersona,
        editor: &str,
    ) -> Result<PersonaCreation, StoreError> {
        let _alone = self.edits.lock().await;
        let (store, now) = (self.core.store(), self.core.clock().now());
        let name = fold(&first.display_name);
        let known = store.personas().await?;
        if known.iter().any(|persona| persona.id != scope.persona && fold(&persona.display_name) == name) {
            return Ok(PersonaCreation::NameTaken);
        }
        store.ensure_user(&scope.user, now).await?;
        let is_new = store.create_persona(scope, first, editor, now).await?;
        Ok(if is_new { PersonaCreation::Created } else { PersonaCreation::IdTaken })
    }

    /// Writes name, facts and core blocks of a persona that has no core block yet, all or nothing. False if it has
    /// one.
    ///
    /// # Errors
    ///
    /// When storage fails.
    pub async fn write_first(
        &self,
        scope: &Scope,
        first: FirstPersona,
        editor: &str,
    ) -> Result<bool, StoreError> {
        let _alone = self.edits.lock().await;
        self.core.ensure_scope_exists(scope).await?;
        let name = first.display_name.clone();
        let is_first =
            self.core.store().write_first_persona(scope, first, editor, self.core.clock().now()).await?;
        if is_first {
            self.publish_appearance(scope, name).await?;
        }
        Ok(is_first)
    }

    async fn write_block(
        &self,
        scope: &Scope,
        stored: &CoreBlocks,
        label: CoreBlockLabel,
        text: &str,
        editor: &str,
    ) -> Result<(), HubError> {
        let text = if text.trim().is_empty() { "" } else { text };
        if stored.block(label) == text {
            return Ok(());
        }
        if let Some(hub) = self.shared_self.hub() {
            hub.check_core_blocks_are_here()?;
        }
        Ok(self.core.store().write_core_block(scope, label, text, editor, self.core.clock().now()).await?)
    }

    /// Writes these facts and leaves the others. False if there is no such persona.
    ///
    /// # Errors
    ///
    /// When storage fails.
    pub async fn write_facts(
        &self,
        scope: &Scope,
        facts: Vec<(Fact, Option<String>)>,
    ) -> Result<bool, StoreError> {
        self.core.ensure_scope_exists(scope).await?;
        let is_known = self.core.store().write_facts(&scope.persona, facts).await?;
        self.publish_change(scope).await?;
        Ok(is_known)
    }

    /// Sets the persona's picture.
    ///
    /// # Errors
    ///
    /// When storage fails.
    pub async fn put_avatar(&self, scope: &Scope, avatar: Avatar) -> Result<(), StoreError> {
        self.core.ensure_scope_exists(scope).await?;
        self.core.store().put_avatar(&scope.persona, avatar, self.core.clock().now()).await?;
        self.publish_change(scope).await
    }

    /// Removes the picture of the persona. False if it has none.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn remove_avatar(&self, scope: &Scope) -> Result<bool, StoreError> {
        self.core.ensure_scope_exists(scope).await?;
        let had_one = self.core.store().remove_avatar(&scope.persona).await?;
        self.publish_change(scope).await?;
        Ok(had_one)
    }

    /// Sets if the persona's replies are spoken.
    ///
    /// # Errors
    ///
    /// When storage fails.
    pub async fn enable_voice(&self, scope: &Scope, is_enabled: bool) -> Result<(), StoreError> {
        self.core.ensure_scope_exists(scope).await?;
        self.core.store().enable_voice(&scope.persona, is_enabled).await?;
        self.publish_change(scope).await
    }

    /// Resets a persona: its texts and its memory of all users are deleted. `None` if there is no such persona.
    ///
    /// # Errors
    ///
    /// When storage fails.
    pub async fn reset(&self, persona: &PersonaId) -> Result<Option<ResetCounts>, StoreError> {
        let _alone = self.edits.lock().await;
        self.changes.reset_persona(persona).await
    }

    async fn publish_change(&self, scope: &Scope) -> Result<(), StoreError> {
        let name = self.core.persona_of(scope).await?.display_name;
        self.publish_appearance(scope, name).await
    }

    async fn publish_appearance(&self, scope: &Scope, display_name: String) -> Result<(), StoreError> {
        let appearance = self.core.store().persona_appearance(&scope.persona).await?;
        self.core.publish(scope, SettingsUpdated::of_appearance(&appearance, display_name));
        Ok(())
    }
}

/// Exclusive right to edit personas, while it is held.
pub struct PersonaEdits<'a> {
    personas: &'a Personas,
    _alone: MutexGuard<'a, ()>,
}

impl PersonaEdits<'_> {
    /// Renames the persona and replaces core blocks, if that changes something. A blank text clears its block.
    ///
    /// # Errors
    ///
    /// When storage fails, or core blocks belong to the hub that this home follows.
    pub async fn write(
        &self,
        scope: &Scope,
        name: Option<String>,
        blocks: Vec<(CoreBlockLabel, String)>,
        editor: &str,
    ) -> Result<(), HubError> {
        let (personas, core) = (self.personas, &self.personas.core);
        core.ensure_scope_exists(scope).await?;
        let persona = core.persona_of(scope).await?;
        let stored = core.store().core_blocks(scope).await?;
        for (label, text) in blocks {
            personas.write_block(scope, &stored, label, &text, editor).await?;
        }
        let name = name.unwrap_or_else(|| persona.display_name.clone());
        if name != persona.display_name {
            core.store().rename_persona(&scope.persona, &name).await?;
        }
        Ok(personas.publish_appearance(scope, name).await?)
    }
}
