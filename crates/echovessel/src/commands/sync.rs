//! `echovessel sync`: the programs that speak with the hub.

use reqwest::Method;
use serde_json::Value;

use crate::cli::{Shared, SyncCommand};
use crate::client::Daemon;
use crate::home::Home;

pub(crate) async fn sync(shared: &Shared, home: &Home, command: SyncCommand) -> anyhow::Result<()> {
    match command {
        SyncCommand::Status => status(shared, &Daemon::find(home)?).await,
    }
}

async fn status(shared: &Shared, daemon: &Daemon) -> anyhow::Result<()> {
    let status = daemon.ask(Method::GET, "/api/hub/status", None).await?;
    if shared.json {
        println!("{status}");
        return Ok(());
    }
    println!(
        "The hub stands at version {}; {} conflicts wait.",
        status["serverVersion"], status["openConflicts"]
    );
    let instances = status["connectedInstances"].as_array().map_or(&[][..], Vec::as_slice);
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

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}
