//! Accepts connections, limits the cost of each, and lets them finish when the program stops.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::Router;
use futures_util::future::BoxFuture;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use memory::ports::Clock;
use runtime::Metrics;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tower::Service;

use crate::auth::client::Peer;
use crate::connections::{ConnectionPermit, Room};
use crate::router::router;
use crate::state::{ServerParts, ServerSettings};
use crate::tasks::spawn;
use crate::tls::Tls;

/// Time limit for the TLS handshake. A phone on a poor network needs several seconds; idle clients occupy
/// connections.
const HANDSHAKE_TIME_MAX: Duration = Duration::from_secs(15);
/// Maximum bytes of a request's head. It includes cookies of other services on the same host name.
const HEAD_SIZE_MAX: usize = 32 * 1024;
/// Maximum headers of a request. Browsers send about twenty, and proxies add some.
const HEADERS_MAX: usize = 100;
/// Time for which running replies may finish when the program stops, as the runtime grants its turns.
const STOP_LIMIT: Duration = Duration::from_secs(20);
/// Maximum connections of the home's socket. A command has one; further ones wait in the system's backlog.
const HOME_CONNECTIONS_MAX: usize = 256;
/// Pause after the socket failed (for example, if file handles run out), so that the loop does not spin.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(200);

/// Why the server ended without a request to stop.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The socket is not usable.
    #[error("the web server's socket failed: {0}. No message is affected; restart EchoVessel")]
    Socket(#[from] std::io::Error),
}

/// A server without its sockets.
pub struct SocketlessServer {
    /// Answers the requests of all connections.
    pub router: Router,
    /// TLS for all connections; `None` for plain HTTP.
    pub tls: Option<Tls>,
    pub settings: Arc<ArcSwap<ServerSettings>>,
    pub clock: Arc<dyn Clock>,
    pub metrics: Metrics,
    /// True if other daemons forward requests, so that many people share one address.
    pub shares_home: bool,
}

/// Serves until `shutdown` is cancelled, by the caller or by `POST /api/admin/stop`. Then accepts no more
/// connections, ends event streams, and gives running replies up to 20 s.
///
/// `home` is a socket for the owner's commands. They are answered even if all connections of the network are in use.
pub fn serve(
    listener: TcpListener,
    home: Option<UnixListener>,
    parts: ServerParts,
    shutdown: CancellationToken,
) -> BoxFuture<'static, Result<(), ServeError>> {
    let site = SocketlessServer {
        tls: parts.tls.clone(),
        settings: parts.settings.clone(),
        clock: parts.runtime.shared_clock(),
        metrics: parts.runtime.metrics().clone(),
        shares_home: false,
        router: router(parts, shutdown.clone()),
    };
    serve_site(listener, home, site, shutdown)
}

/// Serves a site, like [`serve`].
///
/// Boxed, so that the unit tests of this crate don't contain the whole server.
pub fn serve_site(
    listener: TcpListener,
    home: Option<UnixListener>,
    site: SocketlessServer,
    shutdown: CancellationToken,
) -> BoxFuture<'static, Result<(), ServeError>> {
    Box::pin(accept_connections(listener, home, site, shutdown))
}

