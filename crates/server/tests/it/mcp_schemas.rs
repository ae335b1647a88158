//! The names of the hub's tools, and the schemas of their arguments.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::home::{Home, TOKEN};
use crate::mcp::say;

/// The tools in the answer to `tools/list`.
pub(crate) async fn tools(home: &Home, token: &str) -> Vec<Value> {
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let answer = say(home, token, list).await.json();
    answer["result"]["tools"].as_array().unwrap().clone()
}

#[tokio::test]
async fn every_tool_of_the_compatibility_list_is_there_once() {
    let tools = tools(&Home::new().await, TOKEN).await;
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let once: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), once.len());
    let count = |prefix: &str| names.iter().filter(|name| name.starts_with(prefix)).count();
    assert_eq!(count("identity_"), 9);
    assert_eq!(count("memory_") + count("embedding_"), 11);
    assert_eq!(count("sync_"), 3);
    assert_eq!(count("snapshot_"), 4);
    assert_eq!(count("graph_"), 15);
    assert_eq!(count("entity_"), 2);
    let living = [
        "recall",
        "remember",
        "correct",
        "correct_undo",
        "forget_preview",
        "forget",
        "conflict_list",
        "conflict_resolve",
    ];
    assert!(living.iter().all(|name| once.contains(name)));
    assert_eq!(names.len(), 52);
}

#[tokio::test]
async fn schemas_say_what_is_meant_where_nothing_is_said() {
    let tools = tools(&Home::new().await, TOKEN).await;
    let field = |tool: &str, field: &str| {
        let found = tools.iter().find(|known| known["name"] == tool).unwrap();
        found["inputSchema"]["properties"][field].clone()
    };
    for (tool, name, default) in [
        ("memory_list", "limit", json!(20)),
        ("memory_list", "offset", json!(0)),
        ("memory_grep", "maxResults", json!(20)),
        ("graph_node_search", "minScore", json!(0.3)),
        ("graph_node_search", "limit", json!(10)),
        ("graph_node_list", "limit", json!(100)),
        ("graph_node_list", "offset", json!(0)),
        ("graph_node_create", "confidence", json!(0.5)),
        ("graph_edge_create", "weight", json!(0.5)),
        ("graph_traverse", "direction", json!("out")),
        ("graph_traverse", "maxDepth", json!(2)),
        ("graph_traverse", "limit", json!(50)),
        ("graph_subgraph", "depth", json!(2)),
    ] {
        assert_eq!(field(tool, name)["default"], default, "{tool} {name}");
    }
    for tool in ["graph_node_update", "graph_edge_update"] {
        assert_eq!(field(tool, "instanceId")["type"], "string", "{tool}");
    }
}

#[tokio::test]
async fn schemas_name_what_every_tool_takes_and_hold_no_references() {
    for tool in tools(&Home::new().await, TOKEN).await {
        let schema = tool["inputSchema"].to_string();
        assert!(schema.contains("persona_id") && schema.contains("user_id"), "{}", tool["name"]);
        assert!(!schema.contains("$ref") && !schema.contains("null"), "{}: {schema}", tool["name"]);
        assert_eq!(tool["inputSchema"]["type"], "object", "{}", tool["name"]);
    }
}
