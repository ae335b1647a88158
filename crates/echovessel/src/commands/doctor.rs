//! `echovessel doctor`: checks everything that a home needs, and prints problems and fixes.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use jiff::{SignedDuration, Timestamp};
use memory::ports::{Clock as _, SessionFilter, SessionStore as _, StoreError};
use memory::{PersonaId, Scope, UserId};
use serde::Serialize;
use store::{Check, HomeDatabase, HomeStore, StoreOptions};
use tokio::net::TcpListener;

use crate::cli::SharedOptions;
use crate::client::Daemon;
use crate::config::{self, Config};
use crate::database::home_database;
use crate::embedding::EmbeddingSetup;
use crate::followed_hub::followed_hub;
use crate::home::Home;
use crate::language_model;
use crate::system::SystemClock;
use crate::wiring::bare_host;

/// Characters of a token that can't be guessed: of 64 kinds, 96 bits.
const TOKEN_LENGTH_MIN: usize = 16;
/// Maximum time that a message may be ahead of the clock before the clock counts as wrong. Clocks of machines that
/// share a home differ by seconds.
const CLOCK_SLACK: SignedDuration = SignedDuration::from_mins(2);

#[derive(Debug, Serialize)]
struct CheckResult {
    what: &'static str,
    ok: bool,
    said: String,
}

pub(crate) async fn doctor(shared: &SharedOptions, home: &Home) -> anyhow::Result<()> {
    let mut findings = Vec::new();
    let config = config::load(&home.config(), std::env::vars());
    findings.push(CheckResult {
        what: "configuration",
        ok: config.is_ok(),
        said: config.as_ref().map_or_else(ToString::to_string, |_| "valid".to_owned()),
    });
    let config = config.unwrap_or_default();
    findings.push(check_files(home));
    findings.push(check_token(home));
    findings.push(check_tls(&config));
    findings.push(check_embedding(&config, home).await);
    findings.push(check_model(&config, home).await);
    findings.extend(check_hub(&config, home).await);
    let daemon = find_daemon(home);
    findings.push(check_port(&config, daemon.runs).await);
    findings.push(daemon.finding);
    findings.extend(check_database(&config, home).await);
    if shared.json {
        println!("{}", serde_json::to_string_pretty(&findings)?);
    } else {
        for finding in &findings {
            println!("{} {:<14} {}", if finding.ok { "✓" } else { "✗" }, finding.what, finding.said);
        }
    }
    if findings.iter().all(|finding| finding.ok) {
        Ok(())
    } else {
        bail!("problems found: see the lines with ✗")
    }
}

fn check_files(home: &Home) -> CheckResult {
    let what = "files";
    if !home.folder().exists() {
        return CheckResult {
            what,
            ok: true,
            said: format!("{} does not exist yet; `echovessel run` creates it", home.folder().display()),
        };
    }
    let open_to_others = |path: &Path, allowed: u32| {
        std::fs::metadata(path).is_ok_and(|entry| entry.permissions().mode() & 0o777 & !allowed != 0)
    };
    let mut wrong: Vec<String> = Vec::new();
    if open_to_others(home.folder(), 0o700) {
        wrong.push(format!("chmod 700 {}", home.folder().display()));
    }
    for name in [
        "echovessel.db",
        "echovessel.db-wal",
        "echovessel.db-shm",
        "token",
        "hub_token",
        "config.toml",
        "lock",
    ] {
        let path = home.folder().join(name);
        if open_to_others(&path, 0o600) {
            wrong.push(format!("chmod 600 {}", path.display()));
        }
    }
    let said = if wrong.is_empty() {
        format!("{} is readable only by you", home.folder().display())
    } else {
        format!("other users can read your memory; run: {}", wrong.join(" && "))
    };
    CheckResult { what, ok: wrong.is_empty(), said }
}

