//! Connections that a test can cut and delay: a proxy with a socket of its own.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// State of a link, set by a test.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// Forwards no bytes. Both ends stay open.
    is_stalled: bool,
    /// Number of cuts so far. Each one closes the open connections.
    cuts: u32,
}

/// A link that forwards all bytes until it is cut or stalled. Ends on drop.
pub(super) struct Link {
    flow: watch::Sender<Flow>,
    _passing: JoinSet<()>,
}

impl Link {
    /// Listens on new sockets in front of the PostgreSQL sockets in this folder, one for each port. Also returns the
    /// folder of the new sockets.
    pub(super) fn to_database(servers: &Path, ports: [u16; 2]) -> (Self, TempDir) {
        let folder = TempDir::new().unwrap();
        let (flow, flowing) = watch::channel(Flow::default());
        let mut passing = JoinSet::new();
        for port in ports {
            let (own, theirs) = (socket(folder.path(), port), socket(servers, port));
            let listener = UnixListener::bind(own).unwrap();
            let flowing = flowing.clone();
            passing.spawn(async move {
                let mut connections = JoinSet::new();
                while let Ok((client, _)) = listener.accept().await {
                    let (theirs, flowing) = (theirs.clone(), flowing.clone());
                    connections.spawn(async move {
                        let Ok(server) = UnixStream::connect(theirs).await else { return };
                        pass(client.into_split(), server.into_split(), flowing).await;
                    });
                }
            });
        }
        (Self { flow, _passing: passing }, folder)
    }

    /// Listens on a new port in front of a port of this machine. Also returns the new port.
    pub(super) async fn to_port(port: u16) -> (Self, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap().port();
        let (flow, flowing) = watch::channel(Flow::default());
        let mut passing = JoinSet::new();
        passing.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let flowing = flowing.clone();
                connections.spawn(async move {
                    let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
                    pass(client.into_split(), server.into_split(), flowing).await;
                });
            }
        });
        (Self { flow, _passing: passing }, own)
    }

    pub(super) fn cut(&self) {
        self.flow.send_modify(|flow| flow.cuts += 1);
    }

    pub(super) fn stall(&self, is_stalled: bool) {
        self.flow.send_modify(|flow| flow.is_stalled = is_stalled);
    }
}

fn socket(folder: &Path, port: u16) -> PathBuf {
    folder.join(format!(".s.PGSQL.{port}"))
}

/// Forwards bytes both ways until one end closes or the link is cut.
async fn pass<R, W>(client: (R, W), server: (R, W), mut flowing: watch::Receiver<Flow>)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let cuts = flowing.borrow().cuts;
    let (there, back) = (flowing.clone(), flowing.clone());
    tokio::select! {
        () = pump(client.0, server.1, there) => {}
        () = pump(server.0, client.1, back) => {}
        _cut = flowing.wait_for(|flow| flow.cuts != cuts) => {}
    }
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut flowing: watch::Receiver<Flow>,
) {
    let mut piece = vec![0; 16 * 1024];
    loop {
        let Ok(count @ 1..) = from.read(&mut piece).await else { return };
        if flowing.wait_for(|flow| !flow.is_stalled).await.is_err()
            || to.write_all(&piece[..count]).await.is_err()
        {
            return;
        }
    }
}
