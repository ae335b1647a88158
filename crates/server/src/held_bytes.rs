//! How many bytes of request bodies are held in memory.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the bytes of bodies that are held. Operations are `Relaxed`: the number itself is the bound, and no other memory depends on it.
#[derive(Debug, Default)]
pub(crate) struct HeldBytes(AtomicUsize);

impl HeldBytes {
    /// Counts `bytes` more, unless that exceeds `limit`. True if they were counted.
    pub(crate) fn try_add(&self, bytes: usize, limit: usize) -> bool {
        let grown = |held: usize| held.checked_add(bytes).filter(|held| *held <= limit);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_ok()
    }

    /// Counts `bytes` that were added before no longer.
    pub(crate) fn subtract(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}
