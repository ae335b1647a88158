//! A daemon for one command, where none runs.

use std::sync::Arc;

use anyhow::Context as _;
use arc_swap::ArcSwap;
use server::Tokens;
use store::{HomeDatabase, home_state};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::open_home::{Access, server_parts, stop};
use crate::client::{Daemon, NoDaemon};
use crate::config::Config;
use crate::daemons::SingleDaemon;
use crate::database::home_database;
use crate::home::{Home, HomeLock, RunFile};
use crate::owner::OwnerCredential;
use crate::shared_owner::shared_owner;
use crate::system::{SystemClock, SystemIdGenerator, random_bytes};
use crate::wiring::{Services, server_settings, wire};

/// A daemon for one command, on a home that no other process holds. It answers only this process, and starts no
/// background work.
pub(crate) struct PrivateDaemon {
    /// The connection to the private daemon.
    daemon: Daemon,
    _lock: HomeLock,
    services: Services,
    shutdown: CancellationToken,
    serving: JoinHandle<()>,
}

impl PrivateDaemon {
    async fn open(config: &Config, home: &Home) -> anyhow::Result<Self> {
        let lock = home.lock_home()?;
        let services =
            wire(config, home, Arc::new(SystemClock), Arc::new(SystemIdGenerator::default())).await?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no port on loopback is free")?;
        let port = listener.local_addr()?.port();
        let url = format!("http://127.0.0.1:{port}");
        // No other client needs the token.
        let token = hex::encode(random_bytes());
        let tokens = Tokens::new(&token, Box::new(random_bytes))?;
        let settings = Arc::new(ArcSwap::from_pointee(server_settings(config, &url)?));
        let access = Access { tokens: Arc::new(tokens), settings, tls: None };
        let daemons = Arc::new(SingleDaemon::new(&url, &services));
        let parts = server_parts(config, home, &services, None, access, daemons);
        let shutdown = CancellationToken::new();
        let served = server::serve(listener, None, parts, shutdown.clone());
        // If it fails, the next request fails and reports it.
        let serving = tokio::spawn(async move { _ = served.await });
        let daemon = Daemon::connect_to_address(RunFile { pid: std::process::id(), port, url }, token)?;
        Ok(Self { daemon, _lock: lock, services, shutdown, serving })
    }

    async fn close(self) -> anyhow::Result<()> {
        self.shutdown.cancel();
        stop(self.services, Some(self.serving)).await
    }
}

/// Connects to the daemon on another machine that holds this home's database.
async fn daemon_elsewhere(config: &Config, home: &Home) -> anyhow::Result<Option<Daemon>> {
    let HomeDatabase::Server(address) = home_database(config, home)? else { return Ok(None) };
    let state = tokio::task::spawn_blocking(move || home_state(&address)).await??;
    let Some(url) = state.holder.clone() else { return Ok(None) };
    let OwnerCredential::Token(token) = shared_owner(home, &state)? else { return Ok(None) };
    let run = RunFile { pid: std::process::id(), port: 0, url };
    Ok(Some(Daemon::connect_to_address(run, token)?))
}

/// The home's running daemon, or a private one for this command.
pub(crate) enum AnyDaemon {
    Running(Daemon),
    Private(Box<PrivateDaemon>),
}

impl AnyDaemon {
    pub(crate) async fn open(config: &Config, home: &Home) -> anyhow::Result<Self> {
        match Daemon::find(home) {
            Ok(daemon) => Ok(Self::Running(daemon)),
            Err(error) if error.is::<NoDaemon>() => match daemon_elsewhere(config, home).await? {
                Some(daemon) => Ok(Self::Running(daemon)),
                None => Ok(Self::Private(Box::new(PrivateDaemon::open(config, home).await?))),
            },
            Err(error) => Err(error),
        }
    }

    /// Starts background work in a private daemon; a running daemon does it already.
    pub(crate) async fn start_work(&self) -> anyhow::Result<()> {
        match self {
            Self::Running(_) => Ok(()),
            Self::Private(private) => Ok(private.services.runtime.start().await?),
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
