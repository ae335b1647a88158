//! The entrance of a daemon that shares its home with others. Every daemon accepts every request: the holder answers
//! it, the others forward it to the holder. While another daemon takes the home, requests wait.

mod delivery;
mod hub_socket;
mod forwarded_request;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::{EXPECT, InvalidHeaderValue};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use memory::ports::Clock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::auth::Tokens;
use crate::auth::client::Peer;
use crate::chat::events;
use crate::home_socket::SocketError;
use crate::legacy::import_pipeline;
use crate::mcp::ToolContext;
use crate::problem::{self, Problem};
use crate::respond::OkResponse;
use delivery::{Carrier, DeliveryFailure};
use forwarded_request::Sender;
pub use hub_socket::{StandbyHubSocket, join_elsewhere};

/// Time for which a request waits for a daemon that holds the home. A silent one is replaced within twenty seconds.
const HOLDER_WAIT_MAX: Duration = Duration::from_secs(30);
/// Pause before a holder that refused a connection is tried again. A standby checks as often.
const PAUSE_BETWEEN_ATTEMPTS: Duration = Duration::from_millis(500);
/// Maximum bytes of a body that is buffered until its request is answered, so that it can be sent again. Larger ones
/// are sent once.
const BUFFERED_BODY_MAX: usize = 1024 * 1024;
/// Maximum bytes of all buffered bodies. Further bodies are sent once, so that waiting requests can't fill the
/// memory.
const BUFFERED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Time limit for receiving a body that is buffered for forwarding. A client that sends slowly must not occupy the
/// buffer.
const BODY_TIME_MAX: Duration = Duration::from_secs(30);
/// `Retry-After` of a request that could not be forwarded, in seconds. A stopped daemon is replaced within about this
/// time.
const RETRY_SECONDS: u64 = 5;

/// Paths whose streams never end by themselves.
const ENDLESS_PATHS: [&str; 2] = [events::PATH, import_pipeline::EVENTS_PATH];

/// The daemon that answers requests of a shared home.
#[derive(Clone)]
pub enum AnsweringDaemon {
    /// No daemon: another one is about to take the home.
    Nobody,
    /// Another daemon, at this URL.
    Elsewhere(String),
    Here(HomeServer),
}

/// A server on an open home.
#[derive(Clone)]
pub struct HomeServer {
    pub router: Router,
    /// The hub's tools, for programs on machines of other daemons.
    pub tools: Arc<ToolContext>,
}

/// The dependencies of a front.
pub struct FrontParts {
    pub answering: watch::Receiver<AnsweringDaemon>,
    /// Secret by which daemons of the home trust each other's requests: visible ASCII.
    pub secret: String,
    /// Credentials of the owner, who can stop this daemon by its own socket.
    pub tokens: Arc<Tokens>,
    pub clock: Arc<dyn Clock>,
}

