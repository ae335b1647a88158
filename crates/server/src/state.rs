//! State of the server that every handler can access.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use hub::Hub;
use hub::graph::Graph;
use jiff::Timestamp;
use memory::ports::{AccessStore, ArchiveStore};
use memory::{PersonaId, Scope, UserId};
use runtime::{AccessCreated, Runtime, WireEvent};
use tokio_util::sync::CancellationToken;

use crate::auth::limits::Limits;
use crate::auth::named::NamedTokens;
use crate::auth::principal::Principal;
use crate::auth::refusals::Refusals;
use crate::auth::tokens::Tokens;
use crate::auth::turn_counts::TurnCounts;
use crate::held_bytes::BufferedBytes;
use crate::mcp;
use crate::open_streams::OpenStreams;
use crate::ports::backups::Backups;
use crate::ports::channel_setup::ChannelSetup;
use crate::ports::configuration::Configuration;
use crate::ports::daemons::Daemons;
use crate::ports::model_setup::{ActiveModels, ModelSetup};
use crate::problem::Problem;
use crate::tls::Tls;

/// Settings of the server that a person can change.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// The printed address of the page: `http://127.0.0.1:7777`. Login links begin with it.
    pub url: String,
    /// Host names, with or without a port, by which the server may be reached besides `127.0.0.1`, `localhost`,
    /// `[::1]`.
    pub allowed_hosts: Vec<String>,
    /// Maximum bytes of a request body.
    pub body_limit: usize,
    /// True if browsers reach the server only by TLS; then cookies are never sent over plain HTTP.
    pub secure_cookie: bool,
    /// True behind a proxy, so that `X-Forwarded-*` comes from the proxy and not from a client.
    pub behind_proxy: bool,
    /// Average requests per second of one token or address; 0 means no limit.
    pub requests_per_second: u32,
    /// Maximum requests at once of one token or address.
    pub burst: u32,
    /// Maximum replies per day for one named token; 0 means no limit.
    pub turns_per_day: u64,
    /// Maximum cost of a named token's replies per day, in US dollars as far as prices are known; 0 means no limit.
    pub usd_per_day: f64,
    /// True to answer prompts that chat programs write by themselves, with the small model and without memory.
    pub answers_utility_prompts: bool,
    /// Time limit for the head of a request; also the lifetime of an idle connection.
    pub head_time: Duration,
    pub version: String,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            url: "http://127.0.0.1:7777".to_owned(),
            allowed_hosts: Vec::new(),
            body_limit: 1024 * 1024,
            secure_cookie: false,
            behind_proxy: false,
            requests_per_second: 50,
            burst: 200,
            turns_per_day: 5_000,
            usd_per_day: 0.0,
            answers_utility_prompts: false,
            head_time: Duration::from_secs(15),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// The dependencies of a server.
pub struct ServerParts {
    pub runtime: Runtime,
    /// The shared self: documents that several instances write.
    pub hub: Hub,
    /// The graph of people, places and topics.
    pub graph: Graph,
    /// Credentials of the server. Shared with the code that prints the first login link.
    pub tokens: Arc<Tokens>,
    pub access: Arc<dyn AccessStore>,
    pub archives: Arc<dyn ArchiveStore>,
    /// Settings that a person can change; they change while the server runs.
    pub settings: Arc<ArcSwap<ServerSettings>>,
    /// Reads and changes the configuration.
    pub configuration: Arc<dyn Configuration>,
    /// Finds, tries and chooses language models.
    pub model_setup: Arc<dyn ModelSetup>,
    /// Connects and disconnects bots on other platforms.
    pub channel_setup: Arc<dyn ChannelSetup>,
    /// Makes copies of the memory.
    pub backups: Arc<dyn Backups>,
    /// Lists the daemons of the home.
    pub daemons: Arc<dyn Daemons>,
    /// TLS for all connections; `None` for plain HTTP.
    pub tls: Option<Tls>,
    /// State of the models; called for each request that shows it.
    pub models: Box<dyn Fn() -> ActiveModels + Send + Sync>,
    /// Time at which the program started.
    pub started_at: Timestamp,
}

/// State shared by all handlers.
#[derive(Clone)]
pub(crate) struct App(Arc<SharedState>);

pub(crate) struct SharedState {
    pub(crate) parts: ServerParts,
    pub(crate) shutdown: CancellationToken,
    pub(crate) named: NamedTokens,
    pub(crate) limits: Limits,
    /// Wrong tokens from this machine.
    pub(crate) local_guesses: Limits,
    pub(crate) refusals: Refusals,
    pub(crate) turn_counts: TurnCounts,
    pub(crate) held_bytes: BufferedBytes,
    pub(crate) streams: OpenStreams,
    /// The hub's tools over HTTP.
    pub(crate) mcp: mcp::http::Service,
}

impl Deref for App {
    type Target = SharedState;
    fn deref(&self) -> &SharedState {
        &self.0
    }
}

impl App {
    pub(crate) fn new(parts: ServerParts, shutdown: CancellationToken) -> Self {
        let named = NamedTokens::new(parts.access.clone());
        let limits = Limits::new(parts.runtime.shared_clock());
        let local_guesses = Limits::new(parts.runtime.shared_clock());
        let tools = mcp::ToolContext {
            hub: parts.hub.clone(),
            graph: parts.graph.clone(),
            runtime: parts.runtime.clone(),
            access: parts.access.clone(),
        };
        let mcp = mcp::http::Service::new(tools, shutdown.clone());
        Self(Arc::new(SharedState {
            parts,
            shutdown,
            named,
            limits,
            local_guesses,
            refusals: Refusals::default(),
            turn_counts: TurnCounts::default(),
            held_bytes: BufferedBytes::default(),
            streams: OpenStreams::default(),
            mcp,
        }))
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.parts.runtime
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.parts.runtime.clock().now()
    }

    /// Notifies administrators of a new login or token.
    pub(crate) fn announce_access(&self, access: AccessCreated) {
        let scope = Scope::new(self.runtime().settings().persona.clone(), UserId::owner());
        self.runtime().broadcast().publish(WireEvent::new(scope, &access));
    }

    /// The scope of a request. Refuses a user for whom the token may not act, and an unknown persona: a misspelt id
    /// must not create one.
    pub(crate) async fn scope(
        &self,
        principal: &Principal,
        persona: Option<String>,
        user: Option<String>,
    ) -> Result<Scope, Problem> {
        let user = match (&principal.user, user) {
            (None, None) => UserId::owner(),
            (None, Some(asked)) => checked_user(asked)?,
            (Some(own), None) => own.clone(),
            (Some(own), Some(asked)) if own.as_str() == asked => own.clone(),
            (Some(_), Some(_)) => return Err(Problem::forbidden("this token is bound to another user")),
        };
        let configured = self.runtime().settings().persona.clone();
        let persona = match persona {
            None => configured.clone(),
            Some(name) => PersonaId::new(name)
                .map_err(|error| Problem::unprocessable(format!("persona_id: {error}")))?,
        };
        if persona != configured && self.runtime().store().persona(&persona).await?.is_none() {
            return Err(Problem::not_found("persona_id not found"));
        }
        Ok(Scope::new(persona, user))
    }
}

fn checked_user(name: String) -> Result<UserId, Problem> {
    UserId::new(name).map_err(|error| Problem::unprocessable(format!("user_id: {error}")))
}
