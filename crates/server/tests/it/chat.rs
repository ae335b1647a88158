use std::sync::Arc;

use axum::http::{Method, StatusCode};
use futures_util::FutureExt;
use memory::ports::{MessageStore, PersonaStore};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::home::{Home, scope, until, without_ids};
use crate::talker::Reply;

#[tokio::test]
async fn a_line_is_durable_before_it_is_acknowledged() {
    let home = Home::new().await;
    let leave = Arc::new(Semaphore::new(0));
    home.talker.next(Reply::Waits(leave.clone(), vec!["later"]));
    let answer = home.post("/api/chat/send", json!({"content": "我回来了", "external_ref": "c-17"})).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED);
    let body = answer.json();
    assert_eq!(body["ok"], true);
    let id = body["accepted"][0].as_str().unwrap().parse().unwrap();
    let stored = home.store.message(id).await.unwrap().expect("the line is in the store");
    assert_eq!((stored.content.as_str(), stored.channel_id.as_str()), ("我回来了", "web"));
    assert_eq!(stored.turn_id.unwrap().to_string(), body["turn_id"].as_str().unwrap());
    assert_eq!(body["accepted"].as_array().unwrap().len(), 1);
    leave.add_permits(1);
}

#[tokio::test]
async fn a_line_is_taken_whole_though_its_sender_goes_away() {
    let home = Home::new().await;
    let mut watcher = home.runtime.broadcast().subscribe();
    let sending = home.post("/api/chat/send", json!({"content": "and then the train went into the tunnel"}));
    // Polled once, while the message is being written to the disk, then dropped, as when a connection breaks.
    assert!(sending.now_or_never().is_none());
    let done = until(&mut watcher, &["chat.message.done", "chat.message.failed"]).await;
    assert_eq!(done.name, "chat.message.done");
    assert_eq!(home.store.messages_before(&scope("self"), None, 10).await.unwrap().len(), 2);
    assert_eq!(home.talk("there you are again").await.name, "chat.message.done");
}

#[tokio::test]
async fn invalid_messages_are_refused_and_nothing_is_written() {
    let home = Home::new().await;
    let long = "长".repeat(20_001);
    let refused = [
        json!({"content": ""}),
        json!({"content": " \n"}),
        json!({"content": long}),
        json!({"content": 7}),
        json!({}),
        json!([]),
        json!({"content": "hello", "user_id": ""}),
        json!({"content": "hello", "user_id": "x".repeat(129)}),
        json!({"content": "hello", "user_id": "line\nbreak"}),
        json!({"content": "hello", "persona_id": " padded"}),
        json!({"content": "hello", "external_ref": "x".repeat(257)}),
    ];
    for body in refused {
        home.post("/api/chat/send", body).await.is_problem(422);
    }
    home.ask(Method::POST, "/api/chat/send", None).await.is_problem(422);
    let stranger = home.post("/api/chat/send", json!({"content": "hello", "persona_id": "nobody"})).await;
    stranger.is_problem(404);
    assert_eq!(home.store.personas().await.unwrap().len(), 1, "a slip of the pen makes no persona");
    assert!(home.store.messages_before(&scope("self"), None, 10).await.unwrap().is_empty());
    let whole = "长".repeat(20_000);
    assert_eq!(home.post("/api/chat/send", json!({"content": whole})).await.status, 202);
}

#[tokio::test]
async fn users_do_not_see_each_other() {
    let home = Home::new().await;
    home.talk_as("mira", "I am Mira").await;
    home.talk("I am myself").await;
    let of_mira = home.get("/api/chat/history?user_id=mira").await.json();
    assert_eq!(of_mira["messages"][1]["content"], "I am Mira");
    assert_eq!(of_mira["messages"].as_array().unwrap().len(), 2);
    assert_eq!(home.get("/api/chat/history").await.json()["messages"][1]["content"], "I am myself");
}

