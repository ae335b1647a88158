//! Edits: the user changes a message, requests a reply again, or stops one.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::http::Method;
use memory::ports::{MessageStore, NodeStore};
use runtime::Subscription;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::home::{Answer, Home, scope, until};
use crate::memories::remember;
use crate::talker::Reply;

async fn edit(home: &Home, id: &str, content: &str) -> Answer {
    home.ask(Method::PATCH, &format!("/api/chat/messages/{id}"), Some(json!({ "content": content }))).await
}

async fn history(home: &Home) -> Vec<Value> {
    home.get("/api/chat/history").await.json()["messages"].as_array().unwrap().clone()
}

fn watch(home: &Home) -> Subscription {
    home.runtime.broadcast().subscribe()
}

#[tokio::test]
async fn an_edited_line_takes_what_rested_on_it_along() {
    let home = Home::new().await;
    home.talker.refuses_work.store(true, Ordering::Relaxed);
    let (session, events) = remember(&home, 1).await;
    let said = home.store.session_messages(session).await.unwrap().remove(0);
    let mut watcher = watch(&home);
    let edited = edit(&home, &said.id.to_string(), "my dog is called Rex").await;
    assert_eq!(edited.status, 200, "{}", edited.text);
    let body = edited.json();
    assert_eq!(
        (&body["message"]["id"], &body["message"]["content"]),
        (&json!(said.id), &json!("my dog is called Rex"))
    );
    assert_eq!((&body["withdrawn"][0], &body["extracted_again"]), (&json!(events[0]), &json!(session)));
    let told = until(&mut watcher, &["chat.message.edited"]).await;
    assert_eq!(
        (&told.data["message_id"], &told.data["content"]),
        (&json!(said.id), &json!("my dog is called Rex"))
    );
    let told = until(&mut watcher, &["memory.forgotten"]).await;
    assert_eq!(told.data["node_ids"][0], json!(events[0]));
    assert_eq!(home.store.node(events[0]).await.unwrap(), None);
    for text in ["my cat Soot", "tricks"] {
        let body = home.post("/api/admin/memory/recall", json!({ "text": text })).await.json();
        let texts: Vec<&str> = body["candidates"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|found| found["text"].as_str())
            .collect();
        assert!(texts.iter().all(|text| !text.contains("cat")), "{texts:?}");
    }
    assert_eq!(history(&home).await.last().unwrap()["content"], "my dog is called Rex");
}

async fn until_closed(watcher: &mut Subscription) {
    while until(watcher, &["chat.session.boundary"]).await.data["closed_session_id"].is_null() {}
}

