//! The persona's runtime: its parts, start and stop, and the methods that channels and the server call.

use std::collections::{HashMap, HashSet};
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hub::graph::Graph;
use hub::ports::ChunkCoverage;
use hub::{Hub, HubError, WorkingHours};
use memory::identifiers::{SessionId, TurnId};
use memory::messages::{Turn, TurnStatus};
use memory::ports::{Clock, Embedder, PersonaRecord, Store, StoreError};
use memory::sessions::{CloseTrigger, Session};
use memory::{PersonaId, Scope, UserId};
use mind::LanguageMind;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::core::RuntimeCore;
use crate::events::broadcast::Broadcast;
use crate::events::server_event::ServerEvent;
use crate::hub_work::diary::HubWorker;
use crate::hub_work::embodiment::{Embodiment, EmbodimentWorker, LAST_EXCHANGE};
use crate::hub_work::relations::GraphWorker;
use crate::imports::{ImportParts, Imports};
use crate::metrics::Metrics;
use crate::proactive::ProactiveWorker;
use crate::sessions::consolidator::ConsolidationWorker;
use crate::sessions::idle::IdleWorker;
use crate::settings::RuntimeSettings;
use crate::spending::Spending;
use crate::turns::channels::OutboundChannels;
use crate::turns::conversations::Conversations;
use crate::turns::inbox::{AcceptError, AcceptedMessage, IncomingMessage};
use crate::turns::said_corrections::SaidCorrections;
use crate::turns::turn_event::TurnEvent;
use crate::vectors::backfill::VectorWorker;
use crate::vectors::changeover::{Changeover, VectorState};
use crate::voice::speech::{Voice, VoiceParts};

/// Time that running turns may take to finish when the program stops.
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// Age of a pending turn from which it counts as orphaned if no conversation knows it. A capture takes seconds, even if the database
/// goes away meanwhile.
const ORPHAN_AGE: Duration = Duration::from_secs(120);

/// Parts that a [`Runtime`] can do without.
#[derive(Default)]
pub struct OptionalParts {
    /// The shared self, and when it works.
    pub hub: Option<(Hub, WorkingHours)>,
    /// The graph, if it is to be drawn from new memories.
    pub graph: Option<Graph>,
    /// Channels beyond this program.
    pub channels: Option<Arc<dyn OutboundChannels>>,
    pub voice: Option<VoiceParts>,
    /// Files that are imported.
    pub imports: Option<ImportParts>,
    /// The embedding model before the present one. It serves until the vectors of the present one are complete.
    pub previous_embedder: Option<Arc<dyn Embedder>>,
}

/// A persona's life, seen from outside. Cheap to clone.
#[derive(Clone)]
pub struct Runtime {
    pub(crate) runtime: Arc<RuntimeInner>,
}

pub(crate) struct RuntimeInner {
    core: Arc<RuntimeCore>,
    pub(crate) conversations: Arc<Conversations>,
    known: Mutex<HashSet<Scope>>,
    pub(crate) said_corrections: SaidCorrections,
    pub(crate) stopping: CancellationToken,
    /// Part of the background work is no more.
    pub(crate) died: CancellationToken,
    pub(crate) tasks: TaskTracker,
    /// A session ended: there may be work for the consolidation worker.
    pub(crate) session_ended: Notify,
    /// Messages or nodes were written: there may be vectors to make.
    pub(crate) written: Notify,
    /// A person has changed the settings: whoever waits by them begins again.
    pub(crate) settings_changed: Notify,
    /// The embedding model before the present one, as long as it serves.
    pub(crate) changeover: Changeover,
    /// The shared self, where there is one, and when it works.
    pub(crate) hub: Option<(Hub, WorkingHours)>,
    /// The hub that this home is an embodiment of.
    pub(crate) embodiment: Embodiment,
    /// The graph, where it is drawn from new memories.
    pub(crate) graph: Option<Graph>,
    /// Channels beyond this program.
    pub(crate) channels: Option<Arc<dyn OutboundChannels>>,
    /// A session became memory: there may be facts to draw.
    pub(crate) remembered: Notify,
    /// One recall at a time may be told apart from background embedding: turns go first.
    pub(crate) turns_running: AtomicU64,
    /// Turns that a person may stop: those that run, and those that shall not even begin.
    stops: Mutex<HashMap<TurnId, CancellationToken>>,
    /// Speech and transcription, with the stored sound.
    pub(crate) voice: Option<Voice>,
    /// Files that are imported, where they are kept.
    pub(crate) imports: Option<Imports>,
}