#[tokio::test]
async fn a_full_inbox_says_when_to_come_back_and_writes_nothing() {
    let home = Home::new().await;
    let leave = Arc::new(Semaphore::new(0));
    let mut watcher = home.runtime.broadcast().subscribe();
    home.talker.next(Reply::Waits(leave.clone(), vec!["at last"]));
    assert_eq!(home.post("/api/chat/send", json!({"content": "first"})).await.status, 202);
    until(&mut watcher, &["chat.message.typing_started"]).await;
    let mut taken = 1;
    let full = loop {
        let answer = home.post("/api/chat/send", json!({"content": "more"})).await;
        if answer.status != 202 {
            break answer;
        }
        taken += 1;
        assert!(taken < 1_000, "the inbox has a bound");
    };
    full.is_problem(429);
    assert_eq!(full.header("retry-after"), Some("5"));
    let stored = home.store.messages_before(&scope("self"), None, 2_000).await.unwrap();
    assert_eq!(stored.len(), taken);
    // Other requests are not delayed by it.
    let other = home.post("/api/chat/send", json!({"content": "hello", "user_id": "mira"})).await;
    assert_eq!(other.status, 202);
    leave.add_permits(1);
}

#[tokio::test]
async fn a_full_disk_is_reported_and_reading_goes_on() {
    let home = Home::new().await;
    home.talk("before").await;
    let pages = home.store.limit_pages(1).await.unwrap();
    let filler = "x".repeat(15_000);
    let mut refused = None;
    for _ in 0..200 {
        let answer = home.post("/api/chat/send", json!({"content": filler})).await;
        if answer.status != 202 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("a full database takes no more");
    assert!(refused.is_problem(507).contains("can't be written"));
    assert_eq!(home.get("/api/chat/history?limit=1").await.status, 200);
    home.store.limit_pages(pages + 10_000).await.unwrap();
    assert_eq!(home.post("/api/chat/send", json!({"content": "after"})).await.status, 202);
}

#[tokio::test]
async fn a_reply_has_a_receipt() {
    let home = Home::new().await;
    home.talk("My cat is called Soot and she is white").await;
    let done = home.talk("Do you remember what my cat is called?").await;
    let turn = done.data["turn_id"].as_str().unwrap().to_owned();
    let answer = home.get(&format!("/api/chat/turns/{turn}/receipt")).await;
    assert_eq!(answer.status, 200);
    let mut receipt = answer.json();
    assert_eq!(receipt["turn_id"], turn.as_str());
    assert_eq!(receipt["prompt_hash"].as_str().unwrap().len(), 64);
    receipt["prompt_hash"] = json!("[hash]");
    insta::assert_json_snapshot!("receipt", without_ids(receipt));
    home.get("/api/chat/turns/01980000-0000-7000-8000-000000000000/receipt").await.is_problem(404);
    home.get("/api/chat/turns/turn-17/receipt").await.is_problem(404);
}

#[tokio::test]
async fn a_failed_turn_is_asked_for_again() {
    let home = Home::new().await;
    home.talker.next(Reply::Fails { transient: true });
    let failed = home.talk("are you there?").await;
    assert_eq!(failed.name, "chat.message.failed");
    assert_eq!(failed.data["retryable"], true);
    let path = format!("/api/chat/turns/{}/retry", failed.data["turn_id"].as_str().unwrap());
    home.get(&path.replace("/retry", "/receipt")).await.is_problem(404);
    let mut watcher = home.runtime.broadcast().subscribe();
    let again = home.post(&path, json!({})).await;
    assert_eq!(again.status, 202);
    assert_eq!(again.json()["turn_id"], failed.data["turn_id"]);
    let done = until(&mut watcher, &["chat.message.done", "chat.message.failed"]).await;
    assert_eq!(done.name, "chat.message.done");
    home.ask(Method::POST, &path, None).await.is_problem(409);
    home.post("/api/chat/turns/nothing/retry", json!({})).await.is_problem(404);
}
