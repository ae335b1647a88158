//! Sockets, address and credentials of the daemon.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use arc_swap::ArcSwap;
use server::{ServerSettings, Tls, Tokens, listen_at};
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;

use crate::cli::Run;
use crate::config::Config;
use crate::home::{Home, RunFile};
use crate::owner::OwnerCredential;
use crate::wiring::{bare_host, server_settings, shown_host};

/// Minimum length of an owner's token that is accepted on an address beyond this machine: shorter ones can be
/// guessed.
const OWNER_TOKEN_BYTES_MIN: usize = 16;

/// A daemon's listening sockets, opened before its home is.
pub(super) struct Entrance {
    /// The address to print.
    pub(super) url: String,
    pub(super) tls: Option<Tls>,
    pub(super) settings: Arc<ArcSwap<ServerSettings>>,
    pub(super) tokens: Arc<Tokens>,
    pub(super) shutdown: CancellationToken,
    port: u16,
}

/// The sockets of an entrance.
pub(super) struct Sockets {
    pub(super) network: TcpListener,
    /// `None` if the home can hold no socket: commands then use the daemon's TCP address.
    pub(super) home: Option<UnixListener>,
}

impl Entrance {
    pub(super) async fn open(
        config: &Config,
        home: &Home,
        asked: &Run,
        owner: &OwnerCredential,
    ) -> anyhow::Result<(Self, Sockets)> {
        let network = listen(config, asked, owner).await?;
        let port = network.local_addr()?.port();
        let tls = load_tls(config)?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}:{port}", shown_host(&config.server.host));
        let entrance = Self {
            tls,
            settings: Arc::new(ArcSwap::from_pointee(server_settings(config, &url)?)),
            tokens: Arc::new(owner.tokens()?),
            shutdown: CancellationToken::new(),
            port,
            url,
        };
        let listening = listen_at(&home.daemon_socket());
        let at_home = listening
            .inspect_err(|error| tracing::warn!("{error}. Commands use the daemon's address instead"))
            .ok();
        Ok((entrance, Sockets { network, home: at_home }))
    }

    /// Writes `run.json`, which names the daemon's address.
    pub(super) fn write_run_file(&self, home: &Home) -> anyhow::Result<()> {
        home.write_run_file(&RunFile { pid: std::process::id(), port: self.port, url: self.url.clone() })
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
            "the owner's token has fewer than {OWNER_TOKEN_BYTES_MIN} bytes and can be guessed: unset \
                ECHOVESSEL_TOKEN or remove <home>/token, and the next start creates a long one"
        );
        if is_open {
            bail!("{weak}. With this token, EchoVessel listens only on this machine");
        }
        tracing::warn!("{weak}");
    }
    if is_open && config.server.tls_cert.is_empty() && !config.server.behind_proxy {
        tracing::warn!(
            "listening on {host} without encryption: others on the network can read the token and all \
                messages. Set server.tls_cert and server.tls_key, or use a TLS proxy and set \
                server.behind_proxy"
        );
    }
    Ok(listener)
}

/// Loads the server's certificate and key, where TLS is configured.
fn load_tls(config: &Config) -> anyhow::Result<Option<Tls>> {
    let (certificates, key) = (&config.server.tls_cert, &config.server.tls_key);
    if certificates.is_empty() {
        return Ok(None);
    }
    Ok(Some(Tls::from_files(Path::new(certificates), Path::new(key))?))
}
