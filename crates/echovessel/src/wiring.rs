//! Creates the parts of a running EchoVessel and connects them: store, embedder, model, mind, hub, runtime.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use arc_swap::ArcSwap;
use channels::{Channels, ChannelsParts};
use hub::graph::Graph;
use hub::{Hub, HubParts, HubSettings, InstanceId, WorkingHours};
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use llm::Provider;
use memory::consolidate::{ConsolidateSettings, SlowCycleSettings};
use memory::ledger::{Price, Prices};
use memory::ports::{Clock, IdGenerator, Store};
use memory::recall::{RecallSettings, Signal};
use memory::sessions::SessionPolicy;
use memory::vector_index::VectorIndex;
use memory::{PersonaId, Scope, UserId};
use mind::{LanguageMind, Prompts};
use runtime::{
    Broadcast, ImportParts, Ledger, Metrics, OptionalParts, ProactiveSettings, ReloadableModel, Runtime,
    RuntimeCore, RuntimeParts, RuntimeSettings, TraceSettings, VoiceParts,
};
use server::ServerSettings;
use server::mcp::ToolContext;
use store::HomeStore;

use crate::config::{Config, ConfigError, LlmPrice, UtilityPrompts, WeekStart};
use crate::embedding::EmbeddingSetup;
use crate::followed_hub::followed_hub;
use crate::home::Home;
use crate::language_model::{self, LlmSummary};
use crate::system::{SystemClock, SystemIdGenerator, random_bytes};
use crate::voice_setup::{voice_hosts, voice_settings};

/// Tokens of a reply's prompt if neither the configuration nor the model sets a limit.
const PROMPT_TOKENS: u32 = 8_000;
/// Minimum tokens of the prompt if the model states its limit; the maximum follows.
const PROMPT_TOKENS_MIN: u32 = 1_000;
/// Maximum tokens of a prompt that the model's context alone decides: more cost money at each turn and rarely improve
/// a reply.
const PROMPT_TOKENS_MAX: u32 = 32_000;

/// Time for which a stop waits for the database server, after running work has had 20 seconds. A server that does not
/// answer must not hold it up.
const SERVER_CLOSE_LIMIT: Duration = Duration::from_secs(4);

/// The parts of a running EchoVessel, in the order in which they are dropped.
pub(crate) struct Services {
    /// The store itself, for whoever checks, checkpoints and closes it.
    pub(crate) database: Arc<HomeStore>,
    /// Records the cost of model calls.
    pub(crate) ledger: Arc<Ledger>,
    /// The shared self: documents.
    pub(crate) hub: Hub,
    /// The shared self: people, places, topics.
    pub(crate) graph: Graph,
    /// Channels to other platforms; not connected yet.
    pub(crate) channels: Channels,
    /// The runtime: turns and background work.
    pub(crate) runtime: Runtime,
    /// The language model, which can be replaced while running.
    pub(crate) model: Arc<ReloadableModel>,
    /// Prices of the configured models.
    pub(crate) prices: Arc<ArcSwap<Prices>>,
    /// The source of vectors.
    pub(crate) embedding: EmbeddingSetup,
    /// Hosts that receive texts and recordings, as `api.fish.audio for speech`.
    pub(crate) voice_hosts: Vec<String>,
}

impl Services {
    /// State of the language model, for people.
    pub(crate) fn model_state(&self) -> LlmSummary {
        LlmSummary::from_provider(&*self.model)
    }

    /// Writes pending entries of the cost ledger, then closes the database. Call it after [`Runtime::stop`]. A server
    /// that does not answer delays it by a few seconds at most.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        let is_on_server = self.database.is_on_server();
        let closing = async {
            self.ledger.close().await;
            self.database.close().await.context("the database could not be closed cleanly; nothing is lost")
        };
        if !is_on_server {
            return closing.await;
        }
        match tokio::time::timeout(SERVER_CLOSE_LIMIT, closing).await {
            Ok(closed) => closed,
            Err(_) => bail!(
                "the database server did not respond at the end; everything acknowledged is \
                stored"
            ),
        }
    }

    /// The dependencies of the hub's tools, for MCP.
    pub(crate) fn tool_context(&self) -> ToolContext {
        ToolContext {
            hub: self.hub.clone(),
            graph: self.graph.clone(),
            runtime: self.runtime.clone(),
            access: self.database.clone(),
        }
    }
}

