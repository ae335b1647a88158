//! A full disk, a damaged file, a closed store.

use memory::ports::{CaptureStore, MessageStore, PersonaStore, StoreError};
use memory::sessions::SessionPolicy;
use store::{HomeStore, StoreOptions};

use crate::home::Home;

#[tokio::test]
async fn a_full_disk_is_said_so_and_reading_goes_on() {
    let home = Home::open().await;
    let policy = SessionPolicy::default();
    let kept = home.store.capture(home.line("kept"), policy, None).await.unwrap().message;
    let bound = home.store.limit_pages(1).await.unwrap();
    let long = "word ".repeat(40_000);
    let refused = home.store.capture(home.line(&long), policy, None).await;
    assert!(matches!(refused, Err(StoreError::Unwritable(_))), "{refused:?}");
    // The same as a group: each caller gets the error, and nothing is written partially.
    let together =
        futures_util::future::join_all((0..8).map(|_| home.store.capture(home.line(&long), policy, None)));
    for refused in together.await {
        assert!(matches!(refused, Err(StoreError::Unwritable(_))), "{refused:?}");
    }
    assert_eq!(home.store.messages_before(&home.scope, None, 10).await.unwrap(), [kept]);
    let check = home.store.check().await.unwrap();
    assert!(check.is_intact(), "{check:?}");

    home.store.limit_pages(bound + 10_000).await.unwrap();
    home.store.capture(home.line(&long), policy, None).await.unwrap();
    assert_eq!(home.store.messages_before(&home.scope, None, 10).await.unwrap().len(), 2);
    assert!(home.store.check().await.unwrap().is_intact());
}

#[tokio::test]
async fn small_writes_go_on_where_a_large_one_has_no_room() {
    let home = Home::open().await;
    let policy = SessionPolicy::default();
    let bound = home.store.limit_pages(1).await.unwrap();
    home.store.limit_pages(bound + 20).await.unwrap();
    let long = "word ".repeat(40_000);
    let (before, large, after) = tokio::join!(
        home.store.capture(home.line("before"), policy, None),
        home.store.capture(home.line(&long), policy, None),
        home.store.capture(home.line("after"), policy, None),
    );
    assert!(matches!(large, Err(StoreError::Unwritable(_))), "{large:?}");
    assert_eq!(before.unwrap().message.content, "before");
    assert_eq!(after.unwrap().message.content, "after");
    assert!(home.store.check().await.unwrap().is_intact());
}

#[tokio::test]
async fn a_damaged_file_is_unusable() {
    let home = Home::open().await;
    home.store.capture(home.line("hello"), SessionPolicy::default(), None).await.unwrap();
    home.store.close().await.unwrap();
    let mut bytes = std::fs::read(&home.path).unwrap();
    // Everything except the first page, which contains the header and the start of the schema.
    bytes[4_096..].fill(0xA5);
    std::fs::write(&home.path, &bytes).unwrap();
    let error = match HomeStore::open(&home.path, StoreOptions::default()) {
        Err(error) => error,
        Ok(store) => store.personas().await.unwrap_err(),
    };
    assert!(matches!(error, StoreError::Unusable(_)), "{error:?}");
}

#[tokio::test]
async fn a_closed_store_refuses() {
    let home = Home::open().await;
    home.store.close().await.unwrap();
    home.store.close().await.unwrap();
    let policy = SessionPolicy::default();
    assert!(home.store.capture(home.line("hello"), policy, None).await.is_err());
    assert!(home.store.personas().await.is_err());
}

#[tokio::test]
async fn another_process_that_holds_the_database_is_waited_for() {
    let home = Home::open().await;
    let options =
        StoreOptions { busy_timeout: std::time::Duration::from_millis(1), ..StoreOptions::default() };
    let second = HomeStore::open(&home.path, options).unwrap();
    let holder = rusqlite::Connection::open(&home.path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = second.capture(home.line("hello"), SessionPolicy::default(), None).await;
    assert!(matches!(refused, Err(StoreError::Busy(_))), "{refused:?}");
    assert_eq!(second.personas().await.unwrap().len(), 1, "reading goes on");
    holder.execute_batch("ROLLBACK").unwrap();
    second.capture(home.line("hello"), SessionPolicy::default(), None).await.unwrap();
}
