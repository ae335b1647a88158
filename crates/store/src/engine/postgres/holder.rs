//! The program that holds a home on a server: one at a time. It has a row in the table `writer` with heartbeats. No
//! session lock is used, so that a dead connection does not keep others out.
//!
//! Every writing transaction begins by recording its number in that row. A replaced program can't write any more, and
//! one that lost the confirmation of a commit can find out if it was done.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Instant;

use memory::ports::StoreError;
use tokio::sync::watch;

use super::Server;
use super::daemons::{self, DaemonHeartbeats, HEARTBEAT_INTERVAL, NewDaemon, SILENCE_MAX};
use crate::engine::sql::{Connection, OptionalExtension as _, Result, params};
use crate::engine::writer::thread_error;

/// State of the holder's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// No holder: a new home, or the program has closed it, ended, or was silent for too long.
    None,
    /// A program with a heartbeat at this time, in microseconds of the server's clock.
    Program { seen_at: i64 },
}

/// Reads the row and locks it until the transaction ends. The table must exist.
pub(super) fn lock_holder(connection: &Connection) -> Result<Holder> {
    let row: Option<(bool, i64, Option<String>)> = connection
        .query_row(
            "SELECT seen_at > clock_timestamp() - make_interval(secs => ?1),
                 CAST(extract(epoch FROM seen_at) * 1000000 AS BIGINT), process
             FROM writer WHERE number = 1 AND program IS NOT NULL FOR UPDATE",
            [SILENCE_MAX.as_secs_f64()],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .optional()?;
    Ok(match row {
        Some((true, seen_at, process)) if !process.as_deref().is_some_and(has_ended) => {
            Holder::Program { seen_at }
        }
        _ => Holder::None,
    })
}

/// Takes the home for this program, in a transaction that found no holder. Returns the program's id.
pub(super) fn set_holder(connection: &Connection, daemon: Option<&NewDaemon>) -> Result<String> {
    // Its former holder did not release it.
    connection.execute(
        "UPDATE daemons SET state = 'dead' WHERE id IN (SELECT CAST(program AS TEXT) FROM writer)",
        [],
    )?;
    if let Some(daemon) = daemon {
        daemons::insert(connection, daemon)?;
        daemons::share_access(connection, &daemon.access)?;
    }
    connection.query_row(
        "UPDATE writer SET program = coalesce(CAST(CAST(?2 AS TEXT) AS UUID), gen_random_uuid()), process = ?1,
             seen_at = clock_timestamp(), commits = 0
         WHERE number = 1 RETURNING CAST(program AS TEXT)",
        params![process_name(), daemon.map(|daemon| &daemon.id)],
        |row| row.get(0),
    )
}

/// Sends heartbeats of a program until it is dropped, on a connection of its own, so that a long statement does not
/// delay them.
pub(crate) struct ProgramHeartbeats {
    _ended: Sender<()>,
}

impl ProgramHeartbeats {
    /// Starts heartbeats for a program that has taken the home. `taken_over` becomes true when another program has
    /// taken it.
    pub(crate) fn start(
        server: Server,
        program: &str,
        daemon: Option<&NewDaemon>,
        taken_over: watch::Sender<bool>,
    ) -> Result<Self, StoreError> {
        let (ended, is_ended) = channel::<()>();
        let mut presence = Presence {
            connection: Connection::Postgres(Box::new(server)),
            program: program.to_owned(),
            daemon: daemon.map(DaemonHeartbeats::from_daemon),
            reached_since: Instant::now(),
        };
        let body = move || {
            while is_ended.recv_timeout(HEARTBEAT_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                match presence.note() {
                    Ok(true) => {}
                    Ok(false) => {
                        tracing::error!(
                            "another EchoVessel took over the database; this one can no longer write"
                        );
                        taken_over.send_replace(true);
                        break;
                    }
                    // The next heartbeat tries again. Writes report the failure to their callers.
                    Err(error) => {
                        presence.reached_since = Instant::now();
                        tracing::warn!("the database server did not respond: {error}");
                    }
                }
            }
        };
        thread::Builder::new().name("store-presence".to_owned()).spawn(body).map_err(thread_error)?;
        Ok(Self { _ended: ended })
    }
}

struct Presence {
    connection: Connection,
    program: String,
    /// `None` for a program that accepts no requests of others.
    daemon: Option<DaemonHeartbeats>,
    /// Time since which the server has always answered.
    reached_since: Instant,
}

impl Presence {
    /// Sends a heartbeat; false if another program has taken the home.
    fn note(&mut self) -> Result<bool> {
        self.connection.reconnect_if_lost()?;
        let note = "UPDATE writer SET seen_at = clock_timestamp() WHERE CAST(program AS TEXT) = ?1";
        if self.connection.execute(note, [&self.program])? == 0 {
            return Ok(false);
        }
        if let Some(daemon) = &mut self.daemon {
            daemon.write(&self.connection)?;
            // After an outage of the server all others have been silent too.
            if self.reached_since.elapsed() > SILENCE_MAX {
                daemons::mark_silent_as_dead(&self.connection)?;
            }
        }
        Ok(true)
    }
}

impl Server {
    pub(super) fn release(&self, program: &str) -> Result<()> {
        self.change(&format!("DELETE FROM daemons WHERE id = '{program}'"))?;
        self.change(&format!("UPDATE writer SET program = NULL WHERE program = '{program}'")).map(drop)
    }
}

/// Identifies this process across machines and restarts: boot id of the machine, PID namespace, PID, start of the
/// process. `None` if the system does not provide them.
fn process_name() -> Option<String> {
    let number = std::process::id();
    Some(format!("{} {number} {}", machine_id()?, started_at(number)?))
}

/// True if the process was on this machine and has ended.
pub(super) fn has_ended(process: &str) -> bool {
    let Some((of_machine, started)) = process.rsplit_once(' ') else { return false };
    let Some((of_machine, number)) = of_machine.rsplit_once(' ') else { return false };
    machine_id().is_some_and(|machine| machine == of_machine)
        && number.parse().is_ok_and(|number| started_at(number).is_none_or(|now| now != started))
}

fn machine_id() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), namespace.display()))
}

/// Start of a process in ticks since boot, which distinguishes processes that reuse a PID.
fn started_at(number: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name is in parentheses and may contain spaces; the state follows it, and the start is the 20th field after
    // that.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    // A process that has ended and waits for its parent is still listed.
    let is_running = fields.next()? != "Z";
    fields.nth(18).filter(|_| is_running).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn processes_of_this_machine_are_known_when_they_have_ended() {
        let own = process_name().unwrap();
        assert!(!has_ended(&own));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let process = format!("{} {} {}", machine_id().unwrap(), child.id(), started_at(child.id()).unwrap());
        assert!(!has_ended(&process));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(has_ended(&process));
        // The PID was reused by a process that started later.
        let (before, _) = own.rsplit_once(' ').unwrap();
        assert!(has_ended(&format!("{before} 1")));
        for of_another_machine in ["0b3e pid:[1] 7 12", "", "7"] {
            assert!(!has_ended(of_another_machine));
        }
    }
}
