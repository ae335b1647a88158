//! `echovessel run`: config → telemetry → store and migrations → model → runtime → server → ready, and back.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use arc_swap::ArcSwap;
use channels::Channels;
use reqwest::Method;
#[cfg(target_os = "linux")]
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use server::mcp::{HubSocket, ToolContext};
use server::{ActiveModels, ServerParts, Tls, Tokens, listen_at};
use store::HomeDatabase;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cli::{Run, Shared};
use crate::client::{Daemon, NoDaemon};
use crate::config::Config;
use crate::database::home_database;
use crate::home::{Home, HomeLock, RunFile};
use crate::language_model::LlmSummary;
use crate::lifecycle;
use crate::live_config::{ConfigState, LiveConfig};
use crate::outbound;
use crate::owner::OwnerCredential;
use crate::system::{SystemClock, SystemIdGenerator, random_bytes};
use crate::wiring::{Services, bare_host, server_settings, shown_host, wire};

/// Shortest owner's token that is taken beyond this machine.
const OWNER_TOKEN_BYTES_MIN: usize = 16;

pub(crate) async fn run(shared: &Shared, config: &Config, home: &Home, asked: &Run) -> anyhow::Result<()> {
    keep_memory_private();
    let _lock = home.lock()?;
    super::encrypted_backup::remove_leftover_copy(home);
    if let Err(error) = super::backup::remove_leftover_backups(config, home) {
        tracing::warn!("an unfinished backup could not be removed: {error}");
    }
    let owner = home.owner_credential(random_bytes)?;
    let database = home_database(config, home)?;
    let wired = wire(config, home, Arc::new(SystemClock), Arc::new(SystemIdGenerator::default())).await?;
    let listener = listen(config, asked, &owner).await?;
    let port = listener.local_addr()?.port();
    let tls = tls(config)?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{}:{port}", shown_host(&config.server.host));
    let shutdown = CancellationToken::new();
    let hosts = outbound::add_channels(config, home, &wired)?;
    wired.runtime.start().await?;
    wired.channels.start(&wired.runtime);
    let socket = open_hub_socket(home, wired.tool_context());
    let parts = server_parts(config, home, &wired, Some(wired.channels.clone()), owner.tokens()?, &url, tls)?;
    let reloading = tokio::spawn(lifecycle::reload_on_hangup(parts.configuration.clone()));
    let backups = config.backup_every()?.map(|every| {
        let clock = Arc::new(SystemClock);
        tokio::spawn(super::backup::repeat(config.clone(), home.clone(), every, clock))
    });
    let login = parts.tokens.mint_login_code(wired.runtime.clock().now()).link(&url);
    let at_home = listen_at_home(home);
    let mut serving = tokio::spawn(server::serve(listener, at_home, parts, shutdown.clone()));
    home.write_run_file(&RunFile { pid: std::process::id(), port, url: url.clone() })?;
    if asked.open {
        open_page(home, &login);
    }
    print_address(shared, &database, home, &wired, &hosts, &url, &login);
    let outcome = tokio::select! {
        // An order to stop over the API ends the server as well, which is no failure then.
        biased;
        () = lifecycle::stop_requested(shutdown.clone()) => Ok(()),
        ended = &mut serving => Err(anyhow::anyhow!("the server ended unexpectedly: {ended:?}")),
        () = wired.runtime.background_failed() => Err(anyhow::anyhow!(
            "background work panicked; every message is stored, start EchoVessel again"
        )),
    };
    reloading.abort();
    if let Some(backups) = backups {
        backups.abort();
    }
    home.remove_run_file();
    home.remove_login_page();
    shutdown.cancel();
    if let Some(socket) = socket {
        socket.close().await;
    }
    wired.channels.stop().await;
    stop(wired, outcome.is_ok().then_some(serving)).await?;
    outcome
}

/// Lets programs that start `echovessel mcp` on this home join. Without it everything else works.
pub(super) fn open_hub_socket(home: &Home, context: ToolContext) -> Option<HubSocket> {
    let opened = HubSocket::open(&home.hub_socket(), context);
    opened
        .inspect_err(|error| tracing::error!("{error}. Other `echovessel mcp` processes can't connect"))
        .ok()
}

/// Listens on the home's socket. None if that fails: commands then use the daemon's TCP address.
fn listen_at_home(home: &Home) -> Option<UnixListener> {
    let listening = listen_at(&home.daemon_socket());
    listening.inspect_err(|error| tracing::warn!("{error}. Commands use the daemon's address instead")).ok()
}

/// In reverse of the start: no new words, streaming replies finish, work returns to the queue, the log is folded in.
/// `serving` is none when the server has ended already.
async fn stop<T: Send + 'static>(
    wired: Services,
    serving: Option<tokio::task::JoinHandle<T>>,
) -> anyhow::Result<()> {
    let second_signal = lifecycle::second_signal();
    let orderly = async {
        wired.runtime.stop().await;
        // Its own limit is the same 20 s; a panic in it has been told already and must not keep the log open.
        if let Some(serving) = serving {
            let _ = serving.await;
        }
        wired.close().await
    };
    tokio::select! {
        closed = orderly => closed,
        () = second_signal => bail!("stopped at once on a second signal; every message is stored"),
    }
}

