//! Creates the services of the runtime, starts and stops them.

use std::sync::Arc;
use std::time::Duration;

use hub::graph::Graph;
use hub::{Hub, WorkingHours};
use jiff::Timestamp;
use memory::identifiers::TurnId;
use memory::ports::{Clock, Embedder, PersonaRecord, ProactiveStore, Store, StoreError};
use memory::{PersonaId, Scope, UserId};
use mind::LanguageMind;

use crate::changes::Changes;
use crate::channels::{Outbound, OutboundChannels};
use crate::core::RuntimeCore;
use crate::events::broadcast::Broadcast;
use crate::hub_work::background::HubWorker;
use crate::hub_work::embodiment::{Embodiment, EmbodimentWorker, LAST_EXCHANGE_TIME_MAX};
use crate::hub_work::relations::GraphWorker;
use crate::hub_work::shared_self::SharedSelf;
use crate::imports::{ImportParts, ImportServices, Imports};
use crate::messages::Messages;
use crate::metrics::Metrics;
use crate::personas::Personas;
use crate::proactive::{Proactive, ProactiveParts, ProactiveWorker};
use crate::recall::Recall;
use crate::sessions::Sessions;
use crate::sessions::consolidator::ConsolidationWorker;
use crate::sessions::idle::IdleWorker;
use crate::settings::RuntimeSettings;
use crate::spending::Spending;
use crate::turns::{TurnParts, Turns};
use crate::utility::{UtilityAnswer, UtilityError};
use crate::vectors::Vectors;
use crate::vectors::backfill::VectorWorker;
use crate::voice::Voice;
use crate::voice::speech::VoiceParts;

/// Time for which running turns may finish when the program stops: most replies end within it.
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// Parts that a [`Runtime`] can do without.
#[derive(Default)]
pub struct OptionalParts {
    /// The shared self, with its schedule.
    pub hub: Option<(Hub, WorkingHours)>,
    /// The graph, if facts are extracted for it.
    pub graph: Option<Graph>,
    /// Channels to other platforms.
    pub channels: Option<Arc<dyn OutboundChannels>>,
    pub voice: Option<VoiceParts>,
    /// Storage and settings of imports.
    pub imports: Option<ImportParts>,
    /// The former embedding model. It is used until the vectors of the new one are complete.
    pub previous_embedder: Option<Arc<dyn Embedder>>,
}

/// The services of the runtime. Cheap to clone.
#[derive(Clone)]
pub struct Runtime {
    services: Arc<Services>,
}

struct Services {
    core: Arc<RuntimeCore>,
    outbound: Outbound,
    shared_self: Arc<SharedSelf>,
    vectors: Arc<Vectors>,
    voice: Arc<Voice>,
    changes: Arc<Changes>,
    messages: Arc<Messages>,
    recall: Arc<Recall>,
    turns: Arc<Turns>,
    personas: Arc<Personas>,
    imports: Arc<Imports>,
    sessions: Arc<Sessions>,
    embodiment: Arc<Embodiment>,
    /// Schedule of the hub's background work, if there is a hub.
    hours: Option<WorkingHours>,
    graph: Option<Graph>,
}

impl Runtime {
    /// Creates the services, each from those that it needs. No work starts before [`Runtime::start`].
    pub fn new(core: Arc<RuntimeCore>, optional: OptionalParts) -> Self {
        let OptionalParts { hub, graph, channels, voice, imports, previous_embedder } = optional;
        let (hub, hours) = hub.unzip();
        let outbound = Outbound::new(channels);
        let shared_self = SharedSelf::new(core.clone(), hub);
        let vectors = Vectors::new(core.clone(), shared_self.clone(), previous_embedder);
        let voice = Voice::new(core.clone(), outbound.clone(), voice);
        let changes = Changes::new(core.clone(), shared_self.clone(), voice.clone());
        let messages = Messages::new(core.clone(), changes.clone());
        let recall = Recall::new(core.clone(), shared_self.clone(), vectors.clone());
        let turn_parts = TurnParts {
            messages: messages.clone(),
            recall: recall.clone(),
            changes: changes.clone(),
            voice: voice.clone(),
            outbound: outbound.clone(),
        };
        let turns = Turns::new(core.clone(), turn_parts);
        let personas = Personas::new(core.clone(), shared_self.clone(), changes.clone());
        let import_services = ImportServices {
            messages: messages.clone(),
            changes: changes.clone(),
            personas: personas.clone(),
            shared_self: shared_self.clone(),
        };
        let imports = Imports::new(core.clone(), import_services, imports);
        let sessions =
            Sessions::new(core.clone(), turns.clone(), changes.clone(), imports.clone(), shared_self.clone());
        let embodiment = Embodiment::new(core.clone(), shared_self.clone(), changes.clone());
        let services = Services {
            core,
            outbound,
            shared_self,
            vectors,
            voice,
            changes,
            messages,
            recall,
            turns,
            personas,
            imports,
            sessions,
            embodiment,
            hours,
            graph,
        };
        Self { services: Arc::new(services) }
    }

