use axum::http::Method;
use serde_json::{Value, json};

use crate::home::{Answer, Home};

async fn patch(home: &Home, body: Value) -> Answer {
    home.ask(Method::PATCH, "/api/admin/config", Some(body)).await
}

#[tokio::test]
async fn refused_settings_have_a_status_for_each_reason() {
    let home = Home::new().await;
    let done = patch(&home, json!({"recall": {"k": 3}})).await;
    assert_eq!(
        done.json(),
        json!({"updated_fields": ["recall.k"], "reload_triggered": true, "reloaded": ["recall.k"],
            "restart_required": [], "overridden_by_environment": []})
    );
    patch(&home, json!({"recall": {"kk": 3}})).await.is_problem(400);
    patch(&home, json!({"recall": {"k": "many"}})).await.is_problem(422);
    patch(&home, json!({"recall": {"k": 0}})).await.is_problem(500);
    let reloaded = home.post("/api/admin/reload", json!({})).await.json();
    assert_eq!(reloaded, json!({"ok": true, "reloaded": [], "restart_required": ["server.port"]}));
    assert_eq!(home.get("/api/admin/config").await.json()["settings"]["recall.k"]["live"], true);
}
