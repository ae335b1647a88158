//! One archive with all data of the hub, over the tools.

use serde_json::{Value, json};

use crate::home::{Home, TOKEN};
use crate::mcp::call;

async fn answer(home: &Home, tool: &str, arguments: Value) -> Value {
    let result = call(home, TOKEN, tool, arguments).await;
    assert!(result["isError"].is_null(), "{tool}: {result}");
    result["structuredContent"].clone()
}

fn significant(slug: &str, content: &str) -> Value {
    json!({"granularity": "significant", "date": "2026-05-01", "slug": slug, "instanceId": "laptop", "content": content})
}

async fn read_memory(home: &Home, slug: &str) -> Value {
    let read = json!({"granularity": "significant", "date": "2026-05-01", "slug": slug});
    answer(home, "memory_read", read).await["memory"]["content"].clone()
}

#[tokio::test]
async fn import_overwrites_documents_of_the_same_name_and_keeps_the_others() {
    let home = Home::new().await;
    answer(&home, "memory_create", significant("dog", "the dog was blue")).await;
    let archive = answer(&home, "entity_export", json!({})).await["data"].clone();
    let archived = read_memory(&home, "dog").await;
    answer(&home, "memory_update", significant("dog", "the dog was green")).await;
    answer(&home, "memory_create", significant("cat", "the cat was grey")).await;

    let imported = answer(&home, "entity_import", json!({"data": archive, "mode": "overwrite"})).await;
    assert_eq!(imported["success"], true, "{imported}");
    let message = imported["message"].as_str().unwrap();
    for says in ["replaced the text of 1 documents", "1 documents that are not in the archive are unchanged"]
    {
        assert!(message.contains(says), "{message}");
    }
    assert_eq!(read_memory(&home, "dog").await, archived, "the archive's text replaces it");
    assert!(
        read_memory(&home, "cat").await.as_str().unwrap().contains("grey"),
        "the archive does not hold it"
    );
    let path = "/api/hub/documents/significant/2026-05-01_dog.md/versions";
    let versions = home.get(path).await.json().to_string();
    assert!(versions.contains("the dog was green"), "the replaced text is kept as a version: {versions}");
}
