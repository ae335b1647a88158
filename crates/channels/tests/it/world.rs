//! A daemon's inner half beside a platform, on a clock that stands still.

use std::collections::HashMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use channels::{ChannelSettings, Channels, ChannelsParts, Telegram, TelegramSettings};
use memory::consolidate::ConsolidateSettings;
use memory::ledger::ModelCall;
use memory::messages::Message;
use memory::ports::MessageStore as _;
use memory::recall::RecallSettings;
use memory::sessions::SessionPolicy;
use memory::vector_index::VectorIndex;
use memory::{PersonaId, Scope, UserId};
use mind::{CallObserver, LanguageMind, Prompts};
use offline::OfflineProvider;
use runtime::{
    Broadcast, ChannelStatus, Metrics, ProactiveSettings, Runtime, RuntimeParts, RuntimeSettings,
    TraceSettings,
};
use store::{SqliteStore, StoreOptions};
use testkit::telegram::TelegramServer;
use testkit::{SequentialIds, SimulatedClock};

/// How long a story may wait for something, in real time.
const PATIENCE: Duration = Duration::from_secs(30);
pub(crate) const TOKEN: &str = "123:abc";

pub(crate) struct World {
    pub(crate) clock: SimulatedClock,
    pub(crate) platform: TelegramServer,
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) runtime: Runtime,
    pub(crate) channels: Channels,
    pub(crate) allowed: Vec<String>,
    lives: u64,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

struct Deaf;

impl CallObserver for Deaf {
    fn observe(&self, _: ModelCall) {}
}

pub(crate) fn scope(user: &str) -> Scope {
    Scope::new(PersonaId::new("echo").unwrap(), UserId::new(user).unwrap())
}

fn settings() -> RuntimeSettings {
    let hour = Duration::from_secs(3_600);
    RuntimeSettings {
        persona: PersonaId::new("echo").unwrap(),
        persona_name: "Echo".to_owned(),
        zone: jiff::tz::TimeZone::UTC,
        session: SessionPolicy::default(),
        scan_every: 1_000 * hour,
        poll_every: 1_000 * hour,
        consolidate: ConsolidateSettings::default(),
        recall: RecallSettings::default(),
        recent_window: 20,
        debounce: HashMap::new(),
        prompt_tokens: 8_000,
        turn_timeout: hour,
        answer_within: hour,
        trace: TraceSettings::default(),
        proactive: ProactiveSettings {
            enabled: true,
            tick: Duration::from_secs(600),
            long_silence: 48 * hour,
            ..ProactiveSettings::default()
        },
        daily_spend_cap: None,
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with_allowed(&[]).await
    }

    pub(crate) async fn with_allowed(allowed: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("home.db");
        let platform = TelegramServer::start(TOKEN).await.unwrap();
        let clock = SimulatedClock::new("2026-03-05T09:00:00Z".parse().unwrap());
        let allowed: Vec<String> = allowed.iter().map(|one| (*one).to_owned()).collect();
        let (store, runtime, channels) = live(&path, &clock, &platform, &allowed, 1).await;
        Self { clock, platform, store, runtime, channels, allowed, lives: 1, path, _folder: folder }
    }

    /// Ends in order.
    pub(crate) async fn stop(&self) {
        self.channels.stop().await;
        self.runtime.stop().await;
        self.store.close().await.unwrap();
    }

    /// Starts again on what is on the disk.
    pub(crate) async fn start_again(&mut self) {
        self.lives += 1;
        let parts = live(&self.path, &self.clock, &self.platform, &self.allowed, self.lives).await;
        (self.store, self.runtime, self.channels) = parts;
    }

    /// Waits until something holds; time passes a second at a look.
    pub(crate) async fn until<F: Future<Output = bool>>(&self, what: &str, holds: impl Fn() -> F) {
        let waiting = async {
            while !holds().await {
                self.clock.advance(Duration::from_millis(20)).await;
                tokio::task::yield_now().await;
            }
        };
        if tokio::time::timeout(PATIENCE, waiting).await.is_err() {
            panic!("this never came: {what}; sent so far: {:?}", self.platform.sent());
        }
    }

    pub(crate) async fn until_sent(&self, count: usize) {
        self.until(&format!("{count} messages"), || async { self.platform.sent().len() >= count }).await;
    }

    pub(crate) async fn status(&self) -> ChannelStatus {
        self.runtime.channels().unwrap().statuses().await.unwrap().remove(0)
    }

    pub(crate) fn code(&self, user: &str) -> String {
        let user = UserId::new(user).unwrap();
        self.runtime.channels().unwrap().link_code("telegram", user).unwrap().code
    }

    /// Links the account 7 to the user and forgets the lines about it.
    pub(crate) async fn link(&self, user: &str) {
        self.platform.write(7, &self.code(user));
        self.until_sent(1).await;
    }

    pub(crate) async fn messages(&self, user: &str) -> Vec<Message> {
        let mut messages = self.store.messages_before(&scope(user), None, 1_000).await.unwrap();
        messages.reverse();
        messages
    }
}

async fn live(
    path: &std::path::Path,
    clock: &SimulatedClock,
    platform: &TelegramServer,
    allowed: &[String],
    life: u64,
) -> (Arc<SqliteStore>, Runtime, Channels) {
    let store = Arc::new(SqliteStore::open(path, StoreOptions::default()).unwrap());
    let shared = Arc::new(clock.clone());
    let prompts = Prompts::load(None).unwrap();
    let mind = LanguageMind::new(Arc::new(OfflineProvider), shared.clone(), Arc::new(Deaf), prompts);
    let runtime = Runtime::new(RuntimeParts {
        store: store.clone(),
        embedder: None,
        index: Arc::new(VectorIndex::default()),
        mind: Arc::new(mind),
        clock: shared,
        ids: Arc::new(SequentialIds::new(life)),
        broadcast: Broadcast::new(format!("life{life}")),
        metrics: Metrics::default(),
        settings: settings(),
    });
    runtime.attach_proactive(store.clone());
    let telegram =
        Telegram::new(TelegramSettings { api_base: platform.api_base(), token: TOKEN.to_owned().into() });
    let numbers = AtomicU64::new(life);
    let random = move || {
        let mut bytes = [0_u8; 32];
        bytes[..8].copy_from_slice(&numbers.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        bytes
    };
    let (channels, runtime) = Channels::new(ChannelsParts {
        runtime,
        store: store.clone(),
        channels: vec![(Arc::new(telegram.unwrap()), ChannelSettings { allowed_user_ids: allowed.to_vec() })],
        random: Box::new(random),
    });
    runtime.start().await.unwrap();
    channels.start(&runtime);
    (store, runtime, channels)
}
