//! `echovessel sync`: the shared self and those who speak with it.

use reqwest::Method;

use crate::cli::{Shared, SyncCommand};
use crate::client::Daemon;
use crate::home::Home;

pub(crate) async fn sync(shared: &Shared, home: &Home, command: &SyncCommand) -> anyhow::Result<()> {
    let SyncCommand::Status = command;
    let daemon = Daemon::find(home)?;
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
        let text = |name: &str| instance[name].as_str().unwrap_or_default();
        println!("  {}  {}  last heard {}", text("id"), text("type"), text("lastSync"));
    }
    Ok(())
}
