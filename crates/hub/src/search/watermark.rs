//! Progress of embedding.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use memory::Scope;
use parking_lot::Mutex;

/// Pause after a failure of the model, unless somebody asks for vectors. Meanwhile searches use words only.
const MODEL_PAUSE: SignedDuration = SignedDuration::from_secs(30);

/// For each scope, the revision up to which all memories have vectors, and if the model is paused. Avoids looking
/// through all memories after every write.
#[derive(Debug, Default)]
pub(crate) struct EmbeddingWatermark {
    revisions: Mutex<HashMap<(Scope, String), i64>>,
    /// Time until which a failed model is not asked; `None` while it works.
    rests_until: Mutex<Option<Timestamp>>,
}

impl EmbeddingWatermark {
    pub(super) fn get(&self, scope: &Scope, fingerprint: &str) -> i64 {
        let revisions = self.revisions.lock();
        revisions.get(&(scope.clone(), fingerprint.to_owned())).copied().unwrap_or(0)
    }

    pub(super) fn set(&self, scope: &Scope, fingerprint: &str, revision: i64) {
        let mut revisions = self.revisions.lock();
        revisions.insert((scope.clone(), fingerprint.to_owned()), revision);
    }

    /// True if the model failed a moment ago.
    pub(crate) fn is_resting(&self, now: Timestamp) -> bool {
        let until = *self.rests_until.lock();
        until.is_some_and(|until| now < until)
    }

    /// Notes if the model failed; true if that changed.
    pub(super) fn note_outcome(&self, failed: bool, now: Timestamp) -> bool {
        let until = failed.then(|| now.saturating_add(MODEL_PAUSE).unwrap_or(now));
        let before = std::mem::replace(&mut *self.rests_until.lock(), until);
        before.is_some() != failed
    }

    pub(crate) fn drop_scope(&self, scope: &Scope) {
        let mut revisions = self.revisions.lock();
        revisions.retain(|(known, _), _| known != scope);
    }

    pub(crate) fn clear(&self) {
        self.revisions.lock().clear();
    }
}
