//! A whole persona on a clock that only tests advance: a real store on a file, the real runtime, and a mock model
//! over a real socket.

use std::collections::HashMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use futures_util::stream::BoxStream;
use hub::graph::Graph;
use hub::{Hub, WorkingHours};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use llm::{Completion, LlmError, ModelTier, Provider, ProviderKind, ProviderSettings, Request, RetryTimer};
use memory::consolidate::ConsolidateSettings;
use memory::ledger::ModelCall;
use memory::messages::Message;
use memory::nodes::{Node, NodeKind};
use memory::ports::{Clock, Embedder, LedgerStore, MessageStore, NodeStore, SessionFilter, SessionStore};
use memory::recall::RecallSettings;
use memory::sessions::{Session, SessionPolicy};
use memory::vector_index::VectorIndex;
use memory::{PersonaId, Scope, UserId};
use mind::{LanguageMind, Prompts};
use offline::OfflineProvider;
use runtime::{
    AcceptError, AcceptedMessage, Broadcast, Delivery, IncomingMessage, Ledger, Metrics, OptionalParts,
    ProactiveSettings, Runtime, RuntimeCore, RuntimeParts, RuntimeSettings, Subscription, TraceSettings,
    WireEvent,
};
use serde_json::{Value, json};
use store::{HomeStore, StoreOptions};
use tempfile::TempDir;
use testkit::scripted_model::{Pace, answer_plausibly};
use testkit::{ScriptedModel, SequentialIds, SimulatedClock};

use crate::diary::{hub_of, open_hub};

/// Loops of the runtime that sleep while idle: idle sessions and consolidation.
const LOOPS: usize = 2;
/// Real time that a test waits for a condition before it fails.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest step of the clock, so that the loops run as often as they would.
const STEP: Duration = Duration::from_secs(30);
/// Maximum steps of one advance.
const STEPS_MAX: u32 = 40;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(3_600);

pub(crate) const WEB: &str = "web";

pub(crate) struct World {
    pub(crate) clock: SimulatedClock,
    pub(crate) model: ScriptedModel,
    pub(crate) store: Arc<HomeStore>,
    pub(crate) runtime: Runtime,
    pub(crate) watcher: Subscription,
    pub(crate) path: PathBuf,
    settings: RuntimeSettings,
    embedder: Option<Arc<dyn Embedder>>,
    lives: u64,
    /// Whether graph facts are extracted, by a loop of its own.
    draws_graph: bool,
    /// The hub, with a loop of its own.
    hub: Option<Hub>,
    pub(crate) core: Arc<RuntimeCore>,
    /// Whether everything except replies is answered by rules, as without a model.
    by_rules: bool,
    _folder: TempDir,
}

struct NoPauses;

impl RetryTimer for NoPauses {
    fn pause(&self, _: Duration) -> BoxFuture<'static, ()> {
        ready(()).boxed()
    }

    fn jitter(&self) -> f64 {
        0.0
    }
}

pub(crate) fn start() -> Timestamp {
    "2026-03-05T09:00:00Z".parse().unwrap()
}

pub(crate) fn scope(user: &str) -> Scope {
    Scope::new(PersonaId::new("echo").unwrap(), UserId::new(user).unwrap())
}

pub(crate) fn settings() -> RuntimeSettings {
    RuntimeSettings {
        persona: PersonaId::new("echo").unwrap(),
        persona_name: "Echo".to_owned(),
        zone: TimeZone::UTC,
        session: SessionPolicy::default(),
        scan_every: MINUTE,
        poll_every: MINUTE,
        consolidate: ConsolidateSettings::default(),
        recall: RecallSettings::default(),
        recent_window: 20,
        debounce: HashMap::from([(WEB.to_owned(), 2 * SECOND)]),
        prompt_tokens: 8_000,
        turn_timeout: 2 * MINUTE,
        answer_within: 10 * MINUTE,
        trace: TraceSettings::default(),
        proactive: ProactiveSettings::default(),
        daily_spend_cap: None,
    }
}

