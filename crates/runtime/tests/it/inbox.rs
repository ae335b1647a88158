//! Incoming messages: when each is durable, and which turn answers it.

use std::sync::Arc;

use memory::capture::CaptureError;
use memory::messages::Role;
use memory::ports::{MessageStore, StoreError};
use runtime::AcceptError;
use serde_json::json;
use store::Fault;
use testkit::Reply;
use tokio::sync::Notify;

use crate::world::{MINUTE, SECOND, WEB, World, incoming, scope, section, settings, soon};

#[tokio::test]
async fn a_burst_on_one_channel_is_one_turn_and_each_line_is_durable_at_once() {
    let mut world = World::new().await;
    let mut turns = Vec::new();
    for text in ["你好", "我今天去爬山了", "腿好酸"] {
        turns.push(world.say(WEB, text).await.turn_id);
        assert_eq!(world.messages().await.last().unwrap().content, text, "durable before accept returns");
        world.clock.advance(SECOND).await;
    }
    assert!(turns.iter().all(|turn| *turn == turns[0]), "{turns:?}");
    assert_eq!(world.model.requests_for("reply").len(), 0, "two seconds of silence were not yet");
    world.clock.advance(SECOND).await;
    let done = world.hear("chat.message.done").await;
    assert_eq!(done["turn_id"], json!(turns[0]));
    assert_eq!(world.model.requests_for("reply").len(), 1);
    let said = world.last_prompt();
    assert_eq!(
        section(&said, "What they just said").trim(),
        "them: 你好\nthem: 我今天去爬山了\nthem: 腿好酸"
    );
}

#[tokio::test]
async fn a_burst_waits_for_who_writes_on_and_is_answered_at_once_when_nothing_more_comes() {
    let mut world = World::new().await;
    let ann = scope("ann");
    assert!(!world.runtime.turns().note_typing(&ann, WEB, true), "nothing waits");
    let first = world.say(WEB, "你好").await.turn_id;
    for _ in 0..5 {
        world.clock.advance(SECOND).await;
        assert!(world.runtime.turns().note_typing(&ann, WEB, true));
    }
    assert!(!world.runtime.turns().note_typing(&ann, "phone", false), "of another channel nothing waits");
    assert!(!world.runtime.turns().note_typing(&scope("bob"), WEB, false), "nor of another user");
    assert_eq!(world.model.requests_for("reply").len(), 0, "the user writes on");
    assert_eq!(world.say(WEB, "我今天去爬山了").await.turn_id, first);
    assert!(world.runtime.turns().note_typing(&ann, WEB, false));
    let done = world.hear("chat.message.done").await;
    assert_eq!(done["turn_id"], json!(first));
    assert_eq!(world.model.requests_for("reply").len(), 1);
    world.clock.advance(MINUTE).await;
    assert_eq!(world.model.requests_for("reply").len(), 1, "older timers have lost their say");
}

#[tokio::test]
async fn a_burst_does_not_wait_forever_for_who_writes_on() {
    let mut world = World::new().await;
    world.say(WEB, "hello").await;
    for _ in 0..61 {
        world.clock.advance(SECOND).await;
        world.runtime.turns().note_typing(&scope("ann"), WEB, true);
    }
    world.clock.advance(SECOND).await;
    world.hear("chat.message.done").await;
}

#[tokio::test]
async fn each_channel_is_a_turn_of_its_own_one_after_the_other() {
    let mut world = World::new().await;
    let gate = Arc::new(Notify::new());
    world.model.next("reply", Reply::text("嗯嗯").delay_first_token_until(&gate));
    let mut turns = vec![world.say(WEB, "网页上说的").await.turn_id];
    world.clock.advance(2 * SECOND).await;
    soon("the first turn", world.model.wait_until_asked("reply", 1)).await;
    for channel in ["phone", "post", "pigeon"] {
        turns.push(world.say(channel, &format!("said by {channel}")).await.turn_id);
    }
    world.settle().await;
    assert_eq!(world.model.requests_for("reply").len(), 1, "the others wait for the first");
    gate.notify_one();
    for (turn, channel) in turns.iter().zip([WEB, "phone", "post", "pigeon"]) {
        let done = world.hear("chat.message.done").await;
        assert_eq!((&done["turn_id"], &done["source_channel_id"]), (&json!(turn), &json!(channel)));
    }
    let prompt = world.last_prompt();
    assert_eq!(section(&prompt, "What they just said").trim(), "them: said by pigeon");
}

