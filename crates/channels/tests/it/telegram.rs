//! Telegram: linking of accounts, conversations, faults and restarts.

use std::time::Duration;

use memory::messages::Role;
use memory::ports::{ChannelStore as _, UserStore as _};
use serde_json::json;
use testkit::telegram::TelegramFault;

use crate::world::{World, scope};

const TO_ANN: &str = "7";

fn lines(world: &World, chat: &str) -> Vec<String> {
    world.platform.sent().into_iter().filter(|(to, _)| to == chat).map(|(_, text)| text).collect()
}

#[tokio::test]
async fn a_linked_account_talks_with_the_persona() {
    let world = World::new().await;
    world.link("self").await;
    assert!(lines(&world, TO_ANN)[0].starts_with("This account is linked."));
    world.platform.write(7, "hello");
    world.until_sent(2).await;
    let messages = world.messages("self").await;
    assert_eq!(messages.len(), 2, "the code is not a message");
    assert!(messages.iter().all(|message| message.channel_id == "telegram"));
    assert_eq!((messages[0].role, messages[0].content.as_str()), (Role::User, "hello"));
    assert_eq!(lines(&world, TO_ANN)[1], messages[1].content);
    assert!(world.platform.call_count("sendChatAction") > 0);
    let status = world.status().await;
    assert_eq!((status.state, status.error, status.linked, status.undeliverable), ("ready", None, 1, 0));
    world.until_quiet("telegram").await;
}

#[tokio::test]
async fn a_code_links_once_and_not_for_ever() {
    let world = World::new().await;
    let old = world.code("self");
    world.clock.advance(Duration::from_secs(601)).await;
    world.platform.write(8, &old);
    world.until_sent(1).await;
    assert!(lines(&world, "8")[0].starts_with("This assistant is private."));
    let code = world.code("self");
    world.platform.write(7, &format!("/start {}", code.to_lowercase()));
    world.until_sent(2).await;
    world.platform.write(9, &code);
    world.until_sent(3).await;
    assert!(lines(&world, "9")[0].starts_with("This assistant is private."));
    assert_eq!(world.status().await.linked, 1);
}

