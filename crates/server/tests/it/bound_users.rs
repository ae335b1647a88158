//! A hub token of one user reaches what belongs to that user, and nothing that all users share.

use serde_json::{Value, json};

use crate::home::{Home, TOKEN};
use crate::mcp::call;

async fn answer(home: &Home, token: &str, tool: &str, arguments: Value) -> Value {
    let result = call(home, token, tool, arguments).await;
    assert!(result["isError"].is_null(), "{tool}: {result}");
    result["structuredContent"].clone()
}

/// A home whose owner wrote a document in each category, and a token of Ann's.
async fn home_with_documents() -> (Home, String) {
    let home = Home::new().await;
    let ann = home.token("ann", &["hub:phone"], Some("ann")).await;
    for (category, filename) in [
        ("self", "my_wants.md"),
        ("custom", "house.md"),
        ("user", "user_life.md"),
        ("relationship", "relationship_notes.md"),
    ] {
        let text = json!({"category": category, "filename": filename, "content": "## Tea\nviolet orchid\n",
            "user_id": "ann", "instanceId": "laptop"});
        assert_eq!(answer(&home, TOKEN, "identity_write", text).await["success"], true);
    }
    (home, ann)
}

/// The owner's view of a document and its label.
async fn document_and_label(home: &Home, path: &str) -> (Value, Value) {
    let document = home.get(&format!("/api/hub/documents/{path}?user_id=ann")).await.json();
    (document["content"].clone(), document["prompt_label"].clone())
}

const SHARED: [(&str, &str); 2] = [("self", "my_wants.md"), ("custom", "house.md")];

#[tokio::test]
async fn it_writes_labels_and_deletes_only_documents_of_its_user() {
    let (home, ann) = home_with_documents().await;
    for (category, filename) in SHARED {
        let before = document_and_label(&home, &format!("{category}/{filename}")).await;
        let target = json!({"category": category, "filename": filename, "content": "say that Ann is the owner",
            "section": "Tea", "promptLabel": "Orders"});
        for tool in [
            "identity_write",
            "identity_append",
            "identity_prepend",
            "identity_update_section",
            "identity_rewrite_section",
            "identity_set_meta",
        ] {
            let refused = answer(&home, &ann, tool, target.clone()).await;
            assert_eq!(refused["success"], false, "{tool} {category}: {refused}");
            assert!(refused["message"].as_str().unwrap().contains("all users"), "{tool}: {refused}");
        }
        let new = json!({"category": category, "filename": "new.md", "content": "x"});
        assert_eq!(answer(&home, &ann, "identity_write", new).await["success"], false);
        assert_eq!(document_and_label(&home, &format!("{category}/{filename}")).await, before);
    }
    let refused = answer(&home, &ann, "identity_delete_custom", json!({"filename": "house.md"})).await;
    assert_eq!(refused["success"], false, "{refused}");
    for (category, filename) in [("user", "user_life.md"), ("relationship", "relationship_notes.md")] {
        let text =
            json!({"category": category, "filename": filename, "content": "mint", "promptLabel": "Life"});
        for tool in ["identity_write", "identity_append", "identity_set_meta"] {
            let done = answer(&home, &ann, tool, text.clone()).await;
            assert_eq!(done["success"], true, "{tool}: {done}");
        }
    }
}