    /// Resumes pending work of the last run, then starts the background tasks.
    pub async fn start(&self) -> Result<(), StoreError> {
        let services = &self.services;
        let core = &services.core;
        let (settings, now) = (core.settings(), core.clock().now());
        core.store().ensure_persona(&settings.persona, &settings.persona_name, now).await?;
        // The owner exists from the start: requests that only read create nobody.
        core.store().ensure_user(&UserId::owner(), now).await?;
        let released = core.store().release_claims().await?;
        if released > 0 {
            tracing::info!(sessions = released, "resuming interrupted consolidations");
        }
        services.voice.clean_at_start().await;
        services.shared_self.start().await?;
        services.turns.recover_turns().await?;
        if let Err(error) = services.imports.resume_all().await {
            tracing::error!("interrupted imports can't be resumed: {error}");
        }
        services.spawn_workers();
        Ok(())
    }

    /// Returns when a background task has panicked. Turns may go on, but sessions are no longer consolidated: the
    /// program should end with an error. Stored messages are safe.
    pub async fn wait_for_background_failure(&self) {
        self.services.core.died.cancelled().await;
    }

    /// Refuses new messages, lets running turns finish for up to 20 s, and ends the background work. Unfinished work
    /// is durable and is resumed at the next start.
    pub async fn stop(&self) {
        let Services { core, embodiment, .. } = &*self.services;
        core.stopping.cancel();
        core.tasks.close();
        let limit = match embodiment.is_following() {
            true => STOP_LIMIT.saturating_sub(LAST_EXCHANGE_TIME_MAX),
            false => STOP_LIMIT,
        };
        tokio::select! {
            () = core.tasks.wait() => {}
            () = core.clock().sleep(limit) => {
                tracing::warn!("a turn did not finish in time; it resumes at the next start");
            }
        }
        embodiment.exchange_at_stop().await;
    }

    /// Accepts and answers messages.
    pub fn turns(&self) -> &Arc<Turns> {
        &self.services.turns
    }

    /// Ends and retries sessions.
    pub fn sessions(&self) -> &Sessions {
        &self.services.sessions
    }

    /// Stores messages without a reply.
    pub fn messages(&self) -> &Messages {
        &self.services.messages
    }

    /// Recalls memories for a text.
    pub fn recall(&self) -> &Arc<Recall> {
        &self.services.recall
    }

    /// Forgets and corrects memories.
    pub fn changes(&self) -> &Changes {
        &self.services.changes
    }

    /// Speaks messages and transcribes recordings.
    pub fn voice(&self) -> &Voice {
        &self.services.voice
    }

    /// Creates and edits personas.
    pub fn personas(&self) -> &Personas {
        &self.services.personas
    }

    /// Imports files of other programs.
    pub fn imports(&self) -> &Arc<Imports> {
        &self.services.imports
    }

    /// Searches, and the state of the vectors.
    pub fn vectors(&self) -> &Vectors {
        &self.services.vectors
    }

    /// Exchanges documents with the hub of another home.
    pub fn embodiment(&self) -> &Embodiment {
        &self.services.embodiment
    }

    /// The hub of this home; `None` if it has none.
    pub fn hub(&self) -> Option<&Hub> {
        self.services.shared_self.hub()
    }

    /// The channels to other platforms.
    pub fn channels(&self) -> Option<&Arc<dyn OutboundChannels>> {
        self.services.outbound.channels()
    }

    /// The scope of the configured persona and this user.
    pub fn scope(&self, persona: Option<PersonaId>, user: UserId) -> Scope {
        Scope::new(persona.unwrap_or_else(|| self.settings().persona.clone()), user)
    }

