//! Several hosts, a replica that replaces its server, and a pooler in between.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use memory::UserId;
use memory::ports::{CaptureStore as _, UserStore as _};
use memory::sessions::SessionPolicy;
use store::{HomeStore, ServerAddress, StoreOptions};
use tempfile::TempDir;
use testkit::postgres::{at_socket, fresh_database, fresh_home, query};
use testkit::postgres_server::{PostgresServer, server_program};

use super::Outcome;
use super::faults::{message, open};

const PATIENCE: Duration = Duration::from_secs(20);
const CALLERS: u128 = 64;
/// Ports of the two servers' sockets.
const PRIMARY: u16 = 5432;
const REPLICA: u16 = 5433;

/// A folder that the server's user may write to.
fn shared_folder() -> Outcome<TempDir> {
    let folder = TempDir::new()?;
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o777))?;
    Ok(folder)
}

/// A server and its replica, which confirms every commit. Both have their sockets in the folder.
struct ServerPair {
    primary: PostgresServer,
    replica: PostgresServer,
    folder: TempDir,
}

impl ServerPair {
    fn start() -> Outcome<Self> {
        let folder = TempDir::new()?;
        let primary = PostgresServer::create(folder.path(), "primary", PRIMARY)?;
        let replica = primary.replicate("replica", REPLICA)?;
        let server = primary.url("postgres");
        query(&server, "ALTER SYSTEM SET synchronous_standby_names = '*'")?;
        query(&server, "SELECT pg_reload_conf()")?;
        query(&server, "CREATE DATABASE home")?;
        let arrived = "SELECT 1 FROM pg_database WHERE datname = 'home'";
        let began = Instant::now();
        while query(&replica.url("postgres"), arrived)?.is_empty() && began.elapsed() < PATIENCE {
            thread::park_timeout(Duration::from_millis(20));
        }
        Ok(Self { primary, replica, folder })
    }

    /// The address of the servers on these ports, in this order.
    fn address(&self, ports: [u16; 2]) -> Outcome<ServerAddress> {
        let (folder, [first, second]) = (self.folder.path().display(), ports);
        let url = format!("postgres:///home?host={folder},{folder}&port={first},{second}&user=echovessel");
        Ok(ServerAddress::parse(&url, None)?)
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn a_promoted_replica_takes_over_and_nothing_is_lost() -> Outcome {
    let pair = ServerPair::start()?;
    let address = pair.address([REPLICA, PRIMARY])?;
    let (store, scope) = open(&address, StoreOptions::default()).await?;
    let write = async |numbers: std::ops::Range<u128>| {
        let lines =
            numbers.map(|number| store.capture(message(&scope, number), SessionPolicy::default(), None));
        join_all(lines).await.into_iter().collect::<Result<Vec<_>, _>>()
    };
    write(0..CALLERS).await?;
    let failing_over = async {
        tokio::task::block_in_place(|| {
            pair.primary.kill()?;
            pair.replica.promote()
        })
    };
    let writing = async {
        for round in 1..20 {
            write(round * CALLERS..(round + 1) * CALLERS).await?;
        }
        Outcome::Ok(())
    };
    let (failed_over, written) = tokio::join!(failing_over, writing);
    failed_over.map_err(|error| format!("failing over: {error}"))?;
    written.map_err(|error| format!("writing: {error}"))?;
    let stored =
        query(&pair.replica.url("home"), "SELECT count(*), count(DISTINCT id) FROM recall_messages")?;
    assert_eq!(stored, [format!("{0}|{0}", 20 * CALLERS)]);
    assert_eq!(store.users(None, 10).await?.len(), 1, "readers follow");
    store.close().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn hosts_that_only_read_are_named() -> Outcome {
    let pair = ServerPair::start()?;
    let replicas = pair.address([REPLICA, REPLICA])?;
    let refused = HomeStore::open_on_server(&replicas, StoreOptions::default());
    let error = refused.err().ok_or("a replica was opened for writing")?.to_string();
    assert!(error.contains("none of the hosts accepts writes"), "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn a_host_that_is_away_is_passed_over() -> Outcome {
    let database = fresh_home()?.ok_or("run this test by scripts/with-postgres")?;
    let away = TempDir::new()?;
    let address = database.replace("?host=", &format!("?host={},", away.path().display()));
    let store = HomeStore::open_on_server(&ServerAddress::parse(&address, None)?, StoreOptions::default())?;
    store.close().await?;
    Ok(())
}

/// A pooler in front of the server of the tests.
struct Pooler {
    process: Child,
    folder: TempDir,
}

impl Pooler {
    fn start(mode: &str) -> Outcome<Self> {
        let folder = shared_folder()?;
        let server = std::env::var("ECHOVESSEL_TEST_POSTGRES")?;
        let settings = folder.path().join("pooler.ini");
        let own = folder.path().display();
        std::fs::write(
            &settings,
            format!(
                "[databases]\n* = host={server} user=echovessel\n[pgbouncer]\nunix_socket_dir = {own}\nlisten_port = 5432\n\
                 auth_type = any\npool_mode = {mode}\nlogfile = {own}/log\npidfile = {own}/pid\n"
            ),
        )?;
        let mut command = server_program(program_of_the_pooler());
        command.arg("--quiet").arg(&settings).current_dir("/").stdout(Stdio::null()).stderr(Stdio::null());
        let pooler = Self { process: command.spawn()?, folder };
        let began = Instant::now();
        while !pooler.folder.path().join(".s.PGSQL.5432").exists() {
            if began.elapsed() > PATIENCE {
                return Err(std::fs::read_to_string(pooler.folder.path().join("log"))?.into());
            }
            thread::park_timeout(Duration::from_millis(10));
        }
        Ok(pooler)
    }

    fn address(&self, database: &str) -> Outcome<ServerAddress> {
        Ok(ServerAddress::parse(&at_socket(database, self.folder.path()), None)?)
    }
}

/// Debian installs it in a folder that is only in the search path of root.
fn program_of_the_pooler() -> &'static str {
    let of_root = "/usr/sbin/pgbouncer";
    if Path::new(of_root).exists() { of_root } else { "pgbouncer" }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // The process may belong to another program, which runs the pooler as another user.
        if let Ok(pid) = std::fs::read_to_string(self.folder.path().join("pid")) {
            let _ended = std::process::Command::new("kill").args(["-KILL", pid.trim()]).status();
        } else {
            let _ended = self.process.kill();
        }
        let _reaped = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn a_pooler_in_transaction_mode_is_refused_and_one_in_session_mode_serves() -> Outcome {
    let database = fresh_database()?.ok_or("run this test by scripts/with-postgres")?;
    let mixing = Pooler::start("transaction")?;
    let refused = HomeStore::open_on_server(&mixing.address(&database)?, StoreOptions::default());
    let error = refused.err().ok_or("sessions were mixed up")?.to_string();
    assert!(error.contains("pool_mode = session"), "{error}");
    assert_eq!(query(&database, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")?, ["0"]);

    let pooler = Pooler::start("session")?;
    let (store, scope) = open(&pooler.address(&database)?, StoreOptions::default()).await?;
    for number in 0..10 {
        store.capture(message(&scope, number), SessionPolicy::default(), None).await?;
    }
    assert!(store.user(&UserId::new("self")?).await?.is_some());
    store.close().await?;
    assert_eq!(query(&database, "SELECT count(*) FROM recall_messages")?, ["10"]);
    Ok(())
}