#[tokio::test]
async fn one_user_does_not_wait_for_another() {
    let mut world = World::new().await;
    let never = Arc::new(Notify::new());
    world.model.next("reply", Reply::text("never").delay_first_token_until(&never));
    world.say("phone", "我在等").await;
    soon("the first turn", world.model.wait_until_asked("reply", 1)).await;
    let done = world.talk_as("bob", "phone", "hello there").await;
    assert_eq!(done["user_id"], "bob");
    assert_eq!(world.messages().await.len(), 1, "ann still waits");
}

#[tokio::test]
async fn messages_during_a_turn_get_one_reply_in_order() {
    let mut world = World::new().await;
    let gate = Arc::new(Notify::new());
    world.model.next("reply", Reply::text("第一个回答").delay_first_token_until(&gate));
    world.say(WEB, "一").await;
    world.clock.advance(2 * SECOND).await;
    soon("the first turn", world.model.wait_until_asked("reply", 1)).await;
    let mut turns = Vec::new();
    for text in ["二", "三", "四"] {
        turns.push(world.say(WEB, text).await.turn_id);
        world.clock.advance(5 * SECOND).await;
    }
    assert!(turns.iter().all(|turn| *turn == turns[0]), "their wait was over, but the first turn was not");
    gate.notify_one();
    world.hear("chat.message.done").await;
    world.hear("chat.message.done").await;
    assert_eq!(world.model.requests_for("reply").len(), 2);
    let prompt = world.last_prompt();
    assert_eq!(section(&prompt, "What they just said").trim(), "them: 二\nthem: 三\nthem: 四");
    let said: Vec<String> = world.messages().await.into_iter().map(|message| message.content).collect();
    assert_eq!(said[..5], ["一", "二", "三", "四", "第一个回答"]);
}

#[tokio::test]
async fn fifty_lines_are_answered_without_further_waiting() {
    let mut world = World::new().await;
    for number in 1..50 {
        world.say(WEB, &format!("line {number}")).await;
    }
    world.settle().await;
    assert_eq!(world.model.requests_for("reply").len(), 0);
    world.say(WEB, "line 50").await;
    world.hear("chat.message.done").await;
    assert_eq!(section(&world.last_prompt(), "What they just said").trim().lines().count(), 50);
}

#[tokio::test]
async fn a_full_inbox_says_so_and_writes_nothing() {
    let mut world = World::new().await;
    let gate = Arc::new(Notify::new());
    world.model.next("reply", Reply::text("done").delay_first_token_until(&gate));
    world.say("phone", "the one that is being answered").await;
    soon("the first turn", world.model.wait_until_asked("reply", 1)).await;
    for number in 0..256 {
        world.say("phone", &format!("waiting {number}")).await;
    }
    let refused = world.accept("ann", "phone", "one too many").await;
    assert!(
        matches!(refused, Err(AcceptError::Full { retry_after }) if retry_after == 5 * SECOND),
        "{refused:?}"
    );
    let refused = world.accept("ann", WEB, "nor on another channel").await;
    assert!(matches!(refused, Err(AcceptError::Full { .. })), "{refused:?}");
    world.accept("bob", "phone", "but somebody else").await.unwrap();
    assert_eq!(world.messages().await.len(), 257);
    gate.notify_one();
    world.hear_until("chat.message.done", |data| data["user_id"] == "ann").await;
    world.hear_until("chat.message.done", |data| data["user_id"] == "ann").await;
    world.say("phone", "there is room again").await;
}

#[tokio::test]
async fn a_capture_that_fails_gives_its_room_back() {
    let mut world = World::new().await;
    let full = StoreError::Unwritable("there is no room left".to_owned());
    for _ in 0..300 {
        world.store.faults().plan("capture", Fault::Error(full.clone()));
        let refused = world.accept("ann", WEB, "lost on a full disk").await;
        assert!(
            matches!(&refused, Err(AcceptError::Capture(CaptureError::Store(error))) if *error == full),
            "{refused:?}"
        );
    }
    assert_eq!(world.take_event_names().await, Vec::<&str>::new(), "nothing happened, so there is no event");
    world.say(WEB, "still here").await;
    world.store.faults().plan("capture", Fault::Error(full));
    world.accept("ann", WEB, "lost again").await.unwrap_err();
    world.clock.advance(2 * SECOND).await;
    world.hear("chat.message.done").await;
    assert_eq!(section(&world.last_prompt(), "What they just said").trim(), "them: still here");
}

