//! `echovessel status`: how the running daemon is doing.

use reqwest::Method;
use serde_json::Value;

use crate::cli::Shared;
use crate::client::Daemon;
use crate::home::Home;

pub(crate) async fn status(shared: &Shared, home: &Home) -> anyhow::Result<()> {
    let daemon = Daemon::find(home)?;
    let status = daemon.ask(Method::GET, "/api/admin/status", None).await?;
    let state = daemon.ask(Method::GET, "/api/state", None).await?;
    if shared.json {
        println!("{}", serde_json::json!({"run": daemon.run, "status": status, "state": state}));
        return Ok(());
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    println!("EchoVessel {} answers at {}", text(&status["version"]), daemon.run.url);
    println!("  process   {}, up {} s", daemon.run.pid, text(&status["uptime_seconds"]));
    println!("  persona   {}", text(&state["persona"]["display_name"]));
    println!("  model     {} {}", text(&state["llm"]["provider"]), text(&state["llm"]["model"]));
    let counts = &state["memory_counts"];
    println!(
        "  memory    {} messages, {} events, {} thoughts",
        counts["messages"], counts["events"], counts["thoughts"]
    );
    println!(
        "  work      {} sessions wait, {} failed",
        text(&status["sessions"]["waiting"]),
        text(&status["sessions"]["failed"])
    );
    let spending = &status["spending"];
    println!("  spent     {:.2} US dollars today", spending["today_usd"].as_f64().unwrap_or_default());
    if let Some(notice) = spending["notice"].as_str() {
        println!("  paused    {notice}");
    }
    Ok(())
}
