//! Lorebook entries are documents that a prompt contains only while their keys are mentioned.

use hub::api::documents::DocumentEdit;
use hub::lore::KeyLogic;
use hub::{DocumentName, LoreEntry};
use memory::{PersonaId, Scope};

use crate::home::{Home, identity_text};

fn entry(name: &str, keys: &[&str], content: &str) -> LoreEntry {
    LoreEntry {
        book: "Hives".to_owned(),
        name: name.to_owned(),
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        content: content.to_owned(),
        ..LoreEntry::default()
    }
}

async fn named_entries(home: &Home, messages: &[&str]) -> Vec<String> {
    let found = home.hub.lore_named_in(&home.caller.scope, messages).await.unwrap();
    found.into_iter().map(|lore| lore.text).collect()
}

#[tokio::test]
async fn entries_join_prompts_while_their_keys_are_named() {
    let home = Home::open().await;
    let old = LoreEntry {
        order: 5,
        logic: KeyLogic::AndAny,
        ..entry("Old", &["hive"], "The oldest hive is blue.")
    };
    let entries = [entry("Queen", &["queen", "蜂王"], "The queen is three years old."), old];
    assert_eq!(home.hub.write_lore(&home.person(), &entries).await.unwrap(), 2);
    assert_eq!(named_entries(&home, &["Good morning"]).await, Vec::<String>::new());
    assert_eq!(named_entries(&home, &["你的蜂王好吗？"]).await, ["The queen is three years old."]);
    assert_eq!(
        named_entries(&home, &["And the queen?", "How are the hives?"]).await,
        ["The oldest hive is blue.", "The queen is three years old."],
        "the higher order comes first"
    );
    let prompt = home.hub.for_prompt(&home.caller.scope, &[]).await.unwrap();
    assert!(prompt.documents.is_empty(), "{:?}", prompt.documents);
    let all = home.hub.identity_get_all(&home.person()).await.unwrap();
    assert!(all.custom.iter().all(|file| !file.filename.is_in_lore()), "programs put all of it into prompts");
    let other = Scope::new(PersonaId::new("other").unwrap(), home.caller.scope.user.clone());
    assert!(home.hub.lore_named_in(&other, &["queen"]).await.unwrap().is_empty());
}

#[tokio::test]
async fn edits_and_deletions_of_entries_take_effect_at_once() {
    let home = Home::open().await;
    home.hub.write_lore(&home.person(), &[entry("Queen", &["queen"], "Old text.")]).await.unwrap();
    assert_eq!(named_entries(&home, &["queen"]).await, ["Old text."]);
    let name = DocumentName::parse("custom", "lore/hives-queen").unwrap();
    let edit = DocumentEdit {
        content: "---\nkeys: ruler, 女王\n---\nNew text.".to_owned(),
        version: None,
        prompt_label: None,
    };
    home.hub.document_write(&home.person(), &name, "admin", &edit).await.unwrap();
    assert_eq!(named_entries(&home, &["queen"]).await, Vec::<String>::new());
    assert_eq!(named_entries(&home, &["the ruler"]).await, ["New text."]);

    // The file shows the same.
    let file = home.file("identity/custom/lore/hives-queen.md");
    let text = std::fs::read_to_string(&file).unwrap().replace("New text.", "By hand.");
    std::fs::write(&file, text).unwrap();
    std::fs::write(home.file("identity/custom/lore/mine.md"), "---\nkeys: [mill]\n---\nThe mill is old.")
        .unwrap();
    assert_eq!(home.hub.reconcile().await.unwrap().taken, 2);
    assert_eq!(named_entries(&home, &["ruler of the mill"]).await, ["By hand.", "The mill is old."]);

    assert!(home.hub.document_delete(&home.person(), &name).await.unwrap());
    assert_eq!(named_entries(&home, &["ruler of the mill"]).await, ["The mill is old."]);
    assert!(!file.exists());
}

#[tokio::test]
async fn writing_a_book_again_changes_nothing_and_names_tell_entries_apart() {
    let home = Home::open().await;
    let twins = [entry("Queen", &["a"], "One."), entry("Queen", &["b"], "Two."), entry("", &[], "Three.")];
    assert_eq!(home.hub.write_lore(&home.person(), &twins).await.unwrap(), 3);
    let listed = home.hub.document_list(&home.caller.scope).await.unwrap();
    let names: Vec<String> =
        listed.iter().map(|one| one.filename.clone()).filter(|name| name.starts_with("lore/")).collect();
    assert_eq!(names, ["lore/hives-hives.md", "lore/hives-queen.md", "lore/hives-queen-2.md"]);
    let versions: Vec<i64> = listed.iter().map(|one| one.version).collect();
    home.hub.write_lore(&home.person(), &twins).await.unwrap();
    let again = home.hub.document_list(&home.caller.scope).await.unwrap();
    assert_eq!(again.iter().map(|one| one.version).collect::<Vec<_>>(), versions);
}

#[tokio::test]
async fn only_custom_documents_have_the_folder() {
    let home = Home::open().await;
    assert!(DocumentName::parse("self", "lore/queen").is_err());
    for (kind, file) in [("custom", "other/queen.md"), ("custom", "lore/a/b.md"), ("custom", "lore/.md")] {
        let stem = file.trim_end_matches(".md");
        assert!(DocumentName::parse(kind, stem).is_err(), "{kind}/{file}");
    }
    let refused = home.hub.identity_write(&home.person(), identity_text("self", "lore/queen.md", "x")).await;
    assert!(refused.unwrap_err().to_string().contains("only custom documents"));
}
