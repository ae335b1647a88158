//! Imports over the compatible interface: upload, estimate, start, events, cancellation and drafts.

use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};
use testkit::Reply;

use crate::daemon::{Daemon, Home, Settings, eventually};
use crate::owner_api::{Answer, answer};
use crate::scripts;

const DIARY: &str = "# 2024-03-05\n\nI adopted a dog called Pepper today.\n\n# 2024-03-06\n\nI started as a nurse in Lisbon.\n";

async fn upload(daemon: &Daemon, name: &str, bytes: &[u8]) -> Answer {
    let head =
        format!("--border\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n");
    let body = [head.as_bytes(), bytes, b"\r\n--border--\r\n"].concat();
    let request = daemon.request(Method::POST, "/api/admin/import/upload").body(body);
    answer(request.header(CONTENT_TYPE, "multipart/form-data; boundary=border")).await.unwrap()
}

async fn upload_text(daemon: &Daemon, text: &str) -> String {
    let kept = daemon.post("/api/admin/import/upload_text", &json!({ "text": text })).await;
    assert_eq!((&kept["suffix"], &kept["source_label"]), (&json!(".txt"), &json!("pasted_text")), "{kept}");
    assert_eq!(kept["size_bytes"], text.len());
    kept["upload_id"].as_str().unwrap().to_owned()
}

async fn start(daemon: &Daemon, upload: &str) -> String {
    let started = daemon.post("/api/admin/import/start", &json!({ "upload_id": upload })).await;
    started["pipeline_id"].as_str().unwrap().to_owned()
}

