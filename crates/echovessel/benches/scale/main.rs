//! Prints the limits of daemons on one PostgreSQL server: messages captured per second, also with a file, turns per
//! second for one, two and three daemons, and the cost of a turn, a persona and a thousand messages.
//! Run it with `scripts/with-postgres cargo bench -p echovessel --bench scale`.
//!
//! `PERSONAS` (10,000) and `SECONDS` (20 for each number of daemons) change its size. The replies are those of the
//! offline provider and no vectors are computed, so only EchoVessel and the database are measured. No result depends
//! on a time limit.

mod daemon;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::json;
use testkit::postgres::{fresh_database, query};

use daemon::Daemon;
use wire::CountingProxy;

pub(crate) type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Number of concurrent callers.
const CALLERS: usize = 64;
/// Messages after which a caller continues as another user, since the number of unanswered messages of a user is
/// limited.
const MESSAGES_PER_USER: usize = 100;
/// Number of sequential turns over which the cost of one turn is measured.
const SINGLE_TURNS: usize = 300;

fn main() -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure())
}

async fn measure() -> Result<(), Failed> {
    let Some(database) = fresh_database()? else {
        println!("scale: no server (scripts/with-postgres cargo bench -p echovessel --bench scale)");
        return Ok(());
    };
    let (personas, seconds) = (variable("PERSONAS", 10_000), variable("SECONDS", 20));
    measure_captures("a file", "sqlite", seconds / 2).await?;
    measure_captures("the server", &database, seconds / 2).await?;
    let Some(database) = fresh_database()? else { return Err("the server is gone".into()) };
    let first = Daemon::start(&database).await?;
    let empty = first.resident_mib()?;
    let http = outgoing::client_builder().no_proxy().pool_max_idle_per_host(CALLERS).build()?;
    create_personas(&http, &first, personas).await?;
    println!(
        "personas {personas}: created; daemon {empty:.0} MiB before, {:.0} MiB after",
        first.resident_mib()?
    );
    let first = first.start_again(&database).await?;
    let asleep = first.resident_mib()?;
    println!("sleeping persona: {:.2} KiB", (asleep - empty).max(0.0) * 1024.0 / personas as f64);

    let mut daemons = vec![first];
    let turn = Arc::new(AtomicUsize::new(0));
    for count in 1..=3 {
        if daemons.len() < count {
            daemons.push(Daemon::start(&database).await?);
        }
        let before = Stored::read(&database)?;
        let memory = daemons[0].resident_mib()?;
        let (daemon_time, database_time) = (processor_time("echovessel")?, processor_time("postgres")?);
        let talk = Talk { http: http.clone(), daemons: &daemons, personas, turn: turn.clone() };
        let mut took = talk.run(Duration::from_secs(seconds as u64)).await?;
        took.sort_unstable();
        let turns = took.len();
        let at = |share: usize| took[(turns * share / 100).min(turns - 1)].as_secs_f64() * 1_000.0;
        println!(
            "{count} daemons: {:.0} turns/s, p50 {:.0} ms, p95 {:.0} ms ({CALLERS} callers, {turns} turns)",
            turns as f64 / seconds as f64,
            at(50),
            at(95)
        );
        println!(
            "  processor time of a turn: {:.1} ms in the daemons, {:.1} ms in the database",
            (processor_time("echovessel")? - daemon_time) / turns as f64,
            (processor_time("postgres")? - database_time) / turns as f64
        );
        let after = Stored::read(&database)?;
        let thousands = 2.0 * turns as f64 / 1_000.0;
        println!(
            "  a thousand messages: {:.0} rows, {:.0} KiB in the database, {:.0} KiB of log",
            (after.rows - before.rows) / thousands,
            (after.bytes - before.bytes) / thousands / 1024.0,
            (after.log - before.log) / thousands / 1024.0
        );
        let active = turns.min(personas) as f64;
        let grown = (daemons[0].resident_mib()? - memory) * 1024.0;
        println!("  memory of the daemon that answers: {grown:.0} KiB more for {active:.0} active personas");
    }
    drop(daemons);
    measure_one_turn(&http, &database).await
}