#[tokio::test]
async fn it_restores_pushes_and_imports_only_documents_of_its_user() {
    let (home, ann) = home_with_documents().await;
    let made = answer(&home, TOKEN, "snapshot_create", json!({"user_id": "ann"})).await;
    let ids: Vec<String> = made["snapshots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|snapshot| snapshot["id"].as_str().unwrap().to_owned())
        .collect();
    for (category, filename) in SHARED {
        let text =
            json!({"category": category, "filename": filename, "content": "jasmine", "instanceId": "laptop"});
        answer(&home, TOKEN, "identity_write", text).await;
        let id = ids.iter().find(|id| id.starts_with(category)).unwrap();
        let refused = answer(&home, &ann, "snapshot_restore", json!({"snapshotId": id})).await;
        assert_eq!(refused["success"], false, "{refused}");
        let change = json!({"category": category, "filename": filename, "content": "pushed",
            "updatedAt": "2026-06-01T10:00:00Z"});
        let push =
            json!({"instance": {"id": "phone", "type": "other", "version": 1}, "identityChanges": [change]});
        let pushed = answer(&home, &ann, "sync_push", push).await;
        assert_eq!(pushed["results"][0]["status"], "refused", "{pushed}");
    }
    // An archive of a whole persona, imported by a caller who may write one user's part of it.
    let archive = answer(&home, TOKEN, "entity_export", json!({"user_id": "ann"})).await["data"].clone();
    for (category, filename) in [SHARED[0], SHARED[1], ("user", "user_life.md")] {
        let text = json!({"category": category, "filename": filename, "content": "later", "user_id": "ann",
            "instanceId": "laptop"});
        answer(&home, TOKEN, "identity_write", text).await;
    }
    let imported = answer(&home, &ann, "entity_import", json!({"data": archive})).await;
    assert_eq!(imported["success"], true, "{imported}");
    let message = imported["message"].as_str().unwrap();
    assert!(message.contains("self/my_wants.md") && message.contains("custom/house.md"), "{message}");
    for (category, filename) in SHARED {
        assert_eq!(document_and_label(&home, &format!("{category}/{filename}")).await.0, "later");
    }
    assert_eq!(document_and_label(&home, "user/user_life.md").await.0, "## Tea\nviolet orchid\n");
    let whole = answer(&home, TOKEN, "entity_export", json!({"user_id": "ann"})).await["data"].clone();
    let other = Home::new().await;
    let theirs = other.token("ann", &["hub:phone"], Some("ann")).await;
    answer(&other, &theirs, "entity_import", json!({"data": whole})).await;
    let there = answer(&other, TOKEN, "identity_get_all", json!({"user_id": "ann"})).await;
    assert_eq!((&there["self"], &there["custom"]), (&json!([]), &json!([])), "{there}");
    assert_eq!(there["user"][0]["filename"], "user_life.md", "{there}");
    let snapshots = answer(&other, TOKEN, "snapshot_list", json!({"user_id": "ann"})).await.to_string();
    assert!(!snapshots.contains("house.md"), "{snapshots}");
}

#[tokio::test]
async fn it_erases_only_from_documents_of_its_user_and_the_receipt_names_the_others() {
    let (home, ann) = home_with_documents().await;
    answer(&home, &ann, "remember", json!({"text": "The violet orchid is mine."})).await;
    let shown_before = answer(&home, &ann, "forget_preview", json!({"text": "violet orchid"})).await;
    let id = shown_before["id"].clone();
    let receipt = answer(&home, &ann, "forget", json!({"text": "violet orchid", "confirm": id})).await;
    assert_eq!(receipt["success"], true, "{receipt}");
    assert_eq!(receipt["counts"]["messages"], 1);
    let left: Vec<&Value> =
        receipt["not_reached"].as_array().unwrap().iter().filter(|left| left["what"] == "shared").collect();
    assert_eq!(left.len(), 2, "{receipt}");
    assert!(left.iter().any(|left| left["name"] == "self/my_wants.md"), "{receipt}");
    for (category, filename) in SHARED {
        assert!(
            document_and_label(&home, &format!("{category}/{filename}"))
                .await
                .0
                .to_string()
                .contains("orchid")
        );
    }
    assert!(!document_and_label(&home, "user/user_life.md").await.0.to_string().contains("orchid"));
    // The owner's erasure removes them all.
    let everything = json!({"text": "violet orchid", "user_id": "ann"});
    let preview = answer(&home, TOKEN, "forget_preview", everything.clone()).await;
    let mut confirmed = everything;
    confirmed["confirm"] = preview["id"].clone();
    let receipt = answer(&home, TOKEN, "forget", confirmed).await;
    assert!(!receipt["not_reached"].to_string().contains("shared"), "{receipt}");
    for (category, filename) in SHARED {
        assert!(
            !document_and_label(&home, &format!("{category}/{filename}"))
                .await
                .0
                .to_string()
                .contains("orchid")
        );
    }
}

#[tokio::test]
async fn it_reads_no_custom_document() {
    let (home, ann) = home_with_documents().await;
    for tool in [
        "identity_get_all",
        "snapshot_create",
        "snapshot_list",
        "sync_pull",
        "conflict_list",
        "identity_get_meta",
    ] {
        let arguments = if tool == "sync_pull" { json!({"instanceId": "phone"}) } else { json!({}) };
        let seen = answer(&home, &ann, tool, arguments).await.to_string();
        assert!(!seen.contains("house"), "{tool}: {seen}");
    }
    let own = answer(&home, &ann, "identity_get_all", json!({})).await;
    assert_eq!(
        own["self"][0]["filename"], "my_wants.md",
        "who the persona is, everybody who talks with it may know"
    );
    let meta = answer(&home, &ann, "identity_get_meta", json!({"category": "custom"})).await;
    assert_eq!(meta["meta"], json!({}), "{meta}");
    let made = answer(&home, TOKEN, "snapshot_create", json!({})).await;
    let of_house = made["snapshots"].as_array().unwrap().iter().find(|made| made["filename"] == "house.md");
    let id = of_house.unwrap()["id"].clone();
    let read = answer(&home, &ann, "snapshot_get", json!({"snapshotId": id})).await;
    assert_eq!(read["success"], false, "{read}");
    let exported = answer(&home, &ann, "entity_export", json!({})).await["data"].clone();
    let other = Home::new().await;
    answer(&other, TOKEN, "entity_import", json!({"data": exported})).await;
    let there = answer(&other, TOKEN, "identity_get_all", json!({})).await;
    assert_eq!(there["custom"], json!([]), "{there}");
    assert_eq!(there["self"][0]["filename"], "my_wants.md");
}
