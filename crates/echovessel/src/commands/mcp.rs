//! `echovessel mcp`: the hub's tools over standard input and output, for one embodiment.
//!
//! The process that holds the home owns the memory. This process takes a free home, or else connects to the holder
//! over the home's socket. When the holder ends, another one takes over, and the client only notices a short delay.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use hub::InstanceId;
use memory::ports::Clock as _;
use server::mcp::{HubSocket, Speaker, ToolContext, serve_stream};
use store::{HomeDatabase, home_state};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::run::open_hub_socket;
use crate::cli::Mcp;
use crate::config::Config;
use crate::database::home_database;
use crate::home::{Home, HomeInUse, HomeLock};
use crate::lifecycle;
use crate::outbound;
use crate::relay::{Client, ConnectionEnd};
use crate::system::{SystemClock, SystemIdGenerator};
use crate::wiring::{Services, wire};

/// Time that an owner may take to open its socket, or to stop: a stop waits for running turns for 20 seconds.
const OWNER_TIME_MAX: Duration = Duration::from_secs(30);
/// Pause between two checks. It is short because a client waits for them at each start.
const FILE_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The same interval for a home on a database server, which is asked over the network.
const SERVER_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Buffer for a message within the process. Most tool answers fit, so that writing one does not block.
const PIPE_BYTES: usize = 256 * 1024;

/// A connection to the process that holds the home.
type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

pub(crate) async fn mcp(config: &Config, home: &Home, asked: &Mcp) -> anyhow::Result<()> {
    let instance: Option<InstanceId> = asked.instance.as_deref().map(str::parse).transpose()?;
    let mut client = Client::new(tokio::io::stdin(), tokio::io::stdout());
    let mut owner = None;
    let outcome = loop {
        let connected = match &owner {
            Some(owned) => Ok(HostHome::connect(owned, instance.as_ref())),
            None => join_home(config, home, instance.as_ref(), &mut owner).await,
        };
        let (reader, writer) = match connected {
            Ok(connection) => connection,
            Err(error) => break Err(error),
        };
        let ended = tokio::select! {
            ended = client.relay(reader, writer) => ended,
            () = lifecycle::stop_signal() => Ok(ConnectionEnd::Client),
        };
        match ended {
            Ok(ConnectionEnd::Client) => break Ok(()),
            Ok(ConnectionEnd::Owner) if owner.is_none() => tracing::info!(
                "the process that hosted the home \
                has ended"
            ),
            Ok(ConnectionEnd::Owner) => break Err(anyhow::anyhow!("the hub ended unexpectedly")),
            Err(error) => break Err(error).context("the client is no longer reachable"),
        }
    };
    match owner {
        Some(owner) => owner.stop().await.and(outcome),
        None => outcome,
    }
}

/// Takes the home if no process has it, else connects to the process that has.
async fn join_home(
    config: &Config,
    home: &Home,
    instance: Option<&InstanceId>,
    owner: &mut Option<HostHome>,
) -> anyhow::Result<(Reader, Writer)> {
    let clock = SystemClock;
    let began = clock.now();
    loop {
        match home.lock_home() {
            Ok(lock) => match find_remote_daemons(config, home, instance).await? {
                RemoteDaemons::Nobody => {
                    let owned = owner.insert(HostHome::open(config, home, lock).await?);
                    return Ok(owned.connect(instance));
                }
                RemoteDaemons::Holder(reader, writer) => return Ok((reader, writer)),
                RemoteDaemons::Waiting => {
                    drop(lock);
                    if clock.now().duration_since(began).unsigned_abs() > OWNER_TIME_MAX {
                        bail!("no daemon has held this home for 30 s. Nothing was changed");
                    }
                    clock.sleep(SERVER_POLL_INTERVAL).await;
                    continue;
                }
            },
            Err(error) if !error.is::<HomeInUse>() => return Err(error),
            Err(error) => {
                if let Ok(stream) = server::mcp::join(&home.hub_socket(), instance).await {
                    let (reader, writer) = stream.into_split();
                    return Ok((Box::new(reader), Box::new(writer)));
                }
                if clock.now().duration_since(began).unsigned_abs() > OWNER_TIME_MAX {
                    let why = "it holds the home and does not answer on hub.sock";
                    bail!("{error:#}: {why}; nothing was changed");
                }
            }
        }
        clock.sleep(FILE_POLL_INTERVAL).await;
    }
}

