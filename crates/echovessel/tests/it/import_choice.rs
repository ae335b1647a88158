//! Selection of an account's conversations by title, date and star.

use serde_json::{Value, json};

use crate::command_line::run;
use crate::daemon::{Home, Settings};
use crate::import::{messages, write};

#[tokio::test(flavor = "multi_thread")]
async fn conversations_are_chosen_by_title_and_date() {
    let (home, settings) = (Home::new(), Settings::offline());
    let conversation = |id: &str, title: &str, time: f64| {
        json!({"title": title, "conversation_id": id, "current_node": "q", "mapping": {"q": {"id": "q", "parent": null,
            "children": [], "message": {"id": id, "author": {"role": "user"}, "create_time": time,
                "content": {"content_type": "text", "parts": [format!("About {title}")]}}}}})
    };
    let all = json!([
        conversation("a", "Garden plans", 1_700_000_000.0),
        conversation("b", "Taxes", 1_700_000_000.0),
        conversation("c", "More garden plans", 1_750_000_000.0),
    ]);
    let file = write(&home, "conversations.json", &all.to_string());
    let refused = run(&home, &settings, &["import", &file, "--only", "Bees", "--yes"]).await;
    assert!(refused.code == 1 && refused.err.contains("Garden plans, Taxes"), "{}", refused.err);
    let arguments =
        ["import", &file, "--only", "GARDEN", "--only", "a", "--until", "2024-12-31", "--yes", "--json"];
    let imported = run(&home, &settings, &arguments).await.json();
    assert_eq!((&imported["recorded"], &imported["skipped_count"]), (&json!(1), &json!(2)), "{imported}");
    assert_eq!(messages(&home, &settings).await[0].2, "About Garden plans");
}

/// ChatGPT writes `is_starred` as true, false or null.
#[tokio::test]
async fn only_starred_conversations_are_imported_on_request() {
    let (home, settings) = (Home::new(), Settings::offline());
    let conversation = |id: &str, title: &str, starred: Value| {
        json!({"title": title, "conversation_id": id, "current_node": "q", "is_starred": starred, "mapping": {"q": {
            "id": "q", "parent": null, "children": [], "message": {"id": id, "author": {"role": "user"},
                "create_time": 1_700_000_000.0, "content": {"content_type": "text", "parts": [format!("About {title}")]}}}}})
    };
    let plain = json!([conversation("a", "Taxes", json!(null)), conversation("b", "Bees", json!(false))]);
    let file = write(&home, "plain.json", &plain.to_string());
    let refused = run(&home, &settings, &["import", &file, "--starred", "--yes"]).await;
    assert!(
        refused.code == 1 && refused.err.contains("none of these conversations is starred"),
        "{}",
        refused.err
    );
    let mixed = json!([
        conversation("c", "Garden plans", json!(true)),
        conversation("d", "Recipes", json!(false)),
        conversation("e", "Garden tools", json!(true)),
    ]);
    let file = write(&home, "mixed.json", &mixed.to_string());
    let imported =
        run(&home, &settings, &["import", &file, "--starred", "--only", "plans", "--yes", "--json"])
            .await
            .json();
    assert_eq!((&imported["recorded"], &imported["skipped_count"]), (&json!(1), &json!(2)), "{imported}");
    let imported = run(&home, &settings, &["import", &file, "--starred", "--yes", "--json"]).await.json();
    assert_eq!((&imported["recorded"], &imported["already_there"]), (&json!(1), &json!(1)), "{imported}");
    let texts: Vec<String> = messages(&home, &settings).await.into_iter().map(|message| message.2).collect();
    assert!(texts.iter().all(|text| text.contains("Garden")) && texts.len() == 2, "{texts:?}");
}