    /// Creates the persona and the user of the scope if needed, and returns the persona.
    pub async fn ensure_scope_exists(&self, scope: &Scope) -> Result<PersonaRecord, StoreError> {
        self.services.core.ensure_scope_exists(scope).await?;
        self.services.core.persona_of(scope).await
    }

    /// The persona of the scope, created if it does not exist.
    pub async fn persona_of(&self, scope: &Scope) -> Result<PersonaRecord, StoreError> {
        self.services.core.persona_of(scope).await
    }

    /// Spending of the current day.
    pub async fn spending_today(&self) -> Result<Spending, StoreError> {
        self.services.core.spending_today().await
    }

    /// The last and the next midnight in the daemon's zone, at which daily limits are reset.
    pub fn current_day(&self) -> (Timestamp, Timestamp) {
        self.services.core.current_day()
    }

    /// Answers a prompt without memory and without the persona. Only its cost is stored, under `id`.
    ///
    /// # Errors
    ///
    /// When the day's spending cap is reached, no language model is configured, or the model fails.
    pub async fn answer_utility(&self, prompt: &str, id: TurnId) -> Result<UtilityAnswer, UtilityError> {
        self.services.core.answer_utility(prompt, id).await
    }

    pub fn store(&self) -> &dyn Store {
        self.services.core.store()
    }

    /// Decides about proactive messages.
    pub fn proactive(&self) -> &dyn ProactiveStore {
        self.services.core.proactive()
    }

    pub fn mind(&self) -> &LanguageMind {
        self.services.core.mind()
    }

    /// The embedder; `None` if memories are found by words alone.
    pub fn embedder(&self) -> Option<&dyn Embedder> {
        self.services.core.embedder()
    }

    pub fn broadcast(&self) -> &Broadcast {
        self.services.core.broadcast()
    }

    pub fn clock(&self) -> &dyn Clock {
        self.services.core.clock()
    }

    /// A new id for a turn, or for another request in the ledger.
    pub fn next_turn_id(&self) -> TurnId {
        TurnId(self.services.core.ids().next(self.clock().now()))
    }

    /// The clock, as a shared reference.
    pub fn shared_clock(&self) -> Arc<dyn Clock> {
        self.services.core.parts.clock.clone()
    }

    /// The current settings. They do not change for as long as the caller holds them.
    pub fn settings(&self) -> Arc<RuntimeSettings> {
        self.services.core.settings()
    }

    /// Applies new settings. The persona, its first name and the zone stay as they were at the start; a running turn
    /// or consolidation may end with its former settings.
    pub fn change_settings(&self, settings: RuntimeSettings) {
        self.services.core.change_settings(settings);
    }

    /// Notifies this user's subscribers, and those who see everything, of changed configuration keys.
    pub async fn publish_settings(
        &self,
        user: UserId,
        updated_fields: Vec<String>,
        restart_required: Vec<String>,
    ) {
        let scope = self.scope(None, user);
        self.services.core.publish_settings(&scope, updated_fields, restart_required).await;
    }

    pub fn metrics(&self) -> &Metrics {
        self.services.core.metrics()
    }
}

impl Services {
    fn spawn_workers(&self) {
        let core = &self.core;
        core.spawn_worker(IdleWorker::new(self.sessions.clone()));
        core.spawn_worker(ConsolidationWorker::new(self.sessions.clone()));
        if let Some(embedder) = core.parts.embedder.clone() {
            core.spawn_worker(VectorWorker::new(self.vectors.clone(), embedder));
        }
        let hub = self.shared_self.hub().cloned();
        if let Some(hub) = hub.clone().zip(self.hours) {
            core.spawn_worker(HubWorker::new(core.clone(), hub));
            core.spawn_worker(EmbodimentWorker::new(self.embodiment.clone()));
        }
        if let Some(graph) = self.graph.clone() {
            core.spawn_worker(GraphWorker::new(core.clone(), hub, graph));
        }
        let parts = ProactiveParts {
            messages: self.messages.clone(),
            recall: self.recall.clone(),
            voice: self.voice.clone(),
            outbound: self.outbound.clone(),
            conversations: self.turns.conversations().clone(),
        };
        core.spawn_worker(ProactiveWorker::new(Proactive::new(core.clone(), parts)));
    }
}
