//! A normal stop under load loses no acknowledged message.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::daemon::{Daemon, Home, Settings};
use crate::scripts;

const TALKERS: usize = 8;
const ENOUGH: usize = 60;

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_in_the_middle_of_many_talks_loses_no_word_and_doubles_none() {
    let model = scripts::model().await;
    let home = Home::new();
    let settings = Settings::talking_to(&model);
    let mut daemon = Daemon::start(&home, &settings).await;
    let stopped = Arc::new(AtomicBool::new(false));
    let (told, mut taken) = tokio::sync::mpsc::unbounded_channel();
    let talkers: Vec<_> = (0..TALKERS)
        .map(|talker| {
            let (door, stopped, told) = (daemon.door(), stopped.clone(), told.clone());
            tokio::spawn(async move {
                for line in 0.. {
                    let content = format!("line {line} of {talker}");
                    let body = json!({"content": content, "user_id": format!("user{talker}")});
                    let request = door.request(reqwest::Method::POST, "/api/chat/send").json(&body);
                    match crate::owner_api::answer(request).await {
                        Ok(answer) if answer.status == 202 => told.send((talker, content)).unwrap(),
                        Ok(answer) if answer.status == 429 => tokio::task::yield_now().await,
                        // The request was refused or interrupted, so nothing was acknowledged.
                        _ if stopped.load(Ordering::Relaxed) => return,
                        refused => panic!("{refused:?}"),
                    }
                }
            })
        })
        .collect();
    drop(told);
    let mut acknowledged: HashMap<usize, Vec<String>> = HashMap::new();
    let mut count = 0;
    while let Some((talker, content)) = taken.recv().await {
        acknowledged.entry(talker).or_default().push(content);
        count += 1;
        if count == ENOUGH {
            stopped.store(true, Ordering::Relaxed);
            daemon.signal("TERM");
        }
    }
    for talker in talkers {
        talker.await.unwrap();
    }
    assert!(daemon.ended().await, "it did not end in good order");
    assert!(!home.file("echovessel.db-wal").exists(), "the log was not folded in");

    let daemon = Daemon::start(&home, &settings).await;
    for (talker, lines) in acknowledged {
        let said = daemon.said_by(&format!("user{talker}"), "user").await;
        let kept: Vec<&String> = said.iter().filter(|line| lines.contains(line)).collect();
        assert_eq!(kept, lines.iter().collect::<Vec<_>>(), "of talker {talker}");
    }
}