async fn check_embedding(config: &Config, home: &Home) -> CheckResult {
    let what = "embedding";
    let examined = match EmbeddingSetup::new(config, home, Arc::new(SystemClock)) {
        Ok(embedding) => embedding.try_embedder().await,
        Err(error) => Err(error),
    };
    match examined {
        Ok(said) => CheckResult { what, ok: true, said },
        Err(error) => CheckResult {
            what,
            ok: false,
            said: format!("{error:#} (until then, memories are found by words only)"),
        },
    }
}

/// Checks that the hub of this home answers and accepts its token; `None` for a home without a hub.
async fn check_hub(config: &Config, home: &Home) -> Option<CheckResult> {
    let what = "hub";
    let followed = match followed_hub(config, home) {
        Ok(followed) => followed?,
        Err(error) => return Some(CheckResult { what, ok: false, said: error.to_string() }),
    };
    let persona = PersonaId::new(config.persona.id.clone()).ok()?;
    let status = followed.remote.sync_status(&Scope::new(persona, UserId::owner())).await;
    Some(match status {
        Ok(status) => {
            let instance = status.speaks_as.map_or_else(|| "an instance".to_owned(), |id| id.to_string());
            CheckResult {
                what,
                ok: true,
                said: format!("{} answers and knows this home as {instance}", followed.address),
            }
        }
        Err(error) => CheckResult {
            what,
            ok: false,
            said: format!(
                "{error} (until then, documents wait on this \
                machine)"
            ),
        },
    })
}

/// Checks that the owner's token protects the home.
fn check_token(home: &Home) -> CheckResult {
    let what = "token";
    let given = std::env::var("ECHOVESSEL_TOKEN").ok().filter(|token| !token.trim().is_empty());
    let (from, token) = match (given, home.stored_token()) {
        (Some(token), _) => ("ECHOVESSEL_TOKEN", token),
        (None, Ok(Some(token))) => ("stored in the home", token),
        (None, Ok(None)) => {
            let said = "none yet; the first start creates it".to_owned();
            return CheckResult { what, ok: true, said };
        }
        (None, Err(error)) => return CheckResult { what, ok: false, said: format!("{error:#}") },
    };
    let length = token.trim().chars().count();
    let ok = length >= TOKEN_LENGTH_MIN;
    let said = match ok {
        true => format!("{from}, {length} characters long"),
        false => format!(
            "{from} has {length} characters and can be guessed; use {TOKEN_LENGTH_MIN} or more random ones (remove the \
             file `token`, or unset the variable, and the next start creates one)"
        ),
    };
    CheckResult { what, ok, said }
}

fn check_tls(config: &Config) -> CheckResult {
    let what = "tls";
    let (certificates, key) = (&config.server.tls_cert, &config.server.tls_key);
    if certificates.is_empty() {
        return CheckResult { what, ok: true, said: "not configured: plain HTTP on this machine".to_owned() };
    }
    match server::Tls::from_files(Path::new(certificates), Path::new(key)) {
        Ok(_) => CheckResult { what, ok: true, said: format!("{certificates} matches its key") },
        Err(error) => CheckResult { what, ok: false, said: error.to_string() },
    }
}

async fn check_model(config: &Config, home: &Home) -> CheckResult {
    let check = language_model::check(config, home).await;
    let said = match check.is_ok {
        true => check.said,
        false => format!(
            "{}. Messages sent until then are stored and can be retried",
            check.said.trim_end_matches('.')
        ),
    };
    CheckResult { what: "model", ok: check.is_ok, said }
}

struct FoundDaemon {
    runs: bool,
    finding: CheckResult,
}

fn find_daemon(home: &Home) -> FoundDaemon {
    let found = Daemon::find(home);
    let said = match &found {
        Ok(daemon) => format!("process {} answers at {}", daemon.run.pid, daemon.run.url),
        Err(_) => "no daemon is running on this home".to_owned(),
    };
    FoundDaemon { runs: found.is_ok(), finding: CheckResult { what: "daemon", ok: true, said } }
}

