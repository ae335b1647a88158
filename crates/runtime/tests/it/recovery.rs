//! Turns that a crash left unanswered.

use std::sync::Arc;

use memory::messages::{Role, TurnStatus};
use memory::ports::TurnStore;
use runtime::IncomingMessage;
use serde_json::json;
use testkit::Reply;
use tokio::sync::Notify;

use crate::world::{HOUR, MINUTE, SECOND, WEB, World, incoming, scope, section};

#[tokio::test]
async fn words_without_an_answer_are_answered_at_the_next_start() {
    let mut world = World::new().await;
    let accepted = world.say(WEB, "你在吗").await;
    assert_eq!(world.say(WEB, "我有事想说").await.turn_id, accepted.turn_id);
    world.restart_after(9 * MINUTE).await;
    let done = world.hear("chat.message.done").await;
    assert_eq!((&done["turn_id"], &done["source_channel_id"]), (&json!(accepted.turn_id), &json!(WEB)));
    let said = world.last_prompt();
    assert_eq!(section(&said, "What they just said").trim(), "them: 你在吗\nthem: 我有事想说");
    assert_eq!(world.sessions().await.len(), 1);
    world.restart_after(MINUTE).await;
    world.settle().await;
    assert_eq!(world.model.requests_for("reply").len(), 1, "once is enough");
}

#[tokio::test]
async fn a_reply_that_a_crash_cut_short_is_asked_for_again() {
    let mut world = World::new().await;
    let never = Arc::new(Notify::new());
    world.model.next("reply", Reply::text("never").delay_first_token_until(&never));
    let accepted = world.say("phone", "说到一半").await;
    world.model.wait_until_asked("reply", 1).await;
    world.restart_after(MINUTE).await;
    world.hear_until("chat.message.done", |data| data["turn_id"] == json!(accepted.turn_id)).await;
    let roles: Vec<Role> = world.messages().await.into_iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Persona]);
}

#[tokio::test]
async fn a_reply_after_a_crash_names_the_line_that_it_answers() {
    let mut world = World::new().await;
    for name in ["c-1", "c-2"] {
        let line =
            IncomingMessage { external_ref: Some(name.to_owned()), ..incoming("ann", WEB, "你在吗") };
        world.runtime.turns().accept(line).await.unwrap();
    }
    world.restart_after(MINUTE).await;
    let done = world.hear("chat.message.done").await;
    assert_eq!(done["in_reply_to"], "c-2");
    world.runtime.turns().regenerate(&scope("ann"), None).await.unwrap();
    let again = world.hear("chat.message.done").await;
    assert_ne!(again["stored_message_id"], done["stored_message_id"]);
    assert_eq!(again["in_reply_to"], "c-2", "also when it is said anew");
}

#[tokio::test]
async fn old_words_are_not_answered_out_of_nowhere_but_on_request() {
    let mut world = World::new().await;
    let accepted = world.say(WEB, "早上好").await;
    world.restart_after(11 * MINUTE).await;
    let turn = world.store.turn(accepted.turn_id).await.unwrap().unwrap();
    assert_eq!(turn.status, TurnStatus::Failed);
    assert!(turn.reason.unwrap().contains("not running"));
    assert_eq!(world.model.requests_for("reply").len(), 0);
    assert!(world.runtime.turns().retry(accepted.turn_id).await.unwrap().is_some());
    world.hear_until("chat.message.done", |data| data["turn_id"] == json!(accepted.turn_id)).await;
    assert_eq!(world.store.turn(accepted.turn_id).await.unwrap().unwrap().status, TurnStatus::Answered);
    assert!(world.runtime.turns().retry(accepted.turn_id).await.unwrap().is_none(), "it has an answer");
}

#[tokio::test]
async fn an_old_turn_that_failed_no_longer_keeps_its_session_open() {
    let mut world = World::new().await;
    world.say(WEB, "我养了只白猫,叫小黑").await;
    world.restart_after(2 * HOUR).await;
    world.settle().await;
    let session = world.sessions().await.remove(0);
    assert_eq!((session.message_count, session.extracted_events), (1, 1), "unanswered, and still remembered");
}

#[tokio::test]
async fn several_turns_of_one_talk_are_answered_one_after_the_other() {
    let mut world = World::new().await;
    let never = Arc::new(Notify::new());
    world.model.next("reply", Reply::text("never").delay_first_token_until(&never));
    let mut turns = vec![world.say("a", "一").await.turn_id];
    world.model.wait_until_asked("reply", 1).await;
    for (channel, text) in [("b", "二"), ("c", "三"), ("d", "四")] {
        world.clock.advance(SECOND).await;
        turns.push(world.say(channel, text).await.turn_id);
    }
    world.restart_after(MINUTE).await;
    for turn in turns {
        let typing = world.hear("chat.message.typing_started").await;
        assert_eq!(typing["turn_id"], json!(turn));
        let done = world.hear("chat.message.done").await;
        assert_eq!(done["turn_id"], json!(turn), "the older first, each alone");
    }
}

#[tokio::test]
async fn a_retried_turn_waits_for_the_one_that_runs() {
    let mut world = World::new().await;
    world.model.next("reply", Reply::error(401, "bad key"));
    let failed = world.say("phone", "第一句").await.turn_id;
    world.hear("chat.message.failed").await;
    let gate = Arc::new(Notify::new());
    world.model.next("reply", Reply::text("第二个").delay_first_token_until(&gate));
    let running = world.say("phone", "第二句").await.turn_id;
    world.model.wait_until_asked("reply", 2).await;
    world.runtime.turns().retry(failed).await.unwrap().unwrap();
    world.settle().await;
    assert_eq!(world.model.requests_for("reply").len(), 2);
    gate.notify_one();
    for turn in [running, failed] {
        assert_eq!(world.hear("chat.message.done").await["turn_id"], json!(turn));
    }
}