async fn accept_connections(
    listener: TcpListener,
    home: Option<UnixListener>,
    site: SocketlessServer,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    listener.local_addr()?;
    let SocketlessServer { router, tls, settings, clock, metrics, shares_home } = site;
    let connections = GracefulShutdown::new();
    let server = HttpServer { router, head_time: settings.load().head_time };
    let room = Room::new();
    let home_room = Arc::new(Semaphore::new(HOME_CONNECTIONS_MAX));
    loop {
        let accepted = tokio::select! {
            accepted = accept_within_limit(&listener, &room) => accepted,
            accepted = accept_on_home_socket(home.as_ref(), &home_room) => {
                match accepted {
                    Ok((stream, place)) => {
                        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
                        let peer = Peer { address, is_for_owner: true, is_at_home: true };
                        let (server, watcher) = (server.clone(), connections.watcher());
                        spawn(Box::pin(server.answer(Box::new(stream), watcher, peer, Box::new(place))));
                        continue;
                    }
                    Err(error) => Err(error),
                }
            }
            () = shutdown.cancelled() => break,
        };
        let (stream, address, place) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("a connection could not be accepted: {error}");
                clock.sleep(PAUSE_AFTER_FAILURE).await;
                continue;
            }
        };
        let is_for_owner = room.is_nearly_full();
        let is_shared = shares_home || settings.load().behind_proxy;
        let Some(slot) = room.admit(place, address.ip(), is_shared) else {
            metrics.count_refusal("connections");
            continue;
        };
        let peer = Peer { address, is_for_owner, is_at_home: false };
        let (server, watcher) = (server.clone(), connections.watcher());
        match tls.clone() {
            None => {
                spawn(Box::pin(server.answer(Box::new(stream), watcher, peer, Box::new(slot))));
            }
            Some(tls) => {
                let shaking_hands = clock.sleep(HANDSHAKE_TIME_MAX);
                spawn(Box::pin(async move {
                    let Some(stream) = tls_handshake(&tls, stream, shaking_hands).await else { return };
                    server.answer(Box::new(stream), watcher, peer, Box::new(slot)).await;
                }));
            }
        }
    }
    tokio::select! {
        () = connections.shutdown() => {}
        () = clock.sleep(STOP_LIMIT) => {
            tracing::warn!("some connections did not end in time; all messages that they sent are saved");
        }
    }
    Ok(())
}

/// Serves HTTP on accepted connections.
#[derive(Clone)]
struct HttpServer {
    router: Router,
    head_time: Duration,
}

impl HttpServer {
    /// Serves a connection until it ends, which releases its permit.
    async fn answer(self, stream: BoxedStream, watcher: Watcher, peer: Peer, permit: Box<dyn Send>) {
        let service = TowerToHyperService::new(PeerService { peer, inner: self.router });
        let connection = http_builder(self.head_time).serve_connection(TokioIo::new(stream), service);
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!("a connection ended early: {error}");
        }
        drop(permit);
    }
}

/// Bytes of a connection. Boxed, so that HTTP is compiled once and not for each kind of connection.
trait ByteStream: AsyncRead + AsyncWrite {}

impl<S: AsyncRead + AsyncWrite> ByteStream for S {}

type BoxedStream = Box<dyn ByteStream + Unpin + Send>;

fn http_builder(head_time: Duration) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(head_time)
        .max_header_size(HEAD_SIZE_MAX)
        .max_headers(HEADERS_MAX);
    builder
}

async fn tls_handshake(
    tls: &Tls,
    stream: TcpStream,
    patience: impl Future<Output = ()>,
) -> Option<TlsStream<TcpStream>> {
    tokio::select! {
        shaken = tls.tls_acceptor().accept(stream) => shaken
            .inspect_err(|error| tracing::debug!("a TLS handshake failed: {error}"))
            .ok(),
        () = patience => None,
    }
}

/// Adds the peer to each request of a connection.
#[derive(Clone)]
struct PeerService {
    peer: Peer,
    inner: Router,
}

impl Service<hyper::Request<hyper::body::Incoming>> for PeerService {
    type Response = axum::response::Response;
    type Error = std::convert::Infallible;
    type Future = <Router as Service<hyper::Request<hyper::body::Incoming>>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Service::<hyper::Request<hyper::body::Incoming>>::poll_ready(&mut self.inner, context)
    }

    fn call(&mut self, mut request: hyper::Request<hyper::body::Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.peer);
        self.inner.call(request)
    }
}

/// Accepts a connection of the home's socket, with its permit; never returns without such a socket.
async fn accept_on_home_socket(
    home: Option<&UnixListener>,
    room: &Arc<Semaphore>,
) -> std::io::Result<(UnixStream, OwnedSemaphorePermit)> {
    let Some(home) = home else { return std::future::pending().await };
    let place = room.clone().acquire_owned().await.map_err(std::io::Error::other)?;
    let (stream, _) = home.accept().await?;
    Ok((stream, place))
}

async fn accept_within_limit(
    listener: &TcpListener,
    room: &Room,
) -> std::io::Result<(TcpStream, SocketAddr, ConnectionPermit)> {
    let place = room.acquire_connection().await.map_err(std::io::Error::other)?;
    let (stream, address) = listener.accept().await?;
    // Tokens are small and must not wait for each other; a connection without this option works too.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("TCP_NODELAY could not be set on a connection: {error}");
    }
    Ok((stream, address, place))
}
