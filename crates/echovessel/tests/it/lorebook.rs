//! Lorebooks: a prompt contains an entry while a message mentions one of its keys, the receipt lists it, and it is no
//! evidence about the user.

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::ScriptedModel;

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings};
use crate::import::is_anywhere;
use crate::scripts;
use crate::watcher::Watcher;

const QUEEN: &str = "The queen of the third hive is called Ottilie.";

fn card() -> Value {
    json!({"spec": "chara_card_v3", "spec_version": "3.0", "data": {
        "name": "Mira", "description": "{{char}} keeps bees.", "first_mes": "", "mes_example": "",
        "character_book": {"name": "Hives", "extensions": {}, "entries": [
            {"keys": ["queen", "蜂王"], "content": QUEEN, "enabled": true, "insertion_order": 1, "extensions": {"position": 1}},
            {"keys": ["mill"], "content": "The mill burned down.", "enabled": false, "insertion_order": 2, "extensions": {}}]}}})
}

fn write(home: &Home, name: &str, content: &Value) -> String {
    let path = home.path().parent().unwrap().join(name);
    fs::write(&path, content.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The system prompt of the last reply.
fn last_prompt(model: &ScriptedModel) -> String {
    model.requests_for("reply").pop().unwrap().system()
}

async fn ask(daemon: &Daemon, text: &str) -> String {
    let mut watcher = Watcher::open(daemon).await;
    let turn = daemon.say("self", text).await.turn_id;
    watcher.wait_for_reply(&turn).await;
    turn
}

async fn documents(daemon: &Daemon, turn: &str) -> Value {
    daemon.get(&format!("/api/chat/turns/{turn}/receipt")).await["documents"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn entry_joins_the_prompt_while_its_key_is_named() {
    let model = scripts::remembering_model().await;
    let (home, settings) = (Home::new(), Settings::talking_to(&model));
    let file = write(&home, "mira.json", &card());
    let saved = run(&home, &settings, &["import", &file, "--yes"]).await.well();
    assert!(
        saved.contains("the lorebook Hives (2 entries)") && saved.contains("custom/lore: 2 lorebook entries"),
        "{saved}"
    );
    assert!(saved.contains("no effect here: position"), "{saved}");

    let daemon = Daemon::start(&home, &settings).await;
    let path = "/api/hub/documents/custom/lore/hives-queen.md";
    let document = daemon.get(path).await;
    assert!(document["content"].as_str().unwrap().contains("keys: [\"queen\",\"蜂王\"]"), "{document}");
    assert_eq!(daemon.get("/api/hub/documents/custom/lore%2Fhives-queen.md").await, document);

    let turn = ask(&daemon, "Good morning, how are you?").await;
    assert!(!last_prompt(&model).contains(QUEEN));
    assert_eq!(documents(&daemon, &turn).await, json!([]));
    let turn = ask(&daemon, "And who is your QUEEN?").await;
    assert!(last_prompt(&model).contains(QUEEN));
    let used = documents(&daemon, &turn).await;
    assert_eq!(
        (&used[0]["kind"], &used[0]["filename"], &used[0]["excerpt"]),
        (&json!("lore"), &json!("lore/hives-queen.md"), &json!(QUEEN)),
        "{used}"
    );
    ask(&daemon, "你还记得蜂王吗").await;
    assert!(last_prompt(&model).contains(QUEEN));

    // A person makes the entry a secret of another key. An earlier receipt shows its present state.
    let edited = json!({"content": "---\nkeys: ruler\n---\nShe is called Berta."});
    daemon.request(Method::PUT, path).json(&edited).send().await.unwrap().error_for_status().unwrap();
    ask(&daemon, "Tell me of the ruler of bees").await;
    assert!(last_prompt(&model).contains("She is called Berta."));
    assert_eq!(documents(&daemon, &turn).await[0]["excerpt"], "She is called Berta.");
    assert_eq!(daemon.try_delete(path).await.status, 200);
    assert_eq!(documents(&daemon, &turn).await, json!([]));
    ask(&daemon, "The ruler, once more").await;
    assert!(!last_prompt(&model).contains("Berta"));
}

#[tokio::test(flavor = "multi_thread")]
async fn fiction_stays_with_its_persona_and_never_becomes_a_memory() {
    let model = scripts::remembering_model().await;
    let (home, settings) = (Home::new(), Settings::talking_to(&model));
    let world = json!({"name": "World", "entries": {"0": {"uid": 0, "key": ["queen"], "comment": "Queen",
        "content": "{{user}} is the queen's brother.", "constant": false, "order": 100}}});
    let file = write(&home, "world.json", &world);
    run(&home, &settings, &["import", &file, "--persona", "mira", "--create", "--yes"]).await.well();
    let daemon = Daemon::start(&home, &settings).await;
    ask(&daemon, "My queen is a chess piece").await;
    assert!(!last_prompt(&model).contains("queen's brother"), "another persona's world");
    let mut watcher = Watcher::open(&daemon).await;
    for text in
        ["I moved to Lyon in spring", "My sister Ines sails boats", "I sold my chess queen to a neighbour"]
    {
        let said = daemon.post("/api/chat/send", &json!({"content": text, "persona_id": "mira"})).await;
        watcher.wait_for_reply(said["turn_id"].as_str().unwrap()).await;
    }
    assert!(last_prompt(&model).contains("the user is the queen's brother"));
    let sessions = daemon.get("/api/admin/sessions?persona_id=mira").await;
    let id = sessions["sessions"][0]["id"].as_str().unwrap().to_owned();
    daemon.post(&format!("/api/admin/sessions/{id}/close"), &json!({})).await;
    watcher.wait_for_boundary(&id).await;
    assert!(!model.requests_for("extraction").is_empty());
    for request in model.requests_for("extraction") {
        assert!(!request.user().contains("brother") && !request.system().contains("brother"));
    }
    let found = daemon.get("/api/admin/memory/search?q=brother&persona_id=mira").await.to_string();
    assert!(!found.contains("queen's brother"), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn erasing_takes_the_name_of_an_entry_along() {
    let (home, settings) = (Home::new(), Settings::offline());
    let world = json!({"name": "World", "entries": {
        "0": {"uid": 0, "key": ["tree"], "comment": "Old Walnut", "content": "It stands by the mill."},
        "1": {"uid": 1, "key": ["mill"], "comment": "Mill", "content": "The mill is quiet."}}});
    let file = write(&home, "world.json", &world);
    run(&home, &settings, &["import", &file, "--yes"]).await.well();
    let daemon = Daemon::start(&home, &settings).await;
    run(&home, &settings, &["memory", "forget", "--text", "old walnut", "--with-messages", "--yes"])
        .await
        .well();
    let documents = daemon.get("/api/hub/documents?kind=custom").await.to_string();
    assert!(documents.contains("lore/world-mill.md") && !documents.contains("walnut"), "{documents}");
    run(&home, &settings, &["stop"]).await.well();
    drop(daemon);
    assert!(!is_anywhere(&home, "walnut") && !is_anywhere(&home, "Walnut"));
}
