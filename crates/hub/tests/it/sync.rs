//! Instances that pull and push.

use hub::api::sync::{ItemStatus, SyncPull};

use crate::home::{Home, change};

fn pull(instance: &str, since: Option<hub::VersionVector>) -> SyncPull {
    SyncPull {
        instance_id: instance.parse().unwrap(),
        since,
        cursor: None,
        limit: None,
        last_sync_version: None,
    }
}

#[tokio::test]
async fn a_pull_gives_what_was_not_seen() {
    let home = Home::open().await;
    home.push("a", vec![change("one", Some("1"), "2026-07-02T00:00:00Z", "a:1")]).await;
    let first = home.hub.sync_pull(&home.caller, pull("b", None)).await.unwrap();
    assert_eq!(first.memories.len(), 1);
    home.push("a", vec![change("two", Some("2"), "2026-07-02T00:00:00Z", "a:2")]).await;
    let since = first.new_sync_token.version_vector;
    let second = home.hub.sync_pull(&home.caller, pull("b", Some(since))).await.unwrap();
    let slugs: Vec<_> = second.memories.iter().map(|memory| memory.slug.clone().unwrap()).collect();
    assert_eq!(slugs, ["two"]);
    assert_ne!(first.new_sync_token.hash, second.new_sync_token.hash);
    let nothing = pull("b", Some(second.new_sync_token.version_vector.clone()));
    let third = home.hub.sync_pull(&home.caller, nothing).await.unwrap();
    assert!(third.memories.is_empty());
    assert_eq!(second.new_sync_token.hash, third.new_sync_token.hash);
}

/// A client that has seen a later change of an author still receives an earlier one that arrives late.
#[tokio::test]
async fn a_late_change_reaches_everybody() {
    let home = Home::open().await;
    home.push("a", vec![change("two", Some("2"), "2026-07-02T00:00:00Z", "a:2")]).await;
    let first = home.hub.sync_pull(&home.caller, pull("b", None)).await.unwrap();
    let late = home.push("a", vec![change("one", Some("1"), "2026-07-01T00:00:00Z", "a:1")]).await;
    assert_eq!(late.results[0].status, ItemStatus::Applied);
    let since = first.new_sync_token.version_vector;
    let second = home.hub.sync_pull(&home.caller, pull("b", Some(since))).await.unwrap();
    assert_eq!(second.memories[0].slug.as_deref(), Some("one"));
    let again = home.push("a", vec![change("one", Some("1"), "2026-07-01T00:00:00Z", "a:1")]).await;
    assert_eq!(again.results[0].status, ItemStatus::Known);
}

#[tokio::test]
async fn a_client_without_clocks_edits_what_it_has_pulled() {
    let home = Home::open().await;
    home.push("a", vec![change("note", Some("1"), "2026-07-02T00:00:00Z", "a:1")]).await;
    home.hub.sync_pull(&home.caller, pull("old", None)).await.unwrap();
    // The base has seen the shown version, so an older timestamp changes nothing.
    let edit = home.push("old", vec![change("note", Some("2"), "2020-01-01T00:00:00Z", "")]).await;
    assert_eq!(edit.results[0].status, ItemStatus::Applied);
    let again = home.push("old", vec![change("note", Some("3"), "2020-01-01T00:00:00Z", "")]).await;
    assert_eq!(again.results[0].status, ItemStatus::Applied, "its own push is part of its base");
    let other = home.push("other", vec![change("note", Some("4"), "2026-07-20T00:00:00Z", "")]).await;
    assert_eq!(other.results[0].status, ItemStatus::Conflict);
    assert_eq!(home.text("significant", "2026-07-01/note").await.unwrap(), "4");
}

#[tokio::test]
async fn state_outlives_the_hub() {
    let home = Home::open().await;
    home.push("a", vec![change("note", Some("1"), "2026-07-02T00:00:00Z", "a:1")]).await;
    let before = home.hub.sync_status(&home.caller).await.unwrap();
    let again = Home::for_instance("home", home.folder.clone(), "home.db").await;
    let after = again.hub.sync_status(&again.caller).await.unwrap();
    assert_eq!(before, after);
    assert_eq!(after.connected_instances[0].id.as_str(), "a");
}

#[tokio::test]
async fn claims_that_can_not_be_are_refused() {
    let home = Home::open().await;
    let lie = home.push("a", vec![change("note", Some("1"), "2026-07-02T00:00:00Z", "a:1 home:99")]).await;
    assert_eq!(lie.results[0].status, ItemStatus::Refused);
}
