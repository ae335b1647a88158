//! Counts the open streams of each token.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::auth::principal::Principal;

/// Counts the streams of each token, by its name.
#[derive(Default)]
pub(crate) struct OpenStreams(Mutex<HashMap<String, usize>>);

impl OpenStreams {
    pub(crate) fn open(&self, principal: &Principal) -> bool {
        let mut counts = self.0.lock();
        let count = counts.entry(principal.name.clone()).or_default();
        let has_room = *count < principal.streams_max;
        *count += usize::from(has_room);
        has_room
    }

    pub(crate) fn close(&self, name: &str) {
        let mut counts = self.0.lock();
        if let Some(count) = counts.get_mut(name) {
            *count -= 1;
            if *count == 0 {
                counts.remove(name);
            }
        }
    }
}
