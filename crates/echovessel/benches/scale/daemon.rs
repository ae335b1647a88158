//! A daemon as its own process.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use reqwest::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Failed;

/// The process; killed on drop.
pub(crate) struct Daemon {
    process: Child,
    url: String,
    token: String,
    home: TempDir,
}

impl Daemon {
    pub(crate) async fn start(database: &str) -> Result<Self, Failed> {
        Self::start_in(TempDir::new()?, database, "0ms").await
    }

    /// Starts a daemon that does not reply to any message within the next hour.
    pub(crate) async fn start_silent(database: &str) -> Result<Self, Failed> {
        Self::start_in(TempDir::new()?, database, "1h").await
    }

    /// Stops the daemon and starts it again with the same home.
    pub(crate) async fn start_again(mut self, database: &str) -> Result<Self, Failed> {
        self.end();
        let home = std::mem::replace(&mut self.home, TempDir::new()?);
        Self::start_in(home, database, "0ms").await
    }

    async fn start_in(home: TempDir, database: &str, debounce: &str) -> Result<Self, Failed> {
        let mut process = Command::new(env!("CARGO_BIN_EXE_echovessel"))
            .args(["run", "--port", "0", "--no-open", "--json", "--home"])
            .arg(home.path())
            .env_clear()
            .env("HOME", home.path())
            .env("ECHOVESSEL__STORAGE__URL", database)
            .env("ECHOVESSEL__LLM__PROVIDER", "offline")
            .env("ECHOVESSEL__EMBEDDING__PROVIDER", "none")
            .env("ECHOVESSEL__CHANNELS__WEB__DEBOUNCE", debounce)
            .env("ECHOVESSEL__LIMITS__TURNS_PER_DAY", "0")
            .env("ECHOVESSEL__LIMITS__REQUESTS_PER_SECOND", "0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = process.stdout.take().ok_or("no output")?;
        let first = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            BufReader::new(output).read_line(&mut line).map(|_| line)
        });
        let said: Value = serde_json::from_str(&first.await??)?;
        let url = said["url"].as_str().ok_or("no address")?.to_owned();
        let token = std::fs::read_to_string(home.path().join("token"))?.trim().to_owned();
        Ok(Self { process, url, token, home })
    }

    pub(crate) async fn post(&self, http: &Client, path: &str, body: &Value) -> Result<(), Failed> {
        let request = http.post(format!("{}{path}", self.url)).bearer_auth(&self.token).json(body);
        let answer = request.send().await?;
        let status = answer.status();
        let text = answer.text().await?;
        if status.is_success() { Ok(()) } else { Err(format!("{path}: {status} {text}").into()) }
    }

    /// Runs one turn up to the end of its reply.
    pub(crate) async fn say(&self, http: &Client, persona: &str, number: usize) -> Result<(), Failed> {
        let text = sentence(number);
        let body = json!({"model": persona, "user": "self", "messages": [{"role": "user", "content": text}]});
        self.post(http, "/v1/chat/completions", &body).await
    }

    /// Memory of the process, in MiB.
    pub(crate) fn resident_mib(&self) -> Result<f64, Failed> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no size")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse::<f64>()? / 1024.0)
    }

    fn end(&mut self) {
        // The process may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end();
    }
}

/// A message as a person may write it, with other words for each number.
fn sentence(number: usize) -> String {
    const WHO: [&str; 8] =
        ["My sister", "The neighbour", "Our teacher", "I", "Grandfather", "A colleague", "The baker", "Nora"];
    const DID: [&str; 9] =
        ["painted", "lost", "repaired", "cooked", "sold", "dreamt of", "photographed", "forgot", "found"];
    const WHAT: [&str; 11] = [
        "an old clock",
        "a green bicycle",
        "some soup",
        "the piano",
        "a letter",
        "three apples",
        "a wooden boat",
        "her glasses",
        "the map",
        "a violin",
        "his umbrella",
    ];
    const WHERE: [&str; 13] = [
        "at the harbour",
        "in the kitchen",
        "near the station",
        "on the roof",
        "behind the school",
        "in the garden",
        "by the river",
        "at work",
        "in the attic",
        "under the bridge",
        "at the market",
        "in the library",
        "on the train",
    ];
    let pick = |words: &[&'static str]| words[number % words.len()];
    format!("{} {} {} {}.", pick(&WHO), pick(&DID), pick(&WHAT), pick(&WHERE))
}
