//! A whole home in a temporary folder: real store, real runtime, mock model, and a clock that only tests advance.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, Method, Request, Response, StatusCode};
use hub::graph::Graph;
use hub::{Hub, HubParts, HubSettings, WorkingHours};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use memory::consolidate::ConsolidateSettings;
use memory::ledger::ModelCall;
use memory::ports::ImportStore;
use memory::recall::RecallSettings;
use memory::sessions::SessionPolicy;
use memory::vector_index::VectorIndex;
use memory::{PersonaId, Scope, UserId};
use mind::{CallObserver, LanguageMind, Prompts};
use runtime::{
    Broadcast, Delivery, ImportParts, Metrics, OptionalParts, ProactiveSettings, Runtime, RuntimeCore,
    RuntimeParts, RuntimeSettings, Subscription, TraceSettings, WireEvent,
};
use serde_json::Value;
use server::{ActiveModels, EmbeddingState, LlmState, ServerParts, ServerSettings, Tokens};
use store::{HomeStore, StoreOptions};
use tempfile::TempDir;
use testkit::{SequentialIds, SimulatedClock};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::conformity;
use crate::fixed_settings::FixedSettings;
use crate::talker::Talker;

pub(crate) const TOKEN: &str = "owner-token-of-the-tests";
pub(crate) const HOSTNAME: &str = "127.0.0.1:7777";
pub(crate) const BODY_LIMIT: usize = 64 * 1024;

pub(crate) struct Home {
    folder: TempDir,
    pub(crate) clock: SimulatedClock,
    pub(crate) store: Arc<HomeStore>,
    pub(crate) talker: Arc<Talker>,
    pub(crate) runtime: Runtime,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) settings: Arc<ArcSwap<ServerSettings>>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) router: Router,
}

struct Deaf;

impl CallObserver for Deaf {
    fn observe(&self, _: ModelCall) {}
}

pub(crate) fn start() -> Timestamp {
    "2026-05-02T19:04:11Z".parse().unwrap()
}

pub(crate) fn scope(user: &str) -> Scope {
    Scope::new(PersonaId::new("default").unwrap(), UserId::new(user).unwrap())
}

impl Home {
    /// True if a file of the home contains these bytes.
    pub(crate) fn holds(&self, text: &str) -> bool {
        !testkit::files_containing(self.folder.path(), text).unwrap().is_empty()
    }

    pub(crate) async fn new() -> Self {
        Self::with_parts(|_, _| OptionalParts::default()).await
    }

    /// A home with these parts; a hub and imports are added where there are none.
    pub(crate) async fn with_parts(
        optional: impl FnOnce(&Arc<HomeStore>, &SimulatedClock) -> OptionalParts,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store =
            Arc::new(HomeStore::open(&folder.path().join("home.db"), StoreOptions::default()).unwrap());
        let clock = SimulatedClock::new(start());
        let talker = Arc::new(Talker::default());
        let core = core(&store, &clock, &talker);
        let mut optional = optional(&store, &clock);
        optional.hub = Some(hub(&core, &store, &clock, folder.path()));
        optional.imports.get_or_insert_with(|| imports(store.clone(), folder.path()));
        let runtime = Runtime::new(core, optional);
        runtime.start().await.unwrap();
        let numbers = AtomicU64::new(1);
        let random = move || {
            let mut bytes = [0_u8; 32];
            bytes[..8].copy_from_slice(&numbers.fetch_add(1, Ordering::Relaxed).to_le_bytes());
            bytes
        };
        let tokens = Arc::new(Tokens::new(TOKEN, Box::new(random)).unwrap());
        let shutdown = CancellationToken::new();
        let settings = Arc::new(ArcSwap::from_pointee(ServerSettings {
            allowed_hosts: vec!["chat.example".to_owned()],
            body_limit: BODY_LIMIT,
            version: "0.0.0".to_owned(),
            requests_per_second: 0,
            ..ServerSettings::default()
        }));
        let router = server::router(parts(&runtime, &store, &tokens, &settings), shutdown.clone());
        Self { folder, clock, store, talker, runtime, tokens, settings, shutdown, router }
    }

