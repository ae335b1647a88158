use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::home::{Home, until, without_ids};

async fn listed(home: &Home, query: &str) -> Vec<Value> {
    home.get(&format!("/api/admin/sessions{query}")).await.json()["sessions"].as_array().unwrap().clone()
}

/// Sends a message with content, so that the session does not count as trivial.
async fn talk_at_length(home: &Home) {
    for line in
        ["My grandmother died last night.", "She raised me in Lisbon.", "I can't stop crying.", "Thank you."]
    {
        home.talk(line).await;
    }
}

#[tokio::test]
async fn a_session_is_closed_now_and_becomes_memory() {
    let home = Home::new().await;
    talk_at_length(&home).await;
    let open = listed(&home, "?status=open").await;
    assert_eq!(open.len(), 1);
    insta::assert_json_snapshot!("session", without_ids(open[0].clone()));
    let path = format!("/api/admin/sessions/{}/close", open[0]["id"].as_str().unwrap());
    let mut watcher = home.runtime.broadcast().subscribe();
    let closing = home.post(&path, json!({})).await;
    assert_eq!((closing.status.as_u16(), &closing.json()["session_id"]), (202, &open[0]["id"]));
    let told = loop {
        let told = until(&mut watcher, &["chat.session.boundary", "work.failed"]).await;
        if told.data["closed_session_id"] == open[0]["id"] || told.name == "work.failed" {
            break told;
        }
    };
    assert_eq!(told.name, "chat.session.boundary", "{}", told.data);
    let closed = listed(&home, "?status=closed").await;
    assert_eq!((closed.len(), &closed[0]["close_trigger"]), (1, &json!("explicit")));
    assert!(closed[0]["closed_at"].is_string());
    // Closing it again changes nothing.
    let again = home.post(&path, json!({})).await;
    assert_eq!((again.status.as_u16(), &again.json()["status"]), (202, &json!("closed")));
    home.post(&path.replace("/close", "/retry"), json!({})).await.is_problem(409);
}

#[tokio::test]
async fn a_session_that_gave_up_is_seen_and_tried_again() {
    let home = Home::new().await;
    talk_at_length(&home).await;
    home.talker.refuses_work.store(true, Ordering::Relaxed);
    let id = listed(&home, "").await[0]["id"].as_str().unwrap().to_owned();
    let mut watcher = home.runtime.broadcast().subscribe();
    home.post(&format!("/api/admin/sessions/{id}/close"), json!({})).await;
    until(&mut watcher, &["work.failed"]).await;
    let failed = home.get("/api/admin/sessions/failed").await.json();
    assert_eq!((&failed["count"], &failed["items"][0]["id"]), (&json!(1), &json!(id)));
    assert!(failed["items"][0]["last_error"].as_str().unwrap().contains("the model is not there"));
    let trigger = failed["items"][0]["close_trigger"].as_str().unwrap();
    let reason: String = failed["items"][0]["last_error"].as_str().unwrap().chars().take(60).collect();
    assert_eq!(trigger, format!("explicit|failed:{reason}"));
    assert_eq!(listed(&home, "?status=failed").await[0]["id"], id.as_str());
    for (path, rows) in [("/api/admin/sessions/failed", 1), ("/api/admin/work/failed", 1)] {
        assert_eq!(home.get(path).await.json()["count"], rows, "{path}: of all users");
        assert_eq!(home.get(&format!("{path}?user_id=self")).await.json()["count"], rows, "{path}");
        assert_eq!(home.get(&format!("{path}?user_id=ann")).await.json()["count"], 0, "{path}");
        home.get(&format!("{path}?persona_id=nope")).await.is_problem(404);
    }
    home.get("/api/admin/work/failed?cursor=garbage").await.is_problem(422);
    assert_eq!(home.get("/api/admin/status").await.json()["sessions"], json!({"waiting": 0, "failed": 1}));

    home.talker.refuses_work.store(false, Ordering::Relaxed);
    let retried = home.post(&format!("/api/admin/sessions/{id}/retry"), json!({})).await;
    assert_eq!(retried.status, 202);
    loop {
        let told = until(&mut watcher, &["chat.session.boundary", "work.failed"]).await;
        assert_eq!(told.name, "chat.session.boundary", "{}", told.data);
        if told.data["closed_session_id"] == id.as_str() {
            break;
        }
    }
    assert_eq!(
        home.get("/api/admin/sessions/failed").await.json(),
        json!({"count": 0, "items": [], "next_cursor": null})
    );
}

#[tokio::test]
async fn sessions_are_listed_in_pages() {
    let home = Home::new().await;
    for _ in 0..5 {
        home.talk("hello").await;
        home.clock.set(memory::ports::Clock::now(&home.clock) + std::time::Duration::from_secs(3_600));
    }
    let all: Vec<Value> = listed(&home, "").await.into_iter().map(|session| session["id"].clone()).collect();
    assert_eq!(all.len(), 5);
    for limit in 1..=5 {
        let mut query = format!("?limit={limit}");
        let mut seen = Vec::new();
        loop {
            let page = home.get(&format!("/api/admin/sessions{query}")).await.json();
            seen.extend(page["sessions"].as_array().unwrap().iter().map(|session| session["id"].clone()));
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            query = format!("?limit={limit}&cursor={cursor}");
            assert!(seen.len() <= 5, "pages repeat");
        }
        assert_eq!(seen, all, "limit {limit}");
    }
    assert!(listed(&home, "?user_id=mira").await.is_empty());
}

#[tokio::test]
async fn sessions_that_do_not_exist_are_not_found() {
    let home = Home::new().await;
    let unknown = "01980000-0000-7000-8000-000000000000";
    for id in [unknown, "s_0a1b2c3d4e5f"] {
        home.post(&format!("/api/admin/sessions/{id}/close"), json!({})).await.is_problem(404);
        home.post(&format!("/api/admin/sessions/{id}/retry"), json!({})).await.is_problem(404);
    }
    home.get(&format!("/api/admin/sessions?cursor={unknown}")).await.is_problem(404);
    home.get("/api/admin/sessions?status=sleeping").await.is_problem(422);
}
