//! Regression tests of docs/regressions.md over HTTP. 12, 16 and 19 are in `paging`, `drafts` and `people`; 18 is in
//! `echovessel/tests/it/reload.rs`.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{HOST, ORIGIN};
use axum::http::{Method, Request};
use memory::ports::NodeStore;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::home::{Answer, HOSTNAME, Home, TOKEN, until};
use crate::memories::remember;
use crate::talker::Reply;

#[tokio::test]
async fn defect_10_a_failure_before_the_first_word_is_told_and_the_next_turn_is_answered() {
    let home = Home::new().await;
    home.talker.next(Reply::Fails { transient: true });
    let failed = home.talk("are you there?").await;
    assert_eq!(failed.name, "chat.message.failed");
    assert_eq!(failed.data["retryable"], true);
    assert_eq!(home.talk("and now?").await.name, "chat.message.done");
}

#[tokio::test]
async fn defect_11_a_turn_that_hangs_blocks_nobody_else() {
    let home = Home::new().await;
    let never = Arc::new(Semaphore::new(0));
    home.talker.next(Reply::Waits(never, vec!["never said"]));
    let mut watcher = home.runtime.broadcast().subscribe();
    home.post("/api/chat/send", json!({"content": "hello?", "user_id": "ann"})).await;
    until(&mut watcher, &["chat.message.typing_started"]).await;
    assert_eq!(home.talk_as("bob", "hello!").await.name, "chat.message.done");
    let body = json!({"messages": [{"role": "user", "content": "hi"}], "user": "cleo"});
    assert_eq!(home.post("/v1/chat/completions", body).await.status, 200, "nor another channel");
}

#[tokio::test]
async fn defect_15_saving_a_block_replaces_it_and_an_empty_one_clears_it() {
    let home = Home::new().await;
    for text in ["You are Echo.", "You are Echo.\nYou like rain.", "你喜欢下雨天。", ""] {
        home.post("/api/admin/persona", json!({"persona_block": text, "user_block": text})).await;
        let blocks = home.get("/api/admin/persona").await.json()["core_blocks"].clone();
        assert_eq!(blocks, json!({"persona": text, "user": text, "style": ""}));
    }
}

/// Cancelling happens in the page: over HTTP only DELETE deletes, and an invalid choice is refused.
#[tokio::test]
async fn defect_17_looking_at_what_a_deletion_would_take_deletes_nothing() {
    let home = Home::new().await;
    let (_, events) = remember(&home, 1).await;
    let preview = home.post("/api/admin/memory/preview-delete", json!({"node_id": events[0]})).await.json();
    assert_eq!(preview["has_dependents"], true);
    let path = format!("/api/admin/memory/events/{}", events[0]);
    home.ask(Method::DELETE, &format!("{path}?choice=cancel"), None).await.is_problem(422);
    assert!(home.store.node(events[0]).await.unwrap().is_some(), "it is still there");
    assert_eq!(home.ask(Method::DELETE, &path, None).await.json()["choice"], "orphan");
    assert!(home.store.node(events[0]).await.unwrap().is_none());
}

#[tokio::test]
async fn defect_20_the_web_listener_asks_who_where_and_whence() {
    let home = Home::new().await;
    let send = async |host: &str, token: Option<&str>, origin: Option<&str>| {
        let mut request = Request::builder().method(Method::POST).uri("/api/chat/send").header(HOST, host);
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if let Some(origin) = origin {
            request = request.header(ORIGIN, origin);
        }
        let body = Body::from(json!({"content": "hello"}).to_string());
        let request = request.header("content-type", "application/json").body(body).unwrap();
        Answer::of(home.raw(request).await).await.status.as_u16()
    };
    assert_eq!(send(HOSTNAME, None, None).await, 401, "who");
    assert_eq!(send("evil.example", Some(TOKEN), None).await, 421, "where");
    assert_eq!(send(HOSTNAME, Some(TOKEN), Some("http://evil.example")).await, 403, "whence");
    assert_eq!(send(HOSTNAME, Some(TOKEN), None).await, 202);
    let said = home.get("/api/chat/history").await.json();
    let lines = said["messages"].as_array().unwrap().iter().filter(|line| line["role"] == "user").count();
    assert_eq!(lines, 1, "what was refused was not written");
}