    pub(crate) fn parts(&self) -> ServerParts {
        parts(&self.runtime, &self.store, &self.tokens, &self.settings)
    }

    /// Changes settings of the server.
    pub(crate) fn set(&self, change: impl FnOnce(&mut ServerSettings)) {
        let mut settings = ServerSettings::clone(&self.settings.load());
        change(&mut settings);
        self.settings.store(Arc::new(settings));
    }

    /// A new named token.
    pub(crate) async fn token(&self, name: &str, scopes: &[&str], user: Option<&str>) -> String {
        let body = serde_json::json!({"name": name, "scopes": scopes, "user_id": user});
        let answer = self.post("/api/admin/tokens", body).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
        answer.json()["token"].as_str().unwrap().to_owned()
    }

    /// Sends a request unchanged.
    pub(crate) async fn raw(&self, request: Request<Body>) -> Response<Body> {
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// Sends a request with the owner's token.
    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        self.ask_with(TOKEN, method, path, body).await
    }

    /// Sends a request with this token.
    pub(crate) async fn ask_with(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Answer {
        self.ask_accepting(token, method, path, body, "*/*").await
    }

    /// Sends a request with this token and this Accept header.
    pub(crate) async fn ask_accepting(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Option<Value>,
        kinds: &str,
    ) -> Answer {
        let asked = method.clone();
        let mut request = Request::builder().method(method).uri(path).header(HOST, HOSTNAME);
        request = request.header(AUTHORIZATION, format!("Bearer {token}")).header(ACCEPT, kinds);
        let body = match body {
            Some(body) => {
                request = request.header(CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        let answer = Answer::of(self.raw(request.body(body).unwrap()).await).await;
        conformity::check(&asked, path, &answer);
        answer
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.ask(Method::POST, path, Some(body)).await
    }

    /// Sends a message and waits for the end of its turn.
    pub(crate) async fn talk(&self, content: &str) -> Arc<WireEvent> {
        self.talk_as("self", content).await
    }

    pub(crate) async fn talk_as(&self, user: &str, content: &str) -> Arc<WireEvent> {
        let mut watcher = self.runtime.broadcast().subscribe();
        let sent =
            self.post("/api/chat/send", serde_json::json!({"content": content, "user_id": user})).await;
        assert_eq!(sent.status, StatusCode::ACCEPTED, "{:?}", sent.json());
        until(&mut watcher, &["chat.message.done", "chat.message.failed"]).await
    }

    /// Advances the clock; a waiting loop of the runtime may run meanwhile.
    pub(crate) async fn wait(&self, duration: Duration) {
        self.clock.advance(duration).await;
    }
}

/// Waits for an event with one of these names.
pub(crate) async fn until(watcher: &mut Subscription, names: &[&str]) -> Arc<WireEvent> {
    loop {
        match watcher.next().await {
            Some(Delivery::Event(_, told)) if names.contains(&told.name) => return told,
            Some(_) => {}
            None => panic!("the event stream ended before one of {names:?}"),
        }
    }
}

pub(crate) fn imports(store: Arc<dyn ImportStore>, home: &Path) -> ImportParts {
    ImportParts { store, folder: home.join("imports"), prices: Arc::default() }
}

fn core(store: &Arc<HomeStore>, clock: &SimulatedClock, talker: &Arc<Talker>) -> Arc<RuntimeCore> {
    let clock = Arc::new(clock.clone());
    let prompts = Prompts::load(None).unwrap();
    let mind = LanguageMind::new(talker.clone(), clock.clone(), Arc::new(Deaf), prompts);
    RuntimeCore::new(RuntimeParts {
        store: store.clone(),
        proactive: store.clone(),
        embedder: None,
        index: Arc::new(VectorIndex::default()),
        mind: Arc::new(mind),
        clock,
        ids: Arc::new(SequentialIds::new(7)),
        broadcast: Broadcast::new("run"),
        metrics: Metrics::default(),
        settings: RuntimeSettings {
            persona: PersonaId::new("default").unwrap(),
            persona_name: "Echo".to_owned(),
            zone: TimeZone::UTC,
            session: SessionPolicy::default(),
            scan_every: Duration::from_secs(60),
            poll_every: Duration::from_secs(5),
            consolidate: ConsolidateSettings::default(),
            recall: RecallSettings::default(),
            recent_window: 20,
            debounce: HashMap::new(),
            prompt_tokens: 8_000,
            turn_timeout: Duration::from_secs(120),
            answer_within: Duration::from_secs(600),
            trace: TraceSettings::default(),
            proactive: ProactiveSettings::default(),
            daily_spend_cap: None,
        },
    })
}

fn hub(
    core: &Arc<RuntimeCore>,
    store: &Arc<HomeStore>,
    clock: &SimulatedClock,
    folder: &Path,
) -> (Hub, WorkingHours) {
    let hub = Hub::new(HubParts {
        store: store.clone(),
        personas: store.clone(),
        corrections: store.clone(),
        users: store.clone(),
        embedder: None,
        summariser: None,
        links: None,
        listener: Some(core.hub_listener()),
        clock: Arc::new(clock.clone()),
        ids: Arc::new(SequentialIds::new(8)),
        settings: HubSettings {
            instance: "home".parse().unwrap(),
            default_scope: scope("self"),
            zone: TimeZone::UTC,
            snapshot_retention: Duration::from_secs(30 * 86_400),
            priority: Vec::new(),
            users_read_custom: false,
            mirror: Some(folder.to_owned()),
        },
    });
    let rollup_at = jiff::civil::time(5, 0, 0, 0);
    (hub, WorkingHours { rollup_at, catch_up: false })
}

pub(crate) fn llm() -> LlmState {
    LlmState {
        provider: "talker".to_owned(),
        model: Some("talker-1".to_owned()),
        offline: false,
        notice: None,
    }
}

fn parts(
    runtime: &Runtime,
    store: &Arc<HomeStore>,
    tokens: &Arc<Tokens>,
    settings: &Arc<ArcSwap<ServerSettings>>,
) -> ServerParts {
    let models = || ActiveModels {
        llm: llm(),
        embedding: EmbeddingState { provider: None, model: None, words_only: true },
    };
    let clock = runtime.shared_clock();
    let graph = Graph::new(
        store.clone(),
        store.clone(),
        store.clone(),
        None,
        clock.clone(),
        Arc::new(SequentialIds::new(8)),
    );
    let hub = runtime.hub().unwrap().clone();
    ServerParts {
        runtime: runtime.clone(),
        hub,
        graph,
        tokens: tokens.clone(),
        access: store.clone(),
        archives: store.clone(),
        settings: settings.clone(),
        configuration: Arc::new(FixedSettings),
        model_setup: Arc::new(FixedSettings),
        channel_setup: Arc::new(FixedSettings),
        backups: Arc::new(FixedSettings),
        daemons: Arc::new(FixedSettings),
        tls: None,
        models: Box::new(models),
        started_at: start(),
    }
}

/// A response whose body was read to its end.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) async fn of(response: Response<Body>) -> Self {
        let (head, body) = response.into_parts();
        let bytes = to_bytes(body, 64 * 1024 * 1024).await.unwrap();
        Self { status: head.status, headers: head.headers, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|_| panic!("{} is no JSON: {}", self.status, self.text))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Checks that it is a problem of this status, in the shape that all have.
    #[track_caller]
    pub(crate) fn is_problem(&self, status: u16) -> String {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        let body = self.json();
        assert_eq!(body["status"], status);
        assert!(body["type"].is_string() && body["title"].is_string());
        body["detail"].as_str().expect("a detail that a person can read").to_owned()
    }
}

/// The same JSON with every id replaced, for snapshots.
pub(crate) fn without_ids(mut value: Value) -> Value {
    fn blot(value: &mut Value) {
        match value {
            Value::String(text) if is_id(text) => *text = "[id]".to_owned(),
            Value::Array(items) => items.iter_mut().for_each(blot),
            Value::Object(fields) => fields.values_mut().for_each(blot),
            _ => {}
        }
    }
    fn is_id(text: &str) -> bool {
        text.len() == 36
            && text.bytes().enumerate().all(|(place, byte)| match place {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    }
    blot(&mut value);
    value
}
