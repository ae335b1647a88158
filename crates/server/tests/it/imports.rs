//! Imports over HTTP: files of a format, a preview, a mapping, messages, memories, and undo.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{Method, Request};
use serde_json::{Value, json};

use crate::conformity;
use crate::home::{Answer, HOSTNAME, Home, TOKEN, until};

const HOUR: Duration = Duration::from_secs(3_600);
pub(crate) const CHAT: &str = "[01.03.24, 14:03:05] Nora: Good morning\n\
    [01.03.24, 14:04:10] Milo: Good morning Nora, shall we walk?\n\
    [01.03.24, 14:05:00] Nora: Yes, and I bring my dog Pepper\n";

async fn send(home: &Home, files: &[(&str, &str)], format: Option<&str>) -> Answer {
    let mut form = String::new();
    for (name, text) in files {
        form += &format!(
            "--border\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n{text}\r\n"
        );
    }
    if let Some(format) = format {
        form += &format!("--border\r\ncontent-disposition: form-data; name=\"format\"\r\n\r\n{format}\r\n");
    }
    form += "--border--\r\n";
    let request = Request::builder().method(Method::POST).uri("/api/admin/imports").header(HOST, HOSTNAME);
    let request = request.header(AUTHORIZATION, format!("Bearer {TOKEN}"));
    let request = request.header(CONTENT_TYPE, "multipart/form-data; boundary=border");
    let answer = Answer::of(home.raw(request.body(Body::from(form)).unwrap()).await).await;
    conformity::check(&Method::POST, "/api/admin/imports", &answer);
    answer
}

pub(crate) async fn upload(home: &Home, files: &[(&str, &str)]) -> Value {
    let answer = send(home, files, None).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.json()
}

pub(crate) fn path(import: &Value, act: &str) -> String {
    format!("/api/admin/imports/{}{act}", import["run_id"].as_str().unwrap())
}

pub(crate) fn who() -> Value {
    json!({"mapping": {"user": ["Nora"], "persona": ["Milo"], "zone": "Europe/Berlin"}})
}

