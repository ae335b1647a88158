//! The change from one embedding model to another: the former model is used for a scope until its new vectors are
//! complete.

use std::collections::HashSet;
use std::sync::Arc;

use memory::Scope;
use memory::ports::Embedder;
use parking_lot::Mutex;

/// The former embedding model while it is still needed.
pub(crate) struct Changeover {
    state: Mutex<ChangeoverState>,
}

#[derive(Default)]
struct ChangeoverState {
    previous: Option<Arc<dyn Embedder>>,
    waiting: WaitingScopes,
    failure: Option<String>,
}

/// Scopes that still use the former model.
#[derive(Default)]
enum WaitingScopes {
    /// It is not known yet which scopes are complete.
    #[default]
    All,
    These(HashSet<Scope>),
}

impl Changeover {
    /// Creates the changeover. `previous` is used until scopes are known to be complete.
    pub(crate) fn new(previous: Option<Arc<dyn Embedder>>) -> Self {
        Self { state: Mutex::new(ChangeoverState { previous, ..ChangeoverState::default() }) }
    }

    /// The former model, while it is needed.
    pub(crate) fn previous_model(&self) -> Option<Arc<dyn Embedder>> {
        self.state.lock().previous.clone()
    }

    /// The former model, if the scope has to be searched with it.
    pub(crate) fn serving_model(&self, scope: &Scope) -> Option<Arc<dyn Embedder>> {
        let state = self.state.lock();
        let waits = match &state.waiting {
            WaitingScopes::All => true,
            WaitingScopes::These(scopes) => scopes.contains(scope),
        };
        state.previous.clone().filter(|_| waits)
    }

    /// Notes the incomplete scopes; all others are complete. When none is left, the former model is dropped.
    pub(crate) fn note_waiting_scopes(&self, scopes: Vec<Scope>) {
        let mut state = self.state.lock();
        if scopes.is_empty() {
            state.previous = None;
        }
        state.waiting = WaitingScopes::These(scopes.into_iter().collect());
    }

    /// Notes why no vectors are computed; `None` if they are.
    pub(crate) fn note_failure(&self, failure: Option<String>) {
        self.state.lock().failure = failure;
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.state.lock().failure.clone()
    }
}