/// Checks that a daemon could listen on the configured port.
async fn check_port(config: &Config, daemon_runs: bool) -> CheckResult {
    let what = "port";
    let (host, port) = (bare_host(&config.server.host), config.server.port);
    if daemon_runs {
        return CheckResult { what, ok: true, said: "in use by the daemon of this home".to_owned() };
    }
    match TcpListener::bind((host, port)).await {
        Ok(_) => CheckResult { what, ok: true, said: format!("{port} on {host} is free") },
        Err(error) => {
            let said = format!(
                "{port} on {host} is not available ({error}): stop the program that uses it, set server.port, or use `run --port 0`"
            );
            CheckResult { what, ok: false, said }
        }
    }
}

/// Errors of the database, and of the clock as far as the database shows them.
async fn check_database(config: &Config, home: &Home) -> Vec<CheckResult> {
    let what = "database";
    let database = match open_database(config, home) {
        Ok(Some(database)) => database,
        Ok(None) => {
            let said = home_database(config, home).map(|database| format!("{database} does not exist yet"));
            return vec![CheckResult { what, ok: true, said: said.unwrap_or_default() }];
        }
        Err(error) => return vec![CheckResult { what, ok: false, said: format!("{error:#}") }],
    };
    match run_check(&database).await {
        Ok((check, newest)) => {
            let ok = check.is_intact();
            let whole = || "intact, no orphaned rows".to_owned();
            let said = if ok { whole() } else { list_complaints(&check) };
            vec![CheckResult { what, ok, said }, check_clock(SystemClock.now(), newest)]
        }
        Err(error) => vec![CheckResult { what, ok: false, said: error.to_string() }],
    }
}

/// The database that the configuration names; `None` if the file does not exist yet.
fn open_database(config: &Config, home: &Home) -> anyhow::Result<Option<HomeStore>> {
    match home_database(config, home)? {
        HomeDatabase::Server(address) => {
            Ok(Some(HomeStore::open_on_server_to_read(&address, StoreOptions::default())?))
        }
        HomeDatabase::File(path) if path.exists() => {
            Ok(Some(HomeStore::open(&path, StoreOptions::default())?))
        }
        HomeDatabase::File(_) => Ok(None),
    }
}

/// Runs the database's own check; also returns the time of the newest session's last message.
async fn run_check(database: &HomeStore) -> Result<(Check, Option<Timestamp>), StoreError> {
    let found = database.check().await?;
    let newest = database.sessions(SessionFilter { limit: 1, ..SessionFilter::default() }).await?;
    database.close().await?;
    Ok((found, newest.first().map(|session| session.last_message_at)))
}

/// Checks that time did not go backwards: the newest message can't be ahead of the clock.
fn check_clock(now: Timestamp, newest: Option<Timestamp>) -> CheckResult {
    let what = "clock";
    let ahead = newest.filter(|newest| newest.duration_since(now) > CLOCK_SLACK);
    let said = match ahead {
        None => format!("{now:.0}, later than every message"),
        Some(newest) => format!(
            "{now:.0}, but the newest message is from {newest:.0}: correct the machine's clock, or days and sessions will be wrong"
        ),
    };
    CheckResult { what, ok: ahead.is_none(), said }
}

fn list_complaints(check: &Check) -> String {
    let counted = [
        (check.broken_references, "rows refer to missing rows"),
        (check.orphan_vectors, "vectors refer to missing rows"),
        (check.orphan_words, "index rows refer to missing rows"),
        (check.missing_words, "rows are missing in the word index"),
        (check.wrong_counters, "counters are wrong"),
    ];
    let counted =
        counted.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    check.complaints.iter().cloned().chain(counted).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_back_is_found() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let now = at("2026-05-02T19:00:00Z");
        assert!(check_clock(now, None).ok);
        assert!(check_clock(now, Some(at("2026-05-02T19:01:00Z"))).ok);
        let behind = check_clock(now, Some(at("2027-01-01T00:00:00Z")));
        assert!(!behind.ok && behind.said.contains("2027-01-01T00:00:00Z"), "{}", behind.said);
    }
}
