//! Daemons that share a home on a server: they send heartbeats and share secrets.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::engine::sql::{Connection, Error, OptionalExtension as _, Result, Row, params};

/// Interval of heartbeats. Three can get lost before a daemon counts as silent.
pub(super) const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);
/// Silence after which another program may take the home: three heartbeats may be late.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(20);
const HEARTBEATS_PER_MINUTE: usize = 12;

/// A daemon that opens a home on a server and shares it with others.
#[derive(Clone)]
pub struct NewDaemon {
    /// A UUID of this process.
    pub id: String,
    /// The URL at which the other daemons reach it.
    pub address: String,
    pub version: String,
    /// Counts the replies since the process started.
    pub turns: Arc<dyn Fn() -> u64 + Send + Sync>,
    pub access: SharedAccess,
}

/// Secrets that all daemons of a home know.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedAccess {
    /// Secret by which daemons trust each other's requests.
    pub secret: String,
    /// SHA-256 of the owner's token, in hexadecimal digits.
    pub owner_digest: String,
    /// `None` if the operator provides only the digest.
    pub owner_token: Option<String>,
}

/// State of a home on a server, read without opening it.
pub struct HomeState {
    /// True if a live program holds the home.
    pub is_held: bool,
    /// The address of the daemon that holds it; `None` also for a program that accepts no requests.
    pub holder: Option<String>,
    /// True if another daemon was alive a moment ago, which will take a free home.
    pub has_daemons: bool,
    /// `None` if no daemon has opened the home yet.
    pub access: Option<SharedAccess>,
}

/// A daemon in the list of daemons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonEntry {
    pub id: String,
    pub address: String,
    pub version: String,
    pub state: DaemonState,
    pub turns_per_minute: u64,
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
}

/// State of a daemon of a shared home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DaemonState {
    /// The daemon holds the home.
    Serving,
    /// The daemon forwards requests, and takes the home when it is free.
    StandingBy,
    /// The daemon holds the home until its running replies have ended.
    Draining,
    /// The daemon sent no heartbeat, and another one replaced it.
    Dead,
}

/// The heartbeats of a daemon.
pub(super) struct DaemonHeartbeats {
    pub(super) id: String,
    turns: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// Numbers of replies at the last heartbeats, the oldest first.
    counts: VecDeque<u64>,
}

impl DaemonHeartbeats {
    pub(super) fn from_daemon(daemon: &NewDaemon) -> Self {
        Self { id: daemon.id.clone(), turns: Arc::clone(&daemon.turns), counts: VecDeque::new() }
    }

    /// Stores a heartbeat; false if the daemon counts as dead.
    pub(super) fn write(&mut self, connection: &Connection) -> Result<bool> {
        self.counts.push_back((self.turns)());
        if self.counts.len() > HEARTBEATS_PER_MINUTE + 1 {
            self.counts.pop_front();
        }
        let (first, last) = (self.counts.front(), self.counts.back());
        let turns = first.zip(last).map_or(0, |(first, last)| last.saturating_sub(*first));
        let note = "UPDATE daemons SET seen_at = clock_timestamp(), turns_per_minute = ?1
                    WHERE id = ?2 AND state <> 'dead'";
        Ok(connection.execute(note, params![turns.cast_signed(), self.id])? == 1)
    }
}

/// Marks daemons as dead that were silent for too long.
pub(super) fn mark_silent_as_dead(connection: &Connection) -> Result<()> {
    let mark = "UPDATE daemons SET state = 'dead'
                WHERE state <> 'dead' AND seen_at < clock_timestamp() - make_interval(secs => ?1)";
    connection.execute(mark, [SILENCE_MAX.as_secs_f64()]).map(drop)
}

/// Stores a daemon, in the transaction in which it takes the home.
///
/// # Errors
///
/// [`Error::InUse`] if it counts as dead.
pub(super) fn insert(connection: &Connection, daemon: &NewDaemon) -> Result<()> {
    connection.execute(
        "DELETE FROM daemons WHERE state = 'dead' AND seen_at < clock_timestamp() - interval '1 day'",
        [],
    )?;
    let noted = connection.execute(
        "INSERT INTO daemons (id, address, version, state, started_at, seen_at)
         VALUES (?1, ?2, ?3, 'running', clock_timestamp(), clock_timestamp())
         ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp() WHERE daemons.state <> 'dead'",
        params![daemon.id, daemon.address, daemon.version],
    )?;
    if noted == 1 { Ok(()) } else { Err(Error::InUse) }
}

