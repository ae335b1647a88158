//! An open home with its services, from start to stop.

use std::sync::Arc;

use anyhow::bail;
use arc_swap::ArcSwap;
use channels::Channels;
use futures_util::future::BoxFuture;
use server::mcp::{HubSocket, ToolContext};
use server::{ActiveModels, Daemons, ServerParts, ServerSettings, Tls, Tokens};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::entrance::Entrance;
use crate::config::Config;
use crate::home::Home;
use crate::language_model::LlmSummary;
use crate::lifecycle;
use crate::live_config::{ConfigState, LiveConfig};
use crate::outbound;
use crate::system::SystemClock;
use crate::wiring::Services;

/// An open home with all services that use it.
pub(super) struct OpenHome {
    pub(super) services: Services,
    /// Hosts of channels, as `api.telegram.org for Telegram`.
    pub(super) channel_hosts: Vec<String>,
    socket: Option<HubSocket>,
    reloading: JoinHandle<()>,
    backups: Option<JoinHandle<()>>,
}

impl OpenHome {
    /// Starts the services, and returns what the server needs.
    pub(super) async fn start(
        config: &Config,
        home: &Home,
        services: Services,
        entrance: &Entrance,
        daemons: Arc<dyn Daemons>,
    ) -> anyhow::Result<(Self, ServerParts)> {
        let channel_hosts = outbound::add_channels(config, home, &services)?;
        services.runtime.start().await?;
        services.channels.start(&services.runtime);
        let socket = open_hub_socket(home, services.tool_context());
        let parts = server_parts(
            config,
            home,
            &services,
            Some(services.channels.clone()),
            Access {
                tokens: entrance.tokens.clone(),
                settings: entrance.settings.clone(),
                tls: entrance.tls.clone(),
            },
            daemons,
        );
        let reloading = tokio::spawn(lifecycle::reload_on_hangup(parts.configuration.clone()));
        let backups = config.backup.every.0.map(|every| {
            let clock = Arc::new(SystemClock);
            tokio::spawn(crate::commands::backup::repeat_backups(config.clone(), home.clone(), every, clock))
        });
        Ok((Self { services, channel_hosts, socket, reloading, backups }, parts))
    }

    /// Returns when the program must end: `stop` was requested, or something failed.
    pub(super) async fn wait_for_end<T: std::fmt::Debug>(
        &self,
        stop: &mut BoxFuture<'static, ()>,
        serving: &mut JoinHandle<T>,
    ) -> anyhow::Result<()> {
        tokio::select! {
            // A stop over the API ends the server too, which is not a failure then.
            biased;
            () = stop => Ok(()),
            ended = serving => Err(anyhow::anyhow!("the server ended unexpectedly: {ended:?}")),
            () = self.services.runtime.wait_for_background_failure() => Err(anyhow::anyhow!(
                "background work panicked; every message is stored, start EchoVessel again"
            )),
        }
    }

    /// Stops the services in order. `serving` is `None` if the server has ended already.
    pub(super) async fn stop<T: Send + 'static>(
        self,
        home: &Home,
        entrance: &Entrance,
        serving: Option<JoinHandle<T>>,
    ) -> anyhow::Result<()> {
        self.reloading.abort();
        if let Some(backups) = self.backups {
            backups.abort();
        }
        home.remove_run_file();
        home.remove_login_page();
        entrance.shutdown.cancel();
        if let Some(socket) = self.socket {
            socket.close().await;
        }
        self.services.channels.stop().await;
        stop(self.services, serving).await
    }
}

/// Opens the socket by which `echovessel mcp` joins this home. Without it everything else works.
pub(crate) fn open_hub_socket(home: &Home, context: ToolContext) -> Option<HubSocket> {
    let opened = HubSocket::open(&home.hub_socket(), context);
    opened
        .inspect_err(|error| tracing::error!("{error}. Other `echovessel mcp` processes can't connect"))
        .ok()
}

/// Stops in reverse order of the start: new messages are refused, replies finish, unfinished work returns to the
/// queue, and the database log is merged.
pub(super) async fn stop<T: Send + 'static>(
    services: Services,
    serving: Option<JoinHandle<T>>,
) -> anyhow::Result<()> {
    let second_signal = lifecycle::second_signal();
    let orderly = async {
        services.runtime.stop().await;
        // It has the same limit of 20 s; its panic was reported already and must not keep the database log open.
        if let Some(serving) = serving {
            let _ = serving.await;
        }
        services.close().await
    };
    tokio::select! {
        closed = orderly => closed,
        () = second_signal => bail!("stopped at once on a second signal; every message is stored"),
    }
}

/// The server's credentials and settings.
pub(super) struct Access {
    pub(super) tokens: Arc<Tokens>,
    pub(super) settings: Arc<ArcSwap<ServerSettings>>,
    pub(super) tls: Option<Tls>,
}

pub(super) fn server_parts(
    config: &Config,
    home: &Home,
    services: &Services,
    channels: Option<Channels>,
    access: Access,
    daemons: Arc<dyn Daemons>,
) -> ServerParts {
    let (model, embedding) = (services.model.clone(), services.embedding.clone());
    let models = move || ActiveModels {
        llm: LlmSummary::from_provider(&*model).state(),
        embedding: embedding.embedding_state(),
    };
    let configuration = LiveConfig {
        home: home.clone(),
        runtime: services.runtime.clone(),
        model: services.model.clone(),
        prices: services.prices.clone(),
        ledger: services.ledger.clone(),
        server: access.settings.clone(),
        channels,
        state: Mutex::new(ConfigState::new(config.clone())),
        choosing: Mutex::new(()),
    };
    let backups = crate::commands::backup::BackupFolder {
        config: config.clone(),
        home: home.clone(),
        clock: Arc::new(SystemClock),
    };
    let configuration = Arc::new(configuration);
    ServerParts {
        runtime: services.runtime.clone(),
        hub: services.hub.clone(),
        graph: services.graph.clone(),
        tokens: access.tokens,
        access: services.database.clone(),
        archives: services.database.clone(),
        settings: access.settings,
        configuration: configuration.clone(),
        model_setup: configuration.clone(),
        channel_setup: configuration,
        backups: Arc::new(backups),
        daemons,
        tls: access.tls,
        models: Box::new(models),
        started_at: services.runtime.clock().now(),
    }
}