/// All events of an import, up to the end of the stream.
async fn events(daemon: &Daemon, pipeline: &str) -> Vec<Value> {
    let path = format!("/api/admin/import/events?pipeline_id={pipeline}");
    let stream = daemon.request(Method::GET, &path).send().await.unwrap();
    assert_eq!(stream.status(), 200);
    let text = stream.text().await.unwrap();
    assert!(text.split("\n\n").all(|frame| frame.is_empty()
        || frame.starts_with(':')
        || frame.starts_with("event: import.progress\n")));
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|event| serde_json::from_str(event).unwrap()).collect()
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// A text is extracted, and a client that connects late receives the same events.
pub(crate) async fn text_becomes_memory(settings: impl FnOnce(Settings) -> Settings) {
    let (home, model) = (Home::new(), scripts::remembering_model().await);
    let daemon = Daemon::start(&home, &settings(Settings::talking_to(&model))).await;
    let upload = upload_text(&daemon, DIARY).await;
    let estimate =
        daemon.post("/api/admin/import/estimate", &json!({"upload_id": upload, "stage": "llm"})).await;
    assert!(
        estimate["tokens_in"].as_u64().unwrap() > 0 && estimate["cost_usd_est"].is_number(),
        "{estimate}"
    );
    let pipeline = start(&daemon, &upload).await;
    let told = events(&daemon, &pipeline).await;
    let chunk = ["chunk.start", "chunk.done"];
    let wanted =
        [&["pipeline.registered", "pipeline.start"][..], &chunk, &chunk, &["pipeline.done"]].concat();
    assert_eq!(types(&told), wanted, "{told:?}");
    assert!(told.iter().all(|event| event["pipeline_id"] == pipeline.as_str()));
    assert_eq!(told[0]["payload"]["upload_id"], upload.as_str());
    let started = json!({"total_chunks": 2, "source_label": "pasted_text", "resume_from": 0});
    assert_eq!(told[1]["payload"], started);
    assert_eq!(told[2]["payload"], json!({"chunk_index": 0, "total_chunks": 2, "chars_in_chunk": 36}));
    assert_eq!(told[5]["payload"]["chunk_index"], 1);
    let done = &told[6]["payload"];
    assert_eq!(
        (&done["status"], &done["processed_chunks"], &done["error"]),
        (&json!("success"), &json!(2), &json!(""))
    );
    assert_eq!(done["writes_by_target"]["user_events"], 2, "{done}");
    assert_eq!(done["writes_by_target"]["persona_traits"], 0, "core blocks are written by people");
    assert_eq!(events(&daemon, &pipeline).await, told, "a client that comes late");

    let remembered: Vec<Value> = daemon.events("self").await;
    assert!(
        remembered.iter().any(|event| event.to_string().contains("I adopted a dog called Pepper today."))
    );
    let thoughts = daemon.get("/api/admin/memory/thoughts").await["items"].clone();
    assert_eq!(thoughts[0]["source"], "import", "{thoughts}");
    assert_eq!(daemon.history("self").await[0]["content"], "I adopted a dog called Pepper today.");
    let again = upload_text(&daemon, DIARY).await;
    let nothing = events(&daemon, &start(&daemon, &again).await).await;
    assert_eq!(nothing.last().unwrap()["payload"]["total_chunks"], 0, "recorded twice: {nothing:?}");
    assert_eq!(daemon.history("self").await.len(), 2);
    daemon.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_becomes_memory_and_tells_of_it() {
    text_becomes_memory(|settings| settings).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_fails_is_an_error_of_its_chunk_alone() {
    let (home, model) = (Home::new(), scripts::remembering_model().await);
    let settings = Settings::talking_to(&model).key("consolidate.max_retries", 0);
    let daemon = Daemon::start(&home, &settings).await;
    model.next("extraction", Reply::error(500, "busy"));
    let pipeline = start(&daemon, &upload_text(&daemon, DIARY).await).await;
    let told = events(&daemon, &pipeline).await;
    assert_eq!(
        types(&told)[2..],
        ["chunk.start", "chunk.error", "chunk.start", "chunk.done", "pipeline.done"]
    );
    let failed = &told[3]["payload"];
    assert_eq!(
        (&failed["chunk_index"], &failed["fatal"], &failed["stage"]),
        (&json!(0), &json!(false), &json!("extraction"))
    );
    assert!(!failed["error"].as_str().unwrap().is_empty());
    assert_eq!(told[6]["payload"]["status"], "partial_success");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_import_says_so_stays_so_over_a_kill_and_goes_on_when_started_again() {
    let (home, model) = (Home::new(), scripts::remembering_model().await);
    let settings = Settings::talking_to(&model).key("consolidate.max_retries", 3);
    let daemon = Daemon::start(&home, &settings).await;
    for _ in 0..2 {
        model.next("extraction", Reply::error(500, "busy"));
    }
    let upload = upload_text(&daemon, DIARY).await;
    let pipeline = start(&daemon, &upload).await;
    let cancelled = json!({"pipeline_id": pipeline});
    assert_eq!(daemon.post("/api/admin/import/cancel", &cancelled).await, json!({"status": "cancelled"}));
    let told = events(&daemon, &pipeline).await;
    assert_eq!(types(&told)[types(&told).len() - 2..], ["pipeline.cancelled", "pipeline.done"]);
    assert_eq!(told.last().unwrap()["payload"]["status"], "cancelled");
    daemon.kill();

    let daemon = Daemon::start(&home, &settings).await;
    assert_eq!(events(&daemon, &pipeline).await.last().unwrap()["payload"]["status"], "cancelled");
    assert_eq!(start(&daemon, &upload).await, pipeline);
    let told = eventually("the end of the import", async || {
        let told = events(&daemon, &pipeline).await;
        (told.last()?["payload"]["status"] == "success").then_some(told)
    })
    .await;
    assert_eq!(told.last().unwrap()["payload"]["processed_chunks"], 2);
    let unknown = daemon.post("/api/admin/import/cancel", &json!({"pipeline_id": "nobody"})).await;
    assert_eq!(unknown["status"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn onboarding_waits_for_an_import_and_drafts_from_it() {
    let (home, settings) = (Home::new(), Settings::offline());
    let daemon = Daemon::start(&home, &settings).await;
    let upload = upload_text(
        &daemon,
        "My name is Lena and I am a nurse.\n\nMy cat Biscuit died last week and I cried all night.\n",
    )
    .await;
    let asked = json!({"input_type": "import_upload", "upload_id": upload});
    let drafted = daemon.post("/api/admin/persona/extract-from-input", &asked).await;
    assert_eq!(drafted["pipeline_status"], "success", "{drafted}");
    assert!(drafted["core_blocks"]["user_block"].as_str().unwrap().contains("Lena"), "{drafted}");
    assert!(drafted["events"].to_string().contains("Biscuit"), "{drafted}");
    let asked = json!({"pipeline_id": upload});
    let suggested = daemon.post("/api/admin/persona/bootstrap-from-material", &asked).await;
    assert_eq!(suggested["pipeline_status"], "success");
    assert_eq!(suggested["source_event_count"], drafted["events"].as_array().unwrap().len());
    let unknown = json!({"input_type": "import_upload", "pipeline_id": "nobody"});
    assert_eq!(daemon.try_post("/api/admin/persona/extract-from-input", &unknown).await.status, 404);
    let neither = json!({"input_type": "import_upload"});
    assert_eq!(daemon.try_post("/api/admin/persona/extract-from-input", &neither).await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_uploads_are_refused_with_a_word_and_record_nothing() {
    let (home, settings) = (Home::new(), Settings::offline());
    let daemon = Daemon::start(&home, &settings).await;
    assert_eq!(upload(&daemon, "empty.txt", b"").await.status, 400);
    let noise = upload(&daemon, "noise.dat", &[0, 159, 146, 150].repeat(100)).await;
    assert_eq!((noise.status, &noise.body["suffix"]), (200, &json!(".dat")));
    let estimate =
        daemon.post("/api/admin/import/estimate", &json!({"upload_id": noise.body["upload_id"]})).await;
    assert_eq!((&estimate["tokens_in"], estimate["note"].is_string()), (&json!(0), true), "{estimate}");
    let chat = b"12/31/2024, 10:00 - Ann: Hello\n12/31/2024, 10:01 - Bob: Hi\n12/31/2024, 10:02 - Ann: Bye\n";
    let chat = upload(&daemon, "chat.txt", chat).await;
    for (body, status, says) in [
        (json!({"upload_id": noise.body["upload_id"]}), 422, "not text"),
        (json!({"upload_id": chat.body["upload_id"]}), 422, "Ann (2)"),
        (json!({"upload_id": "nobody"}), 404, "import not found"),
        (json!({"upload_id": ""}), 422, "1 to 64"),
    ] {
        let refused = daemon.try_post("/api/admin/import/start", &body).await;
        assert_eq!(refused.status, status, "{:?}", refused.body);
        assert!(refused.body["detail"].as_str().unwrap().contains(says), "{:?}", refused.body);
    }
    let waiting =
        format!("/api/admin/import/events?pipeline_id={}", chat.body["upload_id"].as_str().unwrap());
    assert_eq!(daemon.try_get(&waiting).await.status, 404, "it was not started");
    let stage = json!({"upload_id": chat.body["upload_id"], "stage": "embedding"});
    assert_eq!(daemon.try_post("/api/admin/import/estimate", &stage).await.status, 400);
    assert_eq!(daemon.try_post("/api/admin/import/upload_text", &json!({"text": ""})).await.status, 422);
    assert_eq!(daemon.history("self").await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_are_kept_in_the_folder_that_daemons_share() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let settings = Settings::offline().key("storage.files", folder.path().display());
    let daemon = Daemon::start(&home, &settings).await;
    upload_text(&daemon, DIARY).await;
    let kept = std::fs::read_dir(folder.path().join("imports")).unwrap().count();
    assert!(kept > 0 && !home.file("imports").exists());
}
