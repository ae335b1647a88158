//! A proxy that counts the traffic between a daemon and the database.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;
use testkit::postgres::at_socket;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};

use crate::Failed;

/// Bytes before a message's content: its type and length.
const HEAD: usize = 5;

#[derive(Default)]
struct Counters {
    statements: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

pub(crate) struct Counts {
    pub(crate) statements: u64,
    /// Bytes sent to the database.
    pub(crate) sent: u64,
    /// Bytes received from the database.
    pub(crate) received: u64,
}

/// A proxy socket in front of the server's socket.
pub(crate) struct CountingProxy {
    folder: TempDir,
    counters: Arc<Counters>,
}

impl CountingProxy {
    pub(crate) fn start() -> Result<Self, Failed> {
        let folder = TempDir::new()?;
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432"))?;
        let server = PathBuf::from(std::env::var("ECHOVESSEL_TEST_POSTGRES")?).join(".s.PGSQL.5432");
        let counters = Arc::<Counters>::default();
        let counted = counters.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = UnixStream::connect(&server).await else { continue };
                let ((from_client, to_client), (from_server, to_server)) =
                    (client.into_split(), server.into_split());
                tokio::spawn(pass_on(from_client, to_server, counted.clone()));
                tokio::spawn(pass_back(from_server, to_client, counted.clone()));
            }
        });
        Ok(Self { folder, counters })
    }

    /// The address of this database through the proxy.
    pub(crate) fn address(&self, database: &str) -> String {
        at_socket(database, self.folder.path())
    }

    pub(crate) fn counts(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counters { statements, sent, received } = &*self.counters;
        Counts { statements: read(statements), sent: read(sent), received: read(received) }
    }
}

async fn pass_on(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, counters: Arc<Counters>) {
    let (mut piece, mut messages) = (vec![0; 64 * 1024], Messages::default());
    while let Ok(count @ 1..) = from.read(&mut piece).await {
        counters.sent.fetch_add(count as u64, Ordering::Relaxed);
        counters.statements.fetch_add(messages.statements_in(&piece[..count]), Ordering::Relaxed);
        if to.write_all(&piece[..count]).await.is_err() {
            return;
        }
    }
}

async fn pass_back(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, counters: Arc<Counters>) {
    let mut piece = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut piece).await {
        counters.received.fetch_add(count as u64, Ordering::Relaxed);
        if to.write_all(&piece[..count]).await.is_err() {
            return;
        }
    }
}

/// Reads a client's messages from the stream. The first message has no type.
#[derive(Default)]
struct Messages {
    has_begun: bool,
    pending: Vec<u8>,
}

impl Messages {
    /// Number of statements that begin in these bytes: executions of prepared statements and simple queries.
    fn statements_in(&mut self, bytes: &[u8]) -> u64 {
        self.pending.extend_from_slice(bytes);
        let mut statements = 0;
        loop {
            let head = if self.has_begun { HEAD } else { HEAD - 1 };
            let Some(length) = self.pending.get(head - 4..head) else { return statements };
            let length = u32::from_be_bytes(length.try_into().unwrap_or_default()) as usize + head - 4;
            if self.pending.len() < length {
                return statements;
            }
            statements += u64::from(self.has_begun && matches!(self.pending.first(), Some(b'E' | b'Q')));
            self.pending.drain(..length);
            self.has_begun = true;
        }
    }
}
