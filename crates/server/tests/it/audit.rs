use axum::http::Method;
use memory::access::AuditEntry;
use memory::ports::AccessStore;
use serde_json::json;

use crate::home::Home;
use crate::mcp;

#[tokio::test]
async fn audit_entries_name_actor_and_object() {
    let home = Home::new().await;
    home.talk("my cat is called Miso").await;
    let deputy = home.token("deputy", &["admin"], None).await;
    let session = home.get("/api/admin/sessions?status=open").await.json()["sessions"][0]["id"].clone();
    let session = session.as_str().unwrap();
    let close = format!("/api/admin/sessions/{session}/close");
    assert_eq!(home.ask_with(&deputy, Method::POST, &close, Some(json!({}))).await.status, 202);
    home.post("/api/admin/persona", json!({"persona_block": "Echo keeps a diary of storms."})).await;
    home.ask(Method::POST, "/api/admin/sessions/my%20cat%20died/close", Some(json!({}))).await;
    home.ask(Method::PATCH, "/api/admin/config", Some(json!({"recall": {"k": 3}}))).await;

    let audit = home.get("/api/admin/audit").await;
    let body = audit.json();
    let acts: Vec<(String, String, String, u64)> = body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            let text = |field: &str| item[field].as_str().unwrap().to_owned();
            (text("token"), text("act"), text("object"), item["status"].as_u64().unwrap())
        })
        .collect();
    let act = |token: &str, act: &str, object: &str, status| {
        (token.to_owned(), act.to_owned(), object.to_owned(), status)
    };
    assert_eq!(
        acts,
        [
            act("owner", "PATCH /api/admin/config", "recall.k", 200),
            act("owner", "POST /api/admin/sessions/{id}/close", "(no id)", 404),
            act("owner", "POST /api/admin/persona", "", 200),
            act("deputy", "POST /api/admin/sessions/{id}/close", session, 202),
            act("owner", "POST /api/admin/tokens", "token deputy", 201),
        ]
    );
    for words in ["Miso", "storms", "cat", deputy.as_str()] {
        assert!(!audit.text.contains(words), "{words} is in the record: {}", audit.text);
    }
}

/// The newest audit entries, as soon as there are this many; some are written after their response.
async fn newest_entries(home: &Home, count: usize) -> Vec<(String, String, String, u16)> {
    loop {
        let acts = home.store.audit_entries(None, 100).await.unwrap();
        if acts.len() >= count {
            let parts = |(_, act): (i64, AuditEntry)| (act.token, act.act, act.object, act.status);
            return acts.into_iter().map(parts).collect();
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn reads_are_not_audited_and_refusals_are_audited_once_a_minute() {
    let home = Home::new().await;
    let chat = home.token("chat", &["chat"], None).await;
    home.get("/api/admin/status").await;
    home.post("/api/admin/memory/recall", json!({"text": "a secret"})).await;
    home.post("/api/admin/memory/erase", json!({"text": "a secret", "dry_run": true})).await;
    home.ask_with(&chat, Method::POST, "/api/admin/stop", None).await.is_problem(403);
    home.ask_with("wrong", Method::POST, "/api/admin/stop", None).await.is_problem(401);
    home.ask(Method::POST, "/api/admin/nothing", None).await.is_problem(404);
    for guess in ["guess", "another", "third"] {
        home.ask_with(guess, Method::GET, "/api/state", None).await.is_problem(401);
    }
    let refused =
        |token: &str, status| (token.to_owned(), "refused".to_owned(), "127.0.0.1".to_owned(), status);
    let acts = newest_entries(&home, 3).await;
    assert_eq!(acts.len(), 3, "the making of the token, and two refusals: {acts:?}");
    assert!(acts.contains(&refused("chat", 403)) && acts.contains(&refused("(none)", 401)), "{acts:?}");
}

#[tokio::test]
async fn logins_exports_and_what_programs_write_are_recorded() {
    let home = Home::new().await;
    let url = home.post("/api/admin/login-code", json!({})).await.json()["url"].as_str().unwrap().to_owned();
    let path = url.strip_prefix("http://127.0.0.1:7777").unwrap();
    assert_eq!(home.ask(Method::GET, path, None).await.status, 303);
    assert_eq!(home.get("/api/admin/export?format=markdown").await.status, 200);
    let laptop = home.token("laptop", &["hub:laptop"], None).await;
    let text = json!({"category": "custom", "filename": "house.md", "content": "a violet orchid"});
    mcp::call(&home, &laptop, "identity_write", text).await;
    mcp::call(&home, &laptop, "identity_get_all", json!({})).await;
    let acts = newest_entries(&home, 5).await;
    let names: Vec<&str> = acts.iter().map(|(_, act, ..)| act.as_str()).collect();
    assert_eq!(
        names,
        [
            "MCP identity_write",
            "POST /api/admin/tokens",
            "GET /api/admin/export",
            "GET /login",
            "POST /api/admin/login-code"
        ]
    );
    assert_eq!(acts[0].0, "laptop");
    assert_eq!(acts[3].2, "127.0.0.1", "from where somebody logged in");
    assert!(!format!("{acts:?}").contains("orchid"));
}

#[tokio::test]
async fn the_record_is_read_in_pages() {
    let home = Home::new().await;
    for _ in 0..5 {
        home.post("/api/admin/login-code", json!({})).await;
    }
    let mut seen = Vec::new();
    let mut path = "/api/admin/audit?limit=2".to_owned();
    loop {
        let page = home.get(&path).await.json();
        seen.extend(page["items"].as_array().unwrap().iter().map(|item| item["id"].clone()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        path = format!("/api/admin/audit?limit=2&cursor={next}");
    }
    assert_eq!(seen, [json!("5"), json!("4"), json!("3"), json!("2"), json!("1")]);
    home.get("/api/admin/audit?limit=0").await.is_problem(422);
    home.get("/api/admin/audit?cursor=x").await.is_problem(422);
}
