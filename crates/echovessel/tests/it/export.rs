//! Export through the command line and HTTP: an archive restores the same home, and other programs read the other
//! formats.

use std::fs;
use std::io::Read as _;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Reply, ScriptedModel};

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings, eventually};
use crate::scripts::{event, extraction, model};
use crate::watcher::say;

/// Everything that the API returns of a memory. An archive does not contain what belongs to the home: tokens, audit,
/// configuration, and the state of channels and vectors.
const READ: [&str; 22] = [
    "/api/chat/history?limit=200",
    "/api/admin/persona",
    "/api/admin/personas",
    "/api/admin/users",
    "/api/admin/users/self",
    "/api/admin/users/self/identities",
    "/api/admin/memory/events?limit=200",
    "/api/admin/memory/thoughts?limit=200",
    "/api/admin/memory/intentions",
    "/api/admin/memory/expectations",
    "/api/admin/memory/mood/history",
    "/api/admin/memory/timeline?limit=200",
    "/api/admin/memory/entities",
    "/api/admin/memory/rejected",
    "/api/admin/memory/receipts",
    "/api/admin/memory/search?q=Pepper",
    "/api/admin/sessions?limit=200",
    "/api/admin/turns",
    "/api/admin/proactive",
    "/api/admin/imports",
    "/api/hub/documents",
    "/api/hub/conflicts",
];

pub(crate) async fn read_all(daemon: &Daemon) -> Vec<(String, Value)> {
    let mut answers = Vec::new();
    let mut paths: Vec<String> = READ.iter().map(|path| (*path).to_owned()).collect();
    let history = daemon.get("/api/chat/history?limit=200").await;
    for message in history["messages"].as_array().unwrap() {
        if let (Some(turn), "persona") = (message["turn_id"].as_str(), message["role"].as_str().unwrap()) {
            paths.push(format!("/api/chat/turns/{turn}/receipt"));
            paths.push(format!("/api/admin/turns/{turn}"));
        }
    }
    for session in daemon.get("/api/admin/sessions?limit=200").await["sessions"].as_array().unwrap() {
        paths.push(format!("/api/admin/sessions/{}/consolidate-trace", session["id"].as_str().unwrap()));
    }
    for entity in daemon.get("/api/admin/memory/entities").await["entities"].as_array().unwrap() {
        paths.push(format!("/api/admin/memory/entities/{}", entity["id"].as_str().unwrap()));
    }
    for document in daemon.get("/api/hub/documents").await["documents"].as_array().unwrap() {
        let (kind, name) = (document["kind"].as_str().unwrap(), document["filename"].as_str().unwrap());
        paths.push(format!("/api/hub/documents/{kind}/{name}"));
        paths.push(format!("/api/hub/documents/{kind}/{name}/versions"));
    }
    for path in paths {
        // Erased items answer 404 in both homes.
        let answer = daemon.try_get(&path).await;
        let mut body = answer.body;
        if path.ends_with("/mood/history") {
            // Start of the year that ends now.
            body["since"] = Value::Null;
        }
        if body["episodic_state"]["mood"] == "neutral" {
            // No mood is recorded, so the answer is neutral with the time of the request.
            body["episodic_state"]["updated_at"] = Value::Null;
        }
        answers.push((path, json!({"status": answer.status, "body": body})));
    }
    answers
}

/// A mock model that extracts a dog from the conversation.
pub(crate) async fn attentive_model() -> ScriptedModel {
    let model = model().await;
    model.answer_task("extraction", |_| {
        Reply::json(extraction([event("The user has a dog called Pepper", "I have a dog called Pepper")]))
    });
    model
}

/// Fills a home with one of everything that the API returns, then stops its daemon.
pub(crate) async fn fill(home: &Home, settings: &Settings) {
    let daemon = Daemon::start(home, settings).await;
    let persona = json!({"display_name": "Milo", "persona_block": "A quiet friend."});
    daemon.post("/api/admin/persona", &persona).await;
    let document = json!({"content": "# Garden\n\nRoses by the wall.\n"});
    let put = daemon.request(Method::PUT, "/api/hub/documents/custom/garden.md").json(&document);
    assert!(put.send().await.unwrap().status().is_success());
    say(&daemon, &["I have a dog called Pepper and she is brown", "the safe opens with bluedolphin"]).await;
    daemon.end_session("self").await;
    eventually("a line of the diary", async || {
        let documents = daemon.get("/api/hub/documents?kind=daily").await;
        (!documents["documents"].as_array().unwrap().is_empty()).then_some(())
    })
    .await;
    run(home, settings, &["memory", "forget", "--text", "bluedolphin", "--with-messages", "--yes"])
        .await
        .well();
    run(home, settings, &["stop"]).await.well();
}

/// Starts a daemon and reads everything that the API returns.
pub(crate) async fn read_at_rest(home: &Home, settings: &Settings) -> Vec<(String, Value)> {
    let daemon = Daemon::start(home, settings).await;
    let answers = read_all(&daemon).await;
    run(home, settings, &["stop"]).await.well();
    answers
}