/// Stores the secrets of the home, unless it has some.
pub(super) fn share_access(connection: &Connection, access: &SharedAccess) -> Result<()> {
    connection.execute(
        "INSERT INTO shared_access (number, secret, owner_digest, owner_token) VALUES (1, ?1, ?2, ?3)
         ON CONFLICT (number) DO UPDATE SET owner_digest = excluded.owner_digest, owner_token = excluded.owner_token",
        params![access.secret, access.owner_digest, access.owner_token],
    )?;
    Ok(())
}

/// The secrets that the daemons of the home share; `None` if none has opened it yet.
fn shared_access(connection: &Connection) -> Result<Option<SharedAccess>> {
    let row = |row: &Row<'_>| {
        Ok(SharedAccess { secret: row.get(0)?, owner_digest: row.get(1)?, owner_token: row.get(2)? })
    };
    connection
        .query_row("SELECT secret, owner_digest, owner_token FROM shared_access WHERE number = 1", [], row)
        .optional()
}

/// State of the home, given if a program holds it.
pub(super) fn home_state(connection: &Connection, is_held: bool) -> Result<HomeState> {
    if !has_daemons(connection)? {
        return Ok(HomeState { is_held, holder: None, has_daemons: false, access: None });
    }
    let holder =
        "SELECT d.address FROM writer w JOIN daemons d ON d.id = CAST(w.program AS TEXT) WHERE w.number = 1";
    let alive = "SELECT EXISTS (SELECT 1 FROM daemons
                     WHERE state <> 'dead' AND seen_at > clock_timestamp() - make_interval(secs => ?1)
                         AND id NOT IN (SELECT CAST(program AS TEXT) FROM writer WHERE program IS NOT NULL))";
    let holder: Option<String> = connection.query_row(holder, [], |row| row.get(0)).optional()?;
    Ok(HomeState {
        is_held,
        holder: holder.filter(|_| is_held),
        has_daemons: connection.query_row(alive, [SILENCE_MAX.as_secs_f64()], |row| row.get(0))?,
        access: shared_access(connection)?,
    })
}

/// Notes that a daemon is draining.
pub(crate) fn drain(connection: &Connection, id: &str) -> Result<()> {
    connection.execute("UPDATE daemons SET state = 'draining' WHERE id = ?1 AND state = 'running'", [id])?;
    Ok(())
}

/// The daemons of the home, in the order in which they started. Dead ones are listed for a day.
pub(crate) fn list_daemons(connection: &Connection) -> Result<Vec<DaemonEntry>> {
    let mut all = connection.prepare_cached(
        "SELECT d.id, d.address, d.version, d.state, w.program IS NOT NULL, d.turns_per_minute,
             CAST(extract(epoch FROM d.started_at) * 1000000 AS BIGINT),
             CAST(extract(epoch FROM d.seen_at) * 1000000 AS BIGINT)
         FROM daemons d LEFT JOIN writer w ON CAST(w.program AS TEXT) = d.id
         ORDER BY d.started_at, d.id",
    )?;
    let entries = all.query_map([], |row| {
        let (state, holds): (String, bool) = (row.get(3)?, row.get(4)?);
        let state = match (state.as_str(), holds) {
            ("dead", _) => DaemonState::Dead,
            ("draining", _) => DaemonState::Draining,
            (_, true) => DaemonState::Serving,
            (_, false) => DaemonState::StandingBy,
        };
        let time = |column: usize| -> Result<Timestamp> {
            Ok(Timestamp::from_microsecond(row.get(column)?).unwrap_or_default())
        };
        Ok(DaemonEntry {
            id: row.get(0)?,
            address: row.get(1)?,
            version: row.get(2)?,
            state,
            turns_per_minute: row.get::<i64>(5)?.cast_unsigned(),
            started_at: time(6)?,
            seen_at: time(7)?,
        })
    })?;
    entries.collect()
}

/// True if the schema has the table, which older versions do not.
pub(super) fn has_daemons(connection: &Connection) -> Result<bool> {
    let has_table = "SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'daemons')";
    connection.query_row(has_table, [], |row| row.get(0))
}
