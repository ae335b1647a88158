//! Walk 2 on the clock: when a session ends, and how it is consolidated.

use std::sync::Arc;

use memory::nodes::NodeKind;
use memory::ports::NodeStore;
use memory::sessions::{CloseTrigger, SessionStatus};
use serde_json::json;
use testkit::Reply;
use tokio::sync::Notify;

use crate::world::{HOUR, MINUTE, SECOND, WEB, World, settings, soon};

const CAT: &str = "我养了只白猫,叫小黑。他超调皮,老在半夜跳到我脸上。";

#[tokio::test]
async fn a_story_becomes_memory_after_half_an_hour_of_silence() {
    let mut world = World::new().await;
    world.talk(WEB, CAT).await;
    world.take_event_names().await;
    world.pass(29 * MINUTE).await;
    assert_eq!(world.sessions().await[0].status, SessionStatus::Open);
    world.pass(3 * MINUTE).await;
    let session = world.sessions().await.remove(0);
    assert_eq!((session.status, session.close_trigger), (SessionStatus::Closed, Some(CloseTrigger::Idle)));
    assert_eq!((session.extracted_events, session.trivial, session.reflected), (1, false, true));
    let event = world.nodes(NodeKind::Event).await.remove(0);
    let evidence = world.store.node(event.id).await.unwrap().unwrap().evidence;
    assert_eq!(evidence[0].quote, CAT);
    assert_eq!(evidence[0].message_id, world.messages().await[0].id);
    let told = world.take_event_names().await;
    let expected =
        ["memory.event.created", "chat.mood.update", "memory.thought.created", "chat.session.boundary"];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_session_with_a_pending_turn_is_not_closed() {
    let mut settings = settings();
    settings.turn_timeout = 3 * HOUR;
    let mut world = World::with(settings, None).await;
    let gate = Arc::new(Notify::new());
    world.model.next("reply", Reply::text("finally").delay_first_token_until(&gate));
    world.say("phone", CAT).await;
    soon("the question", world.model.wait_until_asked("reply", 1)).await;
    world.pass(HOUR).await;
    assert_eq!(world.sessions().await[0].status, SessionStatus::Open);
    gate.notify_one();
    world.hear("chat.message.done").await;
    world.silence().await;
    let session = world.sessions().await.remove(0);
    assert_eq!((session.status, session.message_count), (SessionStatus::Closed, 2));
}

#[tokio::test]
async fn a_long_session_closes_with_its_reply_and_the_next_one_opens() {
    let mut by_messages = settings();
    by_messages.session.max_messages = 4;
    let mut by_tokens = settings();
    by_tokens.session.max_tokens = 50;
    for settings in [by_messages, by_tokens] {
        let mut world = World::with(settings, None).await;
        for text in ["我养了一只狗叫大黄", "它今年三岁了,特别喜欢吃苹果", "新的一段"]
        {
            world.talk(WEB, text).await;
            world.settle().await;
        }
        let sessions = world.sessions().await;
        let ends: Vec<_> = sessions.iter().map(|s| (s.status, s.close_trigger, s.message_count)).collect();
        let closed = (SessionStatus::Closed, Some(CloseTrigger::MaxLength), 4);
        assert_eq!(ends, [closed, (SessionStatus::Open, None, 2)]);
    }
}

#[tokio::test]
async fn a_stale_session_is_closed_by_the_next_line_even_if_nobody_looked() {
    let mut settings = settings();
    settings.scan_every = 24 * HOUR;
    let mut world = World::with(settings, None).await;
    world.talk(WEB, CAT).await;
    world.pass(31 * MINUTE).await;
    assert_eq!(world.sessions().await[0].status, SessionStatus::Open);
    world.talk(WEB, "我回来了").await;
    world.settle().await;
    let sessions = world.sessions().await;
    assert_eq!(sessions.len(), 2);
    assert_eq!(
        (sessions[0].status, sessions[0].close_trigger),
        (SessionStatus::Closed, Some(CloseTrigger::Idle))
    );
}

#[tokio::test]
async fn outdated_summaries_are_rewritten_at_the_start() {
    let mut world = World::new().await;
    world.talk(WEB, CAT).await;
    world.restart_after(2 * HOUR).await;
    world.settle().await;
    let session = world.sessions().await.remove(0);
    assert_eq!((session.status, session.close_trigger), (SessionStatus::Closed, Some(CloseTrigger::Catchup)));
    assert_eq!(world.nodes(NodeKind::Event).await.len(), 1);
}

#[tokio::test]
async fn a_person_may_end_a_session_at_once() {
    let mut world = World::new().await;
    world.talk(WEB, CAT).await;
    let session = world.sessions().await.remove(0);
    assert!(world.runtime.sessions().close(session.id).await.unwrap().is_some());
    world.settle().await;
    let session = world.sessions().await.remove(0);
    assert_eq!(
        (session.status, session.close_trigger),
        (SessionStatus::Closed, Some(CloseTrigger::Explicit))
    );
    assert!(world.runtime.sessions().close(session.id).await.unwrap().is_none());
}

#[tokio::test]
async fn sessions_become_memory_in_the_order_in_which_they_began() {
    let mut world = World::new().await;
    for (channel, text) in [("c", "我叫小明"), ("a", "我养了一只鹦鹉"), ("b", "我对牛奶过敏")]
    {
        world.talk(channel, text).await;
    }
    world.silence().await;
    let asked: Vec<String> = world.model.requests_for("extraction").iter().map(|r| r.user()).collect();
    assert_eq!(asked.len(), 3);
    for (prompt, text) in asked.iter().zip(["小明", "鹦鹉", "牛奶"]) {
        assert!(prompt.contains(text), "{text} is not in {prompt}");
    }
}

#[tokio::test]
async fn small_talk_costs_no_model_call_and_what_matters_reaches_the_model() {
    let mut world = World::new().await;
    for text in ["hi", "在吗", "ok thanks"] {
        world.talk(WEB, text).await;
        world.silence().await;
    }
    assert_eq!(world.model.requests_for("extraction").len(), 0);
    assert_eq!(world.model.requests_for("reflection").len(), 0);
    for session in world.sessions().await {
        assert_eq!((session.status, session.trivial), (SessionStatus::Closed, true));
    }
    for (count, text) in [(1, "奶奶走了"), (2, CAT)] {
        world.talk(WEB, text).await;
        world.silence().await;
        assert_eq!(world.model.requests_for("extraction").len(), count, "{text}");
    }
}

#[tokio::test]
async fn a_clock_that_goes_back_closes_nothing_and_loses_nothing() {
    let mut world = World::new().await;
    world.talk(WEB, CAT).await;
    let earlier = world.runtime.clock().now() - jiff::SignedDuration::from_hours(5);
    world.clock.set(earlier);
    world.talk(WEB, "现在是几点").await;
    let sessions = world.sessions().await;
    assert_eq!((sessions.len(), sessions[0].message_count), (1, 4));
    let contents: Vec<String> = world.messages().await.into_iter().map(|message| message.content).collect();
    assert_eq!((contents[0].as_str(), contents[2].as_str()), (CAT, "现在是几点"));
    world.pass(2 * SECOND).await;
    let told = json!(world.take_event_names().await);
    assert!(!told.to_string().contains("work.failed"), "{told}");
}
