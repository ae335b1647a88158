//! Background work that fails is retried or reported to a person; it never blocks other work.

use std::sync::Arc;

use serde_json::{Value, json};
use testkit::Reply;
use tokio::sync::Notify;

use crate::daemon::{Daemon, Home, Settings, eventually};
use crate::scripts;
use crate::watcher::Watcher;

const LINE: &str = "I have a parrot named Coco";

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_tried_again_when_the_model_comes_back() {
    let model = scripts::remembering_model().await;
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::talking_to(&model)).await;
    let mut watcher = Watcher::open(&daemon).await;
    model.next("extraction", Reply::error(500, "busy"));
    daemon.complete("self", LINE).await;
    let session = daemon.end_session("self").await;
    let closed = watcher.wait_for_boundary(&session).await;
    assert_eq!(closed["events_count"], 1);
    assert_eq!((model.requests_for("extraction").len(), daemon.events("self").await.len()), (2, 1));
    assert!(watcher.place_of("work.failed").is_none(), "it was called failed while it was tried again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_fails_for_good_is_there_to_be_seen_and_taken_up_again() {
    let model = scripts::remembering_model().await;
    let home = Home::new();
    let settings = Settings::talking_to(&model).key("consolidate.max_retries", 1);
    let daemon = Daemon::start(&home, &settings).await;
    let mut watcher = Watcher::open(&daemon).await;
    model.next("extraction", Reply::error(500, "busy"));
    model.next("extraction", Reply::error(503, "still busy"));
    daemon.complete("self", LINE).await;
    let session = daemon.end_session("self").await;
    let told = watcher.until("work.failed", |data| data["session_id"] == session).await;
    assert_eq!(told["attempts"], 2, "{told}");
    let failed = daemon.sessions("self", "failed").await;
    assert_eq!((failed.len(), &failed[0]["id"], &failed[0]["attempts"]), (1, &json!(session), &json!(2)));
    assert!(failed[0]["last_error"].as_str().is_some_and(|error| !error.is_empty()), "{failed:?}");
    assert_eq!(daemon.said_by("self", "user").await, [LINE]);

    // The failed one does not delay the next.
    daemon.complete("other", "I have a fish named Wanda").await;
    let next = daemon.end_session("other").await;
    watcher.wait_for_boundary(&next).await;

    let path = format!("/api/admin/sessions/{session}/retry");
    let retried = daemon.try_post(&path, &json!({})).await;
    assert!((200..300).contains(&retried.status), "{} {}", retried.status, retried.body);
    watcher.wait_for_boundary(&session).await;
    assert_eq!(daemon.sessions("self", "failed").await, [] as [Value; 0]);
    let events = daemon.events("self").await;
    assert_eq!((events.len(), &events[0]["source_session_id"]), (1, &json!(session)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_not_asked_again_by_itself() {
    let model = scripts::remembering_model().await;
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::talking_to(&model)).await;
    let mut watcher = Watcher::open(&daemon).await;
    model.next("extraction", Reply::error(401, "no such key"));
    daemon.complete("self", LINE).await;
    let session = daemon.end_session("self").await;
    watcher.until("work.failed", |data| data["session_id"] == session).await;
    assert_eq!(model.requests_for("extraction").len(), 1);
    assert_eq!(daemon.sessions("self", "failed").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reflection_that_fails_costs_no_event_and_no_second_extraction() {
    let model = scripts::remembering_model().await;
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::talking_to(&model)).await;
    let mut watcher = Watcher::open(&daemon).await;
    model.next("reflection", Reply::error(500, "busy"));
    daemon.complete("self", LINE).await;
    let session = daemon.end_session("self").await;
    watcher.wait_for_boundary(&session).await;
    assert_eq!((model.requests_for("extraction").len(), model.requests_for("reflection").len()), (1, 2));
    assert_eq!((daemon.events("self").await.len(), daemon.thoughts("self").await.len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_end_is_bounded_and_does_not_hurt_the_talk() {
    let model = scripts::remembering_model().await;
    let home = Home::new();
    let settings = Settings::talking_to(&model).key("consolidate.max_retries", 0);
    let daemon = Daemon::start(&home, &settings).await;
    let mut watcher = Watcher::open(&daemon).await;
    model.next("extraction", Reply::of_size(10 * 1024 * 1024));
    daemon.complete("self", LINE).await;
    let session = daemon.end_session("self").await;
    // The answer was refused at once, or only after it was parsed, and requested again. Both end the work.
    eventually("the session ends", async || {
        let ended =
            [daemon.sessions("self", "closed").await, daemon.sessions("self", "failed").await].concat();
        ended.iter().any(|row| row["id"] == session).then_some(())
    })
    .await;
    daemon.complete("self", "hello").await;
    let next = daemon.say("self", "are you well?").await;
    watcher.wait_for_reply(&next.turn_id).await;
    let peak = daemon.memory_peak();
    assert!(peak < 300, "the process took {peak} MiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_was_being_extracted_when_the_process_died_is_extracted_once() {
    let model = scripts::remembering_model().await;
    let never = Arc::new(Notify::new());
    model.next("extraction", Reply::text("too late").delay_first_token_until(&never));
    let home = Home::new();
    let settings = Settings::talking_to(&model);
    let daemon = Daemon::start(&home, &settings).await;
    daemon.complete("self", LINE).await;
    let session = daemon.end_session("self").await;
    model.wait_until_asked("extraction", 1).await;
    daemon.kill();

    let daemon = Daemon::start(&home, &settings).await;
    eventually("the session is closed", async || {
        daemon.sessions("self", "closed").await.iter().any(|row| row["id"] == session).then_some(())
    })
    .await;
    assert_eq!((model.requests_for("extraction").len(), daemon.events("self").await.len()), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_was_being_reflected_on_when_the_process_died_is_not_extracted_again() {
    let model = scripts::remembering_model().await;
    let never = Arc::new(Notify::new());
    model.next("reflection", Reply::text("too late").delay_first_token_until(&never));
    let home = Home::new();
    let settings = Settings::talking_to(&model);
    let daemon = Daemon::start(&home, &settings).await;
    daemon.complete("self", LINE).await;
    let session = daemon.end_session("self").await;
    model.wait_until_asked("reflection", 1).await;
    daemon.kill();

    let daemon = Daemon::start(&home, &settings).await;
    eventually("the session is closed", async || {
        daemon.sessions("self", "closed").await.iter().any(|row| row["id"] == session).then_some(())
    })
    .await;
    assert_eq!((model.requests_for("extraction").len(), model.requests_for("reflection").len()), (1, 2));
    assert_eq!((daemon.events("self").await.len(), daemon.thoughts("self").await.len()), (1, 1));
}