impl Runtime {
    /// Puts the parts together. Nothing moves before [`Runtime::start`].
    pub fn new(core: Arc<RuntimeCore>, optional: OptionalParts) -> Self {
        let runtime = RuntimeInner {
            core,
            conversations: Arc::default(),
            known: Mutex::default(),
            said_corrections: SaidCorrections::default(),
            stopping: CancellationToken::new(),
            died: CancellationToken::new(),
            tasks: TaskTracker::new(),
            session_ended: Notify::new(),
            written: Notify::new(),
            settings_changed: Notify::new(),
            changeover: Changeover::new(optional.previous_embedder),
            hub: optional.hub,
            embodiment: Embodiment::default(),
            graph: optional.graph,
            channels: optional.channels,
            remembered: Notify::new(),
            turns_running: AtomicU64::new(0),
            stops: Mutex::default(),
            voice: optional.voice.map(Voice::new),
            imports: optional.imports.map(Imports::new),
        };
        Self { runtime: Arc::new(runtime) }
    }

    /// Resumes pending work of the last run, then spawns the background tasks.
    pub async fn start(&self) -> Result<(), StoreError> {
        let runtime = &self.runtime;
        let settings = runtime.settings();
        runtime
            .store()
            .ensure_persona(&settings.persona, &settings.persona_name, runtime.clock().now())
            .await?;
        // The owner is there from the beginning: requests that only read create nobody.
        runtime.store().ensure_user(&UserId::owner(), runtime.clock().now()).await?;
        let released = runtime.store().release_claims().await?;
        if released > 0 {
            tracing::info!(sessions = released, "resuming interrupted consolidations");
        }
        runtime.clean_sound_at_start().await;
        crate::hub_work::diary::start(runtime).await?;
        runtime.recover_turns().await?;
        if let Err(error) = runtime.resume_imports().await {
            tracing::error!("imports that were cut off can't be resumed: {error}");
        }
        runtime.spawn_worker(IdleWorker::default());
        runtime.spawn_worker(ConsolidationWorker::default());
        if let Some(embedder) = runtime.parts.embedder.clone() {
            runtime.spawn_worker(VectorWorker::new(runtime.clone(), embedder));
        }
        if let Some(hub) = runtime.hub.clone() {
            runtime.spawn_worker(HubWorker::new(hub));
            runtime.spawn_worker(EmbodimentWorker::default());
        }
        if let Some(graph) = runtime.graph.clone() {
            runtime.spawn_worker(GraphWorker::new(graph));
        }
        runtime.spawn_worker(ProactiveWorker::default());
        Ok(())
    }

    /// Returns when part of the background work has died of a defect. Turns may go on, but silence no longer becomes
    /// memory: the program should end with an error. What was said is safe.
    pub async fn background_failed(&self) {
        self.runtime.died.cancelled().await;
    }

    /// Takes no new words, lets turns that are under way finish, up to 20 s, and ends the background work. What is
    /// not finished is durable and is resumed at the next start.
    pub async fn stop(&self) {
        self.runtime.stopping.cancel();
        self.runtime.tasks.close();
        let limit = match self.runtime.embodiment.is_following() {
            true => STOP_LIMIT.saturating_sub(LAST_EXCHANGE),
            false => STOP_LIMIT,
        };
        tokio::select! {
            () = self.runtime.tasks.wait() => {}
            () = self.runtime.clock().sleep(limit) => {
                tracing::warn!("a turn did not finish in time; it resumes at the next start");
            }
        }
        self.runtime.exchange_at_stop().await;
    }

    /// Takes a line of the user; returns when it is durable.
    pub async fn accept(&self, incoming: IncomingMessage) -> Result<AcceptedMessage, AcceptError> {
        self.runtime.accept(incoming, None, None).await
    }

