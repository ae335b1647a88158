//! A daemon whose home is on a server, where others may share it. It accepts requests at once: it answers them while
//! it holds the home, and otherwise forwards them to the daemon that does. When that one ends, this one takes the
//! home.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use memory::ports::Clock as _;
use reqwest::Method;
use runtime::Metrics;
use server::{AnsweringDaemon, Front, FrontParts, HomeServer, SocketlessServer, StandbyHubSocket};
use store::{
    HomeDatabase, HomeHolder, HomeStore, NewDaemon, ServerAddress, SharedAccess, Standby, home_state,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::announcement::{open_page, print_address, print_standby};
use super::entrance::Entrance;
use super::open_home::OpenHome;
use crate::cli::{Run, SharedOptions};
use crate::client::Daemon;
use crate::config::Config;
use crate::daemons::SharingDaemons;
use crate::database::server_options;
use crate::home::{Home, RunFile};
use crate::lifecycle;
use crate::owner::OwnerCredential;
use crate::shared_owner::shared_owner;
use crate::system::{SystemClock, SystemIdGenerator, random_bytes, random_uuid};
use crate::wiring::{bare_host, wire_with_store};

/// Time for which the daemon tries to take a home that seems free. A failover of the database takes seconds.
const TAKING_TIME_MAX: Duration = Duration::from_secs(60);
/// Time between two tries. Each is a connection, which a server that is starting refuses.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Time that the holder has to make a login link. Without it the start prints an address that asks for the token.
const LOGIN_TIME_MAX: Duration = Duration::from_secs(5);
/// Time for which a stop waits until the database has recorded it. Without the record the others notice the stop
/// after twenty seconds.
const STOP_RECORD_WAIT_MAX: Duration = Duration::from_secs(2);

/// Another daemon took the home, because this one was silent for too long. This process must stop: it may be about to
/// repeat what the other one does.
#[derive(Debug, thiserror::Error)]
#[error(
    "another EchoVessel took over this home, because this one did not respond for too long. All \
        acknowledged messages are stored. Start this one again: it will be on standby"
)]
pub(crate) struct HomeHeldElsewhere;

type ServerTask = JoinHandle<Result<(), server::ServeError>>;

/// A daemon of a shared home, before the holder is known.
struct SharingDaemon<'a> {
    shared: &'a SharedOptions,
    config: &'a Config,
    home: &'a Home,
    asked: &'a Run,
    address: ServerAddress,
    identity: NewDaemon,
    metrics: Metrics,
    entrance: Entrance,
    front: Arc<Front>,
    answering: watch::Sender<AnsweringDaemon>,
    serving: ServerTask,
    /// True if another process held the home when this one started.
    has_stood_by: bool,
    /// True if a login link was printed.
    has_printed_login: bool,
}

pub(super) async fn run(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    asked: &Run,
    address: ServerAddress,
) -> anyhow::Result<()> {
    let state = home_state(&address)?;
    let owner = shared_owner(home, &state)?;
    let secret = state.access.map_or_else(|| hex::encode(random_bytes()), |access| access.secret);
    let (entrance, sockets) = Entrance::open(config, home, asked, &owner).await?;
    let metrics = Metrics::default();
    let counted = metrics.clone();
    let identity = NewDaemon {
        id: random_uuid().to_string(),
        address: advertised_address(config, &address, &entrance),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        turns: Arc::new(move || counted.turns()),
        access: shared_access(&owner, secret),
    };
    let (answering, answered_by) = watch::channel(AnsweringDaemon::Nobody);
    let front = FrontParts {
        answering: answered_by,
        secret: identity.access.secret.clone(),
        tokens: entrance.tokens.clone(),
        clock: Arc::new(SystemClock),
    };
    let front = Front::new(front, entrance.shutdown.clone())?;
    let site = SocketlessServer {
        router: front.router(),
        tls: entrance.tls.clone(),
        settings: entrance.settings.clone(),
        clock: Arc::new(SystemClock),
        metrics: metrics.clone(),
        shares_home: true,
    };
    let serving =
        tokio::spawn(server::serve_site(sockets.network, sockets.home, site, entrance.shutdown.clone()));
    entrance.write_run_file(home)?;
    let daemon = SharingDaemon {
        shared,
        config,
        home,
        asked,
        address,
        identity,
        metrics,
        entrance,
        front,
        answering,
        serving,
        has_stood_by: false,
        has_printed_login: false,
    };
    daemon.run(&owner).await
}

