//! Documents of other programs: stored as significant memories, found by recall, and removed completely.

use serde_json::json;

use crate::home::Home;
use crate::imports::{path, record, upload};

const PROJECTS: &str = r#"[{"uuid": "p1", "name": "Trip to Norway", "description": "", "is_private": true,
    "is_starter_project": false, "prompt_template": "", "created_at": "2025-06-01T08:00:00.000000+00:00", "docs": [
    {"uuid": "d1", "filename": "Packing list.md", "created_at": "2025-06-02T08:00:00.000000+00:00", "content": "Wool socks, the red lantern and a map of Lofoten."},
    {"uuid": "d2", "filename": "empty.md", "content": ""}]}]"#;
const DIARY: &str = "# 2026-01-05\nToday the ferry to Svolvær was late and we saw a sea eagle.\n";

async fn documents(home: &Home) -> Vec<String> {
    let listed = home.get("/api/hub/documents?kind=significant").await.json();
    let listed = listed["documents"].as_array().unwrap();
    listed.iter().map(|document| document["filename"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn documents_are_kept_found_and_taken_back() {
    let home = Home::new().await;
    let files = [("projects.json", PROJECTS), ("2026-01-05.md", DIARY)];
    let seen = upload(&home, &files).await;
    assert_eq!(seen["look"]["documents"], 3, "{seen}");
    let done = record(&home, &seen, json!({"mapping": {}})).await;
    assert_eq!(
        (&done["found"], &done["documents"], &done["skipped_count"], &done["recorded"]),
        (&json!(3), &json!(2), &json!(1), &json!(0)),
        "{done}"
    );
    assert_eq!(done["skipped"][0]["reason"], "the document has no text");
    let kept = documents(&home).await;
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(kept.iter().any(|name| name.contains("2026-01-05")), "{kept:?}");

    let found = home.post("/api/admin/memory/recall", json!({"text": "the red lantern"})).await.json();
    assert!(found.to_string().contains("red lantern and a map"), "{found}");

    let again = upload(&home, &files).await;
    let done = record(&home, &again, json!({"mapping": {}})).await;
    assert_eq!((&done["documents"], &done["already_there"]), (&json!(0), &json!(2)), "{done}");
    let undone = home.post(&path(&again, "/undo"), json!({})).await.json();
    assert_eq!(undone["receipts"], json!([]), "the second import brought nothing: {undone}");
    assert_eq!(documents(&home).await.len(), 2);

    let changed = upload(&home, &[("2026-01-05.md", "# 2026-01-05\nThe ferry was on time.\n")]).await;
    let done = record(&home, &changed, json!({"mapping": {}})).await;
    assert_eq!((&done["documents"], &done["skipped_count"]), (&json!(0), &json!(1)));
    assert!(done["skipped"][0]["reason"].as_str().unwrap().contains("another text"), "{done}");

    let undone = home.post(&path(&seen, "/undo"), json!({})).await.json();
    assert_eq!(undone["receipts"].as_array().map(Vec::len), Some(1), "{undone}");
    assert_eq!(documents(&home).await, [""; 0]);
    for word in ["lantern", "Svolv", "packing-list"] {
        assert!(!home.holds(word), "{word}");
    }
    let again = upload(&home, &files).await;
    let done = record(&home, &again, json!({"mapping": {}})).await;
    assert_eq!(done["documents"], 2, "{done}");
    let names: Vec<String> =
        documents(&home).await.iter().map(|file| format!("significant/{file}")).collect();
    home.post("/api/admin/memory/erase", json!({"documents": names})).await.json();
    assert_eq!(documents(&home).await, [""; 0]);
    let once_more = upload(&home, &files).await;
    let done = record(&home, &once_more, json!({"mapping": {}})).await;
    assert_eq!(done["documents"], 2, "{done}");
    assert_eq!(documents(&home).await.len(), 2);
}

#[tokio::test]
async fn documents_that_claim_the_same_id_leave_nothing_behind() {
    let home = Home::new().await;
    let twins = PROJECTS.replace(
        r#""uuid": "d2", "filename": "empty.md", "content": """#,
        r#""uuid": "d1", "filename": "other.md", "content": "A second lantern.""#,
    );
    let seen = upload(&home, &[("projects.json", &twins)]).await;
    let done = record(&home, &seen, json!({"mapping": {}})).await;
    assert_eq!(
        (&done["documents"], &done["skipped_count"], &done["found"]),
        (&json!(1), &json!(1), &json!(2))
    );
    home.post(&path(&seen, "/undo"), json!({})).await.json();
    assert_eq!(documents(&home).await, [""; 0]);
    assert!(!home.holds("lantern"));
}
