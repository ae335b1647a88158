//! The program as a process of its own, on a scratch home, started and killed as a person's would be.

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

/// How long anything may take that takes a moment on an idle machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// How long to wait before looking again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A home that nobody else uses. It outlives its daemons, so that one can be killed and another started on it.
///
/// Its memory is in a database of its own on the PostgreSQL server that `ECHOVESSEL_TEST_POSTGRES` names, or in its file.
pub(crate) struct Home {
    folder: TempDir,
    database: Option<String>,
}

/// Everything in a database on a server. A dump fails while an erasure exchanges an index that it had just found.
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

    /// Whether its memory holds these bytes anywhere, as far as its database can be asked.
    pub(crate) fn holds(&self, part: &str) -> bool {
        let bytes = match &self.database {
            Some(database) => dumped(database),
            None => std::fs::read(self.file("echovessel.db")).unwrap(),
        };
        assert!(!bytes.is_empty());
        testkit::contains_words(&bytes, part)
    }

    /// Whether its memory is in a database on a server.
    pub(crate) fn is_on_server(&self) -> bool {
        self.database.is_some()
    }

    /// Whether its memory was ever begun.
    pub(crate) fn has_memory(&self) -> bool {
        match &self.database {
            Some(database) => !postgres::query(database, "SELECT 1 FROM personas").unwrap().is_empty(),
            None => self.file("echovessel.db").exists(),
        }
    }

    /// The home itself, which the program makes.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// A file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// What its daemons have written to standard error.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }
}

/// What the program is told by its environment, which is all it is told.
#[derive(Clone)]
pub(crate) struct Settings {
    environment: Vec<(String, String)>,
}

impl Settings {
    /// Short waits, words alone, and this model.
    pub(crate) fn talking_to(model: &ScriptedModel) -> Self {
        Self::quick()
            .key("llm.provider", "openai")
            .key("llm.base_url", model.base_url())
            .key("llm.model", "scripted")
            .key("llm.max_retries", 0)
    }

    /// Short waits, words alone, and no model.
    pub(crate) fn offline() -> Self {
        Self::quick().key("llm.provider", "offline")
    }

    /// Short waits and words alone; the model is the file's.
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

    /// The home's own defaults, for commands that need none of the above.
    pub(crate) fn none() -> Self {
        Self { environment: Vec::new() }
    }

    /// Sets a key of the configuration, as `session.idle`.
    pub(crate) fn key(self, key: &str, value: impl ToString) -> Self {
        self.variable(&format!("ECHOVESSEL__{}", key.to_uppercase().replace('.', "__")), value)
    }

    /// Sets any environment variable.
    pub(crate) fn variable(mut self, name: &str, value: impl ToString) -> Self {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.to_string()));
        self
    }
}

/// `echovessel <arguments>` on this home, with nothing of the environment that runs the tests.
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

/// A daemon that is up. Killed when dropped.
pub(crate) struct Daemon {
    process: Child,
    door: Door,
    /// The one-time link to the page that it printed.
    pub(crate) login: String,
    log: PathBuf,
}

impl Daemon {
    /// Starts it and waits until it says where it answers.
    pub(crate) async fn start(home: &Home, settings: &Settings) -> Self {
        Self::start_at(home, settings, 0).await
    }

    /// The same on this port; 0 takes any free one.
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
            // It may have ended already.
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

    /// Its door, for whoever must not hold the daemon itself.
    pub(crate) fn door(&self) -> Door {
        self.door.clone()
    }

    /// Sends it a signal by its name, as `HUP`.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Kills it at once, as `kill -9` does, and waits until it is gone.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    /// Waits until it has ended by itself, and says whether it ended well.
    pub(crate) async fn ended(&mut self) -> bool {
        let status = eventually("the daemon ends", async || self.process.try_wait().unwrap()).await;
        status.success()
    }

    /// The exit status; `None` while it runs.
    pub(crate) fn try_ended(&mut self) -> Option<std::process::ExitStatus> {
        self.process.try_wait().unwrap()
    }

    /// The most memory that it ever held, in MiB.
    pub(crate) fn memory_peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() / 1024
    }

    fn end(&mut self) {
        // It may be gone already, which is what is wanted.
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

/// Its output line by line; read to the end, so that the process is never held up by a full pipe.
fn lines_of(output: impl std::io::Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // Whoever listened may be gone.
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

/// Looks again and again until there is something to see. Fails after [`PATIENCE`].
pub(crate) async fn eventually<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    within(PATIENCE, what, look).await
}

/// Looks again and again until there is something to see, for so long.
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

/// Lets real time pass.
#[expect(clippy::disallowed_methods, reason = "the process under test runs in real time")]
pub(crate) async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}
