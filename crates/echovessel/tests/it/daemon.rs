//! The program as its own process with a temporary home, started and killed as a user would.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::Deref;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use testkit::{ScriptedModel, postgres};

use crate::owner_api::Door;

/// Time limit for everything that takes a moment on an idle machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Pause between two checks.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A home for one test. It outlives its daemons, so that one can be killed and another one started with it.
///
/// Its memory is in a database of its own on the PostgreSQL server that `ECHOVESSEL_TEST_POSTGRES` names, or in a
/// file.
pub(crate) struct Home {
    folder: TempDir,
    database: Option<String>,
}

/// Dump of a database on a server. `pg_dump` fails while an erasure replaces an index, so it is repeated.
fn dumped(database: &str) -> Vec<u8> {
    let mut said = String::new();
    for _ in 0..20 {
        let dump = Command::new("pg_dump").arg(database).output().unwrap();
        if dump.status.success() {
            return dump.stdout;
        }
        said = String::from_utf8_lossy(&dump.stderr).into_owned();
    }
    panic!("{said}")
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), database: postgres::fresh_home().unwrap() }
    }

    /// Whether the memory contains these bytes anywhere that its database lets a client read.
    pub(crate) fn holds(&self, part: &str) -> bool {
        let bytes = match &self.database {
            Some(database) => dumped(database),
            None => std::fs::read(self.file("echovessel.db")).unwrap(),
        };
        assert!(!bytes.is_empty());
        testkit::contains_words(&bytes, part)
    }

    /// Whether the memory is in a database on a server.
    pub(crate) fn is_on_server(&self) -> bool {
        self.database.is_some()
    }

    /// Whether a database was created for the memory.
    pub(crate) fn has_memory(&self) -> bool {
        match &self.database {
            Some(database) => !postgres::query(database, "SELECT 1 FROM personas").unwrap().is_empty(),
            None => self.file("echovessel.db").exists(),
        }
    }

    /// The home folder, which the program creates.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The path of a file in the home.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Everything that its daemons have written to standard error.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }
}

/// The environment variables of the program. It gets no others.
#[derive(Clone)]
pub(crate) struct Settings {
    environment: Vec<(String, String)>,
}

impl Settings {
    /// Short waits, no embedding model, and this language model.
    pub(crate) fn talking_to(model: &ScriptedModel) -> Self {
        Self::quick()
            .key("llm.provider", "openai")
            .key("llm.base_url", model.base_url())
            .key("llm.model", "scripted")
            .key("llm.max_retries", 0)
    }

    /// Short waits, no embedding model and no language model.
    pub(crate) fn offline() -> Self {
        Self::quick().key("llm.provider", "offline")
    }

    /// Short waits and no embedding model. The language model is the one in the configuration file.
    pub(crate) fn quiet() -> Self {
        Self::quick()
    }

    fn quick() -> Self {
        Self { environment: Vec::new() }
            .key("embedding.provider", "none")
            .key("session.scan_every", "100ms")
            .key("consolidate.poll_every", "100ms")
            .key("channels.web.debounce", "0ms")
    }

    /// The default settings of a home, for commands that need none of the above.
    pub(crate) fn none() -> Self {
        Self { environment: Vec::new() }
    }

    /// Sets a key of the configuration, such as `session.idle`.
    pub(crate) fn key(self, key: &str, value: impl ToString) -> Self {
        self.variable(&format!("ECHOVESSEL__{}", key.to_uppercase().replace('.', "__")), value)
    }

    /// Sets an environment variable.
    pub(crate) fn variable(mut self, name: &str, value: impl ToString) -> Self {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.to_string()));
        self
    }
}

/// Returns the command `echovessel <arguments>` for this home, without the environment of the test runner.
pub(crate) fn command(home: &Home, settings: &Settings, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_echovessel"));
    let database = home.database.iter().flat_map(|database| {
        [("ECHOVESSEL__STORAGE__URL", database.as_str()), ("ECHOVESSEL__STORAGE__POOL", "4")]
    });
    command
        .args(arguments)
        .arg("--home")
        .arg(home.path())
        .env_clear()
        .env("HOME", home.folder.path())
        .env("TZ", "UTC")
        .envs(database)
        .envs(settings.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null());
    command
}