    /// Like [`Runtime::accept`], and hears of the turn that answers it: for channels that reply on the spot.
    pub async fn accept_and_subscribe(
        &self,
        incoming: IncomingMessage,
    ) -> Result<(AcceptedMessage, mpsc::UnboundedReceiver<TurnEvent>), AcceptError> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let accepted = self.runtime.accept(incoming, None, Some(sender)).await?;
        Ok((accepted, receiver))
    }

    /// Asks again for the reply of a failed turn. None if there is no such failed turn.
    pub async fn retry_turn(&self, id: TurnId) -> Result<Option<Turn>, StoreError> {
        let reopened = self.runtime.store().reopen_turn(id).await?;
        if let Some(turn) = &reopened {
            self.runtime.resume(turn.scope.clone(), turn.channel_id.clone(), turn.id);
        }
        Ok(reopened)
    }

    /// Ends a session now; its consolidation follows. None if it is not open.
    pub async fn close_session(&self, id: SessionId) -> Result<Option<Session>, StoreError> {
        let ended = self.runtime.store().end_session(id, CloseTrigger::Explicit).await?;
        if ended.is_some() {
            self.runtime.session_ended.notify_one();
        }
        Ok(ended)
    }

    /// Takes a failed session up again. None if it has not failed.
    pub async fn retry_session(&self, id: SessionId) -> Result<Option<Session>, StoreError> {
        let retried = self.runtime.store().retry_session(id).await?;
        if retried.is_some() {
            self.runtime.session_ended.notify_one();
        }
        Ok(retried)
    }

    /// The memory of the configured persona and this user.
    pub fn scope(&self, persona: Option<PersonaId>, user: UserId) -> Scope {
        Scope::new(persona.unwrap_or_else(|| self.runtime.settings().persona.clone()), user)
    }

    /// Makes sure that the persona and the user of the scope exist, and gives the persona.
    pub async fn ensure_known(&self, scope: &Scope) -> Result<PersonaRecord, StoreError> {
        self.runtime.ensure_known(scope).await?;
        self.runtime.persona_of(scope).await
    }

    /// The persona of the scope, created if not there.
    pub async fn persona_of(&self, scope: &Scope) -> Result<PersonaRecord, StoreError> {
        self.runtime.persona_of(scope).await
    }

    pub(crate) fn runtime(&self) -> &RuntimeInner {
        &self.runtime
    }

    /// Spending of the day.
    pub async fn spending(&self) -> Result<Spending, StoreError> {
        self.runtime.spending().await
    }

    pub fn store(&self) -> &dyn Store {
        self.runtime.store()
    }

    pub fn mind(&self) -> &LanguageMind {
        self.runtime.mind()
    }

    /// The embedder; `None` if memories are found by their words alone.
    pub fn embedder(&self) -> Option<&dyn Embedder> {
        self.runtime.embedder()
    }

    /// State of the vectors; none if there is no embedder by choice.
    ///
    /// # Errors
    /// When the store can't count.
    pub async fn vector_state(&self) -> Result<Option<VectorState>, StoreError> {
        let Some(embedder) = self.runtime.embedder() else { return Ok(None) };
        let coverage = self.runtime.store().vector_coverage(embedder.fingerprint()).await?;
        let chunks = match self.hub() {
            Some(hub) => match hub.chunk_coverage(embedder.fingerprint()).await {
                Ok(chunks) => chunks,
                Err(HubError::Store(error)) => return Err(error),
                Err(_) => ChunkCoverage::default(),
            },
            None => ChunkCoverage::default(),
        };
        let previous = self.runtime.changeover.previous();
        Ok(Some(VectorState {
            chunks: chunks.chunks,
            chunks_with_vector: chunks.with_vector,
            model: Some(embedder.fingerprint().to_owned()).filter(|fingerprint| !fingerprint.is_empty()),
            rows: coverage.rows,
            with_vector: coverage.with_vector,
            serving_meanwhile: previous.map(|previous| previous.fingerprint().to_owned()),
            failure: self.runtime.changeover.failure(),
        }))
    }

    pub fn broadcast(&self) -> &Broadcast {
        self.runtime.broadcast()
    }

    pub fn clock(&self) -> &dyn Clock {
        self.runtime.clock()
    }

    /// An id for a turn, or for a request that is entered in the ledger as one.
    pub fn next_turn_id(&self) -> TurnId {
        TurnId(self.runtime.ids().next(self.clock().now()))
    }

    /// The time, to keep.
    pub fn shared_clock(&self) -> Arc<dyn Clock> {
        self.runtime.core.parts.clock.clone()
    }

    /// The settings in force. They stay as they are for as long as the caller holds them.
    pub fn settings(&self) -> Arc<RuntimeSettings> {
        self.runtime.settings()
    }

    /// Puts new settings in force. The persona, its first name and the zone stay as they were at the start; a turn or a
    /// session that is under way may end with the settings that it began with.
    pub fn change_settings(&self, settings: RuntimeSettings) {
        self.runtime.core.change_settings(settings);
        self.runtime.settings_changed.notify_waiters();
    }

    /// Tells this user's watchers, and those who see everything, that keys of the configuration have new values.
    pub async fn publish_settings(
        &self,
        user: UserId,
        updated_fields: Vec<String>,
        restart_required: Vec<String>,
    ) {
        let scope = self.scope(None, user);
        // What is told must not depend on whether the switch can be read.
        let appearance = self.store().appearance(&scope.persona).await.unwrap_or_default();
        let voice_enabled = appearance.voice_enabled;
        self.runtime.publish(
            &scope,
            ServerEvent::SettingsUpdated { updated_fields, restart_required, voice_enabled },
        );
    }

    pub fn metrics(&self) -> &Metrics {
        self.runtime.metrics()
    }

    /// Lines that wait for their turn, and turns that run.
    pub fn load(&self) -> (usize, usize) {
        let waiting = self.runtime.conversations.waiting_lines();
        (waiting, usize::try_from(self.runtime.turns_running.load(Ordering::Relaxed)).unwrap_or(usize::MAX))
    }

    /// Bytes that the vectors in memory take, approximately.
    pub fn index_bytes(&self) -> usize {
        self.runtime.index().bytes()
    }
}

