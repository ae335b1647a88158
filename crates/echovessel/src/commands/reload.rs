//! `echovessel reload`: makes the daemon reload `config.toml`, and prints what took effect.

use reqwest::Method;
use serde_json::Value;

use crate::cli::SharedOptions;
use crate::client::Daemon;
use crate::home::Home;

pub(crate) async fn reload(shared: &SharedOptions, home: &Home) -> anyhow::Result<()> {
    let daemon = Daemon::find(home)?;
    let answer = daemon.ask(Method::POST, "/api/admin/reload", None).await?;
    if shared.json {
        println!("{answer}");
        return Ok(());
    }
    let keys = |name: &str| {
        let keys = answer[name].as_array().into_iter().flatten().filter_map(Value::as_str);
        keys.collect::<Vec<_>>().join(", ")
    };
    let (reloaded, waiting) = (keys("reloaded"), keys("restart_required"));
    if !reloaded.is_empty() {
        println!("Applied: {reloaded}");
    }
    if !waiting.is_empty() {
        println!("Applies after a restart: {waiting}");
    }
    if reloaded.is_empty() && waiting.is_empty() {
        println!("No settings changed.");
    }
    Ok(())
}