/// A daemon for one command, on a home that no other holds: it answers this process only, and begins no work.
pub(crate) struct PrivateDaemon {
    /// The connection to it.
    daemon: Daemon,
    _lock: HomeLock,
    wired: Services,
    shutdown: CancellationToken,
    serving: JoinHandle<()>,
}

impl PrivateDaemon {
    async fn open(config: &Config, home: &Home) -> anyhow::Result<Self> {
        let lock = home.lock()?;
        let wired = wire(config, home, Arc::new(SystemClock), Arc::new(SystemIdGenerator::default())).await?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no port on loopback is free")?;
        let port = listener.local_addr()?.port();
        let url = format!("http://127.0.0.1:{port}");
        // Nobody else needs to know how to get in.
        let token = hex::encode(random_bytes());
        let tokens = Tokens::new(&token, Box::new(random_bytes))?;
        let parts = server_parts(config, home, &wired, None, tokens, &url, None)?;
        let shutdown = CancellationToken::new();
        let served = server::serve(listener, None, parts, shutdown.clone());
        // How it ends is seen by whoever asks it something.
        let serving = tokio::spawn(async move { _ = served.await });
        let daemon = Daemon::at(RunFile { pid: std::process::id(), port, url }, token)?;
        Ok(Self { daemon, _lock: lock, wired, shutdown, serving })
    }

    /// Closes the home in order.
    async fn close(self) -> anyhow::Result<()> {
        self.shutdown.cancel();
        stop(self.wired, Some(self.serving)).await
    }
}

/// The home's daemon, or one for this command.
pub(crate) enum AnyDaemon {
    Running(Daemon),
    Private(Box<PrivateDaemon>),
}

impl AnyDaemon {
    pub(crate) async fn open(config: &Config, home: &Home) -> anyhow::Result<Self> {
        match Daemon::find(home) {
            Ok(daemon) => Ok(Self::Running(daemon)),
            Err(error) if error.is::<NoDaemon>() => {
                Ok(Self::Private(Box::new(PrivateDaemon::open(config, home).await?)))
            }
            Err(error) => Err(error),
        }
    }

    /// Lets a daemon for this command answer and remember; one that runs does so already.
    pub(crate) async fn start_work(&self) -> anyhow::Result<()> {
        match self {
            Self::Running(_) => Ok(()),
            Self::Private(private) => Ok(private.wired.runtime.start().await?),
        }
    }

    pub(crate) fn daemon(&self) -> &Daemon {
        match self {
            Self::Running(daemon) => daemon,
            Self::Private(private) => &private.daemon,
        }
    }

    pub(crate) async fn close(self) -> anyhow::Result<()> {
        match self {
            Self::Running(_) => Ok(()),
            Self::Private(private) => private.close().await,
        }
    }
}

/// Keeps other processes of this user from reading the daemon's memory, and the system from writing it to a core file.
fn keep_memory_private() {
    #[cfg(target_os = "linux")]
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::debug!("other processes of this user may read the memory of this one: {error}");
    }
}

async fn listen(config: &Config, asked: &Run, owner: &OwnerCredential) -> anyhow::Result<TcpListener> {
    let port = asked.port.unwrap_or(config.server.port);
    let host = bare_host(&config.server.host);
    let listener = TcpListener::bind((host, port)).await.with_context(|| {
        format!("port {port} on {host} is not available; stop the program that uses it, or choose another with --port (0 takes any)")
    })?;
    let is_open = !listener.local_addr()?.ip().is_loopback();
    if matches!(owner, OwnerCredential::Token(token) if token.len() < OWNER_TOKEN_BYTES_MIN) {
        let weak = format!(
            "the owner's token has fewer than {OWNER_TOKEN_BYTES_MIN} bytes and can be guessed: unset ECHOVESSEL_TOKEN, or \
             remove <home>/token, and a long one is made"
        );
        if is_open {
            bail!("{weak}. With such a token EchoVessel listens on this machine only");
        }
        tracing::warn!("{weak}");
    }
    if is_open && config.server.tls_cert.is_empty() && !config.server.behind_proxy {
        tracing::warn!(
            "listening on {host} without encryption: others on the network can read the token and every message. Set \
             server.tls_cert and server.tls_key, or use a proxy that encrypts and set server.behind_proxy"
        );
    }
    Ok(listener)
}

/// The server's identity, where one is configured.
fn tls(config: &Config) -> anyhow::Result<Option<Tls>> {
    let (certificates, key) = (&config.server.tls_cert, &config.server.tls_key);
    if certificates.is_empty() {
        return Ok(None);
    }
    Ok(Some(Tls::from_files(Path::new(certificates), Path::new(key))?))
}

