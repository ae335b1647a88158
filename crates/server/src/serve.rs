//! Takes connections, bounds what each may cost, and lets them finish when the program stops.

use std::net::SocketAddr;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tower::Service;

use crate::auth::client::Peer;
use crate::connections::{ConnectionSlot, Place, Room};
use crate::router::router;
use crate::state::ServerParts;
use crate::tls::Tls;

/// How long a client may take to agree on TLS.
const HANDSHAKE_TIME_MAX: Duration = Duration::from_secs(15);
/// Largest head of a request, in bytes.
const HEAD_SIZE_MAX: usize = 32 * 1024;
/// Most header fields of a request.
const HEADERS_MAX: usize = 100;
/// How long replies that are under way may take to finish when the program stops.
const STOP_LIMIT: Duration = Duration::from_secs(20);
/// How long to leave the socket alone after it failed (as when file handles run out).
const REST_AFTER_FAILURE: Duration = Duration::from_millis(200);

/// Why serving ended before it was told to.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The socket is not usable.
    #[error("the web server's socket is not usable: {0}. No message is affected; start EchoVessel again")]
    Socket(#[from] std::io::Error),
}

/// Serves until `shutdown` is cancelled, by the caller or by `POST /api/admin/stop`. Then takes no new connections,
/// ends event streams, and gives replies that are under way up to 20 s.
pub async fn serve(
    listener: TcpListener,
    parts: ServerParts,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    listener.local_addr()?;
    let runtime = parts.runtime.clone();
    let (tls, settings) = (parts.tls.clone(), parts.settings.clone());
    let head_time = settings.load().head_time;
    let router = router(parts, shutdown.clone());
    let connections = GracefulShutdown::new();
    let room = Room::new();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &room) => accepted,
            () = shutdown.cancelled() => break,
        };
        let (stream, address, place) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("a connection could not be taken: {error}");
                runtime.clock().sleep(REST_AFTER_FAILURE).await;
                continue;
            }
        };
        let is_for_owner = room.is_nearly_full();
        let Some(slot) = room.admit(place, address.ip(), settings.load().behind_proxy) else {
            runtime.metrics().refused("connections");
            continue;
        };
        let peer = Peer { address, is_for_owner };
        let service = TowerToHyperService::new(FromPeer { peer, inner: router.clone() });
        match tls.clone() {
            None => {
                let connection =
                    connections.watch(http(head_time).serve_connection(TokioIo::new(stream), service));
                tokio::spawn(ended(connection, slot));
            }
            Some(tls) => {
                let watcher = connections.watcher();
                let shaking_hands = runtime.clock().sleep(HANDSHAKE_TIME_MAX);
                tokio::spawn(async move {
                    let Some(stream) = shake_hands(&tls, stream, shaking_hands).await else { return };
                    let connection =
                        watcher.watch(http(head_time).serve_connection(TokioIo::new(stream), service));
                    ended(connection, slot).await;
                });
            }
        }
    }
    tokio::select! {
        () = connections.shutdown() => {}
        () = runtime.clock().sleep(STOP_LIMIT) => {
            tracing::warn!("some connections did not end in time; what they sent is durable");
        }
    }
    Ok(())
}

fn http(head_time: Duration) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(head_time)
        .max_header_size(HEAD_SIZE_MAX)
        .max_headers(HEADERS_MAX);
    builder
}

async fn ended<E: std::fmt::Display>(connection: impl Future<Output = Result<(), E>>, slot: ConnectionSlot) {
    if let Err(error) = connection.await {
        tracing::debug!("a connection ended early: {error}");
    }
    drop(slot);
}

async fn shake_hands(
    tls: &Tls,
    stream: TcpStream,
    patience: impl Future<Output = ()>,
) -> Option<TlsStream<TcpStream>> {
    tokio::select! {
        shaken = tls.acceptor().accept(stream) => shaken
            .inspect_err(|error| tracing::debug!("a connection did not agree on TLS: {error}"))
            .ok(),
        () = patience => None,
    }
}

/// Notes at each request of a connection where it comes from.
#[derive(Clone)]
struct FromPeer {
    peer: Peer,
    inner: Router,
}

impl Service<hyper::Request<hyper::body::Incoming>> for FromPeer {
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

async fn accept(listener: &TcpListener, room: &Room) -> std::io::Result<(TcpStream, SocketAddr, Place)> {
    let place = room.place().await.map_err(std::io::Error::other)?;
    let (stream, address) = listener.accept().await?;
    // Tokens are small and must not wait for each other; a connection that can't do so is served all the same.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("a connection keeps its delay: {error}");
    }
    Ok((stream, address, place))
}
