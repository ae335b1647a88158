//! The Markdown files of the documents.

use std::fs;

use hub::api::conflicts::ConflictQuery;
use hub::mirror::MirroredText;
use memory::core_blocks::CoreBlockLabel;
use memory::ports::PersonaStore;

use crate::home::{Home, identity_text, reference};

#[tokio::test]
async fn files_follow_the_database() {
    let home = Home::open().await;
    home.create("daily", "2026-07-01", "- 看海 [chat:c] [via:home]").await;
    let path = home.file("memories/daily/2026-07-01_home.md");
    let text = fs::read_to_string(&path).unwrap();
    let read = MirroredText::parse(&text);
    assert_eq!(read.content, "- 看海 [chat:c] [via:home]\n");
    assert!(read.front_matter.unwrap().chat_ids.contains("c"));
    home.hub.memory_delete(&home.caller, reference("daily", "2026-07-01")).await.unwrap();
    assert!(!path.exists());
}

#[tokio::test]
async fn a_file_that_a_person_edits_becomes_a_version() {
    let home = Home::open().await;
    home.hub.identity_write(&home.caller, identity_text("self", "my_wants.md", "tea\n")).await.unwrap();
    let path = home.file("identity/self/my_wants.md");
    let edited = fs::read_to_string(&path).unwrap().replace("tea", "more tea");
    fs::write(&path, edited).unwrap();
    fs::write(home.file("identity/custom/new.md"), "by hand\n").unwrap_or_else(|_| {
        fs::create_dir_all(home.file("identity/custom")).unwrap();
        fs::write(home.file("identity/custom/new.md"), "by hand\n").unwrap();
    });
    assert_eq!(home.hub.reconcile().await.unwrap().taken, 2);
    assert_eq!(home.identity("my_wants.md").await.unwrap(), "more tea\n");
    assert_eq!(home.identity("new.md").await.unwrap(), "by hand\n");
    assert_eq!(home.hub.reconcile().await.unwrap(), hub::mirror::MirrorReport::default());
}

#[tokio::test]
async fn when_both_change_both_are_kept() {
    let home = Home::open().await;
    home.hub.identity_write(&home.caller, identity_text("self", "my_wants.md", "tea\n")).await.unwrap();
    let path = home.file("identity/self/my_wants.md");
    let edited = fs::read_to_string(&path).unwrap().replace("tea", "by hand");
    fs::write(&path, edited).unwrap();
    home.hub.identity_write(&home.caller, identity_text("self", "my_wants.md", "by tool\n")).await.unwrap();
    assert!(
        fs::read_to_string(&path).unwrap().contains("by hand"),
        "an edit that nobody has read is not overwritten"
    );
    home.hub.reconcile().await.unwrap();
    let open = home.hub.conflict_list(&home.caller, ConflictQuery::default()).await.unwrap().conflicts;
    assert_eq!(open.len(), 1);
    let sides = [&open[0].shown.content, &open[0].kept.content];
    let sides: Vec<&str> = sides.into_iter().map(|side| side.as_deref().unwrap()).collect();
    assert!(sides.contains(&"by hand\n") && sides.contains(&"by tool\n"));
}

#[tokio::test]
async fn the_tree_alone_rebuilds_the_hub() {
    let home = Home::open().await;
    home.create("daily", "2026-07-01", "- swam [chat:c] [via:home]").await;
    home.create("significant", "2026-07-01/婚礼", "# 婚礼\n下雨").await;
    home.hub.identity_write(&home.caller, identity_text("relationship", "notes.md", "we\n")).await.unwrap();
    let rebuilt = Home::for_instance("home", home.folder.clone(), "second.db").await;
    assert_eq!(rebuilt.text("daily", "2026-07-01").await.unwrap(), "- swam [chat:c] [via:home]\n");
    assert_eq!(rebuilt.text("significant", "2026-07-01/婚礼").await.unwrap(), "# 婚礼\n下雨\n");
    assert_eq!(rebuilt.identity("notes.md").await.unwrap(), "we\n");
    let one = home.hub.sync_status(&home.caller).await.unwrap().version_vector;
    let other = rebuilt.hub.sync_status(&rebuilt.caller).await.unwrap().version_vector;
    assert_eq!(one, other);
}

#[tokio::test]
async fn core_blocks_and_documents_are_one() {
    let home = Home::open().await;
    let at = "2026-07-15T12:00:00Z".parse().unwrap();
    let scope = home.caller.scope.clone();
    home.store.write_core_block(&scope, CoreBlockLabel::Persona, "I am Luna.", "admin", at).await.unwrap();
    assert_eq!(home.identity("persona.md").await.unwrap(), "I am Luna.");
    let refused =
        home.hub.identity_write(&home.caller, identity_text("self", "persona.md", "I am Max.")).await;
    assert!(matches!(refused, Err(hub::HubError::Refused(_))));
    home.hub.identity_write(&home.person(), identity_text("custom", "style.md", "Be brief.")).await.unwrap();
    let blocks = home.store.core_blocks(&scope).await.unwrap();
    assert_eq!((blocks.persona.as_str(), blocks.style.as_str()), ("I am Luna.", "Be brief."));
    // A manual edit of the file.
    home.hub.reconcile().await.unwrap();
    let path = home.file("identity/self/persona.md");
    let edited = fs::read_to_string(&path).unwrap().replace("Luna", "Luna Moon");
    fs::write(&path, edited).unwrap();
    home.hub.reconcile().await.unwrap();
    assert_eq!(home.store.core_blocks(&scope).await.unwrap().persona, "I am Luna Moon.");
    let long = "x".repeat(5_001);
    let refused = home.hub.identity_write(&home.person(), identity_text("self", "persona.md", &long)).await;
    assert!(refused.is_err());
}
