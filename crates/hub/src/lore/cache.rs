//! Lorebooks as they were read last.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use memory::PersonaId;

use super::matching::LoreIndex;
use crate::names::{DocumentName, InstanceId};
use crate::ports::LoreState;

/// The entries of each persona as they were read last. They are read again when one of them has changed.
#[derive(Default)]
pub(crate) struct LoreCache(Mutex<HashMap<PersonaId, (LoreState, Arc<Lorebook>)>>);

/// The entries of a persona.
pub(super) struct Lorebook {
    pub(super) documents: Vec<(DocumentName, InstanceId)>,
    /// Numbers are positions in `documents`.
    pub(super) index: LoreIndex,
}

impl LoreCache {
    pub(super) fn for_persona(&self, persona: &PersonaId) -> Option<(LoreState, Arc<Lorebook>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(persona).cloned()
    }

    pub(super) fn set(&self, persona: &PersonaId, state: LoreState, book: Arc<Lorebook>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(persona.clone(), (state, book));
    }

    /// Drops the texts that are held of this persona.
    pub(crate) fn forget(&self, persona: &PersonaId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(persona);
    }
}
