//! The runtime and the channels of a daemon, with mock servers of the platforms and a clock that the test advances.

use std::collections::HashMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use channels::{
    ChannelSettings, Channels, ChannelsParts, Discord, DiscordSettings, Telegram, TelegramSettings,
};
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use llm::{Completion, LlmError, ModelTier, Provider, Request, StreamEvent};
use memory::consolidate::ConsolidateSettings;
use memory::ledger::ModelCall;
use memory::messages::Message;
use memory::ports::{ChannelStore as _, Clock as _, MessageStore as _, PersonaStore as _, TurnStore as _};
use memory::recall::RecallSettings;
use memory::sessions::SessionPolicy;
use memory::vector_index::VectorIndex;
use memory::{PersonaId, Scope, UserId};
use mind::{CallObserver, LanguageMind, Prompts};
use offline::OfflineProvider;
use runtime::{
    Broadcast, ChannelStatus, Metrics, OptionalParts, ProactiveSettings, Runtime, RuntimeCore, RuntimeParts,
    RuntimeSettings, TraceSettings, VoiceParts, VoiceSettings,
};
use serde_json::json;
use store::{HomeStore, StoreOptions};
use testkit::discord::DiscordServer;
use testkit::telegram::TelegramServer;
use testkit::{SequentialIds, SimulatedClock};
use tokio::sync::Notify;

/// Real time for which a test waits for a condition.
const PATIENCE: Duration = Duration::from_secs(30);
pub(crate) const TOKEN: &str = "123:abc";
/// Text of the proactive message that the mock model writes.
pub(crate) const OWN_WORDS: &str = "How was your day?";
/// Time for which Discord waits for further messages before a reply.
pub(crate) const DEBOUNCE: Duration = Duration::from_secs(2);
/// Heartbeat interval that the mock gateway of Discord asks for.
pub(crate) const HEARTBEAT: Duration = Duration::from_millis(41_250);

pub(crate) struct World {
    pub(crate) clock: SimulatedClock,
    pub(crate) platform: TelegramServer,
    pub(crate) discord: DiscordServer,
    pub(crate) listener: Arc<Listener>,
    pub(crate) store: Arc<HomeStore>,
    pub(crate) runtime: Runtime,
    pub(crate) channels: Channels,
    pub(crate) allowed: Vec<String>,
    /// Sets the speech and transcription providers of the next start.
    pub(crate) voice: VoiceSettings,
    lives: u64,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

/// The offline provider, which also writes proactive messages, and which a test can make wait.
#[derive(Default)]
pub(crate) struct Listener {
    held: Mutex<Option<(String, Arc<Notify>)>>,
    prompts: Mutex<Vec<(String, String)>>,
    next_reply: Mutex<Option<&'static str>>,
}

impl Listener {
    /// Replies to prompts that contain this text wait until the returned bell rings.
    pub(crate) fn hold(&self, text: &str) -> Arc<Notify> {
        let bell = Arc::new(Notify::new());
        *self.held.lock().unwrap() = Some((text.to_owned(), bell.clone()));
        bell
    }

    /// Sets the next reply.
    pub(crate) fn reply_with(&self, text: &'static str) {
        *self.next_reply.lock().unwrap() = Some(text);
    }

    /// System and user prompt of each reply so far, in order.
    pub(crate) fn prompts(&self) -> Vec<(String, String)> {
        self.prompts.lock().unwrap().clone()
    }

    async fn listen(&self, request: &Request) {
        if request.task != "reply" {
            return;
        }
        self.prompts.lock().unwrap().push((request.system.clone(), request.user.clone()));
        let held = self.held.lock().unwrap().clone();
        if let Some((text, bell)) = held
            && request.user.contains(&text)
        {
            bell.notified().await;
        }
    }
}

#[async_trait]
impl Provider for Listener {
    fn name(&self) -> &'static str {
        "listener"
    }

    fn model(&self, _: ModelTier) -> String {
        "listener".to_owned()
    }

    async fn complete(&self, request: Request) -> Result<Completion, LlmError> {
        if request.task != "proactive" {
            return OfflineProvider.complete(request).await;
        }
        let text = json!({"message": OWN_WORDS, "reason": "it was quiet"}).to_string();
        let (model, provider) = ("listener".to_owned(), "listener".to_owned());
        Ok(Completion { text, usage: Default::default(), model, provider, latency: Duration::ZERO })
    }