/// Why a front could not be created.
#[derive(Debug, thiserror::Error)]
pub enum FrontError {
    #[error("the HTTP client can't be created: {0}")]
    Client(#[from] reqwest::Error),
    #[error("the secret that the daemons of this home share is damaged: {0}")]
    Secret(#[from] InvalidHeaderValue),
}

/// The front of a daemon that shares its home: answers requests or forwards them to the holder.
pub struct Front {
    answering: watch::Receiver<AnsweringDaemon>,
    secret: HeaderValue,
    tokens: Arc<Tokens>,
    clock: Arc<dyn Clock>,
    carrier: Carrier,
    buffered_bytes: Arc<Semaphore>,
    shutdown: CancellationToken,
}

impl Front {
    /// Creates a front. Cancels `shutdown` when the owner asks this daemon to stop.
    ///
    /// # Errors
    ///
    /// If no HTTP client can be created, or the secret is not valid in a header.
    pub fn new(parts: FrontParts, shutdown: CancellationToken) -> Result<Arc<Self>, FrontError> {
        let mut secret = HeaderValue::try_from(parts.secret)?;
        secret.set_sensitive(true);
        Ok(Arc::new(Self {
            carrier: Carrier::new(secret.clone())?,
            answering: parts.answering,
            secret,
            tokens: parts.tokens,
            clock: parts.clock,
            buffered_bytes: Arc::new(Semaphore::new(BUFFERED_BYTES_MAX)),
            shutdown,
        }))
    }

    /// A router that answers requests itself, or forwards them to the holder of the home.
    pub fn router(self: &Arc<Self>) -> Router {
        let shape = from_fn(problem::use_openai_shape);
        Router::new().fallback(answer).layer(shape).with_state(self.clone())
    }

    /// Opens the home's socket for programs that speak MCP, and forwards their connections.
    ///
    /// # Errors
    ///
    /// If the path is too long for a socket, or can't be written.
    pub fn open_hub_socket(self: &Arc<Self>, path: &Path) -> Result<StandbyHubSocket, SocketError> {
        StandbyHubSocket::open(path, self.clone())
    }
}

async fn answer(State(front): State<Arc<Front>>, mut request: Request) -> Response {
    let sender = forwarded_request::take_sender(&mut request, &front.secret);
    let here = match &*front.answering.borrow() {
        AnsweringDaemon::Here(home) => Some(home.clone()),
        _ => None,
    };
    if let Some(home) = here {
        if request.uri().path() == hub_socket::PATH && !sender.is_client() {
            return hub_socket::answer(home.tools, request, front.shutdown.clone());
        }
        return run(home.router, request).await;
    }
    match request.uri().path() {
        "/health" => OkResponse::json().into_response(),
        "/ready" => front.is_ready().into_response(),
        "/api/admin/stop" if front.is_order_to_stop(&request) => {
            tracing::info!("shutdown requested");
            front.shutdown.cancel();
            (StatusCode::ACCEPTED, OkResponse::json()).into_response()
        }
        _ => front.forward(sender, request).await.unwrap_or_else(IntoResponse::into_response),
    }
}

async fn run(router: Router, request: Request) -> Response {
    let Ok(response) = router.oneshot(request).await;
    response
}

impl Front {
    fn is_ready(&self) -> (StatusCode, axum::Json<OkResponse>) {
        match &*self.answering.borrow() {
            AnsweringDaemon::Nobody => (StatusCode::SERVICE_UNAVAILABLE, OkResponse::not_successful()),
            _ => (StatusCode::OK, OkResponse::json()),
        }
    }

    /// True for the owner's stop command on this machine, which is for this daemon only.
    fn is_order_to_stop(&self, request: &Request) -> bool {
        let is_at_home = request.extensions().get::<Peer>().is_some_and(|peer| peer.is_at_home);
        is_at_home && request.method() == Method::POST && self.tokens.is_owner_request(request.headers())
    }

    /// Forwards a request to the holder. If it can't have been processed, it is sent again, also to the next holder.
    async fn forward(&self, sender: Sender, request: Request) -> Result<Response, Problem> {
        let (mut head, body) = request.into_parts();
        // The body is requested here already.
        head.headers.remove(EXPECT);
        let mut body = self.buffer_body(body).await?;
        let mut answering = self.answering.clone();
        let waited = self.clock.sleep(HOLDER_WAIT_MAX);
        tokio::pin!(waited);
        loop {
            let current = answering.borrow_and_update().clone();
            let mut rest = None;
            match current {
                AnsweringDaemon::Here(home) => {
                    return Ok(run(home.router, Request::from_parts(head, body.take_body())).await);
                }
                // Only one daemon forwards it. A forwarded request waits until this one holds the home.
                AnsweringDaemon::Elsewhere(url) if sender.is_client() => {
                    let sent = tokio::select! {
                        sent = self.carrier.send(&url, &sender, &head, body.take_body()) => sent,
                        () = self.wait_until_not_holder(&url) => Err(DeliveryFailure::Unknown),
                    };
                    match sent {
                        Ok(response) => return Ok(self.end_body_with_holder(&url, &head, response)),
                        Err(DeliveryFailure::Unknown) if !is_repeatable(&head.method) => {
                            return Err(holder_lost());
                        }
                        Err(_) if !body.is_body_buffered() => return Err(holder_lost()),
                        Err(_) => rest = Some(self.clock.sleep(PAUSE_BETWEEN_ATTEMPTS)),
                    }
                }
                AnsweringDaemon::Elsewhere(_) | AnsweringDaemon::Nobody => {}
            }
            let rested = async {
                match rest {
                    Some(rest) => rest.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = answering.changed() => changed.map_err(|_| no_holder())?,
                () = rested => {}
                () = &mut waited => return Err(no_holder()),
                () = self.shutdown.cancelled() => return Err(no_holder()),
            }
        }
    }

    /// Reads a small body to its end.
    async fn buffer_body(&self, body: Body) -> Result<SentBody, Problem> {
        let length = body.size_hint().exact().and_then(|length| usize::try_from(length).ok());
        let Some(length) = length.filter(|length| *length <= BUFFERED_BODY_MAX) else {
            return Ok(SentBody::Once(Some(body)));
        };
        let room =
            u32::try_from(length).map(|length| self.buffered_bytes.clone().try_acquire_many_owned(length));
        let Ok(Ok(room)) = room else { return Ok(SentBody::Once(Some(body))) };
        let bytes = tokio::select! {
            bytes = to_bytes(body, BUFFERED_BODY_MAX) => bytes,
            () = self.clock.sleep(BODY_TIME_MAX) => {
                let detail = "the body did not arrive in time; nothing was changed";
                return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, detail));
            }
        };
        let cut_off = |_| Problem::bad_request("the body could not be read to its end; nothing was changed");
        Ok(SentBody::Kept { bytes: bytes.map_err(cut_off)?, _room: room })
    }

    /// Ends a streamed answer when its daemon no longer holds the home, and an endless one when this daemon stops.
    fn end_body_with_holder(&self, url: &str, head: &Parts, response: Response) -> Response {
        let is_endless = ENDLESS_PATHS.contains(&head.uri.path());
        let (gone, shutdown) = (self.wait_until_not_holder(url), self.shutdown.clone());
        let ended = Box::pin(async move {
            tokio::select! {
                () = gone => {}
                () = shutdown.cancelled(), if is_endless => {}
            }
        });
        response.map(|body| Body::from_stream(body.into_data_stream().take_until(ended)))
    }

    /// Returns when that daemon no longer holds the home.
    fn wait_until_not_holder(&self, url: &str) -> impl Future<Output = ()> + Send + 'static {
        let (mut answering, url) = (self.answering.clone(), url.to_owned());
        async move {
            let is_gone =
                |now: &AnsweringDaemon| !matches!(now, AnsweringDaemon::Elsewhere(holder) if *holder == url);
            // The sender is only dropped when the process ends.
            let _ = answering.wait_for(is_gone).await;
        }
    }
}

/// The body of a forwarded request.
pub(super) enum SentBody {
    /// The body is buffered and can be sent again.
    Kept {
        bytes: Bytes,
        _room: OwnedSemaphorePermit,
    },
    Once(Option<Body>),
}

impl SentBody {
    fn take_body(&mut self) -> Body {
        match self {
            Self::Kept { bytes, .. } => Body::from(bytes.clone()),
            Self::Once(body) => body.take().unwrap_or_default(),
        }
    }

    fn is_body_buffered(&self) -> bool {
        matches!(self, Self::Kept { .. })
    }
}

/// True if the request may be processed twice.
fn is_repeatable(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

fn no_holder() -> Problem {
    let detail = "no daemon serves this home at the moment; nothing was changed, try again";
    Problem::unavailable(detail).with_code("no_holder").with_retry_after(RETRY_SECONDS)
}

fn holder_lost() -> Problem {
    let detail = "the daemon that serves this home stopped during the request, which may have been \
        completed: check before you repeat it";
    Problem::new(StatusCode::BAD_GATEWAY, detail).with_code("holder_lost").with_retry_after(RETRY_SECONDS)
}
