//! The hub over HTTP.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::home::Home;

const WANTS: &str = "/api/hub/documents/self/my_wants.md";

#[tokio::test]
async fn a_document_is_written_compared_restored_and_deleted() {
    let home = Home::new().await;
    let put = |body| home.ask(Method::PUT, WANTS, Some(body));
    let first = put(json!({"content": "tea\n", "prompt_label": "What I want"})).await;
    assert_eq!((first.status, &first.json()["version"]), (StatusCode::OK, &json!(1)), "{}", first.text);
    let second = put(json!({"content": "coffee\n", "version": 1})).await.json();
    assert_eq!((&second["version"], &second["edited_by"]), (&json!(2), &json!("admin")));
    let late = put(json!({"content": "milk\n", "version": 1})).await;
    assert_eq!(late.status, StatusCode::CONFLICT, "{}", late.text);

    let versions = home.get(&format!("{WANTS}/versions")).await.json();
    let texts: Vec<_> =
        versions["versions"].as_array().unwrap().iter().map(|v| v["content"].clone()).collect();
    assert_eq!(texts, [json!("coffee\n"), json!("tea\n")]);
    home.post(&format!("{WANTS}/versions/1/restore"), json!({})).await;
    for version in ["7", "0.1.0", "one"] {
        home.post(&format!("{WANTS}/versions/{version}/restore"), json!({})).await.is_problem(404);
    }
    let read = home.get(WANTS).await.json();
    assert_eq!((&read["content"], &read["prompt_label"]), (&json!("tea\n"), &json!("What I want")));

    assert_eq!(home.ask(Method::DELETE, WANTS, None).await.status, StatusCode::OK);
    assert_eq!(home.get(WANTS).await.status, StatusCode::NOT_FOUND);
    let listed = home.get("/api/hub/documents?kind=self").await.json();
    assert_eq!(listed["documents"], json!([]));
}

#[tokio::test]
async fn deleted_document_is_listed_and_restored() {
    let home = Home::new().await;
    home.ask(Method::PUT, WANTS, Some(json!({"content": "tea\n"}))).await;
    home.ask(Method::PUT, "/api/hub/documents/custom/kept.md", Some(json!({"content": "x"}))).await;
    home.ask(Method::DELETE, WANTS, None).await;
    let deleted = async || home.get("/api/hub/documents?deleted=true").await.json()["documents"].clone();
    let listed = deleted().await;
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!((&listed[0]["filename"], &listed[0]["deleted"]), (&json!("my_wants.md"), &json!(true)));
    let version = &listed[0]["version"];
    let restored = home.post(&format!("{WANTS}/versions/{version}/restore"), json!({})).await;
    assert_eq!(restored.json()["content"], "tea\n", "{}", restored.text);
    assert_eq!(deleted().await, json!([]));
    assert_eq!(home.get(WANTS).await.json()["content"], "tea\n");
}

#[tokio::test]
async fn defect_14_no_path_leaves_its_folder() {
    let home = Home::new().await;
    for path in [
        "self/..%2F..%2Fx.md",
        "self/%2e%2e",
        "nothing/x.md",
        "daily/2026-13-99_home.md",
        "weekly/2026-W99.md",
    ] {
        let refused =
            home.ask(Method::PUT, &format!("/api/hub/documents/{path}"), Some(json!({"content": "x"}))).await;
        assert!(refused.status.is_client_error(), "{path}: {}", refused.text);
    }
}