#[tokio::test]
async fn an_unknown_account_gets_one_line_a_day_and_nothing_is_kept() {
    let world = World::new().await;
    world.link("self").await;
    for text in ["who are you?", "answer me", "hello??"] {
        world.platform.write(9, text);
    }
    world.platform.write(7, "good morning");
    world.until_sent(3).await;
    assert_eq!(lines(&world, "9").len(), 1);
    world.clock.advance(Duration::from_secs(25 * 3_600)).await;
    world.platform.write(9, "and now?");
    world.until("a second line", || async { lines(&world, "9").len() == 2 }).await;
    let said = world.messages("self").await;
    assert!(said.iter().all(|message| !message.content.contains("answer me")));
    assert_eq!(world.store.users(None, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_allowed_account_is_a_user_of_its_own() {
    let world = World::with_allowed(&["7"]).await;
    world.platform.write(7, "hello");
    world.until_sent(1).await;
    assert_eq!(world.messages("telegram-7").await.len(), 2);
    assert!(world.messages("self").await.is_empty());
}

#[tokio::test]
async fn repeated_and_reordered_updates_are_answered_once() {
    let world = World::new().await;
    world.link("self").await;
    world.platform.send_repeated_and_unordered();
    for number in 0..5 {
        world.platform.write(7, &format!("line {number}"));
    }
    world.until_sent(2).await;
    world.platform.write(7, "the end");
    world
        .until("the end", || async {
            world.messages("self").await.iter().any(|message| message.content == "the end")
        })
        .await;
    let said: Vec<String> = world
        .messages("self")
        .await
        .into_iter()
        .filter(|message| message.role == Role::User)
        .map(|message| message.content)
        .collect();
    assert_eq!(said, ["line 0", "line 1", "line 2", "line 3", "line 4", "the end"]);
}

#[tokio::test]
async fn a_reply_is_delivered_through_limits_errors_and_cuts() {
    let world = World::new().await;
    world.link("self").await;
    for fault in [TelegramFault::TooMany(7), TelegramFault::Broken, TelegramFault::CutBefore] {
        world.platform.fail("sendMessage", fault);
    }
    for fault in [TelegramFault::Conflict, TelegramFault::CutBefore, TelegramFault::TooMany(3)] {
        world.platform.fail("getUpdates", fault);
    }
    world.platform.write(7, "hello");
    world
        .until("the reply", || async {
            world.clock.advance(Duration::from_secs(1)).await;
            lines(&world, TO_ANN).len() == 2
        })
        .await;
    assert_eq!(world.messages("self").await.len(), 2);
    world.until("ready again", || async { world.status().await.state == "ready" }).await;
}

#[tokio::test]
async fn undeliverable_messages_are_listed_and_can_be_retried() {
    let world = World::new().await;
    world.link("self").await;
    world.platform.fail("sendMessage", TelegramFault::Blocked);
    world.platform.write(7, "hello");
    world.until("an undeliverable message", || async { world.status().await.undeliverable == 1 }).await;
    let channels = world.runtime.channels().unwrap();
    assert_eq!(channels.retry("telegram").await.unwrap(), Some(1));
    assert_eq!(channels.retry("nowhere").await.unwrap(), None);
    world.until_sent(2).await;
    assert_eq!(world.status().await.undeliverable, 0);
}

#[tokio::test]
async fn a_token_that_is_refused_is_said_in_plain_words() {
    let world = World::new().await;
    world.until("the connection", || async { world.platform.call_count("getUpdates") > 0 }).await;
    world.platform.fail("getUpdates", TelegramFault::Unauthorized);
    world.until("the failure", || async { world.status().await.state == "failed" }).await;
    assert!(world.status().await.error.unwrap().contains("rejects the bot's token"));
}

/// Answers the long poll, since the channel counts as disconnected if no poll ends for some time.
#[tokio::test]
async fn the_first_request_after_a_start_or_a_failure_is_answered_at_once() {
    let world = World::new().await;
    world.until("the connection", || async { world.status().await.state == "ready" }).await;
    world.until("the long wait", || async { world.platform.requested_waits() == [0, 25] }).await;
    world.platform.fail("getUpdates", TelegramFault::Unauthorized);
    world.until("the failure", || async { world.status().await.state == "failed" }).await;
    world.until("the connection", || async { world.status().await.state == "ready" }).await;
    world.until("the long wait", || async { world.platform.requested_waits().ends_with(&[0, 25]) }).await;
}

#[tokio::test]
async fn nothing_is_missed_and_nothing_said_twice_over_a_restart() {
    let mut world = World::new().await;
    world.link("self").await;
    world.platform.write(7, "before");
    world.until_sent(2).await;
    world.until_quiet("telegram").await;
    world.stop().await;
    world.platform.write(7, "while you were away");
    world.start_again().await;
    world.until_sent(3).await;
    world.until_quiet("telegram").await;
    let said: Vec<String> = world.messages("self").await.into_iter().map(|message| message.content).collect();
    assert_eq!(said.len(), 4, "{said:?}");
    assert_eq!(lines(&world, TO_ANN).len(), 3);
    assert!(world.store.sequence_position("telegram:123").await.unwrap().is_some());
}

#[tokio::test]
async fn the_position_of_an_earlier_version_holds() {
    let mut world = World::with_allowed(&["7"]).await;
    world.store.set_sequence_position("telegram", 150).await.unwrap();
    world.stop().await;
    world.platform.number_from(150);
    world.platform.write(7, "taken before, and erased since");
    world.platform.write(7, "new");
    world.start_again().await;
    world.until_sent(1).await;
    let said: Vec<String> =
        world.messages("telegram-7").await.into_iter().map(|message| message.content).collect();
    assert_eq!((said.len(), said[0].as_str()), (2, "new"), "{said:?}");
}

#[tokio::test]
async fn a_reply_that_could_not_leave_leaves_after_the_restart() {
    let mut world = World::new().await;
    world.link("self").await;
    world.platform.fail("sendMessage", TelegramFault::TooMany(3_600));
    world.platform.write(7, "hello");
    world.until("a waiting reply", || async { world.status().await.waiting == 1 }).await;
    world.until("the refusal", || async { world.platform.call_count("sendMessage") >= 2 }).await;
    world.stop().await;
    world.clock.advance(Duration::from_secs(3_700)).await;
    world.start_again().await;
    world.until_sent(2).await;
    world.until_quiet("telegram").await;
    assert_eq!(lines(&world, TO_ANN).len(), 2);
}

#[tokio::test]
async fn an_edit_reaches_memory_and_attachments_are_named() {
    let world = World::new().await;
    world.link("self").await;
    let number = world.platform.write(7, "my cat is called Tom");
    world.until_sent(2).await;
    world.platform.edit(7, number, "my cat is called Tim");
    world.platform.edit(9, number, "not yours");
    world
        .until("the edit", || async { world.messages("self").await[0].content == "my cat is called Tim" })
        .await;
    world.platform.update("message", 7, json!({"photo": [{}], "caption": "look"}));
    world.platform.update("message", 7, json!({"sticker": {"emoji": "😀"}}));
    world.platform.update("message", 7, json!({"text": "spam", "from": {"id": 7, "is_bot": true}}));
    world.platform.update("message", 7, json!({"text": "group", "chat": {"id": -5, "type": "group"}}));
    world.platform.write(7, "last");
    world
        .until("the last", || async { world.messages("self").await.iter().any(|m| m.content == "last") })
        .await;
    let said: Vec<String> = world.messages("self").await.into_iter().map(|message| message.content).collect();
    for expected in ["[photo] look", "[sticker 😀]"] {
        assert!(said.iter().any(|one| one == expected), "{said:?}");
    }
    assert!(!said.iter().any(|one| one == "spam" || one == "group"), "{said:?}");
}

#[tokio::test]
async fn a_user_is_reached_where_the_user_wrote() {
    let world = World::new().await;
    world.link("self").await;
    world.platform.write(7, "hello");
    world.until_sent(2).await;
    world.until_quiet("telegram").await;
    let channels = world.runtime.channels().unwrap();
    assert!(channels.can_deliver("telegram") && !channels.can_deliver("web"));
    let user = scope("self").user;
    assert_eq!(channels.conversation_of("telegram", &user).await.unwrap().as_deref(), Some(TO_ANN));
}

#[tokio::test]
async fn updates_that_are_renumbered_are_received_and_none_twice() {
    let world = World::new().await;
    world.platform.number_from(900_000);
    world.link("self").await;
    world.platform.write(7, "before the silence");
    world.until_sent(2).await;
    world.platform.number_from(40);
    world.platform.write(7, "after the silence");
    world.until_sent(3).await;
    let polls = world.platform.call_count("getUpdates");
    for text in ["one", "two"] {
        world.platform.write(7, text);
    }
    world.until("the last line", || async { said_by_ann(&world).await.len() == 4 }).await;
    let said: Vec<String> = said_by_ann(&world).await;
    assert_eq!(said, ["before the silence", "after the silence", "one", "two"]);
    assert!(world.platform.call_count("getUpdates") < polls + 20, "it does not spin");
    assert_eq!(world.store.sequence_position("telegram:123").await.unwrap(), Some(42));
}

#[tokio::test]
async fn numbers_that_restarted_while_nobody_listened_are_received() {
    let mut world = World::new().await;
    world.platform.number_from(900_000);
    world.link("self").await;
    world.stop().await;
    world.platform.number_from(3);
    world.platform.write(7, "are you there?");
    world.start_again().await;
    world.until_sent(2).await;
    assert_eq!(said_by_ann(&world).await, ["are you there?"]);
}

#[tokio::test]
async fn an_answer_that_only_repeats_is_not_asked_for_again_at_once() {
    let world = World::new().await;
    world.link("self").await;
    world.platform.write(7, "hello");
    world.until_sent(2).await;
    let before = world.platform.call_count("getUpdates");
    world.platform.send_repeated_and_unordered();
    world.until("a repeated answer", || async { world.platform.call_count("getUpdates") > before }).await;
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert!(
        world.platform.call_count("getUpdates") <= before + 3,
        "{}",
        world.platform.call_count("getUpdates")
    );
    assert_eq!(said_by_ann(&world).await, ["hello"]);
}

#[tokio::test]
async fn an_update_of_an_unknown_form_is_passed_over_alone() {
    let world = World::new().await;
    world.link("self").await;
    world.platform.write(7, "first");
    world.platform.send_unknown();
    world.platform.write(7, "second");
    world.until("both messages", || async { said_by_ann(&world).await.len() == 2 }).await;
    assert_eq!(said_by_ann(&world).await, ["first", "second"]);
    assert_eq!(world.status().await.state, "ready");
}

#[tokio::test]
async fn temporary_faults_lose_no_reply_and_permanent_ones_are_named() {
    let world = World::new().await;
    world.link("self").await;
    for fault in [TelegramFault::Page(403), TelegramFault::Page(404), TelegramFault::Page(400)] {
        let sent = world.platform.sent().len();
        world.platform.fail("sendMessage", fault);
        world.platform.write(7, "hello");
        world.until_sent(sent + 1).await;
    }
    world.platform.fail("sendMessage", TelegramFault::Blocked);
    world.platform.write(7, "hello again");
    world.until("the refusal", || async { world.status().await.undeliverable == 1 }).await;
    let error = world.status().await.error.unwrap();
    assert!(error.contains("Forbidden: bot was blocked by the user"), "{error}");
}

#[tokio::test]
async fn a_wish_for_quiet_is_confirmed_without_the_model() {
    let world = World::new().await;
    world.link("self").await;
    let prompts = world.listener.prompts().len();
    world.platform.write(7, "/quiet@echo_bot");
    world.until_sent(2).await;
    let confirmed = lines(&world, TO_ANN).pop().unwrap();
    assert!(confirmed.starts_with("Until ") && confirmed.contains("到"), "{confirmed}");
    assert_eq!(world.listener.prompts().len(), prompts, "the model is not asked");
}

#[tokio::test]
async fn quoted_messages_reach_the_persona() {
    let world = World::new().await;
    world.link("self").await;
    let quoted = json!({"message_id": 1, "text": "Shall we meet on Friday?"});
    world.platform.update("message", 7, json!({"text": "yes!", "reply_to_message": quoted}));
    world.until_sent(2).await;
    assert_eq!(said_by_ann(&world).await, ["[in reply to: Shall we meet on Friday?] yes!"]);
}

#[tokio::test]
async fn markdown_is_shown_and_not_spelled_out() {
    let world = World::new().await;
    world.link("self").await;
    world.listener.reply_with("Try **this** 😀:\n\n```sh\nls `pwd`\n```");
    world.platform.write(7, "how do I list files?");
    world.until_sent(2).await;
    assert_eq!(lines(&world, TO_ANN)[1], "Try this 😀:\n\nls `pwd`");
    let bold = json!({"type": "bold", "offset": 4, "length": 4});
    let code = json!({"type": "pre", "offset": 14, "length": 8, "language": "sh"});
    assert_eq!(world.platform.entities(), [json!(null), json!([bold, code])]);
    let said = world.messages("self").await;
    assert!(said[1].content.contains("**this**"), "memory keeps it as it was written");
    world.platform.fail("sendMessage", TelegramFault::Entities);
    world.listener.reply_with("And **that**.");
    world.platform.write(7, "and then?");
    world.until_sent(3).await;
    assert_eq!(lines(&world, TO_ANN)[2], "And **that**.", "a refused formatting loses no reply");
}

async fn said_by_ann(world: &World) -> Vec<String> {
    let said = world.messages("self").await.into_iter().filter(|message| message.role == Role::User);
    said.map(|message| message.content).collect()
}