/// Messages of many callers that are durable when they are acknowledged. No replies are generated meanwhile.
async fn measure_captures(name: &str, database: &str, seconds: usize) -> Result<(), Failed> {
    let daemon = Daemon::start_silent(database).await?;
    let http = outgoing::client_builder().no_proxy().pool_max_idle_per_host(CALLERS).build()?;
    let (began, time) = (Instant::now(), Duration::from_secs(seconds as u64));
    let (daemon, http) = (&daemon, &http);
    let capturing = (0..CALLERS).map(|caller| async move {
        let mut captured = 0;
        while began.elapsed() < time {
            let user = format!("u{caller}-{}", captured / MESSAGES_PER_USER);
            let body = json!({"user_id": user, "content": format!("message {captured}")});
            daemon.post(http, "/api/chat/send", &body).await?;
            captured += 1;
        }
        Ok::<_, Failed>(captured)
    });
    let captured: usize = futures_util::future::try_join_all(capturing).await?.into_iter().sum();
    println!(
        "durable captures, {name}: {:.0} a second ({CALLERS} callers)",
        captured as f64 / time.as_secs_f64()
    );
    Ok(())
}

/// Statements, round trips and bytes of one turn, counted on the wire.
async fn measure_one_turn(http: &Client, database: &str) -> Result<(), Failed> {
    let proxy = CountingProxy::start()?;
    let daemon = Daemon::start(&proxy.address(database)).await?;
    for turn in 0..20 {
        daemon.say(http, "default", turn).await?;
    }
    let before = proxy.counts();
    for turn in 0..SINGLE_TURNS {
        daemon.say(http, "default", turn).await?;
    }
    let after = proxy.counts();
    let per_turn = |after: u64, before: u64| (after - before) as f64 / SINGLE_TURNS as f64;
    println!(
        "one turn: {:.0} statements, {:.1} KiB to the database, {:.1} KiB from it",
        per_turn(after.statements, before.statements),
        per_turn(after.sent, before.sent) / 1024.0,
        per_turn(after.received, before.received) / 1024.0
    );
    Ok(())
}

/// Processor time of all processes with this name, in milliseconds.
fn processor_time(name: &str) -> Result<f64, Failed> {
    /// Clock ticks per second of the figures in `/proc`, on every Linux.
    const TICKS_PER_SECOND: f64 = 100.0;
    let mut ticks = 0.0;
    for entry in std::fs::read_dir("/proc")? {
        // The process may end at any moment.
        let Ok(stat) = std::fs::read_to_string(entry?.path().join("stat")) else { continue };
        let Some((head, fields)) = stat.rsplit_once(')') else { continue };
        if head.rsplit_once('(').is_none_or(|(_, command)| command != name) {
            continue;
        }
        // User and system time are fields 14 and 15. The state, field 3, is the first one after the name.
        let used = fields.split_ascii_whitespace().skip(11).take(2);
        ticks += used.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>();
    }
    Ok(ticks / TICKS_PER_SECOND * 1_000.0)
}

fn variable(name: &str, usual: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

fn persona(number: usize) -> String {
    format!("p{number}")
}

async fn create_personas(http: &Client, daemon: &Daemon, count: usize) -> Result<(), Failed> {
    let next = Arc::new(AtomicUsize::new(0));
    let creating = (0..CALLERS).map(|_| async {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(());
            }
            daemon.post(http, "/api/admin/personas", &json!({"id": persona(number)})).await?;
        }
    });
    futures_util::future::try_join_all(creating).await.map(drop)
}

/// Runs turns of many callers. Each turn uses another persona.
struct Talk<'a> {
    http: Client,
    daemons: &'a [Daemon],
    personas: usize,
    turn: Arc<AtomicUsize>,
}

impl Talk<'_> {
    /// The duration of each turn.
    async fn run(&self, time: Duration) -> Result<Vec<Duration>, Failed> {
        let began = Instant::now();
        let talking = (0..CALLERS).map(|_| async move {
            let mut took = Vec::new();
            while began.elapsed() < time {
                let turn = self.turn.fetch_add(1, Ordering::Relaxed);
                let (daemon, asked) = (&self.daemons[turn % self.daemons.len()], Instant::now());
                daemon.say(&self.http, &persona(turn % self.personas), turn).await?;
                took.push(asked.elapsed());
            }
            Ok::<_, Failed>(took)
        });
        Ok(futures_util::future::try_join_all(talking).await?.concat())
    }
}

/// The size of the database at one moment.
struct Stored {
    rows: f64,
    bytes: f64,
    /// Bytes of the write-ahead log since the server was created.
    log: f64,
}

impl Stored {
    fn read(database: &str) -> Result<Self, Failed> {
        query(database, "ANALYZE")?;
        let number =
            |statement: &str| -> Result<f64, Failed> { Ok(query(database, statement)?.join("").parse()?) };
        Ok(Self {
            rows: number(
                "SELECT coalesce(sum(reltuples), 0) FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace",
            )?,
            bytes: number("SELECT pg_database_size(current_database())")?,
            log: number("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')")?,
        })
    }
}