/// The complete flow: two messages are extracted, one memory is deleted, the other message is edited.
#[tokio::test]
async fn a_deleted_memory_does_not_come_back_when_another_line_of_its_talk_is_edited() {
    let home = Home::new().await;
    let mut watcher = watch(&home);
    home.talk("我养了一只白猫,叫小黑").await;
    home.talk("我住在杭州").await;
    let line = history(&home).await.into_iter().find(|message| message["content"] == "我住在杭州").unwrap();
    let open = home.get("/api/admin/sessions?status=open").await.json();
    let session = open["sessions"][0]["id"].as_str().unwrap().to_owned();
    home.post(&format!("/api/admin/sessions/{session}/close"), json!({})).await;
    until_closed(&mut watcher).await;
    let events = async || {
        let listed = home.get("/api/admin/memory/events").await.json();
        let items = listed["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["description"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let before = events().await;
    assert!(before.iter().any(|text| text.contains("小黑")), "{before:?}");
    for item in home.get("/api/admin/memory/events").await.json()["items"].as_array().unwrap() {
        if item["description"].as_str().unwrap().contains("小黑") {
            let path = format!("/api/admin/memory/events/{}", item["id"].as_str().unwrap());
            assert_eq!(home.ask(Method::DELETE, &path, None).await.status, 200);
        }
    }
    let edited = edit(&home, line["id"].as_str().unwrap(), "我住在苏州").await.json();
    assert_eq!(edited["extracted_again"], json!(session));
    until_closed(&mut watcher).await;
    let after = events().await;
    assert!(after.iter().any(|text| text.contains("苏州")), "{after:?}");
    assert!(!after.iter().any(|text| text.contains("小黑") || text.contains("猫")), "{after:?}");
    let said = history(&home).await;
    assert!(
        said.iter().any(|message| message["content"] == "我养了一只白猫,叫小黑"),
        "the line itself stays"
    );
}

#[tokio::test]
async fn a_talker_deletes_messages_of_their_own_memory_only() {
    let home = Home::new().await;
    remember(&home, 1).await;
    home.talk_as("ann", "I am ann").await;
    let all = history(&home).await;
    let said = all.last().unwrap()["id"].as_str().unwrap().to_owned();
    let delete = async |token: &str, id: &str, query: &str| {
        home.ask_with(token, Method::DELETE, &format!("/api/chat/messages/{id}{query}"), None).await
    };
    let ann = home.token("ann-phone", &["chat"], Some("ann")).await;
    delete(&ann, &said, "").await.is_problem(404);
    let chat = home.token("phone", &["chat"], None).await;
    delete(&chat, &said, "?choice=cancel").await.is_problem(422);
    let gone = delete(&chat, &said, "?choice=cascade").await;
    assert_eq!(gone.status, 200, "{}", gone.text);
    let gone = gone.json();
    assert_eq!((&gone["deleted"], &gone["message_id"]), (&json!(true), &json!(said)));
    assert_eq!(gone["taken"]["events"].as_array().unwrap().len(), 1, "what only it proved goes too");
    assert_eq!(history(&home).await.len(), all.len() - 1);
    delete(&chat, &said, "").await.is_problem(404);
    let theirs = home.store.messages_before(&crate::home::scope("ann"), None, 9).await.unwrap();
    assert_eq!(delete(&ann, &theirs[0].id.to_string(), "").await.status, 200, "also what the persona said");
}

#[tokio::test]
async fn edits_of_uneditable_messages_are_refused() {
    let home = Home::new().await;
    home.talk("hello").await;
    let all = history(&home).await;
    let (reply, line) = (all[0]["id"].as_str().unwrap(), all[1]["id"].as_str().unwrap());
    edit(&home, reply, "I said something else").await.is_problem(403);
    for content in ["", " \n", "\u{feff}\u{200d}\u{202e}\0", &"长".repeat(20_001)] {
        edit(&home, line, content).await.is_problem(422);
    }
    edit(&home, "01980000-0000-7000-8000-000000000000", "x").await.is_problem(404);
    edit(&home, "nonsense", "x").await.is_problem(404);
    assert_eq!(history(&home).await, all);
    let same = edit(&home, line, "hello").await.json();
    assert_eq!((&same["withdrawn"], &same["extracted_again"]), (&json!([]), &Value::Null));
}

#[tokio::test]
async fn the_last_reply_stays_until_it_is_regenerated() {
    let home = Home::new().await;
    home.talk("hello").await;
    home.talker.next(Reply::Says(vec!["first"]));
    let done = home.talk("how are you?").await;
    let turn = done.data["turn_id"].clone();
    let earlier = done.data["stored_message_id"].clone();
    home.talker.next(Reply::Fails { transient: true });
    let mut watcher = watch(&home);
    assert_eq!(home.post("/api/chat/regenerate", json!({ "turn_id": turn })).await.status, 202);
    until(&mut watcher, &["chat.message.failed"]).await;
    assert_eq!(history(&home).await[0]["content"], "first", "a reply that does not come replaces none");

    home.talker.next(Reply::Says(vec!["second"]));
    let answer = home.post("/api/chat/regenerate", json!({ "message_id": earlier })).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["turn_id"]), (202, &turn));
    let told = until(&mut watcher, &["chat.message.deleted"]).await;
    assert_eq!((&told.data["message_id"], &told.data["turn_id"]), (&earlier, &turn));
    let done = until(&mut watcher, &["chat.message.done"]).await;
    assert_eq!((&done.data["content"], &done.data["turn_id"]), (&json!("second"), &turn));
    let all = history(&home).await;
    let contents: Vec<&str> = all.iter().filter_map(|message| message["content"].as_str()).collect();
    assert_eq!(contents, ["second", "how are you?", "I hear you.", "hello"]);

    home.talker.next(Reply::Says(vec!["third"]));
    assert_eq!(home.ask(Method::POST, "/api/chat/regenerate", None).await.status, 202);
    until(&mut watcher, &["chat.message.done"]).await;
    assert_eq!(history(&home).await[0]["content"], "third");
    home.post("/api/chat/regenerate", json!({"turn_id": all[3]["turn_id"]})).await.is_problem(409);
    home.post("/api/chat/regenerate", json!({"turn_id": turn, "message_id": all[1]["id"]}))
        .await
        .is_problem(422);
    let nobody = "01980000-0000-7000-8000-000000000000";
    home.post("/api/chat/regenerate", json!({ "turn_id": nobody })).await.is_problem(404);
    home.post("/api/chat/regenerate", json!({ "user_id": "mira" })).await.is_problem(404);
}