async fn contents(home: &Home) -> Vec<String> {
    let history = home.get("/api/chat/history").await.json();
    let messages = history["messages"].as_array().unwrap();
    messages.iter().rev().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

/// Waits until an import is recorded.
pub(crate) async fn record(home: &Home, import: &Value, body: Value) -> Value {
    let mut watcher = home.runtime.broadcast().subscribe();
    let started = home.post(&path(import, "/start"), body).await;
    assert_eq!(started.status, 200, "{}", started.text);
    loop {
        let event = until(&mut watcher, &["import.progress"]).await;
        assert_eq!((&event.data["persona_id"], &event.data["user_id"]), (&json!("default"), &json!("self")));
        // An earlier import may still report the progress of its memories.
        if event.data["run_id"] == import["run_id"] && event.data["state"] != "recording" {
            return home.get(&path(import, "")).await.json();
        }
    }
}

#[tokio::test]
async fn upload_answers_what_the_files_hold_and_writes_nothing() {
    let home = Home::new().await;
    let seen = upload(&home, &[("_chat.txt", CHAT), ("notes.bin", "\u{0}\u{1}")]).await;
    assert_eq!((&seen["state"], &seen["recorded"]), (&json!("uploaded"), &json!(0)));
    assert_eq!(seen["files"], json!(["_chat.txt", "notes.bin"]));
    let look = &seen["look"];
    assert_eq!(
        (&look["format"], &look["messages"], &look["sessions"]),
        (&json!("whatsapp"), &json!(3), &json!(1))
    );
    assert_eq!(look["speakers"][0], json!({"name": "Nora", "messages": 2, "role": "other"}));
    assert_eq!(look["skipped"][0]["where"], "notes.bin", "{look}");
    assert!(seen["estimate"]["input_tokens"].as_u64().unwrap() > 0, "{seen}");
    assert_eq!(contents(&home).await, [""; 0]);
    let listed = home.get("/api/admin/imports").await.json();
    assert_eq!(listed["imports"][0]["run_id"], seen["run_id"]);

    let dropped = home.post(&path(&seen, "/undo"), json!({})).await.json();
    assert_eq!(dropped["erased"], 0);
    home.get(&path(&seen, "")).await.is_problem(404);
    home.post(&path(&seen, "/start"), who()).await.is_problem(404);
}

/// An upload is deleted if its page was closed.
#[tokio::test]
async fn upload_that_nobody_starts_is_deleted_after_a_day() {
    let home = Home::new().await;
    let seen = upload(&home, &[("_chat.txt", CHAT)]).await;
    home.wait(HOUR * 23).await;
    assert_eq!(home.get(&path(&seen, "")).await.json()["state"], "uploaded");
    let is_gone = async {
        while home.get(&path(&seen, "")).await.status != 404 {
            home.wait(HOUR).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), is_gone).await.expect("the upload was kept");
}

#[tokio::test]
async fn start_records_messages_with_their_speakers_and_times_once() {
    let home = Home::new().await;
    let seen = upload(&home, &[("_chat.txt", CHAT)]).await;
    let done = record(&home, &seen, who()).await;
    assert_eq!(
        (&done["found"], &done["recorded"], &done["sessions"]),
        (&json!(3), &json!(3), &json!(1)),
        "{done}"
    );
    assert_eq!(done["look"], Value::Null, "the files are deleted once they are recorded");
    let history = home.get("/api/chat/history").await.json();
    let oldest = &history["messages"][2];
    assert_eq!((&oldest["content"], &oldest["role"]), (&json!("Good morning"), &json!("user")));
    assert_eq!(oldest["created_at"], "2024-03-01T13:03:05Z");
    home.post(&path(&seen, "/start"), who()).await.is_problem(409);

    let again = upload(&home, &[("_chat.txt", CHAT)]).await;
    let done = record(&home, &again, who()).await;
    assert_eq!((&done["recorded"], &done["already_there"]), (&json!(0), &json!(3)), "{done}");
    assert_eq!(contents(&home).await.len(), 3);
}

#[tokio::test]
async fn mapping_that_does_not_fit_the_files_is_refused() {
    let home = Home::new().await;
    let seen = upload(&home, &[("_chat.txt", CHAT)]).await;
    for (mapping, says) in [
        (json!({}), "roles of the speakers"),
        (json!({"user": ["Mira"]}), "Mira"),
        (json!({"user": ["Nora"], "zone": "Mars/North"}), "Mars/North"),
        (json!({"me": ["Nora"]}), "unknown field"),
    ] {
        let refused = home.post(&path(&seen, "/start"), json!({"mapping": mapping})).await.is_problem(422);
        assert!(refused.contains(says), "{refused}");
    }
    let nobody = json!({"persona_id": "nobody", "mapping": who()["mapping"]});
    home.post(&path(&seen, "/start"), nobody).await.is_problem(404);
    home.post(&path(&seen, "/pause"), json!({})).await.is_problem(409);
    assert_eq!(home.get(&path(&seen, "")).await.json()["state"], "uploaded", "it can still be started");
}

#[tokio::test]
async fn undo_erases_the_messages_and_leaves_others() {
    let home = Home::new().await;
    home.talk("I like rain").await;
    let before = contents(&home).await;
    let seen = upload(&home, &[("_chat.txt", CHAT)]).await;
    record(&home, &seen, json!({"mapping": who()["mapping"], "remember": false})).await;
    assert_eq!(contents(&home).await.len(), before.len() + 3);
    let undone = home.post(&path(&seen, "/undo"), json!({})).await.json();
    assert_eq!((&undone["erased"], undone["receipts"].as_array().unwrap().len()), (&json!(3), 1), "{undone}");
    assert_eq!(contents(&home).await, before);
    home.get(&path(&seen, "")).await.is_problem(404);
    assert_eq!(home.get("/api/admin/imports").await.json(), json!({"imports": []}));
}

#[tokio::test]
async fn import_is_paused_and_resumed() {
    let home = Home::new().await;
    let seen = upload(&home, &[("_chat.txt", CHAT)]).await;
    let done = record(&home, &seen, json!({"mapping": who()["mapping"], "remember": false})).await;
    assert_eq!((&done["state"], &done["remembering"]), (&json!("done"), &json!("off")));
    let paused = home.post(&path(&seen, "/pause"), json!({})).await.json();
    assert_eq!((&paused["state"], &paused["sessions_waiting"]), (&json!("paused"), &json!(1)));
    let mut watcher = home.runtime.broadcast().subscribe();
    home.post(&path(&seen, "/resume"), json!({})).await;
    loop {
        let event = until(&mut watcher, &["import.progress"]).await;
        if event.data["state"] == "done" {
            assert_eq!(event.data["sessions_waiting"], 0);
            break;
        }
    }
}

#[tokio::test]
async fn upload_is_refused_with_a_reason() {
    let home = Home::new().await;
    send(&home, &[], None).await.is_problem(400);
    send(&home, &[("empty.txt", "")], None).await.is_problem(400);
    let unknown = send(&home, &[("_chat.txt", CHAT)], Some("telex")).await.is_problem(422);
    assert!(unknown.contains("telex") && unknown.contains("whatsapp"), "{unknown}");
    let json = home.post("/api/admin/imports", json!({"file": "x"})).await.is_problem(422);
    assert!(json.contains("multipart/form-data"), "{json}");
    assert_eq!(home.get("/api/admin/imports").await.json(), json!({"imports": []}));
}

#[tokio::test]
async fn export_of_talk_is_streamed_in_forms_that_can_be_imported() {
    let home = Home::new().await;
    home.talk("I like rain").await;
    let answer = home.raw(request_of("/api/admin/export?format=chatgpt")).await;
    assert_eq!(answer.headers()["content-disposition"], "attachment; filename=\"conversations.json\"");
    let exported = Answer::of(answer).await;
    assert_eq!((exported.status.as_u16(), exported.header("content-type")), (200, Some("application/json")));
    let seen = upload(&home, &[("conversations.json", &exported.text)]).await;
    assert_eq!((&seen["look"]["format"], &seen["look"]["messages"]), (&json!("chatgpt"), &json!(2)));
    let markdown = Answer::of(home.raw(request_of("/api/admin/export?format=markdown")).await).await;
    assert!(
        markdown.text.starts_with("# Echo\n") && markdown.text.contains("I like rain"),
        "{}",
        markdown.text
    );
    home.get("/api/admin/export?format=telex").await.is_problem(422);
    home.get("/api/admin/export?persona_id=nobody").await.is_problem(404);
}

fn request_of(path: &str) -> Request<Body> {
    let request = Request::builder().uri(path).header(HOST, HOSTNAME);
    request.header(AUTHORIZATION, format!("Bearer {TOKEN}")).body(Body::empty()).unwrap()
}

#[tokio::test]
async fn the_list_of_an_import_is_a_file_for_spreadsheets() {
    let home = Home::new().await;
    let seen = upload(&home, &[("_chat.txt", CHAT), ("=notes.bin", "\u{0}\u{1}")]).await;
    let before = home.get(&path(&seen, "/list.csv")).await;
    assert_eq!((before.status.as_u16(), before.text.as_str()), (200, "kind,count,place,reason\r\n"));
    record(&home, &seen, who()).await;
    let list = home.get(&path(&seen, "/list.csv")).await;
    assert_eq!(list.header("content-type"), Some("text/csv; charset=utf-8"));
    for row in ["found,4,,", "recorded,3,,", "already there,0,,", "skipped,1,,"] {
        assert!(list.text.lines().any(|line| line == row), "{row}: {}", list.text);
    }
    assert!(
        list.text.lines().last().unwrap().starts_with("skipped thing,1,\"'=notes.bin\",\""),
        "{}",
        list.text
    );
    home.get("/api/admin/imports/0198a0c2-7d52-7c10-9d0b-5f1c6a3e2b11/list.csv").await.is_problem(404);
}