/// Opens the store, connects the model and creates all services. No work starts before [`Runtime::start`].
pub(crate) async fn wire(
    config: &Config,
    home: &Home,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
) -> anyhow::Result<Services> {
    let database = Arc::new(crate::database::open_database(config, home)?);
    wire_with_store(database, config, home, Metrics::default(), clock, ids).await
}

/// Creates all services on an open store.
pub(crate) async fn wire_with_store(
    database: Arc<HomeStore>,
    config: &Config,
    home: &Home,
    metrics: Metrics,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
) -> anyhow::Result<Services> {
    let store: Arc<dyn Store> = database.clone();
    let model = Arc::new(ReloadableModel::new(language_model::connect(config, home).await?));
    let prices = Arc::new(ArcSwap::from_pointee(configured_prices(config)));
    let prompts = Prompts::load(home.prompts().as_deref())?;
    let ledger = Ledger::start_with_prices(store.clone(), prices.clone(), metrics.clone());
    let mind = LanguageMind::new(model.clone(), clock.clone(), ledger.clone(), prompts);
    let run = hex::encode(&random_bytes()[..4]);
    let embedding = EmbeddingSetup::new(config, home, clock.clone())?;
    let previous = embedding.previous_model(&*store, home).await;
    let core = RuntimeCore::new(RuntimeParts {
        store,
        proactive: database.clone(),
        embedder: embedding.embedder(),
        index: Arc::new(VectorIndex::new(config.limits.vector_memory.bytes())),
        mind: Arc::new(mind),
        clock: clock.clone(),
        ids: ids.clone(),
        broadcast: Broadcast::new(run),
        metrics,
        settings: runtime_settings(config, model.context_tokens())?,
    });
    let graph = Graph::new(
        database.clone(),
        database.clone(),
        database.clone(),
        embedding.embedder(),
        clock.clone(),
        ids.clone(),
    );
    let hub = Hub::new(HubParts {
        embedder: embedding.embedder(),
        summariser: Some(core.summariser()),
        links: Some(Arc::new(graph.clone())),
        listener: Some(core.hub_listener()),
        ..hub_parts(config, home, &database, clock.clone(), ids)?
    });
    let channels = Channels::new(ChannelsParts {
        store: database.clone(),
        clock: clock.clone(),
        random: Box::new(random_bytes),
    });
    let voice =
        voice_settings(config, home, &clock).map_err(|error| ConfigError::BadValue(error.to_string()))?;
    let voice_hosts = voice_hosts(&voice);
    let files = match config.storage.files.as_str() {
        "" => home.folder(),
        folder => Path::new(folder),
    };
    let optional = OptionalParts {
        hub: Some((hub.clone(), working_hours(config)?)),
        graph: config.hub.graph_facts.then(|| graph.clone()),
        channels: Some(channels.outbound_channels()),
        voice: Some(VoiceParts { folder: files.join("voice"), ledger: ledger.clone(), settings: voice }),
        imports: Some(ImportParts {
            store: database.clone(),
            folder: files.join("imports"),
            prices: prices.clone(),
        }),
        previous_embedder: previous,
    };
    let runtime = Runtime::new(core, optional);
    runtime.embodiment().follow_hub(followed_hub(config, home)?, own_instance(config)?).await?;
    crate::former_peers::log_former_peers(home, &database).await?;
    Ok(Services { database, ledger, hub, graph, channels, runtime, model, prices, embedding, voice_hosts })
}

/// The hub of a home that no daemon holds: without vectors and without roll-ups, which only the daemon makes.
pub(crate) fn hub_without_daemon(
    config: &Config,
    home: &Home,
    database: &Arc<HomeStore>,
) -> anyhow::Result<Hub> {
    let (clock, ids) = (Arc::new(SystemClock), Arc::new(SystemIdGenerator::default()));
    Ok(Hub::new(hub_parts(config, home, database, clock, ids)?))
}