    async fn stream(
        &self,
        request: Request,
    ) -> Result<BoxStream<'static, Result<StreamEvent, LlmError>>, LlmError> {
        self.listen(&request).await;
        if let Some(text) = self.next_reply.lock().unwrap().take() {
            let end = StreamEvent::Finished { usage: Default::default(), model: "listener".to_owned() };
            return Ok(stream::iter([Ok(StreamEvent::Delta(text.to_owned())), Ok(end)]).boxed());
        }
        OfflineProvider.stream(request).await
    }
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
        debounce: HashMap::from([("discord".to_owned(), DEBOUNCE)]),
        prompt_tokens: 8_000,
        turn_timeout: hour,
        answer_within: hour,
        trace: TraceSettings::default(),
        proactive: ProactiveSettings {
            enabled: true,
            tick: Duration::from_secs(600),
            long_silence: 6 * hour,
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
        let time = clock.clone();
        let discord = DiscordServer::start(TOKEN, HEARTBEAT, move || time.now()).await.unwrap();
        let allowed: Vec<String> = allowed.iter().map(|one| (*one).to_owned()).collect();
        let listener = Arc::new(Listener::default());
        let voice = VoiceSettings::default();
        let outside = Outside { platform: &platform, discord: &discord, listener: &listener, voice: &voice };
        let (store, runtime, channels) = live(&path, &clock, outside, &allowed, 1).await;
        Self {
            clock,
            platform,
            discord,
            listener,
            store,
            runtime,
            channels,
            allowed,
            voice,
            lives: 1,
            path,
            _folder: folder,
        }
    }

    /// Stops the daemon's parts in the order of a normal shutdown.
    pub(crate) async fn stop(&self) {
        self.channels.stop().await;
        self.runtime.stop().await;
        self.store.close().await.unwrap();
    }

    /// Sets the speech and transcription providers from now on and turns speech on for the persona.
    pub(crate) async fn give_voice(&mut self, voice: VoiceSettings) {
        self.voice = voice.clone();
        self.runtime.voice().change_settings(voice);
        self.store.enable_voice(&PersonaId::new("echo").unwrap(), true).await.unwrap();
    }

    pub(crate) fn voice_folder(&self) -> PathBuf {
        voice_folder(&self.path)
    }

    /// Names of the voice files. A folder that is deleted during the listing counts as empty.
    pub(crate) fn voice_files(&self) -> Vec<String> {
        let read = |folder: PathBuf| match std::fs::read_dir(folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            entries => Some(entries.unwrap().map(Result::unwrap)),
        };
        let folders = read(self.voice_folder().join("messages")).into_iter().flatten();
        let files = folders.filter_map(|folder| read(folder.path())).flatten();
        files.map(|file| file.file_name().into_string().unwrap()).collect()
    }

    /// Starts again with the same files.
    pub(crate) async fn start_again(&mut self) {
        self.lives += 1;
        let (platform, discord) = (&self.platform, &self.discord);
        let outside = Outside { platform, discord, listener: &self.listener, voice: &self.voice };
        let parts = live(&self.path, &self.clock, outside, &self.allowed, self.lives).await;
        (self.store, self.runtime, self.channels) = parts;
    }

    /// Waits until a condition is true. The clock advances by a second before each check.
    pub(crate) async fn until<F: Future<Output = bool>>(&self, what: &str, holds: impl Fn() -> F) {
        let waiting = async {
            while !holds().await {
                self.clock.advance(Duration::from_millis(20)).await;
                tokio::task::yield_now().await;
            }
        };
        if tokio::time::timeout(PATIENCE, waiting).await.is_err() {
            let (telegram, discord) = (self.platform.sent(), self.discord.sent());
            panic!("this never came: {what}; sent so far: {telegram:?} {discord:?}");
        }
    }

    pub(crate) async fn until_sent(&self, count: usize) {
        self.until(&format!("{count} messages"), || async { self.platform.sent().len() >= count }).await;
    }

    /// Waits until every turn has its reply and the channel has delivered all messages.
    pub(crate) async fn until_quiet(&self, channel: &str) {
        let is_quiet = || async {
            self.store.pending_turns().await.unwrap().is_empty() && self.status_of(channel).await.waiting == 0
        };
        self.until("an answered turn and an empty outbox", is_quiet).await;
    }

    pub(crate) async fn status(&self) -> ChannelStatus {
        self.status_of("telegram").await
    }

    pub(crate) async fn status_of(&self, channel: &str) -> ChannelStatus {
        let statuses = self.runtime.channels().unwrap().statuses().await.unwrap();
        statuses.into_iter().find(|status| status.channel_id == channel).unwrap()
    }

    pub(crate) async fn until_state(&self, channel: &str, state: &str) {
        self.until(&format!("{channel} {state}"), || async { self.status_of(channel).await.state == state })
            .await;
    }

    pub(crate) fn code(&self, user: &str) -> String {
        self.code_for("telegram", user)
    }

    pub(crate) fn code_for(&self, channel: &str, user: &str) -> String {
        let user = UserId::new(user).unwrap();
        self.runtime.channels().unwrap().link_code(channel, user).unwrap().code
    }

    /// Links the account 7 to the user and deletes the messages about linking from the mock.
    pub(crate) async fn link(&self, user: &str) {
        self.platform.write(7, &self.code(user));
        self.until_sent(1).await;
    }

    /// Links a Discord account to the user.
    pub(crate) async fn link_on_discord(&self, person: u64, user: &str) {
        self.until_state("discord", "ready").await;
        self.discord.write(person, &self.code_for("discord", user));
        self.until("the link", || async { self.discord.sent_to(person).len() == 1 }).await;
        let received = self.store.conversation_positions("discord").await.unwrap();
        assert_eq!(
            received.len(),
            1,
            "after a crash the code would come again, as a message of a linked account"
        );
    }

    pub(crate) async fn messages(&self, user: &str) -> Vec<Message> {
        let mut messages = self.store.messages_before(&scope(user), None, 1_000).await.unwrap();
        messages.reverse();
        messages
    }
}

