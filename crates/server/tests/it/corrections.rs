//! Corrections over HTTP: memories, refused memories, undo.

use axum::http::Method;
use memory::identifiers::{NodeId, RejectedId, SessionId};
use memory::nodes::{NodeKind, Proposal, RejectedMemory, RejectedQuote, Subject};
use memory::ports::{Clock as _, IdGenerator, MentionMerge, MessageStore, NodeStore, SessionStore as _};
use runtime::WireEvent;
use serde_json::{Value, json};
use std::sync::Arc;
use testkit::SequentialIds;

use crate::home::{Home, TOKEN, scope, start, until, without_ids};
use crate::mcp::call;
use crate::memories::{event, extracted, remember};

fn path(id: impl std::fmt::Display) -> String {
    format!("/api/admin/memory/nodes/{id}")
}

async fn patch(home: &Home, id: NodeId, body: Value) -> crate::home::Answer {
    home.ask(Method::PATCH, &path(id), Some(body)).await
}

async fn undo(home: &Home, id: NodeId) -> crate::home::Answer {
    home.ask(Method::POST, &format!("{}/undo", path(id)), None).await
}

/// Memories that recall finds for a text.
async fn found(home: &Home, text: &str) -> Vec<(String, String)> {
    let body = home.post("/api/admin/memory/recall", json!({ "text": text })).await.json();
    let nodes = body["candidates"].as_array().unwrap().iter().filter(|candidate| candidate["kind"] == "node");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    nodes.map(|node| (text(&node["id"]), text(&node["text"]))).collect()
}

