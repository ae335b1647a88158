//! State shared by the services of the runtime: store, model, clock, settings, subscribers, tasks and the signals
//! between them. It is created first, so that each service is complete on creation.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use memory::ports::{
    Clock, Embedder, IdGenerator, PersonaRecord, ProactiveStore, Store, StoreError, UserRecord,
};
use memory::vector_index::VectorIndex;
use memory::{Scope, UserId};
use mind::LanguageMind;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::events::bodies::SettingsUpdated;
use crate::events::broadcast::Broadcast;
use crate::events::server_event::{EventData, WireEvent};
use crate::forget_epochs::ForgetEpochs;
use crate::metrics::Metrics;
use crate::settings::RuntimeSettings;

/// The dependencies of a [`RuntimeCore`].
pub struct RuntimeParts {
    pub store: Arc<dyn Store>,
    /// Storage of decisions about proactive messages.
    pub proactive: Arc<dyn ProactiveStore>,
    /// Without it, memories are found by words alone.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Vectors of active scopes.
    pub index: Arc<VectorIndex>,
    pub mind: Arc<LanguageMind>,
    pub clock: Arc<dyn Clock>,
    /// Ids of what is written.
    pub ids: Arc<dyn IdGenerator>,
    pub broadcast: Broadcast,
    pub metrics: Metrics,
    /// The settings at the start.
    pub settings: RuntimeSettings,
}

/// State shared by the services of a [`Runtime`](crate::Runtime). The hub is created together with it.
pub struct RuntimeCore {
    pub(crate) parts: RuntimeParts,
    settings: ArcSwap<RuntimeSettings>,
    /// Coordinates forgetting with running work.
    pub(crate) forget_epochs: ForgetEpochs,
    /// Time until which no further notice about the daily spend cap is sent.
    pub(crate) cap_reported_until: Mutex<Option<Timestamp>>,
    /// Cancelled when the program stops.
    pub(crate) stopping: CancellationToken,
    /// Cancelled when a worker has panicked.
    pub(crate) died: CancellationToken,
    /// Turns and workers; a stop waits for them.
    pub(crate) tasks: TaskTracker,
    /// Number of running turns. Background embedding waits for them, because both need the processor. Counted with
    /// `Relaxed`: an outdated count only starts a batch too early, and no other memory depends on it.
    pub(crate) turns_running: AtomicU64,
    /// Signals that a session ended, so that the consolidation worker may have work.
    pub(crate) session_ended: Notify,
    /// Signals that messages or nodes were written, so that vectors may be missing.
    pub(crate) written: Notify,
    /// Signals that a session was consolidated, so that relations can be extracted.
    pub(crate) remembered: Notify,
    /// Signals that a person has changed the settings, so that workers recompute their pauses.
    pub(crate) settings_changed: Notify,
    /// Scopes whose persona and user are known to be stored, so that only a scope's first message asks the store.
    known: Mutex<HashSet<Scope>>,
}

impl RuntimeCore {
    pub fn new(parts: RuntimeParts) -> Arc<Self> {
        Arc::new(Self {
            settings: ArcSwap::from_pointee(parts.settings.clone()),
            parts,
            forget_epochs: ForgetEpochs::default(),
            cap_reported_until: Mutex::default(),
            stopping: CancellationToken::new(),
            died: CancellationToken::new(),
            tasks: TaskTracker::new(),
            turns_running: AtomicU64::new(0),
            session_ended: Notify::new(),
            written: Notify::new(),
            remembered: Notify::new(),
            settings_changed: Notify::new(),
            known: Mutex::default(),
        })
    }

    pub(crate) fn settings(&self) -> Arc<RuntimeSettings> {
        self.settings.load_full()
    }

    /// Applies new settings. The persona, its first name and the zone stay as they were at the start.
    pub(crate) fn change_settings(&self, settings: RuntimeSettings) {
        let current = self.settings();
        self.settings.store(Arc::new(RuntimeSettings {
            persona: current.persona.clone(),
            persona_name: current.persona_name.clone(),
            zone: current.zone.clone(),
            ..settings
        }));
        self.settings_changed.notify_waiters();
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.parts.store
    }

    pub(crate) fn proactive(&self) -> &dyn ProactiveStore {
        &*self.parts.proactive
    }

    pub(crate) fn embedder(&self) -> Option<&dyn Embedder> {
        self.parts.embedder.as_deref()
    }

    pub(crate) fn index(&self) -> &VectorIndex {
        &self.parts.index
    }

    pub(crate) fn mind(&self) -> &LanguageMind {
        &self.parts.mind
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.parts.clock
    }

    pub(crate) fn ids(&self) -> &dyn IdGenerator {
        &*self.parts.ids
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.parts.metrics
    }

    pub(crate) fn broadcast(&self) -> &Broadcast {
        &self.parts.broadcast
    }

    pub(crate) fn publish<E: EventData>(&self, scope: &Scope, event: E) {
        self.parts.broadcast.publish(WireEvent::new(scope.clone(), &event));
    }

    /// Notifies subscribers of the scope, and those who see everything, of changed configuration keys.
    pub(crate) async fn publish_settings(
        &self,
        scope: &Scope,
        updated_fields: Vec<String>,
        restart_required: Vec<String>,
    ) {
        // Publishing must not depend on reading the setting.
        let appearance = self.store().persona_appearance(&scope.persona).await.unwrap_or_default();
        let voice_enabled = appearance.voice_enabled;
        let event = SettingsUpdated::of_configuration(updated_fields, restart_required, voice_enabled);
        self.publish(scope, event);
    }

    /// Stores the persona and the user of the scope, unless they exist.
    pub(crate) async fn ensure_scope_exists(&self, scope: &Scope) -> Result<(), StoreError> {
        if self.known.lock().contains(scope) {
            return Ok(());
        }
        let now = self.clock().now();
        self.store().ensure_persona(&scope.persona, &self.settings().persona_name, now).await?;
        self.store().ensure_user(&scope.user, now).await?;
        self.known.lock().insert(scope.clone());
        Ok(())
    }

    /// The persona of the scope, created if it does not exist.
    pub(crate) async fn persona_of(&self, scope: &Scope) -> Result<PersonaRecord, StoreError> {
        let now = self.clock().now();
        self.store().ensure_persona(&scope.persona, &self.settings().persona_name, now).await
    }

    /// The user's zone, or the daemon's if it is unknown or no longer exists.
    pub(crate) async fn zone_of(&self, user: &UserId) -> Result<TimeZone, StoreError> {
        Ok(self.zone_of_user(&self.store().known_user(user).await?))
    }

    /// The zone of a user that was read already.
    pub(crate) fn zone_of_user(&self, user: &UserRecord) -> TimeZone {
        let zone = user.timezone.as_deref().and_then(|name| TimeZone::get(name).ok());
        zone.unwrap_or_else(|| self.settings().zone.clone())
    }
}
