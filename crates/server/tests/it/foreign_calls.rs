//! Every tool call gets an answer: a result, a refusal, or an error that names the invalid argument. The seeds of the
//! fuzz target `tool` run here, and also arguments generated from every tool's schema.

use axum::http::{Method, StatusCode};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::home::{Home, TOKEN};

async fn say(home: &Home, method: &str, params: Value) -> Value {
    let kinds = "application/json, text/event-stream";
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let answer = home.ask_accepting(TOKEN, Method::POST, "/mcp", Some(message), kinds).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    answer.json()
}

/// A call in the format of a seed: the tool's name, a line break, its arguments as JSON.
pub(crate) async fn call_is_answered(home: &Home, bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (tool, arguments) = text.split_once('\n').unwrap_or((text, "{}"));
    let Ok(arguments) = serde_json::from_str::<Value>(arguments) else { return };
    is_answered(home, tool, arguments).await;
}

async fn is_answered(home: &Home, tool: &str, arguments: Value) {
    let told = || format!("{tool} with {arguments}");
    let answer = say(home, "tools/call", json!({"name": tool, "arguments": arguments.clone()})).await;
    if let Some(error) = answer.get("error") {
        // The protocol's own refusals; an internal error is -32603.
        assert_ne!(error["code"], -32603, "{}: {answer}", told());
        return;
    }
    let result = &answer["result"];
    let said = result["content"][0]["text"].as_str().unwrap_or_default();
    assert!(!said.is_empty() || result["structuredContent"].is_object(), "{}: {answer}", told());
    assert!(!said.contains("panicked") && !said.contains("SQLite"), "{}: {said}", told());
}

#[tokio::test]
async fn every_seed_of_a_call_is_answered() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/tool");
    let home = Home::new().await;
    let mut called = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        call_is_answered(&home, &bytes).await;
        called += 1;
    }
    assert!(called >= 20, "only {called} seeds");
}

/// Values that are valid nowhere, and almost valid ones.
fn odd() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!(0.5),
        json!(u64::MAX),
        json!(""),
        json!("x"),
        json!("../../etc"),
        json!("self"),
        json!("daily"),
        json!("2026-13-99"),
        json!("2026-07-01"),
        json!("2026-W53"),
        json!("小黑\u{0}\u{202e}"),
        json!("a".repeat(5_000)),
        json!([]),
        json!(["x", 3, null]),
        json!([{}]),
        json!({}),
        json!({"id": "x"}),
        json!({"a": {"b": [1]}}),
        json!("00000000-0000-0000-0000-000000000000"),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_tool_bears_what_does_not_fit(values in prop::collection::vec(odd(), 60), skip in 2usize..6) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let home = Home::new().await;
            let tools = say(&home, "tools/list", json!({})).await["result"]["tools"].clone();
            let mut values = values.iter().cycle();
            for tool in tools.as_array().unwrap() {
                let names = tool["inputSchema"]["properties"].as_object().unwrap().keys();
                let all: serde_json::Map<String, Value> =
                    names.map(|name| (name.clone(), values.next().unwrap().clone())).collect();
                let some = all.iter().enumerate().filter(|(index, _)| index % skip != 0);
                let some: serde_json::Map<String, Value> =
                    some.map(|(_, (name, value))| (name.clone(), value.clone())).collect();
                let name = tool["name"].as_str().unwrap();
                is_answered(&home, name, Value::Object(some)).await;
                is_answered(&home, name, Value::Object(all)).await;
            }
        });
    }
}