/// Parts of the hub on the home's database, with its files in the home, and without those that only a daemon has.
fn hub_parts(
    config: &Config,
    home: &Home,
    database: &Arc<HomeStore>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
) -> anyhow::Result<HubParts> {
    let persona = PersonaId::new(config.persona.id.clone())?;
    let priority: Result<Vec<InstanceId>, _> =
        config.sync.instance_priority.iter().map(|instance| instance.parse()).collect();
    Ok(HubParts {
        store: database.clone(),
        personas: database.clone(),
        corrections: database.clone(),
        users: database.clone(),
        embedder: None,
        summariser: None,
        links: None,
        listener: None,
        clock,
        ids,
        settings: HubSettings {
            instance: own_instance(config)?,
            default_scope: Scope::new(persona, UserId::owner()),
            zone: TimeZone::system(),
            snapshot_retention: config.hub.snapshot_retention.0,
            priority: priority.context("sync.instance_priority")?,
            users_read_custom: config.hub.users_read_custom,
            mirror: Some(home.folder().to_owned()),
        },
    })
}

/// The configured name of this instance, else the host name with unsafe characters replaced.
pub(crate) fn own_instance(config: &Config) -> anyhow::Result<InstanceId> {
    if config.hub.instance.is_empty() {
        return Ok(InstanceId::made_safe(&host_name()));
    }
    config.hub.instance.parse().context("hub.instance")
}

fn host_name() -> String {
    let hostname = std::fs::read_to_string("/etc/hostname").or_else(|_| std::env::var("HOSTNAME"));
    hostname.map(|name| name.trim().to_owned()).unwrap_or_default()
}

fn working_hours(config: &Config) -> anyhow::Result<WorkingHours> {
    let rollup_at = jiff::civil::Time::strptime("%H:%M", &config.hub.rollup_at).with_context(|| {
        format!("hub.rollup_at must be a time such as 05:00, not `{}`", config.hub.rollup_at)
    })?;
    Ok(WorkingHours { rollup_at, catch_up: config.hub.catch_up })
}

/// Settings of the server from the configuration; `url` is the server's address.
pub(crate) fn server_settings(config: &Config, url: &str) -> Result<ServerSettings, ConfigError> {
    let server = &config.server;
    let mut allowed_hosts = server.allowed_hosts.clone();
    // A server bound to one address should be reached by it, and DNS can't redirect an address.
    if let Ok(address) = bare_host(&server.host).parse::<IpAddr>()
        && !address.is_unspecified()
    {
        allowed_hosts.push(shown_host(&server.host));
    }
    Ok(ServerSettings {
        url: url.to_owned(),
        allowed_hosts,
        body_limit: config.limits.body.bytes(),
        secure_cookie: !server.tls_cert.is_empty(),
        behind_proxy: server.behind_proxy,
        requests_per_second: config.limits.requests_per_second,
        burst: config.limits.burst,
        turns_per_day: config.limits.turns_per_day,
        usd_per_day: config.limits.usd_per_day,
        answers_utility_prompts: config.openai.utility_prompts == UtilityPrompts::Answer,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..ServerSettings::default()
    })
}

