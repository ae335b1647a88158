//! Several daemons on one database: each of them accepts every request, and if the active one ends, another one
//! becomes active. `scripts/with-postgres` starts the server.

mod database;
mod faults;
mod haproxy;
mod links;

use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use testkit::postgres::{fresh_database, query};

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings, eventually, within};
use crate::owner_api::rows;
use crate::program::{Program, remember};
use crate::scripts;
use crate::watcher::Watcher;

/// Time within which a daemon that does not answer is replaced.
const TAKEOVER: Duration = Duration::from_secs(30);

/// Addresses and states from `echovessel daemons` for this home.
async fn listed(home: &Home, settings: &Settings) -> Vec<(String, String)> {
    let ran = run(home, settings, &["daemons", "--json"]).await;
    let answer: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{} {}", ran.out, ran.err));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let listed = answer["daemons"].as_array().unwrap();
    listed.iter().map(|daemon| (text(&daemon["address"]), text(&daemon["state"]))).collect()
}

/// A port that is free at the moment.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

async fn answered(daemon: &Daemon, turn: &str) {
    within(TAKEOVER, "the turn is answered", async || {
        (daemon.receipt(turn).await.status == 200).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn another_daemon_answers_when_the_first_one_is_killed() {
    let model = scripts::model().await;
    let database = fresh_database().unwrap().unwrap();
    let settings = Settings::talking_to(&model).key("storage.url", &database);
    let (first_home, second_home) = (Home::new(), Home::new());
    let first = Daemon::start(&first_home, &settings).await;
    let second = Daemon::start(&second_home, &settings).await;
    let token = |home: &Home| std::fs::read_to_string(home.file("token")).unwrap();
    assert_eq!(token(&first_home), token(&second_home), "a new machine has the owner's token of the others");

    let said = second.say("self", "my cat is called Biscuit").await;
    answered(&second, &said.turn_id).await;
    assert_eq!(first.history("self").await, second.history("self").await);
    for home in [&first_home, &second_home] {
        let states: Vec<_> = listed(home, &settings).await.into_iter().map(|(_, state)| state).collect();
        assert_eq!(states, ["serving", "standing_by"]);
    }
    let table = run(&second_home, &settings, &["daemons"]).await;
    assert!(table.out.contains("standing by") && table.out.starts_with("ADDRESS"), "{}", table.out);
    let metrics = second.request(Method::GET, "/metrics").send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("echovessel_live{what=\"daemons_standing_by\"} 1"), "{metrics}");

    let before = second.history("self").await;
    first.kill();
    let after = within(TAKEOVER, "the second daemon answers", async || {
        let answer = second.try_get("/api/chat/history?user_id=self").await;
        (answer.status == 200).then(|| rows(&answer.body, "messages"))
    })
    .await;
    // The API lists the newest first.
    assert_eq!(after.into_iter().rev().collect::<Vec<_>>(), before);
    let said = second.say("self", "she sleeps on the radio").await;
    answered(&second, &said.turn_id).await;
    let states: Vec<_> = listed(&second_home, &settings).await.into_iter().map(|(_, state)| state).collect();
    assert_eq!(states, ["dead", "serving"]);

    // The machine is back. The other daemon stops normally, and nobody has to wait for a timeout.
    let first = Daemon::start(&first_home, &settings).await;
    let mut second = second;
    let began = Instant::now();
    second.signal("TERM");
    assert!(second.ended().await);
    let said = first.say("self", "and snores").await;
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    answered(&first, &said.turn_id).await;
    assert_eq!(first.history("self").await.len(), 6);
    let ended: Vec<_> = listed(&first_home, &settings).await.into_iter().map(|(_, state)| state).collect();
    assert_eq!(ended, ["dead", "serving"], "one that stopped is not listed");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn a_daemon_that_was_paused_for_too_long_writes_nothing_and_ends() {
    let database = fresh_database().unwrap().unwrap();
    let settings = Settings::offline().key("storage.url", &database);
    let (first_home, second_home) = (Home::new(), Home::new());
    let mut first = Daemon::start(&first_home, &settings).await;
    let second = Daemon::start(&second_home, &settings).await;
    first.say("self", "before the pause").await;
    let paused_at = Instant::now();
    first.signal("STOP");
    within(TAKEOVER, "the second daemon holds the home", async || {
        let states = query(&database, "SELECT state FROM daemons ORDER BY started_at").unwrap();
        (states == ["dead", "running"]).then_some(())
    })
    .await;
    second.say("self", "while it was paused").await;
    assert!(paused_at.elapsed() < TAKEOVER, "{:?}", paused_at.elapsed());
    first.signal("CONT");
    let status = eventually("the first daemon ends", async || first.try_ended()).await;
    assert_eq!(status.code(), Some(5));
    let log = std::fs::read_to_string(first_home.log()).unwrap();
    assert!(log.contains("took over this home"), "{log}");
    let said =
        query(&database, "SELECT content FROM recall_messages WHERE role = 'user' ORDER BY seq").unwrap();
    assert_eq!(said, ["before the pause", "while it was paused"]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn commands_on_a_machine_mean_its_own_daemon_where_they_end_it() {
    let database = fresh_database().unwrap().unwrap();
    let settings = Settings::offline().key("storage.url", &database);
    let (first_home, second_home) = (Home::new(), Home::new());
    let first = Daemon::start(&first_home, &settings).await;
    let mut second = Daemon::start(&second_home, &settings).await;
    assert!(second.login.starts_with(&second.url), "{} at {}", second.login, second.url);
    let stopped = run(&second_home, &settings, &["stop"]).await;
    assert!(stopped.code == 0, "{}", stopped.err);
    assert!(second.ended().await);
    first.say("self", "the other one goes on").await;
    assert_eq!(listed(&first_home, &settings).await.len(), 1);

    // A daemon with another owner's token would refuse the clients of the other daemons.
    let other = settings.variable("ECHOVESSEL_TOKEN", "another token of the owner");
    let refused = run(&second_home, &other, &["run", "--port", "0", "--no-open"]).await;
    assert!(refused.code == 1 && refused.err.contains("ECHOVESSEL_TOKEN"), "{}", refused.err);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn programs_join_the_hub_on_the_machine_of_any_daemon() {
    let database = fresh_database().unwrap().unwrap();
    let settings = Settings::offline().key("storage.url", &database);
    let (first_home, second_home) = (Home::new(), Home::new());
    let first = Daemon::start(&first_home, &settings).await;
    let second = Daemon::start(&second_home, &settings).await;
    let mut at_holder = Program::start(&first_home, &settings);
    let mut elsewhere = Program::start(&second_home, &settings);
    remember(&mut at_holder, 1);
    remember(&mut elsewhere, 2);
    let count = |program: &mut Program| program.call("memory_list", &json!({"limit": 10}))["total"].clone();
    assert_eq!((count(&mut at_holder), count(&mut elsewhere)), (json!(2), json!(2)));
    // The program beside the daemon that becomes active notices nothing except a short wait.
    first.kill();
    assert_eq!(count(&mut elsewhere), json!(2));
    remember(&mut elsewhere, 3);
    assert_eq!(count(&mut elsewhere), json!(3));
    drop(second);
}

/// Files of a home that contain these words.
fn files_with(home: &Home, words: &str) -> Vec<PathBuf> {
    let folder = home.path().join("memories");
    if folder.exists() { testkit::files_containing(&folder, words).unwrap() } else { Vec::new() }
}

/// The daemon that was active first still has the document's file when it becomes active again.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn text_erased_by_another_holder_does_not_return_from_files() {
    let database = fresh_database().unwrap().unwrap();
    let settings = Settings::offline().key("storage.url", &database);
    let (first_home, second_home) = (Home::new(), Home::new());
    let first = Daemon::start(&first_home, &settings).await;
    let mut program = Program::start(&first_home, &settings);
    remember(&mut program, 1);
    drop(program);
    eventually("the file is written", async || (!files_with(&first_home, "fact 1").is_empty()).then_some(()))
        .await;
    let second = Daemon::start(&second_home, &settings).await;
    first.kill();
    let erase = ["memory", "forget", "--text", "fact 1", "--with-messages", "--yes"];
    run(&second_home, &settings, &erase).await.well();
    assert!(files_with(&second_home, "fact 1").is_empty());
    assert!(!files_with(&first_home, "fact 1").is_empty(), "the file was out of reach");

    let first = Daemon::start(&first_home, &settings).await;
    second.kill();
    within(TAKEOVER, "the first daemon holds the home", async || {
        let states = listed(&first_home, &settings).await;
        states.iter().any(|(address, state)| *address == first.url && state == "serving").then_some(())
    })
    .await;
    assert!(files_with(&first_home, "fact 1").is_empty());
    let dump = std::process::Command::new("pg_dump").arg(&database).output().unwrap().stdout;
    assert!(!dump.is_empty() && !testkit::contains_words(&dump, "fact 1"));
}

/// Each event after a message, for a subscriber of each daemon.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn subscribers_of_every_daemon_see_every_event() {
    let database = fresh_database().unwrap().unwrap();
    let settings = Settings::offline().key("storage.url", &database);
    let homes = [Home::new(), Home::new(), Home::new()];
    let mut daemons = Vec::new();
    for home in &homes {
        daemons.push(Daemon::start(home, &settings).await);
    }
    let mut watchers = Vec::new();
    for daemon in &daemons {
        watchers.push(Watcher::open(daemon).await);
    }
    for (number, daemon) in daemons.iter().enumerate() {
        daemon.say("self", &format!("line {number}")).await;
    }
    for watcher in &mut watchers {
        for number in 0..daemons.len() {
            let line = json!(format!("line {number}"));
            watcher.until("chat.message.user_appended", |data| data["content"] == line).await;
        }
    }
}
