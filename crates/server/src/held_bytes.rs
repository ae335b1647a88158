//! Counts the bytes of request bodies in memory.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the bytes of bodies in memory. Operations are `Relaxed`: only the number itself matters, and no other
/// memory depends on it.
#[derive(Debug, Default)]
pub(crate) struct BufferedBytes(AtomicUsize);

impl BufferedBytes {
    /// Adds `bytes`, unless the sum would exceed `limit`. True if they were added.
    pub(crate) fn try_add(&self, bytes: usize, limit: usize) -> bool {
        let grown = |held: usize| held.checked_add(bytes).filter(|held| *held <= limit);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_ok()
    }

    /// Subtracts `bytes` that were added before.
    pub(crate) fn subtract(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}
