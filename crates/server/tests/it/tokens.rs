use std::time::Duration;

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::{Method, Request};
use memory::ports::{AccessStore, MessageStore};
use serde_json::{Value, json};

use crate::home::{Answer, HOSTNAME, Home, scope};

#[tokio::test]
async fn a_token_is_shown_once_used_and_revoked() {
    let home = Home::new().await;
    let made = home.post("/api/admin/tokens", json!({"name": "phone", "scopes": ["chat"]})).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let made = made.json();
    let token = made["token"].as_str().unwrap();
    assert_eq!(
        (&made["name"], &made["scopes"], &made["user_id"]),
        (&json!("phone"), &json!(["chat"]), &Value::Null)
    );
    assert!(token.starts_with(made["prefix"].as_str().unwrap()), "{token}");

    let list = home.get("/api/admin/tokens").await;
    assert!(!list.text.contains(token), "{}", list.text);
    assert_eq!(list.json()["tokens"][0]["name"], "phone");
    assert_eq!(list.json()["tokens"][0]["last_used_at"], Value::Null);
    let stored = home.store.tokens().await.unwrap().remove(0);
    assert!(stored.hash.starts_with("$argon2id$") && !stored.hash.contains(token), "{}", stored.hash);

    for _ in 0..3 {
        assert_eq!(home.ask_with(token, Method::GET, "/api/chat/history", None).await.status, 200);
    }
    let path = "/api/admin/tokens/phone";
    assert_eq!(home.ask(Method::DELETE, path, None).await.json(), json!({"deleted": true, "name": "phone"}));
    home.ask_with(token, Method::GET, "/api/chat/history", None).await.is_problem(401);
    home.ask(Method::DELETE, path, None).await.is_problem(404);
}

#[tokio::test]
async fn tokens_are_listed_page_by_page() {
    let home = Home::new().await;
    for name in ["c", "a", "b"] {
        home.token(name, &["chat"], None).await;
    }
    let first = home.get("/api/admin/tokens?limit=2").await.json();
    let next = first["next_cursor"].as_str().unwrap();
    let second = home.get(&format!("/api/admin/tokens?limit=2&cursor={next}")).await.json();
    let names = [&first["tokens"][0]["name"], &first["tokens"][1]["name"], &second["tokens"][0]["name"]];
    assert_eq!((names, &second["next_cursor"]), ([&json!("a"), &json!("b"), &json!("c")], &Value::Null));
    home.get("/api/admin/tokens?cursor=garbage").await.is_problem(422);
    home.get("/api/admin/tokens?limit=201").await.is_problem(422);
}

#[tokio::test]
async fn a_token_that_another_process_revoked_ends_within_seconds() {
    let home = Home::new().await;
    let token = home.token("phone", &["chat"], None).await;
    let ask = || home.ask_with(&token, Method::GET, "/api/chat/history", None);
    assert_eq!(ask().await.status, 200);
    home.store.revoke_token("phone").await.unwrap();
    assert_eq!(ask().await.status, 200, "it is believed for a moment");
    home.wait(Duration::from_secs(10)).await;
    ask().await.is_problem(401);
}

