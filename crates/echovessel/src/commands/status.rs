//! `echovessel status`: prints the state of the running daemon.

use reqwest::Method;
use serde_json::Value;

use crate::cli::SharedOptions;
use crate::client::Daemon;
use crate::home::Home;

pub(crate) async fn status(shared: &SharedOptions, home: &Home) -> anyhow::Result<()> {
    let daemon = Daemon::find(home)?;
    let status = daemon.ask(Method::GET, "/api/admin/status", None).await?;
    let state = daemon.ask(Method::GET, "/api/state", None).await?;
    let model = daemon.ask(Method::POST, "/api/admin/model/check", None).await?;
    if shared.json {
        println!(
            "{}",
            serde_json::json!({"run": daemon.run, "status": status, "state": state, "model": model})
        );
        return Ok(());
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    println!("EchoVessel {} answers at {}", text(&status["version"]), daemon.run.url);
    println!("  process   {}, up {} s", daemon.run.pid, text(&status["uptime_seconds"]));
    println!("  persona   {}", text(&state["persona"]["display_name"]));
    let fault = if model["ok"] == true { String::new() } else { format!(": {}", text(&model["detail"])) };
    println!("  model     {} {}{fault}", text(&model["llm"]["provider"]), text(&model["llm"]["model"]));
    let counts = &state["memory_counts"];
    println!(
        "  memory    {} messages, {} events, {} thoughts",
        counts["messages"], counts["events"], counts["thoughts"]
    );
    println!("  vectors   {}", vectors_line(&status["embedding"], &status["vectors"]));
    println!(
        "  work      {} sessions waiting, {} failed",
        text(&status["sessions"]["waiting"]),
        text(&status["sessions"]["failed"])
    );
    let sync = daemon.ask(Method::GET, "/api/sync", None).await?;
    if sync["state"] != "off" {
        println!("  hub       {}", super::sync::sync_state_line(&sync));
    }
    let spending = &status["spending"];
    println!("  spent     {:.2} US dollars today", spending["today_usd"].as_f64().unwrap_or_default());
    if let Some(notice) = spending["notice"].as_str() {
        println!("  paused    {notice}");
    }
    Ok(())
}

/// The embedding model and its progress.
fn vectors_line(embedding: &Value, vectors: &Value) -> String {
    let (Some(rows), Some(made)) = (vectors["rows"].as_u64(), vectors["with_vector"].as_u64()) else {
        return "off: memories are found only by their words".to_owned();
    };
    let model = embedding["model"].as_str().unwrap_or("no model available");
    let mut line = format!("{model}: {made} of {rows} messages and memories");
    if let (Some(chunks), Some(made)) = (vectors["chunks"].as_u64(), vectors["chunks_with_vector"].as_u64())
        && chunks > 0
    {
        line = format!("{line}, {made} of {chunks} chunks of documents");
    }
    if vectors["serving_meanwhile"].is_string() {
        line += "; the previous model serves until they are complete";
    }
    if let Some(failure) = vectors["failure"].as_str() {
        line = format!("{line}; paused: {failure}");
    }
    line
}
