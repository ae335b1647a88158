//! Lorebooks as they were read last.

use std::collections::HashMap;
use std::sync::Arc;

use memory::PersonaId;
use parking_lot::Mutex;

use super::matching::LoreIndex;
use crate::names::{DocumentName, InstanceId};
use crate::ports::LoreState;

/// The entries of each persona as they were read last. They are read again when one of them has changed. Two turns that find them
/// changed both read them: that is cheaper than having one wait for the other.
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
        self.0.lock().get(persona).cloned()
    }

    pub(super) fn set(&self, persona: &PersonaId, state: LoreState, book: Arc<Lorebook>) {
        self.0.lock().insert(persona.clone(), (state, book));
    }

    /// Drops the texts that are held of this persona.
    pub(crate) fn forget(&self, persona: &PersonaId) {
        self.0.lock().remove(persona);
    }
}