/// A running daemon; killed on drop.
pub(crate) struct Daemon {
    process: Child,
    door: Door,
    /// The one-time login link that the daemon printed.
    pub(crate) login: String,
    log: PathBuf,
}

impl Daemon {
    /// Starts the daemon and waits until it has printed its address.
    pub(crate) async fn start(home: &Home, settings: &Settings) -> Self {
        Self::start_at(home, settings, 0).await
    }

    /// Starts the daemon on this port; 0 takes any free port.
    pub(crate) async fn start_at(home: &Home, settings: &Settings, port: u16) -> Self {
        let log = home.log();
        let stderr = File::options().create(true).append(true).open(&log).unwrap();
        let mut process =
            command(home, settings, &["run", "--port", &port.to_string(), "--no-open", "--json"])
                .stdout(Stdio::piped())
                .stderr(stderr)
                .spawn()
                .unwrap();
        let lines = lines_of(process.stdout.take().unwrap());
        let first = tokio::task::spawn_blocking(move || lines.recv_timeout(PATIENCE)).await.unwrap();
        let Ok(first) = first else {
            let ended = process.try_wait();
            // The daemon may have ended already.
            let _ = process.kill();
            panic!("the daemon does not come up ({ended:?}):\n{}", tail(&log));
        };
        let said: Value = serde_json::from_str(&first).unwrap();
        let url = said["url"].as_str().unwrap().to_owned();
        let token = settings.environment.iter().find(|(name, _)| name == "ECHOVESSEL_TOKEN");
        let token = match token {
            Some((_, token)) => token.clone(),
            None => std::fs::read_to_string(home.file("token")).unwrap().trim().to_owned(),
        };
        let login = said["login"].as_str().unwrap().to_owned();
        Self { process, door: Door::new(url, token), login, log }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// A client of its API, for callers that can't hold the daemon itself.
    pub(crate) fn door(&self) -> Door {
        self.door.clone()
    }

    /// Sends a signal, given by its name, such as `HUP`.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Kills the daemon with SIGKILL and waits until its process has ended.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    /// Waits until the daemon ends by itself, and returns whether it exited with success.
    pub(crate) async fn ended(&mut self) -> bool {
        let status = eventually("the daemon ends", async || self.process.try_wait().unwrap()).await;
        status.success()
    }

    /// The exit status; `None` while the daemon runs.
    pub(crate) fn try_ended(&mut self) -> Option<std::process::ExitStatus> {
        self.process.try_wait().unwrap()
    }

    /// The highest memory use of the process, in MiB.
    pub(crate) fn memory_peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() / 1024
    }

    fn end(&mut self) {
        // The process has ended already, which is the aim.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Deref for Daemon {
    type Target = Door;
    fn deref(&self) -> &Door {
        &self.door
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end();
        if std::thread::panicking() {
            eprintln!("what the daemon said last:\n{}", tail(&self.log));
        }
    }
}

/// Reads the output line by line up to its end, so that a full pipe never blocks the process.
fn lines_of(output: impl std::io::Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // The receiver may have been dropped.
            let _ = sender.send(line);
        }
    });
    lines
}

fn tail(log: &PathBuf) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

/// Polls until the closure returns a value. Fails after [`PATIENCE`].
pub(crate) async fn eventually<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    within(PATIENCE, what, look).await
}

/// Polls until the closure returns a value. Fails after the given time.
pub(crate) async fn within<T>(patience: Duration, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(began.elapsed() < patience, "waited {patience:?} in vain: {what}");
        pause(LOOK_AGAIN).await;
    }
}

/// Waits in real time.
#[expect(clippy::disallowed_methods, reason = "the process under test runs in real time")]
pub(crate) async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}