impl Deref for RuntimeInner {
    type Target = RuntimeCore;

    fn deref(&self) -> &RuntimeCore {
        &self.core
    }
}

impl RuntimeInner {
    /// The token that cancels a turn when a person stops it.
    pub(crate) fn stop_of(&self, turn: TurnId) -> CancellationToken {
        self.stops.lock().unwrap_or_else(PoisonError::into_inner).entry(turn).or_default().clone()
    }

    pub(crate) fn forget_stop_of(&self, turn: TurnId) {
        self.stops.lock().unwrap_or_else(PoisonError::into_inner).remove(&turn);
    }

    pub(crate) fn debounce(&self, channel_id: &str) -> Duration {
        self.settings().debounce.get(channel_id).copied().unwrap_or_default()
    }

    pub(crate) async fn ensure_known(&self, scope: &Scope) -> Result<(), StoreError> {
        let known =
            |runtime: &Self| runtime.known.lock().unwrap_or_else(PoisonError::into_inner).contains(scope);
        if known(self) {
            return Ok(());
        }
        let now = self.clock().now();
        self.store().ensure_persona(&scope.persona, &self.settings().persona_name, now).await?;
        self.store().ensure_user(&scope.user, now).await?;
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(scope.clone());
        Ok(())
    }

    /// Answers what a crash left unanswered, unless it is so old that a reply would come out of nowhere.
    async fn recover_turns(self: &Arc<Self>) -> Result<(), StoreError> {
        let pending = self.store().pending_turns().await?;
        let unheard = self.hear_unfinished(pending).await?;
        for turn in unheard.ready {
            self.recover_turn(turn).await?;
        }
        // Nobody waits for an answer to the others; their words are kept all the same.
        self.hear_before(None, unheard.other_notes);
        Ok(())
    }

    /// Answers pending turns that no conversation knows, such as one whose capture was confirmed to nobody.
    pub(crate) async fn recover_orphaned_turns(self: &Arc<Self>) -> Result<(), StoreError> {
        let pending = self.store().pending_turns().await?;
        let now = self.clock().now();
        let is_old = |turn: &Turn| now.duration_since(turn.last_message_at).unsigned_abs() >= ORPHAN_AGE;
        let is_orphaned = |turn: &Turn| is_old(turn) && !self.conversations.is_active(&turn.scope);
        let mut orphaned = Vec::new();
        for turn in pending.into_iter().filter(is_orphaned) {
            // Its conversation may have ended it since the list was read.
            let turn = self.store().turn(turn.id).await?;
            orphaned.extend(turn.filter(|turn| turn.status == TurnStatus::Pending));
        }
        // Other notes may belong to messages that are only now captured.
        for turn in self.hear_unfinished(orphaned).await?.ready {
            self.recover_turn(turn).await?;
        }
        Ok(())
    }

    pub(crate) async fn recover_turn(self: &Arc<Self>, turn: Turn) -> Result<(), StoreError> {
        if self.is_fresh(turn.last_message_at) {
            self.resume(turn.scope, turn.channel_id, turn.id);
            return Ok(());
        }
        let reason = "EchoVessel was away when this was sent; retry to get a reply";
        self.store().fail_turn(turn.id, reason).await?;
        let messages = self.store().turn_messages(turn.id).await?;
        self.publish(
            &turn.scope,
            ServerEvent::TurnFailed {
                turn_id: turn.id,
                channel_id: turn.channel_id,
                reason: reason.to_owned(),
                retryable: true,
                user_message_ids: messages.into_iter().map(|message| message.id).collect(),
            },
        );
        Ok(())
    }

    /// True if a stored turn may be resumed after a crash, or is too old to be answered without being asked.
    fn is_fresh(&self, last_message_at: jiff::Timestamp) -> bool {
        let age = self.clock().now().duration_since(last_message_at);
        age.is_negative() || age.unsigned_abs() <= self.settings().answer_within
    }
}
