//! Daily limits of a named token, and the users that it may create.

use std::time::Duration;

use axum::http::Method;
use memory::UserId;
use memory::identifiers::TurnId;
use memory::ledger::ModelCall;
use memory::ports::{AccessStore, LedgerStore, UserStore};
use serde_json::{Value, json};

use crate::home::{Answer, Home, start};

async fn say(home: &Home, token: &str, user: Option<&str>) -> Answer {
    let body = json!({"content": "Good morning.", "user_id": user});
    home.ask_with(token, Method::POST, "/api/chat/send", Some(body)).await
}

fn limit(home: &Home, turns_per_day: u64, usd_per_day: f64) {
    let mut settings = (**home.settings.load()).clone();
    (settings.turns_per_day, settings.usd_per_day) = (turns_per_day, usd_per_day);
    home.settings.store(settings.into());
}

#[tokio::test]
async fn a_token_has_so_many_replies_a_day() {
    let home = Home::new().await;
    limit(&home, 3, 0.0);
    let phone = home.token("phone", &["chat"], Some("ann")).await;
    for _ in 0..2 {
        assert_eq!(say(&home, &phone, None).await.status, 202);
    }
    let empty = home.ask_with(&phone, Method::POST, "/api/chat/send", Some(json!({"content": " "}))).await;
    empty.is_problem(422);
    let asked = json!({"model": "default", "messages": [{"role": "user", "content": "And again."}]});
    let answer = home.ask_with(&phone, Method::POST, "/v1/chat/completions", Some(asked.clone())).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let refused = say(&home, &phone, None).await;
    refused.is_problem(429);
    assert!(refused.text.contains("limits.turns_per_day"), "{}", refused.text);
    // 19:04:11 in a home whose zone is UTC.
    assert_eq!(refused.header("retry-after"), Some("17749"));
    let answer = home.ask_with(&phone, Method::POST, "/v1/chat/completions", Some(asked)).await;
    assert_eq!(answer.status, 429);
    home.ask_with(&phone, Method::POST, "/api/chat/regenerate", Some(json!({}))).await.is_problem(429);

    let other = home.token("tablet", &["chat"], Some("ann")).await;
    assert_eq!(say(&home, &other, None).await.status, 202, "another token has its own day");
    assert_eq!(home.post("/api/chat/send", json!({"content": "Mine."})).await.status, 202);
    limit(&home, 0, 0.0);
    assert_eq!(say(&home, &phone, None).await.status, 202);
    limit(&home, 3, 0.0);
    home.wait(Duration::from_secs(17_749)).await;
    assert_eq!(say(&home, &phone, None).await.status, 202, "it is tomorrow");
}

#[tokio::test]
async fn replies_of_a_token_are_still_counted_after_a_restart() {
    let home = Home::new().await;
    let phone = home.token("phone", &["chat"], Some("ann")).await;
    let prefix = home.store.tokens().await.unwrap()[0].prefix.clone();
    for _ in 0..2 {
        home.store.add_token_turn(&prefix, start(), TurnId(uuid::Uuid::nil())).await.unwrap();
    }
    limit(&home, 3, 0.0);
    assert_eq!(say(&home, &phone, None).await.status, 202);
    say(&home, &phone, None).await.is_problem(429);
}

#[tokio::test]
async fn a_token_may_spend_so_much_a_day() {
    let home = Home::new().await;
    limit(&home, 0, 0.5);
    let phone = home.token("phone", &["chat"], Some("ann")).await;
    let answer = say(&home, &phone, None).await;
    assert_eq!(answer.status, 202);
    let turn = serde_json::from_value(answer.json()["turn_id"].clone()).unwrap();
    let prefix = home.store.tokens().await.unwrap()[0].prefix.clone();
    // The reply is counted after the request.
    while home.store.token_use(&prefix, start()).await.unwrap().0 == 0 {
        tokio::task::yield_now().await;
    }
    let call = ModelCall {
        at: start(),
        task: "reply".to_owned(),
        tier: "main".to_owned(),
        provider: "openai".to_owned(),
        model: "m".to_owned(),
        input_tokens: 1,
        output_tokens: 1,
        cached_tokens: 0,
        latency_ms: 1,
        outcome: "ok".to_owned(),
        turn_id: Some(turn),
        session_id: None,
        prompt_hash: String::new(),
        cost_usd: Some(0.5),
    };
    home.store.record_call(call).await.unwrap();
    let refused = say(&home, &phone, None).await;
    refused.is_problem(429);
    assert!(refused.text.contains("limits.usd_per_day"), "{}", refused.text);
    let other = home.token("tablet", &["chat"], Some("ann")).await;
    assert_eq!(say(&home, &other, None).await.status, 202, "another token has its own");
}

#[tokio::test]
async fn a_token_creates_as_many_users_as_it_may() {
    let home = Home::new().await;
    let body = json!({"name": "bridge", "scopes": ["chat"], "users_max": 2});
    let made = home.post("/api/admin/tokens", body).await.json();
    assert_eq!(made["users_max"], 2);
    let bridge = made["token"].as_str().unwrap();
    for user in ["ann", "ben", "ann"] {
        assert_eq!(say(&home, bridge, Some(user)).await.status, 202, "{user}");
    }
    let refused = say(&home, bridge, Some("cat")).await;
    refused.is_problem(403);
    assert!(refused.text.contains("--users"), "{}", refused.text);
    let asked =
        json!({"model": "default", "user": "dan", "messages": [{"role": "user", "content": "Hello."}]});
    assert_eq!(home.ask_with(bridge, Method::POST, "/v1/chat/completions", Some(asked)).await.status, 403);
    for user in ["cat", "dan"] {
        assert!(home.store.user(&UserId::new(user).unwrap()).await.unwrap().is_none(), "nothing was written");
    }
    assert_eq!(say(&home, bridge, Some("ben")).await.status, 202, "those that are there go on");
    assert_eq!(home.post("/api/admin/users", json!({"id": "cat"})).await.status, 201);
    assert_eq!(say(&home, bridge, Some("cat")).await.status, 202, "the owner created this one");
    assert_eq!(home.get("/api/admin/tokens").await.json()["tokens"][0]["users_max"], json!(2));
    assert_eq!(made["streams_max"], Value::Null);
}
