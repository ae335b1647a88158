//! Many writers share one flush, and a failure of one does not affect the others.

use std::sync::Arc;

use futures_util::future::join_all;
use memory::ports::{CaptureStore, MessageStore, StoreError};
use memory::sessions::SessionPolicy;
use store::{HomeStore, StoreOptions};

use crate::home::Home;

const TASKS: usize = 64;
const LINES: usize = 20;

fn endless() -> SessionPolicy {
    SessionPolicy { max_messages: u32::MAX, max_tokens: u64::MAX, ..SessionPolicy::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_share_a_commit() {
    let home = Arc::new(Home::open().await);
    let before = home.store.commits();
    let talk = |task: usize| {
        let home = Arc::clone(&home);
        tokio::spawn(async move {
            for number in 0..LINES {
                let line = home.line(&format!("task {task} line {number}"));
                let seq = home.store.capture(line.clone(), endless(), None).await.unwrap().message.seq;
                let read = home.store.message(line.id).await.unwrap().unwrap();
                assert_eq!(
                    (read.seq, read.content),
                    (seq, line.content),
                    "what was acknowledged can be read"
                );
            }
        })
    };
    for task in join_all((0..TASKS).map(talk)).await {
        task.unwrap();
    }
    let commits = home.store.commits() - before;
    let messages = (TASKS * LINES) as u64;
    assert!(commits < messages / 2, "{commits} commits for {messages} messages");
    let all = home.store.messages_before(&home.scope, None, u32::MAX).await.unwrap();
    assert_eq!(all.len() as u64, messages);
    assert!(home.store.check().await.unwrap().is_intact());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_command_does_not_cost_the_others() {
    let home = Home::open().await;
    let taken = home.line("the first of this id");
    home.store.capture(taken.clone(), endless(), None).await.unwrap();
    let lines: Vec<_> = (0..TASKS)
        .map(|number| {
            let mut line = home.line(&format!("line {number} word{number}"));
            if number % 4 == 0 {
                line.id = taken.id;
            }
            line
        })
        .collect();
    let before = home.store.commits();
    let outcomes = join_all(lines.iter().map(|line| home.store.capture(line.clone(), endless(), None))).await;
    assert!(home.store.commits() - before < 32, "they went as groups");
    for (number, outcome) in outcomes.iter().enumerate() {
        match outcome {
            Ok(captured) => assert_eq!(captured.message.content, lines[number].content),
            Err(error) => {
                assert!(number % 4 == 0, "line {number} failed: {error}");
                assert!(matches!(error, StoreError::Failed(_)), "{error}");
            }
        }
        assert_eq!(outcome.is_err(), number % 4 == 0);
    }
    let all = home.store.messages_before(&home.scope, None, 1_000).await.unwrap();
    assert_eq!(all.len(), 1 + TASKS - TASKS / 4);
    let check = home.store.check().await.unwrap();
    assert!(check.is_intact(), "neither counters nor words of the failed ones are left: {check:?}");
}

#[tokio::test]
async fn acknowledged_writes_survive_without_a_close() {
    let home = Home::open().await;
    let mut said = Vec::new();
    for number in 0..50 {
        let line = home.line(&format!("line {number}"));
        said.push(home.store.capture(line, endless(), None).await.unwrap().message);
    }
    // The files as after a power failure: the log was never moved into the database.
    let after = tempfile::TempDir::new().unwrap();
    for name in ["home.db", "home.db-wal"] {
        std::fs::copy(home.folder.path().join(name), after.path().join(name)).unwrap();
    }
    let reopened = HomeStore::open(&after.path().join("home.db"), StoreOptions::default()).unwrap();
    said.reverse();
    assert_eq!(reopened.messages_before(&home.scope, None, 100).await.unwrap(), said);
    assert!(reopened.check().await.unwrap().is_intact());

    let path = home.path.clone();
    let (scope, line) = (home.scope.clone(), home.line("the last"));
    home.store.capture(line, endless(), None).await.unwrap();
    let folder = home.folder;
    drop(home.store);
    let reopened = HomeStore::open(&path, StoreOptions::default()).unwrap();
    assert_eq!(reopened.messages_before(&scope, None, 100).await.unwrap().len(), 51);
    drop(folder);
}
