//! Deletion and erasure over HTTP: names, fields and codes; access; and the events for subscribers.

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::{Method, Request, StatusCode};
use memory::ports::{ForgetStore, MessageStore, PersonaStore};
use serde_json::{Value, json};

use crate::home::{Answer, HOSTNAME, Home, TOKEN, scope, start, until, without_ids};
use crate::memories::remember;

const NOBODY: &str = "00000000-0000-7000-8000-000000000000";

async fn delete(home: &Home, path: &str) -> crate::home::Answer {
    home.ask(Method::DELETE, path, None).await
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

async fn thoughts(home: &Home) -> Vec<Value> {
    home.get("/api/admin/memory/thoughts").await.json()["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_preview_shows_what_hangs_on_a_memory() {
    let home = Home::new().await;
    let (_, events) = remember(&home, 2).await;
    let shown = home.post("/api/admin/memory/preview-delete", json!({"node_id": events[0]})).await.json();
    assert_eq!((&shown["target_id"], &shown["has_dependents"]), (&json!(events[0]), &json!(true)));
    assert_eq!(
        shown["dependent_thought_descriptions"],
        json!(["I like these talks", "He adores that cat"]),
        "in the order of their ids"
    );
    assert_eq!(shown["dependent_thought_ids"].as_array().unwrap().len(), 2);
    assert_eq!(shown["evidence"][0]["quote"], "cat");
    assert_eq!(shown["would_take"]["orphan"]["orphaned"].as_array().unwrap().len(), 2);
    assert_eq!(shown["would_take"]["cascade"]["thoughts"].as_array().unwrap().len(), 2);
    let alone = home.post("/api/admin/memory/preview-delete", json!({"node_id": events[1]})).await.json();
    assert_eq!((&alone["has_dependents"], &alone["dependent_thought_ids"]), (&json!(false), &json!([])));
    home.post("/api/admin/memory/preview-delete", json!({"node_id": NOBODY})).await.is_problem(404);
    for body in [json!({}), json!({"node_id": "seven"}), json!({"node_id": 7})] {
        home.post("/api/admin/memory/preview-delete", body).await.is_problem(422);
    }
    assert_eq!(thoughts(&home).await.len(), 2, "looking takes nothing");
}

#[tokio::test]
async fn dependents_and_traces_have_the_compatible_shape() {
    let home = Home::new().await;
    let (session, events) = remember(&home, 1).await;
    let path = format!("/api/admin/memory/events/{}/dependents", events[0]);
    let dependents = home.get(&path).await.json();
    assert_eq!(dependents["event_id"], json!(events[0]));
    let thought = &dependents["dependent_thoughts"][0];
    assert_eq!(keys(thought), ["created_at", "description", "id", "node_type", "source_session_id"]);
    let id = thought["id"].as_str().unwrap();
    let trace = home.get(&format!("/api/admin/memory/thoughts/{id}/trace")).await.json();
    assert_eq!((&trace["thought_id"], &trace["source_sessions"]), (&json!(id), &json!([session])));
    assert_eq!(trace["source_events"][0]["id"], json!(events[0]));
    for path in [
        format!("/api/admin/memory/events/{id}/dependents"),
        format!("/api/admin/memory/thoughts/{}/trace", events[0]),
        format!("/api/admin/memory/thoughts/{NOBODY}/trace"),
    ] {
        home.get(&path).await.is_problem(404);
    }
}

#[tokio::test]
async fn an_event_leaves_orphans_or_takes_them_along() {
    for (choice, left) in [("", 2), ("?choice=orphan", 2), ("?choice=cascade", 0)] {
        let home = Home::new().await;
        let (_, events) = remember(&home, 1).await;
        let path = format!("/api/admin/memory/events/{}", events[0]);
        delete(&home, &format!("{path}?choice=cancel")).await.is_problem(422);
        delete(&home, &format!("/api/admin/memory/thoughts/{}", events[0])).await.is_problem(404);
        let mut watcher = home.runtime.broadcast().subscribe();
        let answer = delete(&home, &format!("{path}{choice}")).await;
        let body = answer.json();
        let chosen = if left == 0 { "cascade" } else { "orphan" };
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(
            (&body["deleted"], &body["node_id"], &body["choice"]),
            (&json!(true), &json!(events[0]), &json!(chosen))
        );
        let told = until(&mut watcher, &["memory.forgotten"]).await;
        assert_eq!((&told.data["event_ids"], &told.data["user_id"]), (&json!([events[0]]), &json!("self")));
        delete(&home, &path).await.is_problem(404);
        let thoughts = thoughts(&home).await;
        assert_eq!(thoughts.len(), left, "{choice}");
        for thought in thoughts {
            assert_eq!(thought["filling_event_ids"], json!([]));
            let trace = home
                .get(&format!("/api/admin/memory/thoughts/{}/trace", thought["id"].as_str().unwrap()))
                .await;
            assert_eq!(trace.json()["forgotten_event_ids"], json!([events[0]]), "the link stays, marked");
        }
    }
}

#[tokio::test]
async fn defect_06_messages_and_sessions_go_with_what_was_made_of_them() {
    let home = Home::new().await;
    let (session, events) = remember(&home, 1).await;
    let said = home.store.session_messages(session).await.unwrap();
    let path = format!("/api/admin/memory/messages/{}", said[0].id);
    let answer = delete(&home, &path).await.json();
    assert_eq!((&answer["deleted"], &answer["message_id"]), (&json!(true), &json!(said[0].id)));
    assert_eq!(answer["taken"]["events"], json!(events));
    delete(&home, &path).await.is_problem(404);
    delete(&home, "/api/admin/memory/messages/7").await.is_problem(404);
    assert_eq!(home.get("/api/admin/memory/events").await.json()["total"], 0);
    assert_eq!(home.get("/api/admin/memory/rejected").await.json()["rejected"], json!([]));
    assert_eq!(home.get("/api/admin/memory/entities").await.json()["entities"], json!([]));

    let path = format!("/api/admin/memory/sessions/{session}");
    for left in [1, 0] {
        let answer = delete(&home, &path).await.json();
        assert_eq!((&answer["deleted"], &answer["session_id"]), (&json!(true), &json!(session)));
        assert_eq!(answer["messages_deleted"], left, "asking again is fine");
    }
    assert_eq!(home.get("/api/chat/history").await.json()["messages"], json!([]));
    delete(&home, &format!("/api/admin/memory/sessions/{NOBODY}")).await.is_problem(404);
}

#[tokio::test]
async fn an_edit_of_a_block_is_deleted_by_itself() {
    let home = Home::new().await;
    for text in ["first", "second"] {
        let answer = home.post("/api/admin/persona/style", json!({"action": "set", "text": text})).await;
        assert_eq!(answer.status, StatusCode::OK);
    }
    let path = "/api/admin/memory/core-blocks/style/appends";
    let listed = home.get(path).await.json();
    assert_eq!(
        (listed["appends"][0]["content"].as_str(), listed["appends"][1]["content"].as_str()),
        (Some("second"), Some("first"))
    );
    let id = listed["appends"][1]["id"].as_str().unwrap().to_owned();
    delete(&home, &format!("/api/admin/memory/core-blocks/user/appends/{id}")).await.is_problem(404);
    delete(&home, &format!("/api/admin/memory/core-blocks/self/appends/{id}")).await.is_problem(404);
    let answer = delete(&home, &format!("{path}/{id}")).await.json();
    assert_eq!(answer, json!({"deleted": true, "append_id": id, "label": "style"}));
    delete(&home, &format!("{path}/{id}")).await.is_problem(404);
    assert_eq!(home.store.core_blocks(&scope("self")).await.unwrap().style, "second");
}

#[tokio::test]
async fn erasing_by_text_wants_to_be_confirmed() {
    const ERASE: &str = "/api/admin/memory/erase";
    let home = Home::new().await;
    remember(&home, 1).await;
    home.post(ERASE, json!({"text": "soot"})).await.is_problem(422);
    home.post(ERASE, json!({"text": "猫"})).await.is_problem(422);
    home.post(ERASE, json!({})).await.is_problem(422);
    home.post(ERASE, json!({"txt": "soot"})).await.is_problem(422);
    home.post(ERASE, json!({"text": "soot", "confirm": NOBODY})).await.is_problem(409);
    let dry = home.post(ERASE, json!({"text": " ＳＯＯＴ ", "dry_run": true})).await.json();
    assert_eq!(
        (&dry["dry_run"], &dry["counts"]["messages"], &dry["counts"]["events"]),
        (&json!(true), &json!(1), &json!(1))
    );
    assert_eq!(home.get("/api/admin/memory/events").await.json()["total"], 1, "a dry run takes nothing");
    assert_eq!(home.get("/api/admin/memory/receipts").await.json()["receipts"], json!([]));

    home.talk("Soot again").await;
    home.post(ERASE, json!({"text": "soot", "confirm": dry["id"]})).await.is_problem(409);
    let dry = home.post(ERASE, json!({"text": "soot", "dry_run": true})).await.json();
    let other = json!({"text": "soot", "confirm": dry["id"], "user_id": "ann"});
    home.post(ERASE, other).await.is_problem(409);
    home.wait(std::time::Duration::from_secs(601)).await;
    home.post(ERASE, json!({"text": "soot", "confirm": dry["id"]})).await.is_problem(409);

    let dry = home.post(ERASE, json!({"text": "soot", "dry_run": true})).await.json();
    let answer = home.post(ERASE, json!({"text": "soot", "confirm": dry["id"]})).await.json();
    assert_eq!(answer["erased"], dry["erased"], "what was shown is what went");
    assert!(!answer.to_string().to_lowercase().contains("soot"), "{answer}");
    let listed = home.get("/api/admin/memory/receipts").await.json();
    assert_eq!(
        (&listed["receipts"][0]["id"], listed["receipts"].as_array().unwrap().len()),
        (&answer["id"], 1)
    );
    assert!(listed["receipts"][0]["overwritten_at"].is_string());
    home.post(ERASE, json!({"text": "soot", "confirm": dry["id"]})).await.is_problem(409);
    insta::assert_json_snapshot!("receipt", without_ids(listed["receipts"][0].clone()));
}

#[tokio::test]
async fn erasing_by_id_stays_in_its_scope_and_what_is_gone_leaves_no_second_receipt() {
    const ERASE: &str = "/api/admin/memory/erase";
    let home = Home::new().await;
    let (_, events) = remember(&home, 1).await;
    home.talk_as("ann", "I am ann and this is my secret").await;
    let theirs = home.store.messages_before(&scope("ann"), None, 9).await.unwrap();
    let body = json!({"event_ids": events, "message_ids": [theirs[0].id, NOBODY]});
    let answer = home.post(ERASE, body.clone()).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    let receipt = answer.json();
    assert_eq!((&receipt["counts"]["events"], &receipt["counts"]["messages"]), (&json!(1), &json!(0)));
    assert_eq!(receipt["left"]["message_ids"].as_array().unwrap().len(), 1, "the message still says it");
    home.post(ERASE, body).await.is_problem(404);
    for nothing in [json!({"event_ids": []}), json!({"event_ids": [], "message_ids": []})] {
        home.post(ERASE, nothing).await.is_problem(422);
    }
    home.post(ERASE, json!({"event_ids": [NOBODY]})).await.is_problem(404);
    let dry = home.post(ERASE, json!({"event_ids": [NOBODY], "dry_run": true})).await;
    assert_eq!(dry.status, StatusCode::OK, "looking is allowed: {}", dry.text);
    assert_eq!(home.store.erasure_receipts(&scope("self"), None, 9).await.unwrap().len(), 1);
    assert_eq!(home.store.messages_before(&scope("ann"), None, 9).await.unwrap(), theirs);
    assert!(thoughts(&home).await.is_empty(), "what rested on it goes too");
    let sessions = home.get("/api/admin/sessions").await.json();
    let sessions: Vec<Value> =
        sessions["sessions"].as_array().unwrap().iter().map(|s| s["id"].clone()).collect();
    let answer = home.post(ERASE, json!({"session_ids": sessions})).await.json();
    assert_eq!(answer["counts"]["messages"], 2);
    let stays = (
        &answer["shortened_session_ids"],
        answer["erased"].get("sessions"),
        answer["counts"].get("sessions"),
    );
    assert_eq!(stays, (&json!(sessions), None, None), "a session that is still there was not erased");
    assert_eq!(home.get("/api/admin/sessions").await.json()["sessions"][0]["id"], sessions[0]);
    assert_eq!(home.store.erasure_receipts(&scope("self"), None, 9).await.unwrap().len(), 2);
    let pages = home.get("/api/admin/memory/receipts?limit=1").await.json();
    let next = pages["next_cursor"].as_str().unwrap();
    let rest = home.get(&format!("/api/admin/memory/receipts?limit=1&cursor={next}")).await.json();
    assert_eq!((rest["receipts"].as_array().unwrap().len(), &rest["next_cursor"]), (1, &json!(null)));
}

#[tokio::test]
async fn reset_without_body_says_how_to_confirm() {
    let home = Home::new().await;
    home.talk("my cat is called Soot").await;
    for body in ["", " \n"] {
        let request = Request::builder().method(Method::POST).uri("/api/admin/reset").header(HOST, HOSTNAME);
        let request =
            request.header(AUTHORIZATION, format!("Bearer {TOKEN}")).body(Body::from(body)).unwrap();
        let refused = Answer::of(home.raw(request).await).await.is_problem(422);
        assert!(refused.contains(r#"{"persona_id": "default", "confirm": "default"}"#), "{refused}");
        assert!(refused.ends_with("Nothing was changed"), "{refused}");
    }
    assert_eq!(home.get("/api/state").await.json()["memory_counts"]["messages"], 2);
}

#[tokio::test]
async fn missing_body_is_answered_with_the_fields_that_are_needed() {
    let home = Home::new().await;
    for (method, path, needed) in [
        (Method::POST, "/api/chat/send", "with: content"),
        (Method::POST, "/api/admin/users", "with: id"),
        (Method::PATCH, "/api/admin/users/self", "with any of: display_name, timezone"),
        (Method::POST, "/api/admin/memory/recall", "with: text"),
        (Method::PATCH, "/api/admin/config", "send a JSON object"),
        (Method::POST, "/api/admin/persona/onboarding", "with: display_name, persona_block, user_block"),
    ] {
        let refused = home.ask(method, path, None).await.is_problem(422);
        assert!(refused.contains("the body is missing") && refused.contains(needed), "{path}: {refused}");
    }
}

#[tokio::test]
async fn defect_06_a_reset_wants_to_be_confirmed_and_leaves_a_new_persona() {
    let home = Home::new().await;
    remember(&home, 1).await;
    home.post("/api/admin/persona/style", json!({"action": "set", "text": "short"})).await;
    for body in [
        json!({}),
        json!({"persona_id": "default"}),
        json!({"persona_id": "default", "confirm": "yes"}),
        json!({"persona_id": "default", "confirm": false}),
    ] {
        home.post("/api/admin/reset", body).await.is_problem(422);
    }
    home.post("/api/admin/reset", json!({"persona_id": "nobody", "confirm": "nobody"})).await.is_problem(404);
    assert_eq!(home.get("/api/admin/memory/events").await.json()["total"], 1);
    let answer =
        home.post("/api/admin/reset", json!({"persona_id": "default", "confirm": true})).await.json();
    assert_eq!((&answer["ok"], &answer["persona_id"]), (&json!(true), &json!("default")));
    assert_eq!((&answer["erased"]["messages"], &answer["erased"]["core_blocks"]), (&json!(2), &json!(1)));
    let persona = home.get("/api/admin/persona").await.json();
    assert_eq!((&persona["display_name"], &persona["core_blocks"]["style"]), (&json!("Echo"), &json!("")));
    assert_eq!(home.get("/api/chat/history").await.json()["messages"], json!([]));
    home.talk("hello again").await;
    assert_eq!(home.store.messages_before(&scope("self"), None, 9).await.unwrap().len(), 2);
    assert!(home.store.check().await.unwrap().is_intact());
    assert!(start() <= home.runtime.clock().now());
}
