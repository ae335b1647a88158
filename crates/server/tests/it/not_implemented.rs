use axum::http::Method;
use serde_json::json;

use crate::home::Home;
use crate::talker::Reply;

#[tokio::test]
async fn a_backup_that_was_not_made_says_why_and_what_was_kept() {
    let home = Home::new().await;
    let listed = home.get("/api/admin/backups").await.json();
    assert_eq!(listed, json!({"folder": "backups", "backups": []}));
    let refusal = home.ask(Method::POST, "/api/admin/backups", None).await;
    let told = refusal.is_problem(503);
    assert!(told.contains("earlier ones are kept: the folder cannot be written"), "{told}");
}

#[tokio::test]
async fn channels_are_listed_and_the_page_is_changed_by_the_old_names() {
    let home = Home::new().await;
    let listed = home.get("/api/admin/channels").await.json();
    assert_eq!(listed, home.get("/api/state").await.json()["channels"]);
    let ids: Vec<&str> =
        listed.as_array().unwrap().iter().map(|one| one["channel_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["web", "discord", "imessage", "openai", "telegram"]);
    assert_eq!((&listed[0]["state"], &listed[4]["state"]), (&json!("ready"), &json!("off")));
    home.post("/api/admin/channels/telegram/link-code", json!({})).await.is_problem(404);
    home.post("/api/admin/channels/telegram/retry", json!({})).await.is_problem(404);
    home.post("/api/admin/channels/telegram/test", json!({})).await.is_problem(404);
    let patch = async |body| home.ask(Method::PATCH, "/api/admin/channels", Some(body)).await;
    for body in [
        json!({}),
        json!([]),
        json!({"web": {}}),
        json!({"web": 7}),
        json!({"carrier-pigeon": {"enabled": true}}),
        json!({"web": {"colour": "red"}}),
        json!({"web": {"enabled": false}}),
        json!({"discord": {"static_dir": "."}}),
    ] {
        patch(body).await.is_problem(400);
    }
    patch(json!({"web": {"debounce_ms": -1}})).await.is_problem(422);
    patch(json!({"discord": {"debounce_ms": "soon"}})).await.is_problem(422);
    patch(json!({"imessage": {"enabled": true}})).await.is_problem(501);
}

#[tokio::test]
async fn failed_work_is_listed_with_its_way_back() {
    let home = Home::new().await;
    assert_eq!(
        home.get("/api/admin/work/failed").await.json(),
        json!({"count": 0, "items": [], "next_cursor": null})
    );
    home.talker.next(Reply::Fails { transient: false });
    assert_eq!(home.talk("hello").await.name, "chat.message.failed");
    let failed = home.get("/api/admin/work/failed").await.json();
    assert_eq!((&failed["count"], &failed["items"][0]["kind"]), (&json!(1), &json!("turn")));
    let mut watcher = home.runtime.broadcast().subscribe();
    let retry = failed["items"][0]["retry"].as_str().unwrap();
    assert_eq!(home.ask(Method::POST, retry, None).await.status, 202);
    crate::home::until(&mut watcher, &["chat.message.done"]).await;
    assert_eq!(home.get("/api/admin/work/failed").await.json()["count"], 0);
}