/// The daemons of a home on other machines.
enum RemoteDaemons {
    /// No daemon uses the home: this process may take it.
    Nobody,
    /// A connection to the process that holds the home.
    Holder(Reader, Writer),
    /// A daemon is about to take the home.
    Waiting,
}

/// Looks for daemons on other machines, if the memory is on a database server.
async fn find_remote_daemons(
    config: &Config,
    home: &Home,
    instance: Option<&InstanceId>,
) -> anyhow::Result<RemoteDaemons> {
    let HomeDatabase::Server(address) = home_database(config, home)? else {
        return Ok(RemoteDaemons::Nobody);
    };
    let state = tokio::task::spawn_blocking(move || home_state(&address)).await??;
    let holder = state.holder.zip(state.access);
    let joined = match &holder {
        Some((url, access)) => server::join_elsewhere(url, &access.secret, instance).await.ok(),
        None => None,
    };
    Ok(match joined {
        Some((reader, writer)) => RemoteDaemons::Holder(Box::new(reader), Box::new(writer)),
        None if holder.is_some() || state.has_daemons => RemoteDaemons::Waiting,
        None => RemoteDaemons::Nobody,
    })
}

/// The home, held by this process.
struct HostHome {
    tools: Arc<ToolContext>,
    socket: Option<HubSocket>,
    services: Services,
    /// The connections of other programs, so that the end can wait for them.
    serving: parking_lot::Mutex<Vec<JoinHandle<()>>>,
    abandon: CancellationToken,
    _lock: HomeLock,
}

impl HostHome {
    async fn open(config: &Config, home: &Home, lock: HomeLock) -> anyhow::Result<Self> {
        let services =
            wire(config, home, Arc::new(SystemClock), Arc::new(SystemIdGenerator::default())).await?;
        outbound::add_channels(config, home, &services)?;
        services.runtime.start().await?;
        services.channels.start(&services.runtime);
        let tools = services.tool_context();
        let socket = open_hub_socket(home, tools.clone());
        let (abandon, serving) = (CancellationToken::new(), parking_lot::Mutex::default());
        Ok(Self { tools: Arc::new(tools), socket, services, serving, abandon, _lock: lock })
    }

    /// Opens a connection within the process.
    fn connect(&self, instance: Option<&InstanceId>) -> (Reader, Writer) {
        let (ours, theirs): (DuplexStream, DuplexStream) = tokio::io::duplex(PIPE_BYTES);
        let speaker = match instance {
            Some(instance) => Speaker::for_instance(instance.clone()),
            None => Speaker::owner(self.tools.instance().clone()),
        };
        let (reader, writer) = tokio::io::split(theirs);
        let serving = tokio::spawn(serve_stream(
            self.tools.clone(),
            speaker,
            Box::new(reader),
            Box::new(writer),
            self.abandon.clone(),
        ));
        self.serving.lock().push(serving);
        let (reader, writer) = tokio::io::split(ours);
        (Box::new(reader), Box::new(writer))
    }

    /// Finishes running work and closes the home.
    async fn stop(self) -> anyhow::Result<()> {
        if let Some(socket) = self.socket {
            socket.close().await;
        }
        self.abandon.cancel();
        let serving = self.serving.into_inner();
        for connection in serving {
            // Its panic was reported already and must not keep the database open.
            let _ = connection.await;
        }
        self.services.channels.stop().await;
        self.services.runtime.stop().await;
        let closed = self.services.close().await;
        closed.context("the database could not be closed cleanly; nothing is lost")
    }
}
