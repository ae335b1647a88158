//! The home of a year: a real database file, a real runtime, a clock that only the test advances; and its crashes.

use std::cell::Cell;
use std::collections::HashMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use memory::ports::{Clock as _, Embedder, PersonaStore as _};
use memory::sessions::SessionPolicy;
use memory::vector_index::VectorIndex;
use mind::{LanguageMind, Prompts};
use runtime::{
    Broadcast, Ledger, Metrics, OptionalParts, Runtime, RuntimeCore, RuntimeParts, RuntimeSettings,
};
use store::{HomeStore, RecordedCommits, StoreOptions, without_faults};
use tempfile::TempDir;
use testkit::{SequentialIds, SimulatedClock, WordHashEmbedder};

use super::model::UnreliableModel;
use crate::world::{HOUR, SECOND, settings, soon};

/// Channels; no prompt may name them.
pub(super) const CHANNELS: [&str; 2] = ["channel-of-amber", "channel-of-teal"];
/// Interval of the loops. It is long, so silence is noticed late.
pub(super) const LOOK: Duration = Duration::from_secs(3 * 3_600);
const A_MOMENT: Duration = Duration::from_millis(20);
/// Maximum real time between two checks of whether the runtime is idle.
const BLINK: Duration = Duration::from_millis(2);
/// Maximum real time until the runtime is idle.
const PATIENCE: Duration = Duration::from_secs(20);
/// Loops that sleep for [`LOOK`] while idle: the one that ends sessions and the one that consolidates them.
const LOOPS: usize = 2;

pub(super) struct House {
    pub(super) clock: SimulatedClock,
    pub(super) store: Arc<HomeStore>,
    pub(super) runtime: Runtime,
    pub(super) index: Arc<VectorIndex>,
    pub(super) model: Arc<UnreliableModel>,
    /// Time that has really passed since the start, whatever the wall clock showed.
    pub(super) elapsed: Duration,
    pub(super) lives: u64,
    embedder: Arc<dyn Embedder>,
    /// Commits of earlier processes.
    commits: RecordedCommits,
    path: PathBuf,
    _folder: TempDir,
}

fn how_to_live() -> RuntimeSettings {
    RuntimeSettings {
        session: SessionPolicy { max_messages: 14, ..SessionPolicy::default() },
        scan_every: LOOK,
        poll_every: LOOK,
        debounce: HashMap::from([(CHANNELS[0].to_owned(), 2 * SECOND)]),
        ..settings()
    }
}

/// A folder in memory if there is one, since a year flushes often.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