/// The address at which other daemons reach this one.
fn advertised_address(config: &Config, address: &ServerAddress, entrance: &Entrance) -> String {
    if !config.server.advertise.is_empty() {
        return config.server.advertise.trim_end_matches('/').to_owned();
    }
    let host = bare_host(&config.server.host).parse::<IpAddr>();
    let is_own = host.is_ok_and(|host| host.is_loopback() || host.is_unspecified());
    if is_own && address.is_on_another_machine() {
        tracing::warn!(
            "daemons on other machines can't reach this one at {}: set server.advertise if several share this database",
            entrance.url
        );
    }
    entrance.url.clone()
}

fn shared_access(owner: &OwnerCredential, secret: String) -> SharedAccess {
    let owner_token = match owner {
        OwnerCredential::Token(token) => Some(token.clone()),
        OwnerCredential::Digest(_) => None,
    };
    SharedAccess { secret, owner_digest: hex::encode(owner.digest()), owner_token }
}

/// Why a daemon stopped standing by.
enum StandbyEnd {
    HomeIsFree,
    Stopped,
}

impl SharingDaemon<'_> {
    async fn run(mut self, owner: &OwnerCredential) -> anyhow::Result<()> {
        let mut stop = lifecycle::stop_requested(self.entrance.shutdown.clone()).boxed();
        let ignoring = tokio::spawn(lifecycle::ignore_hangup());
        let mut hub_socket = None;
        let database = loop {
            if let Some(database) = self.acquire_home().await? {
                break database;
            }
            let standby = Standby::start(&self.address, &self.identity)?;
            if !self.has_stood_by {
                hub_socket = self.open_hub_socket();
                self.announce_standby(&standby, owner).await;
                self.has_stood_by = true;
            }
            match self.forward_until_home_is_free(&standby, &mut stop).await? {
                StandbyEnd::HomeIsFree => {}
                StandbyEnd::Stopped => {
                    let leaving = tokio::task::spawn_blocking(move || standby.leave_daemon_list());
                    // If the server does not respond now, the daemon is marked as dead later.
                    let _ = tokio::time::timeout(STOP_RECORD_WAIT_MAX, leaving).await;
                    return self.stop_without_home().await;
                }
            }
        };
        ignoring.abort();
        if let Some(hub_socket) = hub_socket {
            hub_socket.close().await;
        }
        self.serve_home(database, &mut stop).await
    }

    /// Takes the home for this process; `None` if another process has it.
    async fn acquire_home(&self) -> anyhow::Result<Option<HomeStore>> {
        let clock = SystemClock;
        let began = clock.now();
        loop {
            let (address, identity) = (self.address.clone(), self.identity.clone());
            let options = server_options(self.config);
            let taking = move || HomeStore::open_for_daemon(&address, options, &identity);
            match tokio::task::spawn_blocking(taking).await? {
                Ok(taken) => return Ok(taken),
                // At the start the settings are probably wrong, and nobody depends on this daemon yet.
                Err(error) if !self.has_stood_by => return Err(error.into()),
                Err(error) if clock.now().duration_since(began).unsigned_abs() > TAKING_TIME_MAX => {
                    return Err(error.into());
                }
                Err(error) => {
                    tracing::warn!("the home could not be taken over; retrying: {error}");
                    clock.sleep(RETRY_INTERVAL).await;
                }
            }
        }
    }

    /// Forwards requests until the home is free or this daemon is stopped.
    async fn forward_until_home_is_free(
        &mut self,
        standby: &Standby,
        stop: &mut BoxFuture<'static, ()>,
    ) -> anyhow::Result<StandbyEnd> {
        let mut standing = standby.watch_home();
        loop {
            let now = standing.borrow_and_update().clone();
            match now {
                HomeHolder::Held(Some(address)) => {
                    self.set_answering_daemon(AnsweringDaemon::Elsewhere(address))
                }
                HomeHolder::Held(None) => self.set_answering_daemon(AnsweringDaemon::Nobody),
                HomeHolder::Free => {
                    self.set_answering_daemon(AnsweringDaemon::Nobody);
                    return Ok(StandbyEnd::HomeIsFree);
                }
                HomeHolder::Lost => return Err(HomeHeldElsewhere.into()),
            }
            tokio::select! {
                // Checked first, because a stop also ends the server.
                biased;
                () = &mut *stop => return Ok(StandbyEnd::Stopped),
                changed = standing.changed() => changed.context("the database is no longer watched")?,
                ended = &mut self.serving => bail!("the server ended unexpectedly: {ended:?}"),
            }
        }
    }

    /// Serves the home until another daemon takes it or this one is stopped.
    async fn serve_home(
        mut self,
        database: HomeStore,
        stop: &mut BoxFuture<'static, ()>,
    ) -> anyhow::Result<()> {
        let clock = Arc::new(SystemClock);
        let ids = Arc::new(SystemIdGenerator::default());
        let database = Arc::new(database);
        let services =
            wire_with_store(database, self.config, self.home, self.metrics.clone(), clock, ids).await?;
        let database = services.database.clone();
        let daemons = Arc::new(SharingDaemons(database.clone()));
        let (open_home, parts) =
            OpenHome::start(self.config, self.home, services, &self.entrance, daemons).await?;
        self.set_answering_daemon(AnsweringDaemon::Here(HomeServer {
            router: server::router(parts, self.entrance.shutdown.clone()),
            tools: Arc::new(open_home.services.tool_context()),
        }));
        let now = open_home.services.runtime.clock().now();
        if self.has_stood_by {
            tracing::info!("this daemon took over the home and now serves requests itself");
        }
        if !self.has_printed_login {
            let login = self.entrance.tokens.mint_login_code(now).login_url(&self.entrance.url);
            if self.asked.open {
                open_page(self.home, &login);
            }
            let on_server = HomeDatabase::Server(self.address.clone());
            print_address(self.shared, &on_server, self.home, &open_home, &self.entrance.url, &login);
        }
        let outcome = tokio::select! {
            biased;
            // Nothing more can be written, and another daemon continues the work.
            () = database.taken_over() => return Err(HomeHeldElsewhere.into()),
            outcome = open_home.wait_for_end(stop, &mut self.serving) => outcome,
        };
        let draining = database.refuse_new_work(&self.identity.id);
        if !matches!(tokio::time::timeout(STOP_RECORD_WAIT_MAX, draining).await, Ok(Ok(()))) {
            tracing::warn!("the stop of this daemon could not be recorded in the database");
        }
        open_home.stop(self.home, &self.entrance, outcome.is_ok().then_some(self.serving)).await?;
        outcome
    }

    /// Stops a daemon that does not hold the home.
    async fn stop_without_home(self) -> anyhow::Result<()> {
        self.home.remove_run_file();
        self.home.remove_login_page();
        self.entrance.shutdown.cancel();
        self.serving.await.context("the server ended with an error")??;
        Ok(())
    }

    /// Opens the socket by which `echovessel mcp` joins on this machine. Without it everything else works.
    fn open_hub_socket(&self) -> Option<StandbyHubSocket> {
        let opened = self.front.open_hub_socket(&self.home.hub_socket());
        opened
            .inspect_err(|error| tracing::error!("{error}. Other `echovessel mcp` processes can't connect"))
            .ok()
    }

    fn set_answering_daemon(&self, answering: AnsweringDaemon) {
        self.answering.send_replace(answering);
    }

    /// Prints where the home is held, and a login link made by the holder.
    async fn announce_standby(&mut self, standby: &Standby, owner: &OwnerCredential) {
        let holder = match &*standby.watch_home().borrow() {
            HomeHolder::Held(Some(address)) => Some(address.clone()),
            _ => None,
        };
        if let Some(holder) = &holder {
            self.set_answering_daemon(AnsweringDaemon::Elsewhere(holder.clone()));
        }
        let login = match (owner, &holder) {
            (OwnerCredential::Token(token), Some(_)) => self.login_of_holder(token).await,
            _ => None,
        };
        if let (true, Some(login)) = (self.asked.open, &login) {
            open_page(self.home, login);
        }
        self.has_printed_login = login.is_some();
        print_standby(self.shared, &self.entrance.url, holder.as_deref(), login.as_deref());
    }

    /// A login link of the holder, with this daemon's own address.
    async fn login_of_holder(&self, token: &str) -> Option<String> {
        let run = self.home.run_file()?;
        let asked = async {
            let daemon = Daemon::connect_to_address(
                RunFile { url: self.entrance.url.clone(), ..run },
                token.to_owned(),
            )?;
            daemon.ask(Method::POST, "/api/admin/login-code", None).await
        };
        // The holder may have ended a moment ago.
        let answer = tokio::time::timeout(LOGIN_TIME_MAX, asked).await.ok()?.ok()?;
        let (_, path) = answer["url"].as_str()?.split_once("/login?")?;
        Some(format!("{}/login?{path}", self.entrance.url))
    }
}
