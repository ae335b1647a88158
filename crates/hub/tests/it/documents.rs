//! Identity documents, their labels and snapshots.

use hub::api::identity::{CustomFile, MetaQuery, MetaText};
use hub::api::snapshots::{SnapshotQuery, SnapshotRef};

use crate::home::{Home, identity_text};

#[tokio::test]
async fn documents_stand_in_their_order_under_their_labels() {
    let home = Home::open().await;
    for name in ["zeal.md", "my_wants.md", "ardour.md", "my_identity.md"] {
        home.hub.identity_write(&home.caller, identity_text("self", name, "x\n")).await.unwrap();
    }
    let label = MetaText {
        category: "self".parse().unwrap(),
        filename: "my_wants.md".parse().unwrap(),
        prompt_label: "What I want".to_owned(),
    };
    home.hub.identity_set_meta(&home.caller, label).await.unwrap();
    let all = home.hub.identity_get_all(&home.caller).await.unwrap().own;
    let names: Vec<(&str, &str)> =
        all.iter().map(|file| (file.filename.as_str(), file.prompt_label.as_str())).collect();
    let expected = [
        ("my_identity.md", "my_identity"),
        ("my_wants.md", "What I want"),
        ("ardour.md", "ardour"),
        ("zeal.md", "zeal"),
    ];
    assert_eq!(names, expected);
    let stored = home.hub.identity_get_meta(&home.caller, MetaQuery::default()).await.unwrap().meta;
    assert_eq!(stored.len(), 1);
    let query = MetaQuery { category: Some("self".parse().unwrap()), filename: None };
    assert_eq!(home.hub.identity_get_meta(&home.caller, query).await.unwrap().meta.len(), 4);
}

#[tokio::test]
async fn a_snapshot_brings_back_what_was() {
    let home = Home::open().await;
    home.hub.identity_write(&home.caller, identity_text("custom", "a.md", "one\n")).await.unwrap();
    home.hub.identity_write(&home.caller, identity_text("custom", "a.md", "two\n")).await.unwrap();
    let list = home.hub.snapshot_list(&home.caller, SnapshotQuery::default()).await.unwrap().snapshots;
    assert_eq!((list[0].reason.as_str(), list.len()), ("pre-replace", 1));
    let reference = SnapshotRef { snapshot_id: list[0].id.clone() };
    assert!(home.hub.snapshot_restore(&home.caller, reference).await.unwrap().success);
    assert_eq!(home.identity("a.md").await.unwrap(), "one\n");
    let gone = CustomFile { filename: "a.md".parse().unwrap() };
    assert!(home.hub.identity_delete_custom(&home.caller, gone.clone()).await.unwrap().success);
    assert!(!home.hub.identity_delete_custom(&home.caller, gone).await.unwrap().success);
}
