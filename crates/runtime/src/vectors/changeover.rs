//! The change from one embedding model to another: the former model serves a scope until its new vectors are complete.

use std::collections::HashSet;
use std::sync::Arc;

use memory::Scope;
use memory::ports::Embedder;
use parking_lot::Mutex;

/// The model before the present one, as long as it serves.
pub(crate) struct Changeover {
    state: Mutex<ChangeoverState>,
}

#[derive(Default)]
struct ChangeoverState {
    previous: Option<Arc<dyn Embedder>>,
    waiting: WaitingScopes,
    failure: Option<String>,
}

/// Scopes that the previous model still serves.
#[derive(Default)]
enum WaitingScopes {
    /// The complete vectors are not yet known.
    #[default]
    All,
    These(HashSet<Scope>),
}

impl Changeover {
    /// `previous` serves until scopes are known to be complete.
    pub(crate) fn new(previous: Option<Arc<dyn Embedder>>) -> Self {
        Self { state: Mutex::new(ChangeoverState { previous, ..ChangeoverState::default() }) }
    }

    /// The model before, as long as it serves at all.
    pub(crate) fn previous_model(&self) -> Option<Arc<dyn Embedder>> {
        self.state.lock().previous.clone()
    }

    /// The model before, if it is the one that the scope is to be searched by.
    pub(crate) fn serving_model(&self, scope: &Scope) -> Option<Arc<dyn Embedder>> {
        let state = self.state.lock();
        let waits = match &state.waiting {
            WaitingScopes::All => true,
            WaitingScopes::These(scopes) => scopes.contains(scope),
        };
        state.previous.clone().filter(|_| waits)
    }

    /// These scopes are not complete, all others are. When none is left, the previous model is let go.
    pub(crate) fn note_waiting_scopes(&self, scopes: Vec<Scope>) {
        let mut state = self.state.lock();
        if scopes.is_empty() {
            state.previous = None;
        }
        state.waiting = WaitingScopes::These(scopes.into_iter().collect());
    }

    /// Why vectors wait; none when they do not.
    pub(crate) fn note_failure(&self, failure: Option<String>) {
        self.state.lock().failure = failure;
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.state.lock().failure.clone()
    }
}
