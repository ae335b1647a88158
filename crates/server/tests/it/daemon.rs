use std::time::Duration;

use axum::http::Method;
use serde_json::json;

use crate::home::{Home, TOKEN};

#[tokio::test]
async fn the_state_counts_all_users_unless_one_is_meant() {
    let home = Home::new().await;
    home.talk_as("ann", "hello").await;
    home.talk_as("bob", "hello").await;
    let messages = async |token: &str, path: &str| {
        home.ask_with(token, Method::GET, path, None).await.json()["memory_counts"]["messages"].clone()
    };
    assert_eq!(messages(TOKEN, "/api/state").await, 4);
    assert_eq!(messages(TOKEN, "/api/state?user_id=ann").await, 2);
    assert_eq!(messages(TOKEN, "/api/state?user_id=self").await, 0);
    let ann = home.token("ann-phone", &["chat"], Some("ann")).await;
    assert_eq!(messages(&ann, "/api/state").await, 2, "a token sees its own user's");
}

#[tokio::test]
async fn the_state_is_what_a_page_shows_first() {
    let home = Home::new().await;
    home.talk("hello").await;
    insta::assert_json_snapshot!("state", home.get("/api/state").await.json());
}

#[tokio::test]
async fn the_status_is_what_the_command_prints() {
    let home = Home::new().await;
    home.wait(Duration::from_secs(90)).await;
    let mut status = home.get("/api/admin/status").await.json();
    assert_eq!(status["pid"], std::process::id());
    status["pid"] = json!("[pid]");
    insta::assert_json_snapshot!("status", status);
}

#[tokio::test]
async fn a_stop_reaches_the_program() {
    let home = Home::new().await;
    assert!(!home.shutdown.is_cancelled());
    assert_eq!(home.post("/api/admin/stop", json!({})).await.status, 202);
    assert!(home.shutdown.is_cancelled());
    assert_eq!(home.get("/ready").await.status, 503);
    assert_eq!(home.get("/health").await.status, 200);
}

#[tokio::test]
async fn a_stopping_runtime_takes_no_words() {
    let home = Home::new().await;
    home.runtime.stop().await;
    let refused = home.post("/api/chat/send", json!({"content": "too late"})).await;
    refused.is_problem(503);
    assert!(refused.header("retry-after").is_some());
}