#[tokio::test]
async fn a_stopped_reply_keeps_what_was_said() {
    let home = Home::new().await;
    let leave = Arc::new(Semaphore::new(1));
    home.talker.next(Reply::Waits(leave.clone(), vec!["so far", " and further"]));
    let mut watcher = watch(&home);
    let sent = home.post("/api/chat/send", json!({"content": "tell me a long story"})).await.json();
    until(&mut watcher, &["chat.message.token"]).await;
    let stop = json!({"turn_id": sent["turn_id"]});
    home.post("/api/chat/regenerate", stop.clone()).await.is_problem(409);
    assert_eq!(home.post("/api/chat/stop", stop.clone()).await.status, 202);
    let done = until(&mut watcher, &["chat.message.done", "chat.message.failed"]).await;
    assert_eq!((&done.data["content"], &done.data["incomplete"]), (&json!("so far"), &json!(true)));
    assert_eq!(history(&home).await[0]["incomplete"], true);
    home.post("/api/chat/stop", stop).await.is_problem(409);
    home.post("/api/chat/stop", json!({"turn_id": "01980000-0000-7000-8000-000000000000"}))
        .await
        .is_problem(404);
    home.post("/api/chat/stop", json!({})).await.is_problem(422);
}

#[tokio::test]
async fn a_reply_that_is_stopped_before_its_first_word_can_be_asked_for_again() {
    let home = Home::new().await;
    let leave = Arc::new(Semaphore::new(0));
    home.talker.next(Reply::Waits(leave.clone(), vec!["never"]));
    let mut watcher = watch(&home);
    let sent = home.post("/api/chat/send", json!({"content": "hello?"})).await.json();
    until(&mut watcher, &["chat.message.typing_started"]).await;
    assert_eq!(home.post("/api/chat/stop", json!({"turn_id": sent["turn_id"]})).await.status, 202);
    let failed = until(&mut watcher, &["chat.message.failed"]).await;
    assert_eq!(failed.data["retryable"], true);
    leave.add_permits(1);
    assert_eq!(home.post("/api/chat/regenerate", json!({})).await.status, 202);
    let done = until(&mut watcher, &["chat.message.done", "chat.message.failed"]).await;
    assert_eq!(done.name, "chat.message.done", "the stop is over with the turn");
    home.wait(Duration::ZERO).await;
    assert_eq!(home.store.messages_before(&scope("self"), None, 10).await.unwrap().len(), 2);
}