/// Fails if two homes answer differently, or if an item that was not erased is missing.
pub(crate) fn assert_same(before: &[(String, Value)], after: &[(String, Value)]) {
    assert_eq!(before.len(), after.len());
    let mut differences = Vec::new();
    for ((path, before), (_, after)) in before.iter().zip(after) {
        let may_be_erased = path.contains("/turns/") || path.ends_with("-trace");
        assert!(before["status"] == 200 || may_be_erased, "{path}: {before}");
        if before != after {
            differences.push(format!("{path}\n{before}\n{after}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(
        before
            .iter()
            .any(|(path, answer)| path.contains("memory/search") && answer.to_string().contains("Pepper"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn archive_makes_a_home_that_answers_the_same() {
    let (home, model) = (Home::new(), attentive_model().await);
    let settings = Settings::talking_to(&model);
    fill(&home, &settings).await;
    let file = home.path().parent().unwrap().join("memory.zip");
    let path = file.to_str().unwrap();
    // The home is idle here, so that what is read afterwards is what was exported.
    run(&home, &settings, &["export", path, "--json"]).await.well();
    let refused = run(&home, &settings, &["export", path]).await;
    assert!(refused.code == 1 && refused.err.contains("was not changed"), "{}", refused.err);

    let before = read_at_rest(&home, &settings).await;

    let other = Home::new();
    let look = run(&other, &settings, &["import", path, "--look", "--json"]).await.json();
    assert_eq!(
        (&look["format"], &look["messages"]),
        (&json!("archive"), &before_messages(&before)),
        "{look}"
    );
    run(&other, &settings, &["import", path, "--yes"]).await.well();
    let refused = run(&other, &settings, &["import", path, "--yes"]).await;
    assert!(refused.code == 1 && refused.err.contains("Nothing was imported"), "{}", refused.err);
    assert!(run(&other, &settings, &["doctor", "--json"]).await.out.contains("intact"));
    assert_same(&before, &read_at_rest(&other, &settings).await);

    let mut zip = zip::ZipArchive::new(fs::File::open(&file).unwrap()).unwrap();
    for at in 0..zip.len() {
        let (mut entry, mut text) = (zip.by_index(at).unwrap(), Vec::new());
        entry.read_to_end(&mut text).unwrap();
        let holds = testkit::contains_words(&text, "bluedolphin");
        assert!(!holds, "an erased word is in the export");
    }
}

fn before_messages(read: &[(String, Value)]) -> Value {
    json!(read[0].1["body"]["messages"].as_array().unwrap().len())
}

#[tokio::test(flavor = "multi_thread")]
async fn exported_talk_is_read_again_by_the_readers_of_other_programs() {
    let (home, settings) = (Home::new(), Settings::offline());
    let daemon = Daemon::start(&home, &settings).await;
    say(&daemon, &["my cat is called Ofelia", "she sleeps on the piano"]).await;
    let folder = home.path().parent().unwrap().to_owned();
    for (format, recognised) in [("chatgpt", "chatgpt"), ("sillytavern", "sillytavern"), ("markdown", "")] {
        let file = folder.join(format!("talk.{format}"));
        let path = file.to_str().unwrap();
        run(&home, &settings, &["export", path, "--format", format]).await.well();
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains("my cat is called Ofelia") && text.contains("on the piano"), "{text}");
        if !recognised.is_empty() {
            let look = run(&home, &settings, &["import", path, "--look", "--json"]).await.json();
            assert_eq!((&look["format"], &look["messages"]), (&json!(recognised), &json!(4)), "{look}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_archive_is_refused_and_leaves_no_memory() {
    let (home, settings) = (Home::new(), Settings::offline());
    let daemon = Daemon::start(&home, &settings).await;
    say(&daemon, &["my cat is called Ofelia"]).await;
    let file = home.path().parent().unwrap().join("memory.zip");
    let path = file.to_str().unwrap();
    run(&home, &settings, &["export", path]).await.well();
    let whole = fs::read(&file).unwrap();
    // The content of an entry. The other bytes, such as the time in its header, are not significant.
    let entries = (0..whole.len()).filter(|&at| whole[at..].starts_with(b"PK\x03\x04"));
    let length = |at: usize| usize::from(u16::from_le_bytes([whole[at], whole[at + 1]]));
    let contents: Vec<usize> = entries.map(|at| at + 30 + length(at + 26) + length(at + 28)).collect();
    for content in [contents[0], contents[contents.len() / 2]] {
        let mut bytes = whole.clone();
        bytes[content] ^= 0x55;
        fs::write(&file, bytes).unwrap();
        let other = Home::new();
        let refused = run(&other, &settings, &["import", path, "--yes"]).await;
        assert_ne!(refused.code, 0, "{}", refused.out);
        assert!(!other.has_memory(), "a damaged archive became a memory");
    }
}
