//! The socket in the home, by which other processes reach its holder.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hub::InstanceId;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::context::ToolContext;
use super::handler::{BoxedReader, BoxedWriter, serve_stream};
use super::speaker::Speaker;
use crate::home_socket::{HomeSocket, SocketError, listen_at};

/// Maximum bytes of a greeting. It is one short line of JSON.
const GREETING_BYTES_MAX: u64 = 1_024;
/// Time limit for the greeting. A process on the same machine sends it at once.
const GREETING_TIME_MAX: Duration = Duration::from_secs(5);
/// Time that running calls may take to finish when the socket is closed: short, since the program that asked is gone.
const ENDING_TIME_MAX: Duration = Duration::from_secs(5);

/// The first line that a process sends.
#[derive(Debug, Serialize, Deserialize)]
struct Greeting {
    /// The only instance that it may act as; `None` for the hub's own.
    instance: Option<InstanceId>,
}

/// Connects to the process that holds the home, and sends the greeting.
pub async fn join(path: &Path, instance: Option<&InstanceId>) -> std::io::Result<UnixStream> {
    let address = HomeSocket::find(path)?;
    let mut stream = UnixStream::connect(address.path()).await?;
    stream.write_all(&greeting_line(instance)?).await?;
    Ok(stream)
}

/// The line by which a program identifies itself.
pub(crate) fn greeting_line(instance: Option<&InstanceId>) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(&Greeting { instance: instance.cloned() })?;
    line.push(b'\n');
    Ok(line)
}

/// A socket for MCP that is open until it is closed.
pub struct HubSocket {
    path: PathBuf,
    stop: CancellationToken,
    abandon: CancellationToken,
    tasks: TaskTracker,
    clock: Arc<dyn memory::ports::Clock>,
}

impl HubSocket {
    /// Opens the socket. Only the process that holds the home may do that.
    ///
    /// # Errors
    ///
    /// If the path is too long for a socket, or can't be written.
    pub fn open(path: &Path, context: ToolContext) -> Result<Self, SocketError> {
        let listener = listen_at(path)?;
        let socket = Self {
            path: path.to_owned(),
            stop: CancellationToken::new(),
            abandon: CancellationToken::new(),
            tasks: TaskTracker::new(),
            clock: context.runtime.shared_clock(),
        };
        let (stop, abandon, tasks) = (socket.stop.clone(), socket.abandon.clone(), socket.tasks.clone());
        socket.tasks.spawn(accept_connections(listener, Arc::new(context), tasks, stop, abandon));
        Ok(socket)
    }

    /// Accepts no more calls, waits for running ones, and closes the socket.
    pub async fn close(self) {
        // It may be gone already. The lock, not this file, shows who holds the home.
        let _ = std::fs::remove_file(&self.path);
        self.stop.cancel();
        self.tasks.close();
        tokio::select! {
            () = self.tasks.wait() => {}
            () = self.clock.sleep(ENDING_TIME_MAX) => {
                self.abandon.cancel();
                self.tasks.wait().await;
            }
        }
    }
}

async fn accept_connections(
    listener: UnixListener,
    context: Arc<ToolContext>,
    tasks: TaskTracker,
    stop: CancellationToken,
    abandon: CancellationToken,
) {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let (reader, writer) = stream.into_split();
                let (context, stop, abandon) = (context.clone(), stop.clone(), abandon.clone());
                tasks.spawn(answer_program(Box::new(reader), Box::new(writer), context, stop, abandon));
            }
            Err(error) => {
                tracing::warn!("a connection to the MCP socket was rejected: {error}");
                context.runtime.clock().sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Answers a program over a stream that begins with its greeting.
pub(crate) async fn answer_program(
    reader: BoxedReader,
    writer: BoxedWriter,
    context: Arc<ToolContext>,
    stop: CancellationToken,
    abandon: CancellationToken,
) {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    let mut limited = (&mut reader).take(GREETING_BYTES_MAX);
    let greeted = tokio::select! {
        read = limited.read_until(b'\n', &mut line) => read.is_ok(),
        () = context.runtime.clock().sleep(GREETING_TIME_MAX) => false,
        () = stop.cancelled() => false,
    };
    let greeting = serde_json::from_slice::<Greeting>(&line).ok().filter(|_| greeted);
    let Some(greeting) = greeting else {
        tracing::debug!("a connection to the MCP socket did not identify itself");
        return;
    };
    let speaker = match greeting.instance {
        Some(instance) => Speaker::for_instance(instance),
        None => Speaker::owner(context.instance()),
    };
    serve_stream(
        context,
        speaker,
        Box::new(ClosableReader { inner: Box::new(reader), stop: Box::pin(stop.cancelled_owned()) }),
        writer,
        abandon,
    )
    .await;
}

/// A reader that ends when the socket is closed, so that no new calls begin while running ones finish.
struct ClosableReader {
    inner: BoxedReader,
    stop: std::pin::Pin<Box<tokio_util::sync::WaitForCancellationFutureOwned>>,
}

impl AsyncRead for ClosableReader {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        if std::future::Future::poll(self.stop.as_mut(), context).is_ready() {
            return std::task::Poll::Ready(Ok(()));
        }
        std::pin::Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}
