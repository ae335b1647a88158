//! `echovessel doctor`: looks at everything a home needs, and says what is wrong and how to mend it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use memory::ports::StoreError;
use serde::Serialize;
use store::{Check, SqliteStore, StoreOptions};

use crate::cli::Shared;
use crate::client::Daemon;
use crate::config::{self, Config};
use crate::embedding::Embedding;
use crate::home::Home;
use crate::wiring::database_path;
use crate::world::SystemClock;

#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    ok: bool,
    said: String,
}

pub(crate) async fn doctor(shared: &Shared, home: &Home) -> anyhow::Result<()> {
    let mut findings = Vec::new();
    let config = config::load(&home.config(), std::env::vars());
    findings.push(Finding {
        what: "configuration",
        ok: config.is_ok(),
        said: config
            .as_ref()
            .map_or_else(ToString::to_string, |_| "every key is known and has a value that fits".to_owned()),
    });
    let config = config.unwrap_or_default();
    findings.push(files(home));
    findings.push(embedding(&config, home).await);
    findings.push(daemon(home));
    findings.push(database(&config, home).await);
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
        bail!("something needs care: see the lines with ✗")
    }
}

fn files(home: &Home) -> Finding {
    let what = "files";
    if !home.folder().exists() {
        return Finding {
            what,
            ok: true,
            said: format!("{} is not there yet; `echovessel run` makes it", home.folder().display()),
        };
    }
    let open_to_others = |path: &Path, allowed: u32| {
        std::fs::metadata(path).is_ok_and(|entry| entry.permissions().mode() & 0o777 & !allowed != 0)
    };
    let mut wrong: Vec<String> = Vec::new();
    if open_to_others(home.folder(), 0o700) {
        wrong.push(format!("chmod 700 {}", home.folder().display()));
    }
    for name in ["echovessel.db", "echovessel.db-wal", "echovessel.db-shm", "token", "config.toml", "lock"] {
        let path = home.folder().join(name);
        if open_to_others(&path, 0o600) {
            wrong.push(format!("chmod 600 {}", path.display()));
        }
    }
    let said = if wrong.is_empty() {
        format!("{} is readable by you alone", home.folder().display())
    } else {
        format!("others can read your memory; run: {}", wrong.join(" && "))
    };
    Finding { what, ok: wrong.is_empty(), said }
}

async fn embedding(config: &Config, home: &Home) -> Finding {
    let what = "embedding";
    let examined = match Embedding::new(config, home, Arc::new(SystemClock)) {
        Ok(embedding) => embedding.examine().await,
        Err(error) => Err(error),
    };
    match examined {
        Ok(said) => Finding { what, ok: true, said },
        Err(error) => {
            Finding { what, ok: false, said: format!("{error:#} (memory works on words alone meanwhile)") }
        }
    }
}

fn daemon(home: &Home) -> Finding {
    let said = match Daemon::find(home) {
        Ok(daemon) => format!("process {} answers at {}", daemon.run.pid, daemon.run.url),
        Err(_) => "no daemon runs on this home".to_owned(),
    };
    Finding { what: "daemon", ok: true, said }
}

async fn database(config: &Config, home: &Home) -> Finding {
    let what = "database";
    let path = database_path(config, home);
    if !path.exists() {
        return Finding { what, ok: true, said: format!("{} is not there yet", path.display()) };
    }
    match checked(&path).await {
        Ok(check) if check.is_whole() => {
            Finding { what, ok: true, said: "whole, and every row belongs to something".to_owned() }
        }
        Ok(check) => Finding { what, ok: false, said: complaints(&check) },
        Err(error) => Finding { what, ok: false, said: error.to_string() },
    }
}

async fn checked(path: &Path) -> Result<Check, StoreError> {
    let database = SqliteStore::open(path, StoreOptions::default())?;
    let found = database.check().await?;
    database.close().await?;
    Ok(found)
}

fn complaints(check: &Check) -> String {
    let counted = [
        (check.broken_references, "rows refer to rows that are gone"),
        (check.orphan_vectors, "vectors belong to nothing"),
        (check.orphan_words, "index rows belong to nothing"),
        (check.missing_words, "rows are missing in the word index"),
        (check.wrong_counters, "counters are wrong"),
    ];
    let counted =
        counted.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    check.complaints.iter().cloned().chain(counted).collect::<Vec<_>>().join("; ")
}