fn server_parts(
    config: &Config,
    home: &Home,
    wired: &Services,
    channels: Option<Channels>,
    tokens: Tokens,
    url: &str,
    tls: Option<Tls>,
) -> anyhow::Result<ServerParts> {
    let (model, embedding) = (wired.model.clone(), wired.embedding.clone());
    let models =
        move || ActiveModels { llm: LlmSummary::of(&*model).state(), embedding: embedding.embedding_state() };
    let started_at = wired.runtime.clock().now();
    let settings = Arc::new(ArcSwap::from_pointee(server_settings(config, url)?));
    let configuration = LiveConfig {
        home: home.clone(),
        runtime: wired.runtime.clone(),
        model: wired.model.clone(),
        prices: wired.prices.clone(),
        ledger: wired.ledger.clone(),
        server: settings.clone(),
        channels,
        started_at,
        state: Mutex::new(ConfigState::new(config.clone())),
        choosing: Mutex::new(()),
    };
    let backups = super::backup::BackupFolder {
        config: config.clone(),
        home: home.clone(),
        clock: Arc::new(SystemClock),
    };
    let configuration = Arc::new(configuration);
    Ok(ServerParts {
        runtime: wired.runtime.clone(),
        hub: wired.hub.clone(),
        graph: wired.graph.clone(),
        tokens: Arc::new(tokens),
        access: wired.database.clone(),
        archives: wired.database.clone(),
        settings,
        configuration: configuration.clone(),
        model_setup: configuration.clone(),
        channel_setup: configuration,
        backups: Arc::new(backups),
        tls,
        models: Box::new(models),
        started_at,
    })
}

fn print_address(
    shared: &Shared,
    database: &HomeDatabase,
    home: &Home,
    wired: &Services,
    channel_hosts: &[String],
    url: &str,
    login: &str,
) {
    if shared.json {
        println!("{}", serde_json::json!({"url": url, "login": login, "pid": std::process::id()}));
        return;
    }
    let model = wired.model_state();
    let vectors = wired.embedding.host().map(|host| format!("{host} for vectors"));
    let hub = wired.hub.followed_hub().map(|hub| format!("{hub} for shared documents"));
    let (memory, memory_host) = match database {
        HomeDatabase::File(_) => (home.folder().display().to_string(), None),
        HomeDatabase::Server(address) => {
            let hosts = || format!("{} for the memory", address.hosts().join(", "));
            (
                format!("{address}; files in {}", home.folder().display()),
                address.leaves_the_machine().then(hosts),
            )
        }
    };
    let hosts: Vec<String> = memory_host
        .into_iter()
        .chain(vectors)
        .chain(wired.voice_hosts.clone())
        .chain(channel_hosts.iter().cloned())
        .chain(hub)
        .collect();
    let others = match hosts.as_slice() {
        [] => "no other host".to_owned(),
        hosts => format!("{}; no other host", hosts.join(", ")),
    };
    let talks_to = match &model.endpoint {
        Some(endpoint) => format!("{} ({}) at {endpoint}; {others}", model.provider, model.model),
        None if hosts.is_empty() => "no other host: nothing leaves this machine".to_owned(),
        None => format!("no language model; {others}"),
    };
    println!("EchoVessel {} is running at {url}", env!("CARGO_PKG_VERSION"));
    println!("  memory    {memory}");
    println!("  talks to  {talks_to}");
    if let Some(notice) = model.notice() {
        println!("  model     {notice}");
    }
    if let Some(notice) = wired.embedding.notice() {
        println!("  vectors   {notice}");
    }
    println!(
        "  web UI    open this link, once within ten minutes (`echovessel token link` creates another):"
    );
    println!("{login}");
}

/// `echovessel open`: has the running daemon make a link and hands it to the browser.
pub(crate) async fn open(home: &Home) -> anyhow::Result<()> {
    let answer = Daemon::find(home)?.ask(Method::POST, "/api/admin/login-code", None).await?;
    let login = answer["url"].as_str().context("the daemon's answer holds no link")?;
    println!("{login}");
    open_page(home, login);
    Ok(())
}

/// Opens the login link through a file that only its owner can read: other users of the machine see the arguments of every
/// process, and the link is a key.
fn open_page(home: &Home, login: &str) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = std::process::Stdio::null;
    let started = home.write_login_page(login).and_then(|page| {
        let mut command = std::process::Command::new(opener);
        command.env_clear().envs(voice::child_environment()).arg(page).stdout(quiet()).stderr(quiet());
        command.spawn().map_err(anyhow::Error::from)
    });
    // A browser in a sandbox may not read the file.
    let hint = match started {
        Ok(_) => "a browser is opening; if it shows no page, open the link yourself",
        Err(_) => "no browser could be opened; open the link yourself",
    };
    println!("({hint})");
}
