//! Several hosts, a replica that takes the place of its server, and a pooler in between.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use memory::UserId;
use memory::ports::{CaptureStore as _, UserStore as _};
use memory::sessions::SessionPolicy;
use store::{HomeStore, ServerAddress, StoreOptions};
use tempfile::TempDir;
use testkit::postgres::{at_socket, fresh_database, fresh_home, query};

use super::Outcome;
use super::faults::{message, open};

const PATIENCE: Duration = Duration::from_secs(20);
const CALLERS: u128 = 64;

/// A program of the server, as a user whom it accepts: it refuses to run as root.
fn server_program(name: &str) -> Command {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.starts_with(b"0"));
    if !is_root {
        return Command::new(name);
    }
    let mut command = Command::new("runuser");
    command.args([
        "-u",
        "postgres",
        "--",
        "env",
        &format!("PATH={}", std::env::var("PATH").unwrap_or_default()),
        name,
    ]);
    command
}

fn run(mut command: Command) -> Outcome {
    let output = command.current_dir("/").stdin(Stdio::null()).output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// A folder that the server's user may write to.
fn shared_folder() -> Outcome<TempDir> {
    let folder = TempDir::new()?;
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o777))?;
    Ok(folder)
}

/// A server and its replica, which confirms every commit. Both have their sockets in the folder.
struct ServerPair {
    folder: TempDir,
}

impl ServerPair {
    fn start() -> Outcome<Self> {
        let pair = Self { folder: shared_folder()? };
        let mut create = server_program("initdb");
        create.args(["--auth=trust", "--username=echovessel", "--no-sync", "--encoding=UTF8", "--locale=C"]);
        create.arg("--pgdata").arg(pair.data("primary"));
        run(create)?;
        pair.start_server("primary")?;
        let mut copy = server_program("pg_basebackup");
        copy.args([
            "--checkpoint=fast",
            "--no-sync",
            "--write-recovery-conf",
            "--username=echovessel",
            "--host",
        ]);
        copy.arg(pair.folder.path()).arg("--pgdata").arg(pair.data("replica"));
        run(copy)?;
        pair.start_server("replica")?;
        let primary = pair.url("primary", "postgres");
        query(&primary, "ALTER SYSTEM SET synchronous_standby_names = '*'")?;
        query(&primary, "SELECT pg_reload_conf()")?;
        query(&primary, "CREATE DATABASE home")?;
        let arrived = "SELECT 1 FROM pg_database WHERE datname = 'home'";
        let began = Instant::now();
        while query(&pair.url("replica", "postgres"), arrived)?.is_empty() && began.elapsed() < PATIENCE {
            thread::park_timeout(Duration::from_millis(20));
        }
        Ok(pair)
    }

    fn data(&self, server: &str) -> PathBuf {
        self.folder.path().join(server)
    }

    fn start_server(&self, server: &str) -> Outcome {
        let (folder, port) = (self.folder.path().display(), port(server));
        let options = format!("--options=-k {folder} -p {port} -c listen_addresses='' -c fsync=off");
        self.control(server, &["--wait", &options, "start"])
    }

    fn control(&self, server: &str, arguments: &[&str]) -> Outcome {
        let log = self.folder.path().join("log");
        let mut command = server_program("pg_ctl");
        command.arg("--pgdata").arg(self.data(server)).arg("--log").arg(&log).args(arguments);
        // The server that it starts keeps its output open.
        match command.current_dir("/").stdout(Stdio::null()).stderr(Stdio::null()).status()?.success() {
            true => Ok(()),
            false => Err(format!("{arguments:?}: {}", std::fs::read_to_string(log)?).into()),
        }
    }

    fn url(&self, server: &str, database: &str) -> String {
        let folder = self.folder.path().display();
        format!("postgres:///{database}?host={folder}&port={}&user=echovessel", port(server))
    }

    /// The address of these servers, in this order.
    fn address(&self, servers: [&str; 2]) -> Outcome<ServerAddress> {
        let (folder, ports) = (self.folder.path().display(), servers.map(port));
        let url =
            format!("postgres:///home?host={folder},{folder}&port={},{}&user=echovessel", ports[0], ports[1]);
        Ok(ServerAddress::parse(&url, None)?)
    }
}

fn port(server: &str) -> u16 {
    if server == "primary" { 5432 } else { 5433 }
}

impl Drop for ServerPair {
    fn drop(&mut self) {
        for server in ["primary", "replica"] {
            let _stopped = self.control(server, &["--mode=immediate", "stop"]);
        }
        // Its files belong to the server's user.
        let mut remove = server_program("rm");
        remove.arg("-rf").arg(self.data("primary")).arg(self.data("replica"));
        let _removed = run(remove);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn a_promoted_replica_takes_over_and_nothing_is_lost() -> Outcome {
    let pair = ServerPair::start()?;
    let address = pair.address(["replica", "primary"])?;
    let (store, scope) = open(&address, StoreOptions::default()).await?;
    let write = async |numbers: std::ops::Range<u128>| {
        let lines =
            numbers.map(|number| store.capture(message(&scope, number), SessionPolicy::default(), None));
        join_all(lines).await.into_iter().collect::<Result<Vec<_>, _>>()
    };
    write(0..CALLERS).await?;
    let failing_over = async {
        tokio::task::block_in_place(|| {
            pair.control("primary", &["--mode=immediate", "stop"])?;
            pair.control("replica", &["--wait", "promote"])
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
        query(&pair.url("replica", "home"), "SELECT count(*), count(DISTINCT id) FROM recall_messages")?;
    assert_eq!(stored, [format!("{0}|{0}", 20 * CALLERS)]);
    assert_eq!(store.users(None, 10).await?.len(), 1, "readers follow");
    store.close().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn hosts_that_only_read_are_named() -> Outcome {
    let pair = ServerPair::start()?;
    let replicas = pair.address(["replica", "replica"])?;
    let refused = HomeStore::open_on_server(&replicas, StoreOptions::default());
    let error = refused.err().ok_or("a replica was opened for writing")?.to_string();
    assert!(error.contains("none of the hosts takes writes"), "{error}");
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

/// A pooler before the server of the tests.
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

/// Debian has it where only root looks.
fn program_of_the_pooler() -> &'static str {
    let of_root = "/usr/sbin/pgbouncer";
    if Path::new(of_root).exists() { of_root } else { "pgbouncer" }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // The process may be that of another program, which runs the pooler as another user.
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
