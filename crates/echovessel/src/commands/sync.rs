//! `echovessel sync`: peers, and the programs that speak with the hub.

use std::io::{IsTerminal as _, Write as _};

use anyhow::{Context as _, bail};
use reqwest::Method;
use serde_json::{Value, json};

use crate::cli::{Shared, SyncCommand};
use crate::client::Daemon;
use crate::home::Home;

pub(crate) async fn sync(shared: &Shared, home: &Home, command: SyncCommand) -> anyhow::Result<()> {
    let daemon = Daemon::find(home)?;
    match command {
        SyncCommand::Add { url, name, token_env } => add(shared, &daemon, url, name, token_env).await,
        SyncCommand::Now => now(shared, &daemon).await,
        SyncCommand::Status => status(shared, &daemon).await,
        SyncCommand::Remove { name } => {
            let answer = daemon.ask(Method::DELETE, &format!("/api/admin/sync/peers/{name}"), None).await?;
            print(shared, &answer, || println!("Removed the peer `{name}`. What it has stays there."));
            Ok(())
        }
    }
}

async fn add(
    shared: &Shared,
    daemon: &Daemon,
    url: String,
    name: Option<String>,
    token_env: Option<String>,
) -> anyhow::Result<()> {
    let token = match token_env {
        None => read_token()?,
        Some(variable) => std::env::var(&variable)
            .with_context(|| format!("{variable} holds no token; nothing was changed"))?,
    };
    let body = json!({"url": url, "name": name, "token": token});
    let answer = daemon.ask(Method::POST, "/api/admin/sync/peers", Some(body)).await?;
    print(shared, &answer, || {
        println!("Added {url}. The first exchange has begun; `echovessel sync status` shows how it stands.");
    });
    Ok(())
}

/// The token from standard input, so that it is in no list of processes.
fn read_token() -> anyhow::Result<String> {
    if std::io::stdin().is_terminal() {
        eprint!("Token that the other machine printed (`echovessel token create --scope peer:NAME`): ");
        std::io::stderr().flush()?;
    }
    let mut token = String::new();
    std::io::stdin().read_line(&mut token)?;
    let token = token.trim();
    if token.is_empty() {
        bail!("no token was given; nothing was changed");
    }
    Ok(token.to_owned())
}

async fn now(shared: &Shared, daemon: &Daemon) -> anyhow::Result<()> {
    let answer = daemon.ask(Method::POST, "/api/admin/sync/now", None).await?;
    print(shared, &answer, || {
        for peer in list(&answer, "peers") {
            println!("  {}  received {}  sent {}", text(peer, "name"), peer["received"], peer["sent"]);
            print_error(peer);
        }
    });
    let failed = list(&answer, "peers").iter().any(|peer| peer["error"].is_string());
    if failed && !shared.json {
        bail!("not every peer could be reached; changes wait here and are sent when it is back");
    }
    Ok(())
}

async fn status(shared: &Shared, daemon: &Daemon) -> anyhow::Result<()> {
    let mut status = daemon.ask(Method::GET, "/api/hub/status", None).await?;
    let peers = daemon.ask(Method::GET, "/api/admin/sync", None).await?;
    if shared.json {
        status["peers"] = peers["peers"].clone();
        println!("{status}");
        return Ok(());
    }
    if list(&peers, "peers").is_empty() {
        println!("No peers. `echovessel sync add URL` adds one.");
    }
    for peer in list(&peers, "peers") {
        println!(
            "  {}  last seen {}  to send {}  erasures waiting {}  conflicts {}",
            text(peer, "name"),
            peer["last_seen"].as_str().unwrap_or("never"),
            peer["waiting"],
            peer["waiting_erasures"],
            peer["conflicts"]
        );
        print_error(peer);
    }
    println!(
        "The hub stands at version {}; {} conflicts wait.",
        status["serverVersion"], status["openConflicts"]
    );
    let instances = list(&status, "connectedInstances");
    if instances.is_empty() {
        println!("No other instance has spoken with it yet.");
    }
    for instance in instances {
        println!(
            "  {}  {}  last heard {}",
            text(instance, "id"),
            text(instance, "type"),
            text(instance, "lastSync")
        );
    }
    Ok(())
}

fn print(shared: &Shared, answer: &Value, for_people: impl FnOnce()) {
    if shared.json { println!("{answer}") } else { for_people() }
}

fn print_error(peer: &Value) {
    if let Some(error) = peer["error"].as_str() {
        println!("      {error}");
    }
}

fn list<'a>(answer: &'a Value, field: &str) -> &'a [Value] {
    answer[field].as_array().map_or(&[][..], Vec::as_slice)
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}
