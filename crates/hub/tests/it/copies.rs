//! Interrupted networks, restored backups, copied homes, and a home with a history of its own.

use std::sync::Arc;

use hub::DocumentName;
use hub::ports::HubStore as _;
use tempfile::TempDir;

use crate::embodiment::{daily, embodiment, erase, exchange, has_bytes, pair};
use crate::home::{Home, identity_text};
use crate::link::{Faults, Link};

/// A push is cut, or its answer lost, after any number of calls; the next exchange completes it, and nothing is
/// stored twice.
#[tokio::test]
async fn a_network_that_is_cut_anywhere_loses_and_doubles_nothing() {
    for cut_after in 0..7 {
        for loses_answer in [false, true] {
            let (hub, laptop) = pair().await;
            hub.create("significant", "2026-07-01/there", "from there").await;
            for number in 0..3 {
                laptop.create("significant", &format!("2026-07-01/here{number}"), "from here").await;
            }
            laptop.create_as("laptop", "daily", "2026-07-14", "- Soup [chat:1] [via:laptop]").await;
            let faults = Faults { cut_after: Some(cut_after), loses_answer, repeats: true };
            let link = Link::with(&hub.hub, "laptop", faults);
            // The exchange may fail at any call, or be complete by then.
            drop(laptop.hub.exchange(&link, &laptop.caller.scope).await);
            laptop.create("significant", "2026-07-01/later", "later").await;
            let done = exchange(&laptop, &hub).await;
            assert!(!done.is_renewed, "cut after {cut_after}: its own pushes are taken for those of a copy");
            for home in [&hub, &laptop] {
                let documents = home.hub.document_list(&home.caller.scope).await.unwrap();
                let count = documents.iter().filter(|document| !document.core_block).count();
                assert_eq!(count, 6, "cut after {cut_after}");
                assert_eq!(daily(home, "laptop").await.unwrap().matches("Soup").count(), 1);
                assert!(home.store.conflicts(&home.caller.scope, true).await.unwrap().is_empty());
            }
        }
    }
}

/// An earlier backup is restored: what was written since is fetched again from the hub, and new texts are sent to it.
#[tokio::test]
async fn a_restored_backup_takes_up_where_the_hub_is() {
    let (hub, laptop) = pair().await;
    laptop.create("significant", "2026-07-01/before", "1").await;
    exchange(&laptop, &hub).await;
    let backup = copy_of(&laptop, 21).await;
    laptop.create("significant", "2026-07-01/since", "2").await;
    laptop.create_as("laptop", "daily", "2026-07-14", "- Soup [chat:1] [via:laptop]").await;
    exchange(&laptop, &hub).await;
    drop(laptop);
    let laptop = backup;
    laptop.create("significant", "2026-07-01/again", "3").await;
    laptop.create_as("laptop", "daily", "2026-07-14", "- Bread [chat:2] [via:laptop]").await;
    let done = exchange(&laptop, &hub).await;
    assert!(done.is_renewed);
    for home in [&hub, &laptop] {
        for slug in ["before", "since", "again"] {
            assert!(home.text("significant", &format!("2026-07-01/{slug}")).await.is_some(), "{slug}");
        }
        let day = daily(home, "laptop").await.unwrap();
        assert!(day.contains("Soup") && day.contains("Bread"), "{day}");
    }
    assert!(!exchange(&laptop, &hub).await.is_renewed, "once is enough");
}

/// Two copies of a home continue with the same token.
#[tokio::test]
async fn copies_of_a_home_lose_nothing() {
    let (hub, laptop) = pair().await;
    laptop.create("significant", "2026-07-01/before", "1").await;
    exchange(&laptop, &hub).await;
    let copy = copy_of(&laptop, 31).await;
    for round in 0..3 {
        laptop.create("significant", &format!("2026-07-01/one{round}"), "1").await;
        copy.create("significant", &format!("2026-07-01/two{round}"), "2").await;
        let line = |who: &str| format!("- {who} {round} [chat:1] [via:laptop]");
        laptop.create_as("laptop", "daily", "2026-07-14", &line("one")).await;
        copy.create_as("laptop", "daily", "2026-07-14", &line("two")).await;
        exchange(&laptop, &hub).await;
        exchange(&copy, &hub).await;
    }
    exchange(&laptop, &hub).await;
    exchange(&copy, &hub).await;
    for home in [&hub, &laptop, &copy] {
        let day = daily(home, "laptop").await.unwrap();
        for round in 0..3 {
            for who in ["one", "two"] {
                assert!(home.text("significant", &format!("2026-07-01/{who}{round}")).await.is_some());
                assert_eq!(day.matches(&format!("{who} {round}")).count(), 1, "{day}");
            }
        }
    }
}