impl House {
    pub(super) async fn open(model: UnreliableModel, start: Timestamp) -> Self {
        let folder = folder();
        let path = folder.path().join("home.db");
        let (clock, model) = (SimulatedClock::new(start), Arc::new(model));
        let store = open_store(&path).await;
        let embedder: Arc<dyn Embedder> = Arc::new(WordHashEmbedder::new());
        let index = Arc::new(VectorIndex::default());
        let runtime = live(&store, &clock, &model, &embedder, &index, 1);
        runtime.start().await.unwrap();
        let house = Self {
            clock,
            store,
            runtime,
            index,
            model,
            elapsed: Duration::ZERO,
            lives: 1,
            embedder,
            commits: RecordedCommits::default(),
            path,
            _folder: folder,
        };
        house.rest().await;
        house
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn fingerprint(&self) -> &str {
        self.embedder.fingerprint()
    }

    /// Ends the process if it still runs, and starts another one with the same files after `away`.
    pub(super) async fn die_and_live_again(&mut self, away: Duration) {
        self.store.faults().die();
        // Waits for what the writer and the readers were doing: nothing is written after the crash.
        self.commits = self.commits().await;
        without_faults(self.store.personas()).await.unwrap();
        // Tasks of the ended process sleep on the old clock, which never advances again.
        self.clock = SimulatedClock::new(self.now() + away);
        self.elapsed += away;
        self.lives += 1;
        self.store = open_store(&self.path).await;
        self.index = Arc::new(VectorIndex::default());
        self.runtime = live(&self.store, &self.clock, &self.model, &self.embedder, &self.index, self.lives);
        self.runtime.start().await.unwrap();
        self.rest().await;
    }

    /// Commits of all processes.
    pub(super) async fn commits(&self) -> RecordedCommits {
        let (mut all, of_this) = (self.commits.clone(), self.store.recorded_commits().await.unwrap());
        all.extractions.extend(of_this.extractions);
        all.reflections.extend(of_this.reflections);
        all
    }

    /// The result of a call, or `None` if the process ended during it: then the result is unknown.
    pub(super) async fn unless_it_dies<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.store.faults().death() => None,
        }
    }

    /// Advances the time. Returns early if the process ends.
    pub(super) async fn pass(&mut self, duration: Duration) {
        let mut left = duration;
        while !left.is_zero() && !self.store.faults().is_dead() {
            let step = left.min(LOOK);
            self.clock.advance(step).await;
            self.elapsed += step;
            left -= step;
            self.rest().await;
        }
    }

    /// The wall clock jumps; no time passes.
    pub(super) fn jump(&self, hours: i64) {
        self.clock.set(self.now() + jiff::SignedDuration::from_hours(hours));
    }

    /// Waits, without advancing the time, until turns and consolidation have done what is due.
    pub(super) async fn rest(&self) {
        let state = Cell::new(((0, 0), 0));
        let work = async {
            let mut calm = 0;
            while calm < 2 && !self.store.faults().is_dead() {
                self.clock.advance(Duration::ZERO).await;
                // Other loops also sleep, after a failure: only these two show that no session is being closed or
                // consolidated.
                state.set((self.runtime.turns().count_turns(), self.clock.sleepers_for(LOOK)));
                let (load, sleepers) = state.get();
                calm = if load == (0, 0) && sleepers == LOOPS { calm + 1 } else { 0 };
                if calm == 0 {
                    // The work runs in threads of the store: polling would only slow them down.
                    let _ = tokio::time::timeout(BLINK, self.clock.next_sleep()).await;
                }
            }
        };
        if tokio::time::timeout(PATIENCE, work).await.is_err() {
            panic!("the house never rests; lines and turns, sleepers: {:?}", state.get());
        }
    }

    /// Waits, with almost no time passing, until every row has its vector: the worker pauses for a moment after it
    /// has yielded to a turn.
    pub(super) async fn vectors_are_made(&self) {
        let work = async {
            while !self.store.faults().is_dead() && !self.has_vectors().await {
                self.clock.advance(A_MOMENT).await;
            }
        };
        soon("every row to have its vector", work).await;
    }

    async fn has_vectors(&self) -> bool {
        use memory::ports::EmbeddingStore as _;
        let (store, fingerprint) = (&self.store, self.fingerprint());
        let coverage = without_faults(store.vector_coverage(fingerprint)).await.unwrap();
        coverage.rows == coverage.with_vector
            || (without_faults(store.messages_without_vector(fingerprint, 1)).await.unwrap().is_empty()
                && without_faults(store.nodes_without_vector(fingerprint, 1)).await.unwrap().is_empty())
    }
}

async fn open_store(path: &Path) -> Arc<HomeStore> {
    let store = HomeStore::open(path, StoreOptions::default()).unwrap();
    store.record_commits().await.unwrap();
    Arc::new(store)
}

fn live(
    store: &Arc<HomeStore>,
    clock: &SimulatedClock,
    model: &Arc<UnreliableModel>,
    embedder: &Arc<dyn Embedder>,
    index: &Arc<VectorIndex>,
    life: u64,
) -> Runtime {
    let clock = Arc::new(clock.clone());
    let ledger = Ledger::start(store.clone());
    let prompts = Prompts::load(None).unwrap();
    let mind = LanguageMind::new(model.clone(), clock.clone(), ledger, prompts);
    let core = RuntimeCore::new(RuntimeParts {
        store: store.clone(),
        proactive: store.clone(),
        embedder: Some(embedder.clone()),
        index: index.clone(),
        mind: Arc::new(mind),
        clock,
        ids: Arc::new(SequentialIds::new(life)),
        broadcast: Broadcast::new(format!("life{life}")),
        metrics: Metrics::default(),
        settings: how_to_live(),
    });
    Runtime::new(core, OptionalParts::default())
}

/// Time until the next iteration of the loops.
pub(super) const UNTIL_NOTICED: Duration = Duration::from_secs(LOOK.as_secs() + HOUR.as_secs());