/// Waits for a value that must come; fails after the time limit.
pub(crate) async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(|_| panic!("this never came: {what}"))
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(settings(), None).await
    }

    /// The model answers plausibly until a test scripts another answer.
    pub(crate) async fn with(settings: RuntimeSettings, embedder: Option<Arc<dyn Embedder>>) -> Self {
        Self::begin(settings, embedder, false).await
    }

    /// Memories are extracted by rules, as without a model; the prompts of replies can still be read.
    pub(crate) async fn by_rules(settings: RuntimeSettings) -> Self {
        Self::begin(settings, None, true).await
    }

    async fn begin(settings: RuntimeSettings, embedder: Option<Arc<dyn Embedder>>, by_rules: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("home.db");
        let model = ScriptedModel::start().await.unwrap();
        answer_plausibly(&model, Pace::default());
        let clock = SimulatedClock::new(start());
        let store = Arc::new(HomeStore::open(&path, StoreOptions::default()).unwrap());
        let mind = mind(&store, &clock, &model, by_rules).await;
        let core = core(&store, &clock, mind, embedder.clone(), settings.clone(), 1);
        let runtime = Runtime::new(core.clone(), OptionalParts::default());
        let watcher = runtime.broadcast().subscribe();
        runtime.start().await.unwrap();
        let world = Self {
            clock,
            model,
            store,
            runtime,
            watcher,
            path,
            settings,
            embedder,
            lives: 1,
            draws_graph: false,
            hub: None,
            core,
            by_rules,
            _folder: folder,
        };
        world.settle().await;
        world
    }

    /// A world in which graph facts are extracted from new memories.
    pub(crate) async fn with_graph(settings: RuntimeSettings) -> Self {
        let mut world = Self::with(settings, None).await;
        world.draws_graph = true;
        world.live_again(SECOND, None).await;
        world.settle().await;
        world
    }

    /// The same with a hub. Both begin in the same state; the graph of the earlier one has a connection of its own.
    pub(crate) async fn with_graph_and_hub(settings: RuntimeSettings) -> (Self, Hub) {
        let mut world = Self::with(settings, None).await;
        world.draws_graph = true;
        let hub = world.add_hub().await;
        (world, hub)
    }

    /// Restarts the world with a hub.
    pub(crate) async fn add_hub(&mut self) -> Hub {
        self.hub = Some(hub_of(self).await);
        self.live_again(SECOND, None).await;
        self.settle().await;
        self.hub.clone().unwrap()
    }

    /// The graph over a connection of its own.
    pub(crate) fn graph(&self) -> Graph {
        let store = Arc::new(HomeStore::open(&self.path, StoreOptions::default()).unwrap());
        let (clock, ids) = (Arc::new(self.clock.clone()), Arc::new(SequentialIds::new(50 + self.lives)));
        Graph::new(store.clone(), store.clone(), store, None, clock, ids)
    }

    /// Ends the process if it still runs, and starts another one with the same files after `away`.
    pub(crate) async fn restart_after(&mut self, away: Duration) {
        self.live_again(away, None).await;
    }

    /// Restarts the process with another embedding model; the earlier model may still be available.
    pub(crate) async fn change_embedder(
        &mut self,
        embedder: Arc<dyn Embedder>,
        previous: Option<Arc<dyn Embedder>>,
    ) {
        self.embedder = Some(embedder);
        self.live_again(SECOND, previous).await;
    }

    async fn live_again(&mut self, away: Duration, previous: Option<Arc<dyn Embedder>>) {
        self.store.faults().die();
        self.clock.advance(away).await;
        self.lives += 1;
        self.store = Arc::new(HomeStore::open(&self.path, StoreOptions::default()).unwrap());
        let (settings, embedder) = (self.settings.clone(), self.embedder.clone());
        let mind = mind(&self.store, &self.clock, &self.model, self.by_rules).await;
        let core = core(&self.store, &self.clock, mind, embedder, settings, self.lives);
        if self.hub.is_some() {
            self.hub = Some(open_hub(self, Some(&core)).await);
        }
        let at_midnight = WorkingHours { rollup_at: jiff::civil::Time::midnight(), catch_up: false };
        let optional = OptionalParts {
            hub: self.hub.clone().map(|hub| (hub, at_midnight)),
            graph: self.draws_graph.then(|| self.graph()),
            previous_embedder: previous,
            ..OptionalParts::default()
        };
        self.runtime = Runtime::new(core.clone(), optional);
        self.core = core;
        self.watcher = self.runtime.broadcast().subscribe();
        self.runtime.start().await.unwrap();
    }

    pub(crate) async fn accept(
        &self,
        user: &str,
        channel: &str,
        text: &str,
    ) -> Result<AcceptedMessage, AcceptError> {
        self.runtime.turns().accept(incoming(user, channel, text)).await
    }

    /// The owner sends a message on a channel; returns when it is durable.
    pub(crate) async fn say(&self, channel: &str, text: &str) -> AcceptedMessage {
        self.accept("ann", channel, text).await.unwrap()
    }

    /// The owner sends a message and gets the reply.
    pub(crate) async fn talk(&mut self, channel: &str, text: &str) -> Value {
        self.talk_as("ann", channel, text).await
    }

    pub(crate) async fn talk_as(&mut self, user: &str, channel: &str, text: &str) -> Value {
        let turn = json!(self.accept(user, channel, text).await.unwrap().turn_id);
        self.clock.advance(2 * SECOND).await;
        self.hear_until("chat.message.done", |data| data["turn_id"] == turn).await
    }

    /// The next event with this name.
    pub(crate) async fn hear(&mut self, name: &str) -> Value {
        self.hear_until(name, |_| true).await
    }

    /// The next matching event with this name.
    pub(crate) async fn hear_until(&mut self, name: &str, fits: impl Fn(&Value) -> bool) -> Value {
        soon(name, async {
            loop {
                let told = self.next_event().await;
                if told.name == name && fits(&told.data) {
                    return told.data.clone();
                }
            }
        })
        .await
    }

    async fn next_event(&mut self) -> Arc<WireEvent> {
        loop {
            match self.watcher.next().await {
                Some(Delivery::Event(_, told)) => return told,
                // An event that was erased before it was read is not delivered.
                Some(Delivery::Lagged) => {}
                None => panic!("the event stream ended"),
            }
        }
    }

    /// Names of the events since the last call.
    pub(crate) async fn take_event_names(&mut self) -> Vec<&'static str> {
        let mut names = Vec::new();
        while let Some(event) = self.next_event().now_or_never() {
            names.push(event.name);
        }
        names
    }

    /// Advances the clock while the loops run. Only between turns, since it would wait for a hanging one.
    pub(crate) async fn pass(&self, duration: Duration) {
        let step = STEP.max(duration / STEPS_MAX);
        let mut left = duration;
        while !left.is_zero() {
            self.settle().await;
            let now = left.min(step);
            self.clock.advance(now).await;
            left -= now;
        }
        self.settle().await;
    }

    /// Lets the loops finish what is due now.
    pub(crate) async fn settle(&self) {
        soon("the loops to be at rest", async {
            for _ in 0..2 {
                self.clock.advance(Duration::ZERO).await;
                let proactive = self.settings.proactive.enabled;
                let more = [self.draws_graph, self.hub.is_some(), proactive].map(usize::from);
                self.clock.wait_for_sleepers(LOOPS + more.into_iter().sum::<usize>()).await;
            }
        })
        .await;
    }

    /// Waits until a condition is true, without advancing the clock.
    pub(crate) async fn until<F: Future<Output = bool>>(&self, what: &str, holds: impl Fn() -> F) {
        soon(what, async {
            while !holds().await {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// A reply with this cost in US dollars.
    pub(crate) async fn spend(&self, usd: f64) {
        let call = ModelCall {
            at: self.clock.now(),
            task: "reply".to_owned(),
            tier: "large".to_owned(),
            provider: "openai".to_owned(),
            model: "dear".to_owned(),
            input_tokens: 1,
            output_tokens: 1,
            cached_tokens: 0,
            latency_ms: 1,
            outcome: "ok".to_owned(),
            turn_id: None,
            session_id: None,
            prompt_hash: String::new(),
            cost_usd: Some(usd),
        };
        self.store.record_call(call).await.unwrap();
    }

    /// Half an hour of silence: open sessions end and are consolidated.
    pub(crate) async fn silence(&self) {
        self.pass(32 * MINUTE).await;
    }

    /// All messages of the owner's scope, oldest first.
    pub(crate) async fn messages(&self) -> Vec<Message> {
        self.messages_of("ann").await
    }

    pub(crate) async fn messages_of(&self, user: &str) -> Vec<Message> {
        let mut messages = self.store.messages_before(&scope(user), None, 10_000).await.unwrap();
        messages.reverse();
        messages
    }

    /// All sessions, oldest first.
    pub(crate) async fn sessions(&self) -> Vec<Session> {
        let filter = SessionFilter { limit: 1_000, ..SessionFilter::default() };
        let mut sessions = self.store.sessions(filter).await.unwrap();
        sessions.reverse();
        sessions
    }

    /// Nodes of a kind in the owner's scope, oldest first.
    pub(crate) async fn nodes(&self, kind: NodeKind) -> Vec<Node> {
        let mut nodes = self.store.nodes_before(&scope("ann"), &[kind], None, 1_000).await.unwrap();
        nodes.reverse();
        nodes
    }

    /// The last prompt of a reply, both texts.
    pub(crate) fn last_prompt(&self) -> String {
        let requests = self.model.requests_for("reply");
        let last = requests.last().unwrap();
        format!("{}\n{}", last.system(), last.user())
    }
}

pub(crate) fn incoming(user: &str, channel: &str, text: &str) -> IncomingMessage {
    IncomingMessage {
        scope: scope(user),
        channel_id: channel.to_owned(),
        content: text.to_owned(),
        external_ref: None,
    }
}

/// The part of a prompt below a heading, up to the next one.
pub(crate) fn section<'a>(prompt: &'a str, heading: &str) -> &'a str {
    let Some((_, rest)) = prompt.split_once(&format!("# {heading}\n")) else { return "" };
    rest.split_once("\n# ").map_or(rest, |(section, _)| section)
}

/// Streams replies from a mock model and answers everything else by rules.
struct ByRules(Arc<dyn Provider>);

#[async_trait]
impl Provider for ByRules {
    fn name(&self) -> &'static str {
        OfflineProvider.name()
    }

    fn model(&self, tier: ModelTier) -> String {
        self.0.model(tier)
    }

    async fn complete(&self, request: Request) -> Result<Completion, LlmError> {
        OfflineProvider.complete(request).await
    }

    async fn stream(
        &self,
        request: Request,
    ) -> Result<BoxStream<'static, Result<llm::StreamEvent, LlmError>>, LlmError> {
        self.0.stream(request).await
    }
}

