//! How many streams each token has open.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::auth::principal::Principal;

/// Counts the streams of each token, by its name.
#[derive(Default)]
pub(crate) struct OpenStreams(Mutex<HashMap<String, usize>>);

impl OpenStreams {
    pub(crate) fn open(&self, principal: &Principal) -> bool {
        // Nothing that holds the lock can leave the counts half-changed.
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(principal.name.clone()).or_default();
        let has_room = *count < principal.streams_max;
        *count += usize::from(has_room);
        has_room
    }

    pub(crate) fn close(&self, name: &str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(name) {
            *count -= 1;
            if *count == 0 {
                counts.remove(name);
            }
        }
    }
}
