//! A standby daemon: another one holds the home, and this one notices when it can be taken.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use memory::ports::StoreError;
use tokio::sync::watch;

use super::ServerAddress;
use super::daemons::{DaemonHeartbeats, HEARTBEAT_INTERVAL, NewDaemon, SILENCE_MAX, has_daemons, insert};
use super::holder::has_ended;
use crate::engine::failure::Failure;
use crate::engine::sql::{Connection, Error, OptionalExtension as _, Result};
use crate::engine::writer::thread_error;

/// Interval of checks by a standby. A released home waits at most that long.
const STANDBY_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Time for which a daemon must have reached the server without interruption before it treats another one as silent.
/// After an outage of the server every daemon has been silent.
const UNBROKEN_CONTACT_MIN: Duration = HEARTBEAT_INTERVAL.saturating_mul(2);

/// State of a home that another program holds, as a standby sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HomeHolder {
    /// The address of the daemon that holds it; `None` for a program that accepts no requests.
    Held(Option<String>),
    /// The home can be taken.
    Free,
    /// This daemon was silent for too long, and counts as dead. It must stop.
    Lost,
}

/// A daemon that stands by until this is dropped. It has a connection and a thread of its own.
pub struct Standby {
    standing: watch::Receiver<HomeHolder>,
    ended: Sender<()>,
    watching: JoinHandle<()>,
}

impl Standby {
    /// Starts to stand by for a home that another program holds.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] if the server can't be reached, or if the holder's version does not share its home.
    pub fn start(address: &ServerAddress, daemon: &NewDaemon) -> Result<Self, StoreError> {
        let (address, daemon) = (address.clone(), daemon.clone());
        // The driver blocks, which is not allowed on a thread of the async runtime.
        let started = thread::spawn(move || start(&address, &daemon)).join();
        started.map_err(|_| StoreError::Failed("the thread that connects has ended".to_owned()))?
    }

    /// The state of the home, at most half a second old.
    pub fn watch_home(&self) -> watch::Receiver<HomeHolder> {
        self.standing.clone()
    }

    /// Removes this daemon from the list of daemons. Blocks until the server has answered.
    pub fn leave_daemon_list(self) {
        // The thread has ended already if the daemon counts as dead.
        let _ = self.ended.send(());
        let _ = self.watching.join();
    }
}

fn start(address: &ServerAddress, daemon: &NewDaemon) -> Result<Standby, StoreError> {
    let failed = |error: Error| Failure::from(error).into_write_error();
    let server = address.connect()?;
    server.limit_answers(SILENCE_MAX).map_err(failed)?;
    let connection = Connection::Postgres(Box::new(server));
    if !has_daemons(&connection).map_err(failed)? {
        return Err(address.database_in_use_error());
    }
    insert(&connection, daemon).map_err(failed)?;
    let mut watcher =
        Watcher { notes: DaemonHeartbeats::from_daemon(daemon), connection, reached_since: Instant::now() };
    let first = watcher.read_holder().map_err(failed)?;
    let (sender, standing) = watch::channel(first);
    let (ended, is_ended) = channel::<()>();
    let body = move || {
        let mut noted_at = Instant::now();
        loop {
            match is_ended.recv_timeout(STANDBY_POLL_INTERVAL) {
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(()) => return watcher.leave(),
            }
            let is_due = noted_at.elapsed() >= HEARTBEAT_INTERVAL;
            if is_due {
                noted_at = Instant::now();
            }
            match watcher.check_holder(is_due) {
                Ok(seen) => {
                    sender.send_if_modified(|standing| std::mem::replace(standing, seen.clone()) != seen);
                    if seen == HomeHolder::Lost {
                        return;
                    }
                }
                Err(error) => {
                    watcher.reached_since = Instant::now();
                    tracing::warn!("the database server did not respond: {error}");
                }
            }
        }
    };
    let watching =
        thread::Builder::new().name("store-standby".to_owned()).spawn(body).map_err(thread_error)?;
    Ok(Standby { standing, ended, watching })
}

struct Watcher {
    notes: DaemonHeartbeats,
    connection: Connection,
    /// Time since which the server has always answered.
    reached_since: Instant,
}

impl Watcher {
    fn check_holder(&mut self, is_note_due: bool) -> Result<HomeHolder> {
        self.connection.reconnect_if_lost()?;
        if is_note_due && !self.notes.write(&self.connection)? {
            return Ok(HomeHolder::Lost);
        }
        self.read_holder()
    }

    /// Reads who holds the home, without locks.
    fn read_holder(&self) -> Result<HomeHolder> {
        let holder = "
            SELECT d.address, w.process, w.seen_at > clock_timestamp() - make_interval(secs => ?1)
            FROM writer w LEFT JOIN daemons d ON d.id = CAST(w.program AS TEXT)
            WHERE w.number = 1 AND w.program IS NOT NULL";
        let row: Option<(Option<String>, Option<String>, bool)> = self
            .connection
            .query_row(holder, [SILENCE_MAX.as_secs_f64()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        Ok(match row {
            None => HomeHolder::Free,
            Some((_, Some(process), _)) if has_ended(&process) => HomeHolder::Free,
            Some((_, _, false)) if self.reached_since.elapsed() >= UNBROKEN_CONTACT_MIN => HomeHolder::Free,
            Some((address, _, _)) => HomeHolder::Held(address),
        })
    }

    fn leave(&self) {
        // If the server does not respond now, the daemon is marked as dead later.
        let leave = "DELETE FROM daemons WHERE id = ?1 AND state <> 'dead'";
        let _ = self.connection.execute(leave, [&self.notes.id]);
    }
}