/// The hub is restored from a backup: its embodiments send what it lost.
#[tokio::test]
async fn a_restored_hub_is_filled_again() {
    let (hub, laptop) = pair().await;
    hub.create("significant", "2026-07-01/before", "1").await;
    exchange(&laptop, &hub).await;
    let backup = copy_of(&hub, 41).await;
    hub.create("significant", "2026-07-01/lost", "2").await;
    laptop.create("significant", "2026-07-01/mine", "3").await;
    exchange(&laptop, &hub).await;
    drop(hub);
    let hub = backup;
    exchange(&laptop, &hub).await;
    hub.create("significant", "2026-07-01/after", "4").await;
    exchange(&laptop, &hub).await;
    for home in [&hub, &laptop] {
        for slug in ["before", "lost", "mine", "after"] {
            assert!(home.text("significant", &format!("2026-07-01/{slug}")).await.is_some(), "{slug}");
        }
    }
}

/// The hub is restored from a backup, and a home that did not write the lost text sends it. The hub knows an earlier
/// text by the same author; otherwise it would record the sending home as the author.
#[tokio::test]
async fn a_text_that_another_home_brings_keeps_its_author() {
    let (hub, laptop) = pair().await;
    let phone = embodiment("phone", 12).await;
    laptop.hub.identity_write(&laptop.caller, identity_text("custom", "notes.md", "tea\n")).await.unwrap();
    exchange(&laptop, &hub).await;
    exchange(&phone, &hub).await;
    let backup = copy_of(&hub, 42).await;
    laptop
        .hub
        .identity_write(&laptop.caller, identity_text("custom", "notes.md", "tea and milk\n"))
        .await
        .unwrap();
    exchange(&laptop, &hub).await;
    exchange(&phone, &hub).await;
    drop(hub);
    let hub = backup;
    exchange(&phone, &hub).await;
    let name = DocumentName::parse("custom", "notes").unwrap();
    for home in [&hub, &phone, &laptop] {
        let document = home.store.document(&home.caller.scope, &name).await.unwrap().unwrap();
        let shown = document.shown_version().unwrap();
        assert_eq!((shown.author.as_str(), shown.content.as_deref()), ("laptop", Some("tea and milk\n")));
    }
}

/// A home is lost after any number of calls: a hub that received the erasure of a text has nothing of it left.
#[tokio::test]
async fn an_erasure_reaches_the_hub_with_the_first_documents() {
    let mut learnt = 0;
    for cut_after in 0..7 {
        let (hub, laptop) = pair().await;
        laptop.create("significant", "2026-07-01/plan", "the zanzibar plan").await;
        exchange(&laptop, &hub).await;
        assert!(has_bytes(&hub, "zanzibar").await);
        for number in 0..3 {
            laptop.create("significant", &format!("2026-07-01/new{number}"), "new").await;
        }
        erase(&laptop, "zanzibar").await;
        let faults = Faults { cut_after: Some(cut_after), ..Faults::default() };
        drop(laptop.hub.exchange(&Link::with(&hub.hub, "laptop", faults), &laptop.caller.scope).await);
        drop(laptop);
        let has_documents = hub.text("significant", "2026-07-01/new0").await.is_some();
        if has_documents {
            learnt += 1;
            assert!(!has_bytes(&hub, "zanzibar").await, "cut after {cut_after}");
        }
    }
    assert!(learnt > 0, "nothing ever arrived");
}

async fn copy_of(home: &Home, seed: u64) -> Home {
    let folder = Arc::new(TempDir::new().unwrap());
    store::back_up(&home.file("home.db"), &folder.path().join("home.db")).unwrap();
    let copy = Home::with(home.caller.instance.as_str(), folder, "home.db", true, seed).await;
    if let Some(hub) = home.hub.followed_hub() {
        let instance = home.caller.instance.clone();
        copy.hub.follow_hub(Some(hub.to_string()), instance).await.unwrap();
    }
    copy
}

/// A home with its own history, under a name that the hub also has, sends all of it.
#[tokio::test]
async fn a_home_with_a_past_brings_it() {
    let hub = Home::for_instance("vm", Arc::new(TempDir::new().unwrap()), "home.db").await;
    let alone = Home::with("vm", Arc::new(TempDir::new().unwrap()), "home.db", true, 51).await;
    for number in 0..5 {
        hub.create("significant", &format!("2026-07-01/there{number}"), "t").await;
    }
    alone.create("significant", "2026-07-01/here", "h").await;
    alone.create("significant", "2026-07-01/there0", "another text").await;
    alone.create_as("vm", "daily", "2026-07-14", "- Soup [chat:1] [via:vm]").await;
    let laptop = "laptop".parse().unwrap();
    alone.hub.follow_hub(Some("https://home.example".to_owned()), laptop).await.unwrap();
    let link = Link::new(&hub.hub, "laptop");
    alone.hub.exchange(&link, &alone.caller.scope).await.unwrap();
    for home in [&hub, &alone] {
        assert_eq!(home.text("significant", "2026-07-01/here").await.unwrap().trim(), "h");
        assert_eq!(home.text("significant", "2026-07-01/there4").await.unwrap().trim(), "t");
        assert_eq!(home.store.conflicts(&home.caller.scope, true).await.unwrap().len(), 1);
        assert_eq!(daily(home, "laptop").await.unwrap().trim(), "- Soup [chat:1] [via:laptop]");
        assert!(home.file("memories/daily/2026-07-14_laptop.md").exists());
        assert!(!home.file("memories/daily/2026-07-14_vm.md").exists());
    }
}