#[tokio::test]
async fn the_last_use_is_noted() {
    let home = Home::new().await;
    let token = home.token("phone", &["chat"], None).await;
    home.wait(Duration::from_secs(600)).await;
    assert_eq!(home.ask_with(&token, Method::GET, "/api/chat/history", None).await.status, 200);
    // It is written after the request.
    let used = loop {
        let list = home.get("/api/admin/tokens").await.json();
        if !list["tokens"][0]["last_used_at"].is_null() {
            break list["tokens"][0]["last_used_at"].clone();
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(used, "2026-05-02T19:14:11Z");
}

#[tokio::test]
async fn a_scope_opens_its_own_paths_and_the_refusal_names_what_is_needed() {
    let home = Home::new().await;
    let tokens = [
        ("chat", home.token("c", &["chat"], None).await),
        ("admin", home.token("a", &["admin"], None).await),
        ("metrics", home.token("m", &["metrics"], None).await),
        ("openai", home.token("o", &["openai"], None).await),
        ("hub", home.token("h", &["hub:laptop"], None).await),
    ];
    let opened = [
        ("/api/chat/history", vec!["chat"], "chat"),
        ("/api/state", vec!["chat", "admin"], "chat or admin"),
        ("/api/admin/status", vec!["admin"], "admin"),
        ("/api/admin/tokens", vec!["admin"], "admin"),
        ("/api/admin/something/to/come", vec!["admin"], "admin"),
        ("/metrics", vec!["metrics", "admin"], "metrics or admin"),
        ("/v1/models", vec!["openai", "chat"], "openai or chat"),
        ("/mcp", vec!["hub"], "hub:INSTANCE"),
    ];
    for (path, scopes, sentence) in opened {
        for (scope, token) in &tokens {
            let answer = home.ask_with(token, Method::GET, path, None).await;
            if scopes.contains(scope) {
                assert!(matches!(answer.status.as_u16(), 200 | 404 | 405), "{scope} {path}: {}", answer.text);
            } else {
                assert_eq!(answer.status, 403, "{scope} {path}");
                assert!(answer.text.contains(&format!("it needs the scope {sentence}")), "{}", answer.text);
            }
        }
    }
}

#[tokio::test]
async fn a_token_of_one_user_speaks_for_nobody_else() {
    let home = Home::new().await;
    let ann = home.token("ann", &["chat", "openai"], Some("ann")).await;
    let told = home.talk_as("bob", "a secret of bob's").await;
    let send = |user: Option<&str>| json!({"content": "hello", "user_id": user});
    let post = |body| home.ask_with(&ann, Method::POST, "/api/chat/send", Some(body));
    post(send(Some("bob"))).await.is_problem(403);
    post(send(Some("self"))).await.is_problem(403);
    assert_eq!(post(send(None)).await.status, 202);
    assert_eq!(post(send(Some("ann"))).await.status, 202);
    for path in ["/api/chat/history?user_id=bob", "/api/state?user_id=self"] {
        home.ask_with(&ann, Method::GET, path, None).await.is_problem(403);
    }
    let receipt = format!("/api/chat/turns/{}/receipt", told.data["turn_id"].as_str().unwrap());
    home.ask_with(&ann, Method::GET, &receipt, None).await.is_problem(404);
    assert_eq!(home.get(&receipt).await.status, 200);

    let body = json!({"model": "default", "user": "bob", "messages": [{"role": "user", "content": "hi"}]});
    let answer = home.ask_with(&ann, Method::POST, "/v1/chat/completions", Some(body)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let bobs = home.store.messages_before(&scope("bob"), None, 50).await.unwrap();
    assert!(bobs.iter().all(|message| message.content != "hi"), "the token's user goes before the request's");
    let anns = home.store.messages_before(&scope("ann"), None, 50).await.unwrap();
    assert!(anns.iter().any(|message| message.content == "hi"));
}

#[tokio::test]
async fn invalid_token_requests_are_refused() {
    let home = Home::new().await;
    home.token("phone", &["chat"], None).await;
    let refused = [
        (json!({}), 422),
        (json!({"scopes": []}), 422),
        (json!({"scopes": ["everything"]}), 422),
        (json!({"scopes": ["hub:"]}), 422),
        (json!({"scopes": ["chat"], "name": "owner"}), 422),
        (json!({"scopes": ["chat"], "name": "a/b"}), 422),
        (json!({"scopes": ["admin"], "user_id": "ann"}), 422),
        (json!({"scopes": ["chat"], "user_id": ""}), 422),
        (json!({"scopes": ["chat"], "name": "phone"}), 409),
    ];
    for (body, status) in refused {
        home.post("/api/admin/tokens", body).await.is_problem(status);
    }
    assert_eq!(home.store.tokens().await.unwrap().len(), 1);
    let unnamed = home.post("/api/admin/tokens", json!({"scopes": ["chat"]})).await;
    assert!(unnamed.json()["name"].as_str().unwrap().starts_with("chat-"), "{}", unnamed.text);
}

#[tokio::test]
async fn lookalike_tokens_open_nothing() {
    let home = Home::new().await;
    let token = home.token("phone", &["chat", "admin"], None).await;
    let other_end = if token.ends_with('0') { "1" } else { "0" };
    let changed = format!("{}{other_end}", &token[..token.len() - 1]);
    let upper = token.to_uppercase();
    for wrong in [changed.as_str(), &upper, &token[..token.len() - 1], "ev_", &token[..15], ""] {
        for method in [Method::GET, Method::POST] {
            home.ask_with(wrong, method, "/api/admin/tokens", None).await.is_problem(401);
        }
    }
    // A token is accepted in the header and nowhere else.
    let request = Request::builder().uri(format!("/api/chat/history?token={token}")).header(HOST, HOSTNAME);
    let answer = Answer::of(home.raw(request.body(Body::empty()).unwrap()).await).await;
    answer.is_problem(401);
    let basic = Request::builder().uri("/api/chat/history").header(HOST, HOSTNAME);
    let basic = basic.header(AUTHORIZATION, format!("Basic {token}")).body(Body::empty()).unwrap();
    Answer::of(home.raw(basic).await).await.is_problem(401);
}

#[tokio::test]
async fn a_token_ends_by_itself_and_its_streams_with_it() {
    let home = Home::new().await;
    let make = async |more: Value| {
        let mut asked = json!({"name": "guest", "scopes": ["chat"]});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        home.post("/api/admin/tokens", asked).await
    };
    make(json!({"expires_at": "2026-05-01T00:00:00Z"})).await.is_problem(422);
    make(json!({"streams_max": 0})).await.is_problem(422);
    let made = make(json!({"expires_at": "2026-05-02T20:04:11Z", "streams_max": 1})).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let token = made.json()["token"].as_str().unwrap().to_owned();
    let watch = || {
        let request = Request::builder().uri("/api/chat/events").header(HOST, HOSTNAME);
        home.raw(request.header(AUTHORIZATION, format!("Bearer {token}")).body(Body::empty()).unwrap())
    };
    let stream = watch().await;
    assert_eq!(stream.status(), 200);
    assert_eq!(watch().await.status(), 429, "it has one stream");
    let read_to_the_end = axum::body::to_bytes(stream.into_body(), 1 << 20);
    let an_hour = async {
        for _ in 0..120 {
            home.wait(Duration::from_secs(31)).await;
        }
    };
    let (read, ()) = tokio::join!(read_to_the_end, an_hour);
    assert!(!read.unwrap().is_empty());
    home.ask_with(&token, Method::GET, "/api/chat/history", None).await.is_problem(401);
    assert_eq!(home.get("/api/admin/tokens").await.json()["tokens"][0]["expires_at"], "2026-05-02T20:04:11Z");
}
