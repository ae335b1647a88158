//! A process that ended between question and reply: the question is answered once, or can be asked again.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Reply, ScriptedModel};
use tokio::sync::Notify;

use crate::daemon::{Daemon, Home, Settings, eventually};
use crate::owner_api::{Door, Said};
use crate::scripts;
use crate::watcher::Watcher;

const LINE: &str = "你在吗?";

/// Sends a message to a daemon whose model does not reply, and kills the daemon.
async fn die_before_the_answer(model: &ScriptedModel, home: &Home, settings: &Settings) -> Said {
    model.next("reply", Reply::text("too late").delay_first_token_until(&Arc::new(Notify::new())));
    let daemon = Daemon::start(home, settings).await;
    let said = daemon.say("self", LINE).await;
    model.wait_until_asked("reply", 1).await;
    daemon.kill();
    said
}

/// The only turn: the message and its reply.
async fn is_answered_once(door: &Door, said: &Said) {
    eventually("the turn is answered", async || {
        (door.receipt(&said.turn_id).await.status == 200).then_some(())
    })
    .await;
    let history = door.history("self").await;
    let read = |name: &str| history.iter().map(|row| row[name].clone()).collect::<Vec<Value>>();
    assert_eq!(read("role"), ["user", "persona"]);
    assert_eq!(read("content"), [LINE, scripts::REPLY]);
    assert_eq!(read("turn_id"), [json!(said.turn_id), json!(said.turn_id)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_question_is_answered_after_the_restart() {
    let model = scripts::model().await;
    let (home, settings) = (Home::new(), Settings::talking_to(&model));
    let said = die_before_the_answer(&model, &home, &settings).await;
    let daemon = Daemon::start(&home, &settings).await;
    is_answered_once(&daemon, &said).await;
    daemon.kill();
    let daemon = Daemon::start(&home, &settings).await;
    is_answered_once(&daemon, &said).await;
    assert_eq!(model.requests_for("reply").len(), 2, "a settled turn was asked about again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_was_being_said_is_said_again_from_the_beginning() {
    let model = scripts::model().await;
    let (home, settings) = (Home::new(), Settings::talking_to(&model));
    let words = (0..1_000).map(|number| format!("{number} "));
    model.next("reply", Reply::from_pieces(words).delay_between_deltas(Duration::from_millis(20)));
    let daemon = Daemon::start(&home, &settings).await;
    let mut watcher = Watcher::open(&daemon).await;
    let said = daemon.say("self", LINE).await;
    watcher.until("chat.message.token", |data| data["delta"] == "5 ").await;
    daemon.kill();
    let daemon = Daemon::start(&home, &settings).await;
    is_answered_once(&daemon, &said).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_question_fails_and_is_answered_when_it_is_asked_for() {
    let model = scripts::model().await;
    let (home, settings) = (Home::new(), Settings::talking_to(&model));
    let settings = settings.key("session.answer_within", "0ms");
    let said = die_before_the_answer(&model, &home, &settings).await;
    let daemon = Daemon::start(&home, &settings).await;
    assert_eq!(daemon.said_by("self", "user").await, [LINE]);
    assert_eq!(daemon.receipt(&said.turn_id).await.status, 404);
    assert_eq!(model.requests_for("reply").len(), 1, "it was answered out of nowhere");

    let mut watcher = Watcher::open(&daemon).await;
    let retry = format!("/api/chat/turns/{}/retry", said.turn_id);
    assert_eq!(daemon.try_post(&retry, &json!({})).await.status, 202);
    assert_eq!(watcher.wait_for_reply(&said.turn_id).await["content"], scripts::REPLY);
    is_answered_once(&daemon, &said).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orderly_stop_lets_the_reply_finish() {
    let model = scripts::model().await;
    let (home, settings) = (Home::new(), Settings::talking_to(&model));
    let words = ["one ", "two ", "three ", "four ", "five"];
    model.next("reply", Reply::from_pieces(words).delay_between_deltas(Duration::from_millis(200)));
    let mut daemon = Daemon::start(&home, &settings).await;
    let mut watcher = Watcher::open(&daemon).await;
    let said = daemon.say("self", LINE).await;
    watcher.until("chat.message.token", |data| data["turn_id"] == said.turn_id).await;
    daemon.post("/api/admin/stop", &json!({})).await;
    assert!(daemon.ended().await, "it did not end well");
    assert!(!home.file("run.json").exists());

    let daemon = Daemon::start(&home, &settings).await;
    let history = daemon.history("self").await;
    assert_eq!((history.len(), &history[1]["content"]), (2, &json!(words.concat())));
    assert_eq!(history[1]["incomplete"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_went_quiet_while_the_process_was_away_becomes_memory() {
    let model = scripts::remembering_model().await;
    let (home, settings) = (Home::new(), Settings::talking_to(&model));
    let daemon = Daemon::start(&home, &settings).await;
    daemon.complete("self", "I have a goat named Greta").await;
    daemon.kill();
    let daemon = Daemon::start(&home, &settings.key("session.idle", "1ms")).await;
    let events = eventually("the session becomes memory", async || {
        Some(daemon.events("self").await).filter(|events| !events.is_empty())
    })
    .await;
    assert!(events[0]["description"].as_str().unwrap().contains("Greta"), "{events:?}");
}
