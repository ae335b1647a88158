//! The MCP socket in the home of a standby daemon: connections are forwarded to the daemon that holds the home.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, Method};
use axum::response::Response;
use futures_util::{StreamExt as _, TryStreamExt as _};
use hub::InstanceId;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::io::{ReaderStream, StreamReader};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::delivery::Carrier;
use super::forwarded_request::Sender;
use super::{AnsweringDaemon, Front};
use crate::home_socket::{SocketError, listen_at};
use crate::mcp::{ToolContext, answer_program, greeting_line};
use crate::tasks::spawn;

/// Path for connections that another daemon forwards from its socket.
pub(super) const PATH: &str = "/daemon/hub";
/// Buffer of bytes on their way back to a program: most answers fit, so that the writer does not wait.
const PIPE_BYTES: usize = 256 * 1024;
/// Pause after a connection could not be accepted, so that the loop does not spin.
const FAILURE_PAUSE: Duration = Duration::from_millis(100);

/// Answers a program whose connection another daemon forwards.
pub(super) fn answer(tools: Arc<ToolContext>, request: Request, stop: CancellationToken) -> Response {
    let bytes = request.into_body().into_data_stream().map_err(io::Error::other);
    let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
    let reader = Box::new(StreamReader::new(bytes));
    spawn(Box::pin(answer_program(reader, Box::new(ours), tools, stop, CancellationToken::new())));
    Response::new(Body::from_stream(ReaderStream::new(theirs)))
}

/// Connects to the daemon on another machine that holds the home, and introduces the program.
///
/// # Errors
///
/// If it can't be reached, or refuses the secret.
pub async fn join_elsewhere(
    url: &str,
    secret: &str,
    instance: Option<&InstanceId>,
) -> io::Result<(impl AsyncRead + Send + Unpin + use<>, impl AsyncWrite + Send + Unpin + use<>)> {
    let secret = HeaderValue::try_from(secret).map_err(io::Error::other)?;
    let carrier = Carrier::new(secret).map_err(io::Error::other)?;
    let (mut ours, theirs) = tokio::io::duplex(PIPE_BYTES);
    ours.write_all(&greeting_line(instance)?).await?;
    let answer = send(&carrier, url, Body::from_stream(ReaderStream::new(theirs))).await;
    let answer = answer.filter(|answer| answer.status().is_success());
    let refused = || io::Error::other("the daemon that holds the home does not respond");
    let bytes = answer.ok_or_else(refused)?.into_body().into_data_stream().map_err(io::Error::other);
    Ok((StreamReader::new(bytes), ours))
}

/// Opens a stream of bytes to the holder and back.
async fn send(carrier: &Carrier, url: &str, body: Body) -> Option<Response> {
    let request = Request::builder().method(Method::POST).uri(PATH).body(());
    let (head, ()) = request.ok()?.into_parts();
    carrier.send(url, &Sender::own_request(), &head, body).await.ok()
}

/// A socket that forwards connections until it is closed.
pub struct StandbyHubSocket {
    path: PathBuf,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl StandbyHubSocket {
    pub(super) fn open(path: &Path, front: Arc<Front>) -> Result<Self, SocketError> {
        let listener = listen_at(path)?;
        let socket =
            Self { path: path.to_owned(), stop: CancellationToken::new(), tasks: TaskTracker::new() };
        socket.tasks.spawn(accept_connections(listener, front, socket.tasks.clone(), socket.stop.clone()));
        Ok(socket)
    }

    /// Ends every connection. Programs then reconnect to the next socket at this path.
    pub async fn close(self) {
        // It may be gone already. The lock, not this file, shows who uses the home.
        let _ = std::fs::remove_file(&self.path);
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

async fn accept_connections(
    listener: UnixListener,
    front: Arc<Front>,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let (front, stop) = (front.clone(), stop.clone());
                tasks.spawn(async move {
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = relay_bytes(stream, &front) => {}
                    }
                });
            }
            Err(error) => {
                tracing::warn!("a connection to the MCP socket was rejected: {error}");
                front.clock.sleep(FAILURE_PAUSE).await;
            }
        }
    }
}

/// Copies bytes both ways until one side closes or another daemon takes the home.
async fn relay_bytes(stream: UnixStream, front: &Front) {
    let mut answering = front.answering.clone();
    let Ok(now) =
        answering.wait_for(|now| !matches!(now, AnsweringDaemon::Nobody)).await.map(|now| now.clone())
    else {
        return;
    };
    // A daemon that has taken the home closes this socket and opens its own.
    let AnsweringDaemon::Elsewhere(url) = now else { return };
    let (reader, mut writer) = stream.into_split();
    let body = Body::from_stream(ReaderStream::new(reader));
    let Some(answer) = send(&front.carrier, &url, body).await else { return };
    let mut answers =
        answer.into_body().into_data_stream().take_until(Box::pin(front.wait_until_not_holder(&url)));
    while let Some(Ok(bytes)) = answers.next().await {
        if writer.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