#[tokio::test]
async fn documents_and_versions_are_read_page_by_page() {
    let home = Home::new().await;
    for (path, content) in [("custom/b", "1"), ("self/c", "1"), ("custom/a", "1"), ("custom/a", "2")] {
        let body = json!({"content": content});
        home.ask(Method::PUT, &format!("/api/hub/documents/{path}.md"), Some(body)).await;
    }
    let pages = async |path: &str, rows: &str| {
        let (mut seen, mut query) = (Vec::new(), "limit=1".to_owned());
        loop {
            let page = home.get(&format!("{path}?{query}")).await.json();
            seen.extend(page[rows].as_array().unwrap().clone());
            assert!(seen.len() < 9, "{seen:?}");
            let Some(next) = page["next_cursor"].as_str() else { return seen };
            query = format!("limit=1&cursor={next}");
        }
    };
    let documents = pages("/api/hub/documents", "documents").await;
    let names: Vec<_> = documents.iter().map(|document| document["filename"].clone()).collect();
    assert_eq!(names, ["a.md", "b.md", "c.md"]);
    let versions = pages("/api/hub/documents/custom/a.md/versions", "versions").await;
    assert_eq!(versions.iter().map(|version| version["version"].clone()).collect::<Vec<_>>(), [2, 1]);
    for path in ["documents", "conflicts", "documents/custom/a.md/versions"] {
        home.get(&format!("/api/hub/{path}?cursor=garbage")).await.is_problem(422);
        home.get(&format!("/api/hub/{path}?limit=201")).await.is_problem(422);
    }
}

#[tokio::test]
async fn the_error_of_a_wrong_kind_lists_all_kinds() {
    let home = Home::new().await;
    let body = json!({"content": "x"});
    let refused = home.ask(Method::PUT, "/api/hub/documents/nope/a.md", Some(body)).await;
    let detail = refused.is_problem(422);
    let kinds =
        ["self", "user", "relationship", "custom", "daily", "weekly", "monthly", "yearly", "significant"];
    assert!(kinds.iter().all(|kind| detail.contains(kind)) && detail.contains("`nope`"), "{detail}");
}