/// The speech and transcription providers of a daemon.
struct Outside<'a> {
    platform: &'a TelegramServer,
    discord: &'a DiscordServer,
    listener: &'a Arc<Listener>,
    voice: &'a VoiceSettings,
}

fn voice_folder(path: &std::path::Path) -> PathBuf {
    path.with_file_name("voice")
}

async fn live(
    path: &std::path::Path,
    clock: &SimulatedClock,
    Outside { platform, discord, listener, voice }: Outside<'_>,
    allowed: &[String],
    life: u64,
) -> (Arc<HomeStore>, Runtime, Channels) {
    let store = Arc::new(HomeStore::open(path, StoreOptions::default()).unwrap());
    let shared = Arc::new(clock.clone());
    let prompts = Prompts::load(None).unwrap();
    let mind = LanguageMind::new(listener.clone(), shared.clone(), Arc::new(Deaf), prompts);
    let numbers = AtomicU64::new(life);
    let random = move || {
        let mut bytes = [0_u8; 32];
        bytes[..8].copy_from_slice(&numbers.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        bytes
    };
    let channels = Channels::new(ChannelsParts {
        store: store.clone(),
        clock: shared.clone(),
        random: Box::new(random),
    });
    let core = RuntimeCore::new(RuntimeParts {
        store: store.clone(),
        proactive: store.clone(),
        embedder: None,
        index: Arc::new(VectorIndex::default()),
        mind: Arc::new(mind),
        clock: shared,
        ids: Arc::new(SequentialIds::new(life)),
        broadcast: Broadcast::new(format!("life{life}")),
        metrics: Metrics::default(),
        settings: settings(),
    });
    let voice = VoiceParts { folder: voice_folder(path), ledger: Arc::new(Deaf), settings: voice.clone() };
    let optional = OptionalParts {
        channels: Some(channels.outbound_channels()),
        voice: Some(voice),
        ..OptionalParts::default()
    };
    let runtime = Runtime::new(core, optional);
    let telegram =
        Telegram::new(TelegramSettings { api_base: platform.api_base(), token: TOKEN.to_owned().into() });
    let discord = Discord::new(DiscordSettings {
        api_base: discord.api_base(),
        gateway_url: String::new(),
        token: TOKEN.to_owned().into(),
        clock: Arc::new(clock.clone()),
    });
    let settings = ChannelSettings { allowed_user_ids: allowed.to_vec() };
    channels.add(Arc::new(telegram.unwrap()), settings.clone());
    channels.add(Arc::new(discord.unwrap()), settings);
    runtime.start().await.unwrap();
    channels.start(&runtime);
    (store, runtime, channels)
}