/// A host without the brackets around an IPv6 address.
pub(crate) fn bare_host(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// A host in a form that a browser on this machine can open.
pub(crate) fn shown_host(host: &str) -> String {
    match bare_host(host).parse::<IpAddr>() {
        Ok(address) if address.is_unspecified() => "127.0.0.1".to_owned(),
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        _ => host.to_owned(),
    }
}

/// Settings of recall from the configuration.
pub(crate) fn recall_settings(config: &Config) -> RecallSettings {
    let recall = &config.recall;
    let mut settings =
        RecallSettings { k: recall.k, min_relevance: recall.min_relevance, ..RecallSettings::default() };
    settings.weights.recency = recall.weight_recency;
    settings.weights.relevance = recall.weight_relevance;
    settings.weights.impact = recall.weight_impact;
    settings.weights.relational = recall.weight_relational;
    settings.weights.entity = recall.weight_entity_anchor;
    settings.min_support = recall.min_support;
    let weights = &recall.message_weights;
    settings.message_weights = settings
        .message_weights
        .with_weight(Signal::Words, weights.words)
        .with_weight(Signal::Meaning, weights.meaning)
        .with_weight(Signal::TopicWords, weights.topic_words)
        .with_weight(Signal::TopicMeaning, weights.topic_meaning)
        .with_weight(Signal::Speaker, weights.speaker)
        .with_weight(Signal::Time, weights.time)
        .with_weight(Signal::TellsWhen, weights.tells_when)
        .with_weight(Signal::Asks, weights.asks)
        .with_weight(Signal::Answers, weights.answers);
    settings.half_life_days = recall.half_life.0.as_secs_f64() / 86_400.0;
    settings.week_start = match recall.week_start {
        WeekStart::Monday => Weekday::Monday,
        WeekStart::Sunday => Weekday::Sunday,
    };
    settings
}

/// Prices of models from the configuration.
pub(crate) fn configured_prices(config: &Config) -> Prices {
    let price = |price: &LlmPrice| {
        let (input, cached) = (price.input, price.cached.unwrap_or(price.input));
        (price.model.clone(), Price { input, output: price.output, cached })
    };
    Prices(config.llm.prices.iter().map(price).collect())
}

fn slow_cycle_settings(config: &Config) -> SlowCycleSettings {
    let slow_cycle = &config.slow_cycle;
    SlowCycleSettings {
        enabled: slow_cycle.enabled,
        cool_down: slow_cycle.cool_down.0,
        cycles_per_day: slow_cycle.daily_cycles,
        input_tokens_per_day: slow_cycle.daily_input_tokens,
        output_tokens_per_day: slow_cycle.daily_output_tokens,
        ..SlowCycleSettings::default()
    }
}

fn proactive_settings(config: &Config) -> ProactiveSettings {
    let proactive = &config.proactive;
    ProactiveSettings {
        enabled: proactive.enabled,
        tick: proactive.tick.0,
        quiet_hours_start: proactive.quiet_hours_start,
        quiet_hours_end: proactive.quiet_hours_end,
        max_per_24h: proactive.max_per_24h,
        cold_user_threshold: proactive.cold_user_threshold,
        cold_user_response_window: proactive.cold_user_response_window.0,
        long_silence: proactive.long_silence.0,
        use_voice: proactive.use_voice,
    }
}

/// Maximum tokens of a reply's prompt; the rest of the model's limit is for its answer.
fn prompt_tokens(config: &Config, context_tokens: Option<u32>) -> u32 {
    match (config.llm.context_tokens, context_tokens) {
        (0, None) => PROMPT_TOKENS,
        (0, Some(taken)) => (taken / 4 * 3).clamp(PROMPT_TOKENS_MIN, PROMPT_TOKENS_MAX),
        (configured, _) => configured,
    }
}

/// Limits of sessions from the configuration.
pub(crate) fn session_policy(config: &Config) -> SessionPolicy {
    let session = &config.session;
    SessionPolicy { idle: session.idle.0, max_messages: session.max_messages, max_tokens: session.max_tokens }
}

/// Settings of the runtime from the configuration, and from the limits of its model.
pub(crate) fn runtime_settings(
    config: &Config,
    context_tokens: Option<u32>,
) -> anyhow::Result<RuntimeSettings> {
    let (session, consolidate) = (&config.session, &config.consolidate);
    Ok(RuntimeSettings {
        persona: PersonaId::new(config.persona.id.clone())?,
        persona_name: config.persona.display_name.clone(),
        zone: TimeZone::system(),
        session: session_policy(config),
        scan_every: session.scan_every.0,
        poll_every: consolidate.poll_every.0,
        consolidate: ConsolidateSettings {
            trivial_message_count: consolidate.trivial_message_count,
            trivial_token_count: consolidate.trivial_token_count,
            trivial_user_terms: consolidate.trivial_user_terms,
            reflection_hard_gate_24h: consolidate.reflection_hard_gate_24h,
            max_retries: consolidate.max_retries,
            strong_emotion_words: consolidate.strong_emotion_words.clone(),
            slow_cycle: slow_cycle_settings(config),
            trace: config.trace.enabled,
        },
        recall: recall_settings(config),
        recent_window: config.recall.recent_window,
        debounce: HashMap::from([
            ("web".to_owned(), config.channels.web.debounce.0),
            ("discord".to_owned(), config.channels.discord.debounce.0),
            ("telegram".to_owned(), config.channels.telegram.debounce.0),
        ]),
        prompt_tokens: prompt_tokens(config, context_tokens),
        turn_timeout: config.limits.turn_timeout.0,
        answer_within: session.answer_within.0,
        trace: TraceSettings { enabled: config.trace.enabled, retention: config.trace.retention.0 },
        proactive: proactive_settings(config),
        daily_spend_cap: Some(config.llm.daily_spend_cap).filter(|cap| *cap > 0.0),
    })
}