/// A core block that was written through either interface is the same in both.
#[tokio::test]
async fn a_core_block_is_a_document() {
    let home = Home::new().await;
    let written = home.post("/api/admin/persona", json!({"persona_block": "I am Luna."})).await;
    assert_eq!(written.status, StatusCode::OK, "{}", written.text);
    let read = home.get("/api/hub/documents/self/persona.md").await.json();
    assert_eq!((&read["content"], &read["core_block"]), (&json!("I am Luna."), &json!(true)));
    let edit = json!({"content": "I am Luna Moon."});
    home.ask(Method::PUT, "/api/hub/documents/self/persona.md", Some(edit)).await;
    let persona = home.get("/api/admin/persona").await.text;
    assert!(persona.contains("I am Luna Moon."), "{persona}");
    let long = home
        .ask(Method::PUT, "/api/hub/documents/self/persona.md", Some(json!({"content": "x".repeat(5_001)})))
        .await;
    assert_eq!(long.status, StatusCode::UNPROCESSABLE_ENTITY);
    let prompt = home.get("/api/hub/search?q=").await;
    assert_eq!(prompt.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(home.get("/api/hub/conflicts").await.json(), json!({"conflicts": [], "next_cursor": null}));
    assert_eq!(home.get("/api/hub/status").await.json()["openConflicts"], json!(0));
}

#[tokio::test]
async fn the_hub_needs_an_administrator() {
    let home = Home::new().await;
    let token = home.token("pi", &["hub:pi"], None).await;
    let answer = home.ask_with(&token, Method::GET, "/api/hub/documents", None).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_roll_up_that_cannot_be_written_says_why() {
    let home = Home::new().await;
    let day = "/api/hub/documents/daily/2025-11-04_home.md";
    home.ask(Method::PUT, day, Some(json!({"content": "- a day\n"}))).await;
    let untold = home.get("/api/hub/rollups").await.json();
    let week = json!({"kind": "weekly", "filename": "2025-W45.md", "due": true, "stale": false});
    assert_eq!(untold, json!({"periods": [week]}));

    // This home has no language model.
    let failed = home.post("/api/hub/rollups/weekly/2025-W45.md", json!({})).await;
    failed.is_problem(502);
    home.post("/api/hub/rollups/weekly/2025-W44", json!({})).await.is_problem(404);
    home.post("/api/hub/rollups/daily/2025-11-04_home.md", json!({})).await.is_problem(422);
    home.post("/api/hub/rollups/self/persona.md", json!({})).await.is_problem(422);
    home.post("/api/hub/rollups/weekly/2025-W99.md", json!({})).await.is_problem(422);

    let by_hand = "/api/hub/documents/weekly/2025-W45.md";
    home.ask(Method::PUT, by_hand, Some(json!({"content": "- a week\n"}))).await;
    home.post("/api/hub/rollups/weekly/2025-W45.md", json!({})).await.is_problem(409);
}

#[tokio::test]
async fn a_corrected_event_changes_its_line_in_the_diary() {
    let home = Home::new().await;
    let (session, events) = crate::memories::remember(&home, 1).await;
    let hub = home.runtime.hub().unwrap().clone();
    // The hub's background work may have been faster.
    hub.write_diary().await.unwrap();
    let listed = home.get("/api/hub/documents?kind=daily").await.json();
    let path = format!("/api/hub/documents/daily/{}", listed["documents"][0]["filename"].as_str().unwrap());
    let before = home.get(&path).await.json()["content"].as_str().unwrap().to_owned();
    assert_eq!(before.matches("Soot did her trick number 0").count(), 1, "{before}");
    let node = format!("/api/admin/memory/nodes/{}", events[0]);
    let corrected = home.ask(Method::PATCH, &node, Some(json!({"text": "Soot\nonly sleeps"}))).await;
    assert_eq!(corrected.status, StatusCode::OK, "{}", corrected.text);
    hub.correct_diary().await.unwrap();
    let after = home.get(&path).await.json()["content"].as_str().unwrap().to_owned();
    let line = format!("- Soot only sleeps [chat:{session}] [via:");
    assert!(after.contains(&line) && !after.contains("trick number 0"), "{after}");
    assert_eq!((hub.correct_diary().await.unwrap(), hub.write_diary().await.unwrap()), (0, 0));
    // A text that is undone is corrected again; the text between stays as a version.
    home.post(&format!("{node}/undo"), json!({})).await;
    hub.correct_diary().await.unwrap();
    assert_eq!(home.get(&path).await.json()["content"], json!(before));
}

#[tokio::test]
async fn documents_are_erased_by_name_with_all_their_versions() {
    let home = Home::new().await;
    for (name, texts) in [
        ("custom/lore/hives-queen.md", ["The queen is called Ottilie.", "The queen was called Ottilie."]),
        ("custom/lore/hives-drones.md", ["Drones sleep late.", "Drones sleep at noon."]),
        ("self/wants.md", ["A garden.", "A larger garden."]),
    ] {
        for content in texts {
            let path = format!("/api/hub/documents/{name}");
            let written = home.ask(Method::PUT, &path, Some(json!({"content": content}))).await;
            assert_eq!(written.status, 200, "{}", written.text);
        }
    }
    let erase =
        async |documents: Value| home.post("/api/admin/memory/erase", json!({"documents": documents})).await;
    for bad in ["hives", "lore/hives.md", "custom/../x.md"] {
        let refused = erase(json!([bad])).await.is_problem(422);
        assert!(refused.contains("nothing was erased"), "{refused}");
    }
    erase(json!(["custom/nowhere.md"])).await.is_problem(404);
    let receipt = erase(json!(["custom/lore/hives-queen.md", "custom/lore/hives-drones.md"])).await.json();
    assert_eq!(
        (&receipt["counts"]["documents"], &receipt["selected_by"]),
        (&json!(2), &json!(["documents"]))
    );
    let left = home.get("/api/hub/documents").await.text;
    assert!(!left.contains("hives") && left.contains("wants.md"), "{left}");
    let deleted = home.get("/api/hub/documents?deleted=true").await.json();
    assert_eq!(deleted["documents"], json!([]), "nothing of it can be restored");
    // The audit log names the documents that were written and contains no word of them.
    for word in ["Ottilie", "Drones"] {
        assert!(!home.holds(word), "{word}");
    }
    let receipt = erase(json!(["self/wants"])).await.json();
    assert_eq!(receipt["counts"]["documents"], 1, "{receipt}");
    assert!(!home.holds("larger garden"));
}