async fn mind(
    store: &Arc<HomeStore>,
    clock: &SimulatedClock,
    model: &ScriptedModel,
    by_rules: bool,
) -> LanguageMind {
    let provider = ProviderSettings {
        provider: ProviderKind::OpenAi,
        base_url: model.base_url(),
        model: "scripted".to_owned(),
        max_retries: 0,
        ..ProviderSettings::default()
    };
    let provider = llm::connect(provider, Arc::new(NoPauses), Arc::new(OfflineProvider)).await.unwrap();
    let provider = if by_rules { Arc::new(ByRules(provider)) } else { provider };
    LanguageMind::new(
        provider,
        Arc::new(clock.clone()),
        Ledger::start(store.clone()),
        Prompts::load(None).unwrap(),
    )
}

fn core(
    store: &Arc<HomeStore>,
    clock: &SimulatedClock,
    mind: LanguageMind,
    embedder: Option<Arc<dyn Embedder>>,
    settings: RuntimeSettings,
    life: u64,
) -> Arc<RuntimeCore> {
    RuntimeCore::new(RuntimeParts {
        store: store.clone(),
        proactive: store.clone(),
        embedder,
        index: Arc::new(VectorIndex::default()),
        mind: Arc::new(mind),
        clock: Arc::new(clock.clone()),
        ids: Arc::new(SequentialIds::new(life)),
        broadcast: Broadcast::new(format!("life{life}")),
        metrics: Metrics::default(),
        settings,
    })
}
