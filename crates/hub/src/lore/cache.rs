//! Cached lorebooks.

use std::collections::HashMap;
use std::sync::Arc;

use memory::PersonaId;
use parking_lot::Mutex;

use super::matching::LoreIndex;
use crate::names::{DocumentName, InstanceId};
use crate::ports::LoreState;

/// Cached entries of each persona. They are read again when one has changed. Two turns that notice a change both read
/// them, which is cheaper than making one wait for the other.
#[derive(Default)]
pub(crate) struct LoreCache(Mutex<HashMap<PersonaId, (LoreState, Arc<Lorebook>)>>);

/// The entries of a persona.
pub(super) struct Lorebook {
    pub(super) documents: Vec<(DocumentName, InstanceId)>,
    /// Finds entries by their keys; numbers are positions in `documents`.
    pub(super) index: LoreIndex,
}

impl LoreCache {
    pub(super) fn for_persona(&self, persona: &PersonaId) -> Option<(LoreState, Arc<Lorebook>)> {
        self.0.lock().get(persona).cloned()
    }

    pub(super) fn set(&self, persona: &PersonaId, state: LoreState, book: Arc<Lorebook>) {
        self.0.lock().insert(persona.clone(), (state, book));
    }

    /// Drops the cached texts of this persona.
    pub(crate) fn forget(&self, persona: &PersonaId) {
        self.0.lock().remove(persona);
    }
}
