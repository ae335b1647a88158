//! A push with an earlier state does not bring back what was erased in the hub.

use hub::Granularity;
use hub::api::sync::{
    IdentityChange, ItemStatus, MemoryChange, PushingInstance, SyncPull, SyncPush, SyncPushed,
};
use hub::ports::HubStore as _;
use memory::forget::{ForgetRequest, Selection};
use memory::ports::ForgetStore as _;

use crate::home::{Home, change};

async fn erase(home: &Home, text: &str) {
    let selection = Selection { text: Some(memory::text::fold(text)), ..Selection::default() };
    let at = "2026-07-15T12:30:00Z".parse().unwrap();
    let act = ForgetRequest {
        scope: home.caller.scope.clone(),
        selection,
        thoughts: memory::forget::ForgetMode::Orphan,
        at,
    };
    home.store.forget(act, None, None).await.unwrap();
}

async fn pull(home: &Home, instance: &str) -> hub::VersionVector {
    let input = SyncPull {
        instance_id: instance.parse().unwrap(),
        since: None,
        cursor: None,
        limit: None,
        last_sync_version: None,
    };
    home.hub.sync_pull(&home.caller, input).await.unwrap().new_sync_token.version_vector
}

fn daily(content: &str, vector: &str) -> MemoryChange {
    MemoryChange {
        granularity: Granularity::Daily.as_str().to_owned(),
        date: "2026-07-02".to_owned(),
        slug: None,
        source_instance: Some("kitchen".to_owned()),
        ..change("any", Some(content), "2026-07-02T10:00:00Z", vector)
    }
}

async fn push_identity(home: &Home, content: &str, vector: Option<hub::VersionVector>) -> SyncPushed {
    let identity = IdentityChange {
        category: "relationship".to_owned(),
        filename: "bond.md".to_owned(),
        content: Some(content.to_owned()),
        version: 1,
        last_modified: Some("2026-07-02T10:00:00Z".to_owned()),
        modified_by: None,
        source_instance: None,
        by_person: false,
        version_vector: vector,
        deleted: false,
        deleted_at: None,
    };
    let input = SyncPush {
        instance: PushingInstance {
            id: "kitchen".parse().unwrap(),
            kind: "other".to_owned(),
            name: None,
            version: 1,
        },
        identity_changes: vec![identity],
        memory_changes: Vec::new(),
        erasures: Vec::new(),
        last_sync_version: None,
    };
    home.hub.sync_push(&home.caller, input).await.unwrap()
}

fn vector(text: &str) -> hub::VersionVector {
    change("any", None, "2026-07-02T10:00:00Z", text).version_vector.unwrap()
}

async fn holds(home: &Home, word: &str) -> bool {
    let export = home.store.export_hub(&home.caller.scope).await.unwrap();
    let mut versions = export.documents.iter().flat_map(|(_, history)| &history.versions);
    versions.any(|kept| kept.version.content.as_deref().is_some_and(|content| content.contains(word)))
}

#[tokio::test]
async fn erased_line_of_a_daily_does_not_return_by_the_union_of_an_older_version() {
    for clock in [true, false] {
        let home = Home::open().await;
        let clocked = |counter: &str| if clock { format!("kitchen:{counter}") } else { String::new() };
        let first = "- planted pomegranate [chat:c] [via:kitchen]\n- it rained [chat:c] [via:kitchen]\n";
        home.push("kitchen", vec![daily(first, &clocked("1"))]).await;
        pull(&home, "kitchen").await;
        erase(&home, "pomegranate").await;
        assert!(!holds(&home, "pomegranate").await);
        let later = format!("{first}- kettle mended [chat:d] [via:kitchen]\n");
        let pushed = home.push("kitchen", vec![daily(&later, &clocked("2"))]).await;
        assert_eq!(pushed.results[0].status, ItemStatus::Applied, "clock: {clock}");
        assert!(!holds(&home, "pomegranate").await, "clock: {clock}");
        assert!(holds(&home, "kettle mended").await && holds(&home, "it rained").await);
    }
}

#[tokio::test]
async fn erased_line_of_an_identity_document_does_not_return_by_an_older_version() {
    for clock in [true, false] {
        let home = Home::open().await;
        let clocked = |text: &str| clock.then(|| vector(text));
        push_identity(&home, "# Bond\n\nA pomegranate.\n\nWe tease.\n", clocked("kitchen:1")).await;
        pull(&home, "kitchen").await;
        erase(&home, "pomegranate").await;
        push_identity(&home, "# Bond\n\nA  Pomegranate.\n\nWe tease a lot.\n", clocked("kitchen:2")).await;
        assert!(!holds(&home, "omegranate").await, "clock: {clock}");
        assert!(holds(&home, "We tease a lot.").await, "clock: {clock}");
    }
}

/// A client without version vectors that sends its old text repeatedly does not count as having seen the erasure.
#[tokio::test]
async fn erased_line_does_not_return_by_the_same_old_version_sent_twice() {
    let home = Home::open().await;
    let old = "# Bond\n\nA pomegranate.\n\nWe tease.\n";
    push_identity(&home, old, None).await;
    pull(&home, "kitchen").await;
    erase(&home, "pomegranate").await;
    for _ in 0..3 {
        push_identity(&home, old, None).await;
        assert!(!holds(&home, "omegranate").await);
    }
}

#[tokio::test]
async fn erased_significant_memory_does_not_return_by_an_older_version() {
    // The version is recognised by its text and by its name.
    for slug in ["feast", "pomegranate-feast"] {
        for clock in [true, false] {
            let home = Home::open().await;
            let clocked = |counter: &str| if clock { format!("kitchen:{counter}") } else { String::new() };
            let at = "2026-07-02T10:00:00Z";
            let text = Some("# Feast\na pomegranate was shared\n");
            home.push("kitchen", vec![change(slug, text, at, &clocked("1"))]).await;
            pull(&home, "kitchen").await;
            erase(&home, "pomegranate").await;
            let pushed = home.push("kitchen", vec![change(slug, text, at, &clocked("2"))]).await;
            let result = &pushed.results[0];
            assert_eq!(result.status, ItemStatus::Known, "{slug}, clock: {clock}");
            assert!(result.reason.as_deref().unwrap().contains("erased"));
            assert!(!holds(&home, "pomegranate").await, "{slug}, clock: {clock}");
        }
    }
}

/// A client that has seen the erasure and writes the words again does so on purpose.
#[tokio::test]
async fn erased_line_is_accepted_from_a_version_that_has_seen_the_erasure() {
    let home = Home::open().await;
    push_identity(&home, "# Bond\n\nA pomegranate.\n", Some(vector("kitchen:1"))).await;
    erase(&home, "pomegranate").await;
    let seen = pull(&home, "kitchen").await;
    let mut next = seen;
    next.note_seen(&"kitchen".parse().unwrap(), 2);
    push_identity(&home, "# Bond\n\nA pomegranate.\n", Some(next)).await;
    assert!(holds(&home, "A pomegranate.").await);
}
