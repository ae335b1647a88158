//! Messages are stored before they are sent and committed before they are announced: whoever receives an event can
//! read its data at once.

use std::sync::Arc;

use serde_json::json;
use testkit::Reply;
use tokio::sync::Notify;

use crate::daemon::{Daemon, Home, Settings};
use crate::scripts;
use crate::watcher::Watcher;

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_in_the_history_when_its_202_arrives() {
    let model = scripts::model().await;
    let never = Arc::new(Notify::new());
    model.answer_task("reply", move |_| Reply::text("too late").delay_first_token_until(&never));
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::talking_to(&model)).await;
    for number in 1..=20 {
        let said = daemon.say("self", &format!("line {number}")).await;
        let newest = daemon.get("/api/chat/history?limit=1").await["messages"][0].clone();
        assert_eq!(newest["id"], json!(said.message_id));
        assert_eq!(newest["turn_id"], json!(said.turn_id));
        assert_eq!((&newest["role"], &newest["content"]), (&json!("user"), &json!(format!("line {number}"))));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_is_in_the_history_with_its_receipt_when_it_is_announced() {
    let model = scripts::model().await;
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::talking_to(&model)).await;
    let mut watcher = Watcher::open(&daemon).await;
    for number in 1..=10 {
        let said = daemon.say("self", &format!("line {number}")).await;
        let done = watcher.wait_for_reply(&said.turn_id).await;
        let newest = daemon.get("/api/chat/history?limit=1").await["messages"][0].clone();
        assert_eq!((&newest["role"], &newest["content"]), (&json!("persona"), &done["content"]), "{number}");
        assert_eq!(newest["id"], done["stored_message_id"]);
        let receipt = daemon.receipt(&said.turn_id).await;
        assert_eq!(receipt.status, 200, "{}", receipt.body);
        assert_eq!(receipt.body["model"], "scripted");
        assert_eq!(receipt.body["usage"]["input_tokens"], 100, "{}", receipt.body);
    }
    let tokens: Vec<&str> = watcher
        .seen()
        .iter()
        .filter(|frame| frame.name == "chat.message.token")
        .map(|frame| frame.data["delta"].as_str().unwrap())
        .collect();
    assert_eq!(tokens.concat(), scripts::REPLY.repeat(10));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_openai_client_is_answered_after_the_reply_is_stored() {
    let model = scripts::model().await;
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::talking_to(&model)).await;
    for number in 1..=10_usize {
        daemon.complete("self", &format!("line {number}")).await;
        assert_eq!(daemon.said_by("self", "persona").await.len(), number);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_memory_is_in_the_list_when_it_is_announced() {
    let model = scripts::remembering_model().await;
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::talking_to(&model)).await;
    for number in 1..=5_usize {
        let mut watcher = Watcher::open(&daemon).await;
        daemon.complete("self", &format!("I have a dog named Rex {number}")).await;
        let session = daemon.end_session("self").await;
        let created = watcher.until("memory.event.created", |_| true).await;
        let events = daemon.events("self").await;
        assert_eq!((events.len(), &events[0]["id"]), (number, &created["event_id"]));
        watcher.wait_for_boundary(&session).await;
        let closed = daemon.sessions("self", "closed").await;
        assert!(closed.iter().any(|row| row["id"] == session), "{closed:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reconnecting_subscriber_gets_missed_events() {
    let model = scripts::model().await;
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::talking_to(&model)).await;
    let mut watcher = Watcher::open(&daemon).await;
    let first = daemon.say("self", "before").await;
    watcher.wait_for_reply(&first.turn_id).await;
    let last_seen = watcher.seen().last().unwrap().id.clone();
    drop(watcher);
    let missed = daemon.say("self", "while nobody watched").await;
    crate::daemon::eventually("the reply", async || {
        (daemon.receipt(&missed.turn_id).await.status == 200).then_some(())
    })
    .await;
    let mut back = Watcher::open_after(&daemon, &last_seen).await;
    back.until("chat.message.user_appended", |data| data["content"] == "while nobody watched").await;
    back.wait_for_reply(&missed.turn_id).await;
    assert!(back.seen().iter().all(|frame| frame.data["turn_id"] != json!(first.turn_id)), "told twice");
}