#[tokio::test]
async fn a_memory_is_corrected_found_by_its_new_text_and_keeps_its_old_one() {
    let home = Home::new().await;
    let (_, events) = remember(&home, 1).await;
    let id = events[0];
    let mut watcher = home.runtime.broadcast().subscribe();
    let corrected = patch(&home, id, json!({"text": "  Wen's grey rabbit Soot digs holes "})).await;
    assert_eq!(corrected.status, 200, "{}", corrected.text);
    let node = corrected.json();
    assert_eq!(
        (&node["id"], &node["description"]),
        (&json!(id), &json!("Wen's grey rabbit Soot digs holes"))
    );
    assert_eq!(node["relational_tags"], json!(["identity-bearing", "correction"]));
    let told = until(&mut watcher, &["memory.node.updated"]).await;
    assert_eq!((&told.data["node_id"], &told.data["change"]), (&json!(id), &json!("correction")));
    assert_eq!((&told.data["persona_id"], &told.data["user_id"]), (&json!("default"), &json!("self")));

    let by_new = found(&home, "the grey rabbit").await;
    assert_eq!(by_new[0], (id.to_string(), "Wen's grey rabbit Soot digs holes".to_owned()));
    assert!(
        found(&home, "the white cat with a trick").await.iter().all(|(found, _)| *found != id.to_string())
    );
    let listed = home.get("/api/admin/memory/events").await.json();
    assert_eq!((&listed["total"], &listed["items"][0]["description"]), (&json!(1), &node["description"]));

    let history = home.get(&format!("{}/history", path(id))).await.json();
    insta::assert_json_snapshot!("node_history", without_ids(history));
    let undone = undo(&home, id).await.json();
    assert_eq!(
        (&undone["ok"], &undone["undone"], &undone["restored"]),
        (&json!(true), &json!("correction"), &Value::Null)
    );
    assert_eq!(undone["node"]["description"], "Wen's white cat Soot did her trick number 0");
    assert_eq!(undone["node"]["relational_tags"], json!(["identity-bearing"]));
    assert!(found(&home, "the grey rabbit").await.iter().all(|(_, text)| !text.contains("rabbit")));
    undo(&home, id).await.is_problem(409);
    let texts: Vec<Value> = home.get(&format!("{}/history", path(id))).await.json()["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| json!([version["text"], version["undone"]]))
        .collect();
    assert_eq!(
        texts,
        [
            json!(["Wen's grey rabbit Soot digs holes", true]),
            json!(["Wen's white cat Soot did her trick number 0", false])
        ]
    );
}

#[tokio::test]
async fn thoughts_and_other_peoples_memories_can_be_corrected_by_the_owner_and_by_nobody_else() {
    let home = Home::new().await;
    remember(&home, 1).await;
    let thoughts = home.get("/api/admin/memory/thoughts").await.json();
    let id: NodeId = thoughts["items"][0]["id"].as_str().unwrap().parse().unwrap();
    assert_eq!(
        patch(&home, id, json!({"text": "我喜欢这些聊天"})).await.json()["description"],
        "我喜欢这些聊天"
    );
    assert_eq!(patch(&home, id, json!({"pinned": true})).await.json()["pinned"], true);
    assert_eq!(patch(&home, id, json!({"text": "又改了", "pinned": false})).await.json()["pinned"], false);
    let node = home.store.node(id).await.unwrap().unwrap().node;
    assert_eq!((node.description.as_str(), node.pinned), ("又改了", false));
    for body in [json!({}), json!({"text": " "}), json!({"text": "x".repeat(2_001)}), json!({"text": 7})] {
        patch(&home, id, body).await.is_problem(422);
    }
    let nobody = "01980000-0000-7000-8000-000000000000".parse().unwrap();
    patch(&home, nobody, json!({"text": "x"})).await.is_problem(404);
    undo(&home, nobody).await.is_problem(404);
    home.get(&format!("{}/history", path("nonsense"))).await.is_problem(404);
    home.get(&format!("{}/history", path(nobody))).await.is_problem(404);
}

#[tokio::test]
async fn memories_on_a_receipt_can_be_corrected_and_pinned() {
    let home = Home::new().await;
    remember(&home, 1).await;
    let done = home.talk("Which tricks does Soot do?").await;
    let receipt =
        home.get(&format!("/api/chat/turns/{}/receipt", done.data["turn_id"].as_str().unwrap())).await.json();
    let used = receipt["used"].as_array().unwrap();
    let node = used.iter().find(|candidate| candidate["kind"] == "node").expect("the memory was used");
    let id: NodeId = node["id"].as_str().unwrap().parse().unwrap();
    assert_eq!(patch(&home, id, json!({"text": "Soot sleeps all day", "pinned": true})).await.status, 200);
    let done = home.talk("今天下雨了").await;
    let path = format!("/api/chat/turns/{}/receipt", done.data["turn_id"].as_str().unwrap());
    let receipt = home.get(&path).await.json();
    let pinned: NodeId = receipt["pinned"][0].as_str().unwrap().parse().unwrap();
    assert_eq!(patch(&home, pinned, json!({"pinned": true})).await.status, 200);
}

#[tokio::test]
async fn supersessions_and_merges_are_taken_back() {
    let home = Home::new().await;
    let (session, events) = remember(&home, 2).await;
    let said = home.store.session_messages(session).await.unwrap().remove(0);
    home.clock.advance(std::time::Duration::from_secs(3_600)).await;
    home.talk("my cat is called Soot and she does other tricks").await;
    let again = newest_session(&home).await;
    let other = home.store.session_messages(again).await.unwrap().remove(0);
    let ids = SequentialIds::new(55);
    let (newer, merged) = (event(&ids, 7, &other), event(&ids, 1, &other));
    let (newer_id, merged_id) = (newer.id, merged.id);
    extracted(&home, again, |commit| {
        commit.nodes = vec![newer];
        commit.pairs = vec![testkit::pair(newer_id, events[0])];
        commit.mentions = vec![MentionMerge { node_id: events[1], merged }];
    })
    .await;
    let session = home.store.session(again).await.unwrap().unwrap();
    testkit::replace_waiting(&*home.store, &session, home.clock.now()).await.unwrap();
    assert_eq!(said.id, home.store.node(events[0]).await.unwrap().unwrap().evidence[0].message_id);
    let history = home.get(&format!("{}/history", path(newer_id))).await.json();
    assert_eq!(history["versions"][1]["superseded_by"], json!(newer_id));
    assert!(found(&home, "trick number 0").await.iter().all(|(id, _)| *id != events[0].to_string()));

    let drafted_from = async || {
        let material = json!({"text": "Mira is a florist."});
        let draft = home.post("/api/admin/persona/bootstrap-from-material", material).await.json();
        draft["source_event_count"].as_u64().unwrap()
    };
    let without_former = drafted_from().await;

    let mut watcher = home.runtime.broadcast().subscribe();
    let undone = undo(&home, newer_id).await.json();
    assert_eq!(drafted_from().await, without_former + 1, "a draft is made of what is so");
    assert_eq!((&undone["undone"], &undone["restored"]["id"]), (&json!("supersession"), &json!(events[0])));
    assert!(found(&home, "trick number 0").await.iter().any(|(id, _)| *id == events[0].to_string()));
    let undone = undo(&home, events[1]).await.json();
    assert_eq!((&undone["undone"], &undone["restored"]["id"]), (&json!("mention_merge"), &json!(merged_id)));
    assert_eq!(
        (&undone["node"]["mention_count"], &undone["restored"]["mention_count"]),
        (&json!(1), &json!(1))
    );
    let told: Arc<WireEvent> = until(&mut watcher, &["memory.event.created"]).await;
    assert_eq!(told.data["event_id"], json!(merged_id));
    undo(&home, events[1]).await.is_problem(409);
    undo(&home, newer_id).await.is_problem(409);
}

#[tokio::test]
async fn corrections_are_marked_over_http_mcp_and_in_exports() {
    let home = Home::new().await;
    let (_, events) = remember(&home, 1).await;
    let before = home.store.node(events[0]).await.unwrap().unwrap().node.description;
    let text = "Wen's cat is called Snow";
    assert_eq!(patch(&home, events[0], json!({ "text": text })).await.status, 200);
    let asked = "my cat is called Soot and she does tricks";
    let is_marked = |answer: &Value| {
        let candidates = answer["candidates"].as_array().unwrap().iter();
        let saying: Vec<_> =
            candidates.filter(|one| one["text"].as_str().unwrap().contains("Soot")).cloned().collect();
        assert!(!saying.is_empty(), "{answer}");
        for one in saying {
            let former = &one["no_longer_current"];
            assert_eq!((&former["text"], &former["current_text"]), (&json!(before), &json!(text)), "{one}");
        }
        assert_eq!(answer["corrected"]["held_back"][0]["current_text"], text, "{answer}");
    };
    is_marked(&home.post("/api/admin/memory/recall", json!({ "text": asked })).await.json());
    for entity in [
        json!({"canonical_name": "Soot", "kind": "place", "description": "a town of that name"}),
        json!({"canonical_name": "Tricks", "kind": "pet", "description": "the cat, called Soot"}),
    ] {
        home.post("/api/admin/memory/entities", entity).await;
    }
    let entities = home.get("/api/admin/memory/entities").await.json();
    let town =
        entities["entities"].as_array().unwrap().iter().find(|one| one["canonical_name"] == "Soot").unwrap();
    assert_eq!(town["no_longer_current"], json!(null), "its name is not the cat's: {town}");
    assert_eq!(entities["entities"][0]["no_longer_current"]["current_text"], text, "{entities}");
    let search = json!({"query": "Tricks"});
    let nodes = call(&home, TOKEN, "graph_node_search", search).await["structuredContent"].clone();
    assert_eq!(nodes["results"][0]["node"]["noLongerCurrent"]["current_text"], text, "{nodes}");
    is_marked(&call(&home, TOKEN, "recall", json!({ "text": asked })).await["structuredContent"]);
    let read = home.get("/api/admin/export?format=markdown").await.text;
    let said = format!("{asked}\n\n> Wrong, corrected on {}: {text}\n", start().strftime("%Y-%m-%d"));
    assert!(read.contains(&said), "{read}");
    undo(&home, events[0]).await;
    let read = home.get("/api/admin/export?format=markdown").await.text;
    assert!(read.contains(asked) && !read.contains("corrected on"), "{read}");
}

#[tokio::test]
async fn a_memory_is_corrected_over_mcp_by_the_users_own_token_and_by_no_program() {
    let home = Home::new().await;
    let (_, events) = remember(&home, 1).await;
    let id = events[0].to_string();
    let before = home.store.node(events[0]).await.unwrap().unwrap().node.description;
    let text = "Wen's cat is called Snow";
    let bound = home.token("laptop", &["hub:laptop"], None).await;
    let refused = call(&home, &bound, "correct", json!({"id": id, "text": text})).await;
    assert!(
        refused["structuredContent"]["message"].as_str().unwrap().contains("bound to an instance"),
        "{refused}"
    );
    for wrong in ["nobody", "01970000-0000-7000-8000-000000000000"] {
        let refused = call(&home, TOKEN, "correct", json!({"id": wrong, "text": text})).await;
        assert_eq!(refused["structuredContent"]["success"], false, "{refused}");
    }
    let corrected = call(&home, TOKEN, "correct", json!({"id": id, "text": text})).await;
    assert_eq!(corrected["structuredContent"]["memory"]["description"], text, "{corrected}");
    let history = home.get(&format!("{}/history", path(&id))).await.json();
    assert_eq!(
        (&history["versions"][0]["by"], &history["versions"][1]["text"]),
        (&json!("person"), &json!(before))
    );
    let undone = call(&home, TOKEN, "correct_undo", json!({"id": id})).await;
    assert_eq!(undone["structuredContent"]["memory"]["description"], before, "{undone}");
    let nothing = call(&home, TOKEN, "correct_undo", json!({"id": id})).await;
    assert_eq!(nothing["structuredContent"]["success"], false, "{nothing}");
}

#[tokio::test]
async fn texts_of_a_person_stay_and_are_marked_where_outdated() {
    let home = Home::new().await;
    let (_, events) = remember(&home, 1).await;
    let block = "They have a cat called Soot.";
    home.post("/api/admin/persona", json!({"user_block": block, "persona_block": "You are calm."})).await;
    let text = "Wen's cat is called Snow";
    patch(&home, events[0], json!({ "text": text })).await;
    let persona = home.get("/api/admin/persona").await.json();
    assert_eq!(persona["core_blocks"]["user"], block, "{persona}");
    assert_eq!(persona["no_longer_current"]["user"][0]["current_text"], text, "{persona}");
    assert_eq!(persona["no_longer_current"]["persona"], json!([]), "{persona}");
    let file = "/api/hub/documents/custom/kept.md";
    home.ask(Method::PUT, file, Some(json!({"content": "# Pets\nSoot, the cat."}))).await;
    let document = home.get(file).await.json();
    assert_eq!(document["no_longer_current"][0]["current_text"], text, "{document}");
    undo(&home, events[0]).await;
    let persona = home.get("/api/admin/persona").await.json();
    assert_eq!(persona["no_longer_current"]["user"], json!([]), "{persona}");
}

async fn newest_session(home: &Home) -> SessionId {
    home.get("/api/admin/sessions").await.json()["sessions"][0]["id"].as_str().unwrap().parse().unwrap()
}

/// A session with refused memories of these impacts; their ids.
async fn refused(home: &Home, impacts: &[Option<f64>]) -> Vec<RejectedId> {
    home.talk("奶奶昨天走了").await;
    let session_id = newest_session(home).await;
    let said = home.store.session_messages(session_id).await.unwrap().remove(0);
    let ids = SequentialIds::new(77);
    let refused = |impact: &Option<f64>| RejectedMemory {
        id: RejectedId(ids.next(start())),
        session_id,
        description: "用户的奶奶去世了".to_owned(),
        emotional_impact: *impact,
        evidence: vec![
            RejectedQuote { message_id: Some(said.id), quote: "奶奶昨天走了".to_owned() },
            RejectedQuote { message_id: None, quote: "她很好".to_owned() },
        ],
        reason: "its emotional impact is beyond ±10".to_owned(),
        created_at: start(),
        proposal: Proposal {
            subject: Subject::User,
            emotion_tags: vec!["悲伤".to_owned()],
            ..Proposal::default()
        },
    };
    let all: Vec<RejectedMemory> = impacts.iter().map(refused).collect();
    let found = all.iter().map(|memory| memory.id).collect();
    extracted(home, session_id, |commit| commit.rejected = all).await;
    found
}

fn settle(id: RejectedId, how: &str) -> String {
    format!("/api/admin/memory/rejected/{id}/{how}")
}

#[tokio::test]
async fn the_death_that_nobody_may_lose_is_approved() {
    let home = Home::new().await;
    let ids = refused(&home, &[Some(-12.0), Some(-12.0), None]).await;
    let mut watcher = home.runtime.broadcast().subscribe();
    let approved = home.ask(Method::POST, &settle(ids[0], "approve"), None).await;
    assert_eq!(approved.status, 200, "{}", approved.text);
    let body = approved.json();
    let node = &body["node"];
    assert_eq!((&node["emotional_impact"], &node["node_type"]), (&json!(-10), &json!("event")));
    assert_eq!(node["evidence"][0]["quote"], "奶奶昨天走了", "what does stand there is its evidence too");
    assert_eq!(node["emotion_tags"], json!(["悲伤"]));
    let told = until(&mut watcher, &["memory.event.created"]).await;
    assert_eq!(told.data["event_id"], body["node_id"]);
    assert!(found(&home, "我奶奶").await.iter().any(|(_, text)| text == "用户的奶奶去世了"));

    let words = json!({"text": "用户的奶奶在三月去世", "emotional_impact": -9});
    let edited = home.post(&settle(ids[1], "approve"), words).await.json();
    assert_eq!(
        (&edited["node"]["description"], &edited["node"]["emotional_impact"]),
        (&json!("用户的奶奶在三月去世"), &json!(-9))
    );
    home.post(&settle(ids[2], "approve"), json!({})).await.is_problem(422);
    home.post(&settle(ids[2], "approve"), json!({"emotional_impact": -11})).await.is_problem(422);
    home.post(&settle(ids[2], "approve"), json!({"text": " ", "emotional_impact": -1})).await.is_problem(422);
    let left = home.get("/api/admin/memory/rejected").await.json();
    assert_eq!(left["rejected"].as_array().unwrap().len(), 1, "what was refused again still waits");
    assert_eq!(home.ask(Method::POST, &settle(ids[2], "dismiss"), None).await.json()["ok"], true);
    assert_eq!(home.get("/api/admin/memory/rejected").await.json()["rejected"], json!([]));
    for id in ids {
        home.ask(Method::POST, &settle(id, "approve"), None).await.is_problem(409);
        home.ask(Method::POST, &settle(id, "dismiss"), None).await.is_problem(409);
    }
    let nobody = RejectedId("01980000-0000-7000-8000-000000000000".parse().unwrap());
    home.ask(Method::POST, &settle(nobody, "approve"), None).await.is_problem(404);
    home.ask(Method::POST, &settle(nobody, "dismiss"), None).await.is_problem(404);
    let all = home.store.nodes_before(&scope("self"), &[NodeKind::Event], None, 10).await.unwrap();
    assert_eq!(all.len(), 2);
}
