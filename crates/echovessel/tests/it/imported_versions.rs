//! What an import stores beside the text: titles, models, and versions that were not shown.

use std::fs;

use serde_json::{Value, json};

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings};
use crate::import::is_anywhere;

fn node(id: &str, parent: Option<&str>, children: &[&str], message: Value) -> Value {
    json!({"id": id, "parent": parent, "children": children, "message": message})
}

fn said(id: &str, role: &str, at: f64, text: &str, model: Option<&str>) -> Value {
    json!({"id": id, "author": {"role": role}, "create_time": at, "metadata": {"model_slug": model},
        "content": {"content_type": "text", "parts": [text]}})
}

/// A question with two replies, of which the second is shown.
fn conversations() -> Value {
    json!([{"title": "Walnut cake", "create_time": 1714557400.0, "conversation_id": "c-1", "current_node": "b", "mapping": {
        "q": node("q", None, &["a", "b"], said("q", "user", 1714557500.0, "How long does the cake bake?", None)),
        "a": node("a", Some("q"), &[], said("a", "assistant", 1714557510.0, "Forty minutes.", Some("gpt-4"))),
        "b": node("b", Some("q"), &[], said("b", "assistant", 1714557600.0, "Fifty minutes.", Some("gpt-4o")))}}])
}

async fn versions(daemon: &Daemon, id: &Value) -> Value {
    daemon.get(&format!("/api/chat/messages/{}/versions", id.as_str().unwrap())).await["versions"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn titles_models_and_versions_are_readable_and_exported() {
    let (home, settings) = (Home::new(), Settings::offline());
    let path = |name: &str| home.path().parent().unwrap().join(name).to_str().unwrap().to_owned();
    let file = path("conversations.json");
    fs::write(&file, conversations().to_string()).unwrap();
    run(&home, &settings, &["import", &file, "--yes"]).await.well();
    let daemon = Daemon::start(&home, &settings).await;
    let sessions = daemon.get("/api/admin/sessions").await;
    assert_eq!(sessions["sessions"][0]["title"], "Walnut cake");
    let history = daemon.get("/api/chat/history").await;
    let reply = &history["messages"][0];
    assert_eq!(
        (&reply["content"], &reply["model"]),
        (&json!("Fifty minutes."), &json!("gpt-4o")),
        "{history}"
    );
    assert_eq!(
        versions(&daemon, &reply["id"]).await,
        json!([{"role": "persona", "content": "Forty minutes.", "said_at": "2024-05-01T09:58:30Z", "model": "gpt-4",
                "replaced_at": "2024-05-01T10:00:00Z"}])
    );
    let question = &history["messages"][1];
    assert_eq!(versions(&daemon, &question["id"]).await, json!([]));
    assert_eq!(daemon.try_get("/api/chat/messages/nope/versions").await.status, 404);

    // The text before an edit is also a version.
    let id = question["id"].as_str().unwrap();
    let edit = daemon
        .request(reqwest::Method::PATCH, &format!("/api/chat/messages/{id}"))
        .json(&json!({"content": "How long does it bake?"}));
    edit.send().await.unwrap().error_for_status().unwrap();
    let before = versions(&daemon, &question["id"]).await;
    assert_eq!(
        (&before[0]["role"], &before[0]["content"]),
        (&json!("user"), &json!("How long does the cake bake?"))
    );
    run(&home, &settings, &["stop"]).await.well();
    drop(daemon);

    for (format, name) in [("markdown", "talk.md"), ("chatgpt", "again.json"), ("sillytavern", "again.jsonl")]
    {
        run(&home, &settings, &["export", &path(name), "--format", format]).await.well();
    }
    let markdown = fs::read_to_string(path("talk.md")).unwrap();
    assert!(markdown.contains("# Walnut cake") && markdown.contains("> Another version"), "{markdown}");
    assert!(fs::read_to_string(path("again.json")).unwrap().contains("Walnut cake"));
    for name in ["again.json", "again.jsonl"] {
        let other = Home::new();
        run(&other, &settings, &["import", &path(name), "--yes"]).await.well();
        let daemon = Daemon::start(&other, &settings).await;
        let history = daemon.get("/api/chat/history").await;
        let reply = &history["messages"][0];
        assert_eq!(
            (&reply["content"], &reply["model"]),
            (&json!("Fifty minutes."), &json!("gpt-4o")),
            "{name}"
        );
        let versions = versions(&daemon, &reply["id"]).await;
        assert_eq!(
            (&versions[0]["content"], &versions[0]["model"]),
            (&json!("Forty minutes."), &json!("gpt-4")),
            "{name}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn erasing_takes_titles_and_names_of_others_along() {
    let (home, settings) = (Home::new(), Settings::offline());
    let path = |name: &str| home.path().parent().unwrap().join(name).to_str().unwrap().to_owned();
    let (file, group) = (path("conversations.json"), path("_chat.txt"));
    fs::write(&file, conversations().to_string()).unwrap();
    let chat = "[05.03.24, 14:03:05] Nora: Hello all\n[05.03.24, 14:04:10] Milo: Hi\n[05.03.24, 14:05:00] Ottokar: Good day\n";
    fs::write(&group, chat).unwrap();
    run(&home, &settings, &["import", &file, "--yes"]).await.well();
    run(&home, &settings, &["import", &group, "--me", "Nora", "--them", "Milo", "--yes"]).await.well();
    let daemon = Daemon::start(&home, &settings).await;
    for words in ["Walnut", "Ottokar"] {
        assert!(is_anywhere(&home, words), "{words}");
        run(&home, &settings, &["memory", "forget", "--text", words, "--with-messages", "--yes"])
            .await
            .well();
    }
    let contents: Vec<Value> =
        daemon.history("self").await.iter().map(|message| message["content"].clone()).collect();
    assert!(contents.contains(&json!("Hello all")) && !contents.contains(&json!("Good day")), "{contents:?}");
    run(&home, &settings, &["stop"]).await.well();
    drop(daemon);
    for words in ["Walnut", "Ottokar", "Good day"] {
        assert!(!is_anywhere(&home, words), "{words} is left");
    }
}
