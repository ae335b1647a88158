//! `echovessel mcp` writes only protocol messages to its standard output.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::daemon::{Home, Settings, command};

/// Log lines on standard output broke the protocol (defect 10).
#[test]
fn defect_10_nothing_but_messages_is_on_standard_output() {
    let home = Home::new();
    let settings = Settings::offline().variable("ECHOVESSEL_LOG", "trace");
    let mut process = command(&home, &settings, &["mcp", "--instance", "laptop"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let client = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let content = format!("- 很长的一天 {}[chat:1] [via:laptop]", "long ".repeat(60));
    let day = json!({"granularity": "daily", "date": "2026-05-02", "content": content});
    let mut input = process.stdin.take().unwrap();
    for message in [
        json!({"id": 0, "method": "initialize", "params": hello}),
        json!({"method": "notifications/initialized"}),
        json!({"id": 1, "method": "tools/call", "params": {"name": "memory_create", "arguments": day}}),
        json!({"id": 2, "method": "tools/call", "params": {"name": "snapshot_create", "arguments": {}}}),
        json!({"id": 3, "method": "tools/call", "params": {"name": "no_such_tool", "arguments": {}}}),
    ] {
        let mut message = message;
        message["jsonrpc"] = json!("2.0");
        writeln!(input, "{message}").unwrap();
    }
    drop(input);
    let said = process.wait_with_output().unwrap();
    assert!(said.status.success());
    let lines = String::from_utf8(said.stdout).unwrap();
    let messages = lines.lines().map(|line| serde_json::from_str(line).expect(line));
    let messages: Vec<Value> = messages.collect();
    assert!(messages.iter().all(|message| message["jsonrpc"] == "2.0"), "{lines}");
    let mut answered: Vec<&Value> = messages.iter().map(|message| &message["id"]).collect();
    answered.sort_by_key(|id| id.as_u64());
    assert_eq!(answered, [&json!(0), &json!(1), &json!(2), &json!(3)], "{lines}");
    let log = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(log.contains("database created"), "it logged, but not on standard output: {log}");
}