#[tokio::test]
async fn a_disk_that_is_really_full_costs_the_long_line_only() {
    let mut world = World::new().await;
    world.talk(WEB, "hello").await;
    let pages = world.store.limit_pages(1).await.unwrap();
    let long = "word ".repeat(3_900);
    let mut refused = None;
    for _ in 0..20 {
        refused = world.accept("ann", "phone", &long).await.err();
        if refused.is_some() {
            break;
        }
    }
    assert!(
        matches!(refused, Some(AcceptError::Capture(CaptureError::Store(StoreError::Unwritable(_))))),
        "{refused:?}"
    );
    world.store.limit_pages(pages + 10_000).await.unwrap();
    let text = "there is space again";
    let turn = world.say(WEB, text).await.turn_id;
    world.clock.advance(2 * SECOND).await;
    world.hear_until("chat.message.done", |data| data["turn_id"] == json!(turn)).await;
    assert!(world.messages().await.iter().any(|message| message.content == text));
    assert!(world.store.check().await.unwrap().is_intact());
}

#[tokio::test]
async fn a_capture_that_panics_costs_one_line() {
    let mut world = World::new().await;
    world.store.faults().plan("capture", Fault::Panic);
    let refused = world.accept("ann", WEB, "unlucky").await;
    assert!(matches!(refused, Err(AcceptError::Capture(CaptureError::Store(_)))), "{refused:?}");
    world.talk(WEB, "lucky").await;
    assert_eq!(world.messages().await[0].content, "lucky");
}

#[tokio::test]
async fn a_caller_who_goes_away_leaves_nothing_that_waits_for_ever() {
    let mut world = World::new().await;
    let mut accepting = Box::pin(world.runtime.turns().accept(incoming("ann", "phone", "bye")));
    assert!(futures_util::poll!(&mut accepting).is_pending());
    drop(accepting);
    world.hear("chat.message.done").await;
    world.talk("phone", "back again").await;
    assert_eq!(world.model.requests_for("reply").len(), 2);
}

#[tokio::test]
async fn nothing_is_written_of_what_cannot_be_kept() {
    let world = World::new().await;
    assert!(matches!(world.accept("ann", WEB, " \n").await, Err(AcceptError::Capture(CaptureError::Empty))));
    let long = "长".repeat(20_001);
    let refused = world.accept("ann", WEB, &long).await;
    assert!(
        matches!(refused, Err(AcceptError::Capture(CaptureError::TooLong { length: 20_001 }))),
        "{refused:?}"
    );
    world.runtime.stop().await;
    assert!(matches!(world.accept("ann", WEB, "too late").await, Err(AcceptError::Stopping)));
    assert_eq!(world.messages().await.len(), 0);
}

#[tokio::test]
async fn words_are_kept_to_the_letter_with_their_day_in_the_users_zone() {
    let mut settings = settings();
    settings.zone = jiff::tz::TimeZone::get("Asia/Shanghai").unwrap();
    let mut world = World::with(settings, None).await;
    let text = "  我说：“ｆｕｌｌ　ｗｉｄｔｈ”\r\n\tand  two   blanks  ";
    world.talk(WEB, text).await;
    world.pass(7 * 60 * MINUTE).await;
    world.talk(WEB, "已经是明天了").await;
    let messages = world.messages().await;
    assert_eq!((messages[0].content.as_str(), messages[0].role), (text, Role::User));
    let days: Vec<String> = messages.iter().map(|message| message.day.to_string()).collect();
    assert_eq!(days, ["2026-03-05", "2026-03-05", "2026-03-06", "2026-03-06"]);
    assert_eq!(world.store.messages_before(&scope("bob"), None, 10).await.unwrap(), []);
}

/// A test runs on one thread: if a long text were tokenised on it, nothing else would run meanwhile.
#[tokio::test]
async fn a_long_text_is_taken_apart_beside_the_serving_threads() {
    let world = World::new().await;
    let long: String = ('\u{4e00}'..).take(20_000).collect();
    let recalling = world.runtime.recall().candidates_for(scope("ann"), long, None);
    tokio::pin!(recalling);
    let mut turns = 0_u32;
    loop {
        tokio::select! {
            biased;
            recalled = &mut recalling => break drop(recalled.unwrap()),
            () = tokio::task::yield_now() => turns += 1,
        }
    }
    assert!(turns > 1_000, "others had {turns} turns meanwhile");
}
