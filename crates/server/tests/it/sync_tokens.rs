//! What an instance was sent, by its tokens or without any.

use serde_json::{Value, json};

use crate::home::{Home, TOKEN};
use crate::sync::{answer, erase, memory, pull, push};

/// The instances in the receipt of the newest erasure: those that were reached, and those that were not.
async fn reached(home: &Home) -> (Value, Value) {
    let receipt = home.get("/api/admin/memory/receipts").await.json()["receipts"][0].clone();
    let names = receipt["reached"].as_array().unwrap().iter().map(|reached| reached["id"].clone()).collect();
    let waiting =
        receipt["not_reached"].as_array().unwrap().iter().map(|waits| waits["name"].clone()).collect();
    (names, waiting)
}

#[tokio::test]
async fn client_without_since_acknowledges_a_deletion_with_its_next_pull() {
    let home = Home::new().await;
    push(&home, "laptop", memory("dolphin", "text", "2026-05-01T10:00:00Z", Value::Null)).await;
    pull(&home, "tablet", Value::Null).await;
    erase(&home, "dolphin").await;
    assert_eq!(pull(&home, "tablet", Value::Null).await["memories"][0]["deleted"], true);
    assert!(reached(&home).await.1.as_array().unwrap().contains(&json!("tablet")), "its answer may be lost");
    pull(&home, "tablet", Value::Null).await;
    let (reached, waiting) = reached(&home).await;
    assert_eq!(reached, json!(["tablet"]));
    assert_eq!(waiting, json!(["laptop"]), "an instance that only pushed has not asked since");
    let after = pull(&home, "tablet", Value::Null).await;
    assert_eq!(after["memories"], json!([]), "nothing is sent once it is known: {after}");
}

/// Pushes a memory as the tablet and returns the counters of the token.
async fn token_of_push(home: &Home, content: &str) -> Value {
    let change = json!({"granularity": "significant", "date": "2026-05-01", "slug": "balcony", "content": content,
        "updatedAt": "2026-05-03T10:00:00Z"});
    let push =
        json!({"instance": {"id": "tablet", "type": "other", "version": 1}, "memoryChanges": [change]});
    answer(home, TOKEN, "sync_push", push).await["newSyncToken"]["versionVector"].clone()
}

#[tokio::test]
async fn token_of_a_push_covers_nothing_that_was_not_sent() {
    let home = Home::new().await;
    for slug in ["dolphin", "garden", "kitchen"] {
        push(&home, "laptop", memory(slug, "text", "2026-05-01T10:00:00Z", Value::Null)).await;
    }
    pull(&home, "tablet", json!({})).await;
    erase(&home, "dolphin").await;
    push(&home, "laptop", memory("garden", "changed", "2026-05-02T10:00:00Z", Value::Null)).await;
    let deletion = json!({"granularity": "significant", "date": "2026-05-01", "slug": "kitchen"});
    answer(&home, TOKEN, "memory_delete", deletion).await;

    let token = token_of_push(&home, "text").await;
    let pulled = pull(&home, "tablet", token).await;
    let mut came: Vec<String> = pulled["memories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|memory| format!("{} {}", memory["slug"].as_str().unwrap(), memory["deleted"] == true))
        .collect();
    came.sort();
    assert_eq!(came, ["dolphin true", "garden false", "kitchen true"], "its own push does not come back");
    assert!(reached(&home).await.1.as_array().unwrap().contains(&json!("tablet")), "not before it was sent");
    let after = pull(&home, "tablet", pulled["newSyncToken"]["versionVector"].clone()).await;
    assert_eq!(after["memories"], json!([]), "{after}");
    assert_eq!(reached(&home).await.0, json!(["tablet"]));
    let token = token_of_push(&home, "more").await;
    assert_eq!(
        pull(&home, "tablet", token).await["memories"],
        json!([]),
        "a client that knows all gets nothing again"
    );
}
