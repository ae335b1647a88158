//! Discord: linking of accounts, conversations, gateway faults, rate limits and restarts.

use std::time::Duration;

use memory::messages::Role;
use memory::ports::UserStore as _;
use serde_json::json;
use testkit::discord::{DiscordFault, DiscordServer, GatewayFault};

use crate::world::{HEARTBEAT, World, scope};

const DAY: Duration = Duration::from_secs(24 * 3_600);

pub(crate) async fn linked() -> World {
    let world = World::new().await;
    world.link_on_discord(7, "self").await;
    world
}

async fn said_by_user(world: &World) -> Vec<String> {
    let messages = world.messages("self").await.into_iter();
    messages.filter(|message| message.role == Role::User).map(|message| message.content).collect()
}

async fn until_said(world: &World, text: &str) {
    world.until(text, || async { said_by_user(world).await.iter().any(|said| said == text) }).await;
}

pub(crate) async fn until_answered(world: &World, count: usize) {
    world.until(&format!("{count} messages"), || async { world.discord.sent_to(7).len() >= count }).await;
}

#[tokio::test]
async fn a_linked_account_talks_with_the_persona() {
    let world = linked().await;
    world.discord.write(7, "hello");
    until_answered(&world, 2).await;
    world.until_quiet("discord").await;
    let messages = world.messages("self").await;
    assert_eq!(messages.len(), 2, "the code is not a message");
    assert!(messages.iter().all(|message| message.channel_id == "discord"));
    assert_eq!((messages[0].role, messages[0].content.as_str()), (Role::User, "hello"));
    assert_eq!(world.discord.sent_to(7)[1], messages[1].content);
    assert!(world.discord.sent()[1].nonce.as_ref().is_some_and(|nonce| nonce.len() <= 25));
    assert!(world.discord.call_count("POST typing") > 0);
    let status = world.status_of("discord").await;
    assert_eq!((status.state, status.error, status.linked, status.undeliverable), ("ready", None, 1, 0));
}

#[tokio::test]
async fn a_session_is_resumed_after_a_cut_and_what_was_said_meanwhile_comes() {
    let world = linked().await;
    for fault in [
        GatewayFault::Cut,
        GatewayFault::AskToReconnect,
        GatewayFault::Invalid(true),
        GatewayFault::Close(4_000),
    ] {
        let resumed = world.discord.call_count("RESUME");
        world.discord.inject_fault(fault);
        let text = format!("during {fault:?}");
        world.discord.write(7, &text);
        until_said(&world, &text).await;
        world.until_state("discord", "ready").await;
        assert!(world.discord.call_count("RESUME") > resumed, "{fault:?}");
    }
    assert_eq!((world.discord.call_count("IDENTIFY"), said_by_user(&world).await.len()), (1, 4));
}

#[tokio::test]
async fn messages_of_a_lost_gateway_session_are_read_from_the_history() {
    let world = linked().await;
    for (number, fault) in
        [GatewayFault::Invalid(false), GatewayFault::Close(4_009), GatewayFault::Close(4_007)]
            .into_iter()
            .enumerate()
    {
        world.discord.set_away(true);
        world.discord.inject_fault(fault);
        let text = format!("unheard {number}");
        world.discord.write(7, &text);
        world.discord.set_away(false);
        until_said(&world, &text).await;
    }
    world.until_quiet("discord").await;
    assert_eq!(said_by_user(&world).await, ["unheard 0", "unheard 1", "unheard 2"]);
    assert!(world.discord.call_count("IDENTIFY") >= 4);
}

#[tokio::test]
async fn edits_while_there_was_no_session_reach_memory() {
    let mut world = linked().await;
    let message = world.discord.write(7, "my cat is called Tom");
    let other = world.discord.write(7, "and it rains");
    until_said(&world, "and it rains").await;
    world.until_quiet("discord").await;
    world.discord.set_away(true);
    world.until_state("discord", "failed").await;
    world.discord.edit(7, &message, "my cat is called Tim");
    world.discord.set_away(false);
    until_said(&world, "my cat is called Tim").await;
    world.stop().await;
    world.discord.edit(7, &other, "and it snows");
    world.start_again().await;
    until_said(&world, "and it snows").await;
    assert_eq!(said_by_user(&world).await, ["my cat is called Tim", "and it snows"]);
}

#[tokio::test]
async fn first_message_of_an_allowed_account_is_not_missed_in_a_gap() {
    let mut world = World::with_allowed(&["8"]).await;
    world.until_state("discord", "ready").await;
    world.stop().await;
    world.discord.write(8, "two days ago");
    world.clock.advance(2 * DAY).await;
    world.discord.write(8, "while you were away");
    world.discord.write(9, "nobody asked me");
    world.start_again().await;
    let said = async |user: &str| {
        let messages = world.messages(user).await.into_iter();
        messages.map(|message| message.content).next()
    };
    world.until("the first message", || async { world.discord.sent_to(8).len() == 1 }).await;
    assert_eq!(said("discord-8").await.as_deref(), Some("while you were away"));
    // From now on the conversation has a linked user.
    let opened = world.discord.call_count("POST channels");
    world.discord.set_away(true);
    world.until_state("discord", "failed").await;
    world.discord.write(8, "again");
    world.discord.set_away(false);
    world.until("the second message", || async { world.messages("discord-8").await.len() >= 3 }).await;
    assert_eq!(world.discord.call_count("POST channels"), opened);
    assert!(world.discord.sent_to(9).is_empty(), "an account that nobody allowed is not read");
}

#[tokio::test]
async fn an_hour_without_the_gateway_is_caught_up_in_order_and_once() {
    let world = linked().await;
    world.discord.write(7, "before");
    until_answered(&world, 2).await;
    world.until_quiet("discord").await;
    world.discord.set_away(true);
    world.until_state("discord", "failed").await;
    let mut expected = vec!["before".to_owned()];
    for number in 0..130 {
        let text = format!("line {number}");
        world.discord.write(7, &text);
        expected.push(text);
        world.clock.advance(Duration::from_secs(28)).await;
    }
    assert_eq!(said_by_user(&world).await.len(), 1);
    assert!(world.status_of("discord").await.error.unwrap().contains("can't be reached"));
    world.discord.set_away(false);
    until_said(&world, "line 129").await;
    world.until_quiet("discord").await;
    assert_eq!(said_by_user(&world).await, expected);
    let replies = world.messages("self").await.into_iter().filter(|message| message.role == Role::Persona);
    let replies: Vec<String> = replies.map(|message| message.content).collect();
    assert_eq!(world.discord.sent_to(7)[1..], replies, "every reply is there, in order, none twice");
}

#[tokio::test]
async fn a_lost_heartbeat_is_noticed() {
    let world = linked().await;
    world.discord.answer_heartbeats(false);
    for _ in 0..3 {
        let beats = world.discord.call_count("HEARTBEAT");
        world.clock.advance(HEARTBEAT).await;
        world
            .until("a heartbeat or a new connection", || async {
                world.discord.call_count("HEARTBEAT") > beats || world.discord.call_count("RESUME") > 0
            })
            .await;
    }
    world.until("the resumed session", || async { world.discord.call_count("RESUME") > 0 }).await;
    world.discord.answer_heartbeats(true);
    world.discord.write(7, "still there?");
    until_said(&world, "still there?").await;
}

#[tokio::test]
async fn repeated_and_reordered_events_are_answered_once() {
    let world = linked().await;
    world.discord.send_repeated_and_unordered();
    for number in 0..6 {
        world.discord.write(7, &format!("line {number}"));
    }
    until_answered(&world, 2).await;
    world.discord.write(7, "one");
    world.discord.write(7, "two");
    until_said(&world, "one").await;
    until_said(&world, "two").await;
    world.until_quiet("discord").await;
    let mut said = said_by_user(&world).await;
    said.sort();
    assert_eq!(said, ["line 0", "line 1", "line 2", "line 3", "line 4", "line 5", "one", "two"]);
}

#[tokio::test]
async fn a_reply_is_delivered_once_through_limits_errors_and_cuts() {
    let world = linked().await;
    for fault in [
        DiscordFault::TooMany(7.5),
        DiscordFault::TooManyInAll(2.0),
        DiscordFault::Broken,
        DiscordFault::CutBefore,
        DiscordFault::CutAfter,
    ] {
        world.discord.fail("POST messages", fault);
    }
    world.discord.write(7, "hello");
    world
        .until("the reply", || async {
            world.clock.advance(Duration::from_secs(1)).await;
            world.status_of("discord").await.waiting == 0 && world.discord.sent_to(7).len() > 1
        })
        .await;
    assert_eq!(world.discord.sent_to(7).len(), 2, "cut after it was sent, it is not sent again");
    assert_eq!(world.messages("self").await.len(), 2);
}

#[tokio::test]
async fn an_empty_bucket_is_not_drawn_on() {
    let world = linked().await;
    world.discord.fail("POST messages", DiscordFault::EmptiesBucket(30.0));
    world.discord.write(7, "one");
    until_answered(&world, 2).await;
    world.discord.write(7, "two");
    world.until("the second reply waits", || async { world.status_of("discord").await.waiting == 1 }).await;
    world
        .until("the second reply", || async {
            world.clock.advance(Duration::from_secs(1)).await;
            world.discord.sent_to(7).len() == 3
        })
        .await;
    assert_eq!(world.discord.call_count("violations"), 0);
}

#[tokio::test]
async fn a_reply_that_was_sent_before_a_crash_is_not_sent_again_hours_later() {
    let mut world = linked().await;
    world.discord.fail("POST messages", DiscordFault::CutAfter);
    world.discord.write(7, "hello");
    until_answered(&world, 2).await;
    world.until("the cut", || async { world.status_of("discord").await.waiting == 1 }).await;
    world.stop().await;
    // Discord remembers a nonce only for a few minutes.
    world.clock.advance(Duration::from_secs(4 * 3_600)).await;
    world.discord.forget_nonces();
    world.start_again().await;
    world.until_quiet("discord").await;
    assert_eq!(world.discord.sent_to(7).len(), 2);
}

#[tokio::test]
async fn nothing_is_missed_and_nothing_said_twice_over_a_restart() {
    let mut world = linked().await;
    world.discord.write(7, "before");
    until_answered(&world, 2).await;
    world.until_quiet("discord").await;
    world.stop().await;
    world.discord.write(7, "while you were away");
    world.start_again().await;
    until_answered(&world, 3).await;
    world.until_quiet("discord").await;
    assert_eq!(said_by_user(&world).await, ["before", "while you were away"]);
    assert_eq!((world.messages("self").await.len(), world.discord.sent_to(7).len()), (4, 3));
}

#[tokio::test]
async fn edits_and_deletions_reach_memory() {
    let world = linked().await;
    let first = world.discord.write(7, "my cat is called Tom");
    until_answered(&world, 2).await;
    world.discord.edit(7, &first, "my cat is called Tim");
    until_said(&world, "my cat is called Tim").await;
    for number in 0..60 {
        world.discord.edit(7, &first, &format!("my cat is called Tim {number}"));
    }
    until_said(&world, "my cat is called Tim 59").await;
    world.discord.delete(7, &first);
    world.until("the deletion", || async { said_by_user(&world).await.is_empty() }).await;
    // The fetch of missed messages must not return a message that was deleted.
    world.discord.set_away(true);
    world.until_state("discord", "failed").await;
    world.discord.set_away(false);
    world.discord.write(7, "next");
    until_said(&world, "next").await;
    assert_eq!(said_by_user(&world).await, ["next"]);
}

#[tokio::test]
async fn an_unknown_account_gets_one_line_a_day_and_nothing_is_kept() {
    let world = linked().await;
    for text in ["who are you?", "answer me", "hello??"] {
        world.discord.write(9, text);
    }
    world.discord.write(7, "good morning");
    until_answered(&world, 2).await;
    assert_eq!(world.discord.sent_to(9).len(), 1);
    world.clock.advance(DAY + Duration::from_secs(60)).await;
    world.until_state("discord", "ready").await;
    world.discord.write(9, "and now?");
    world.until("a second line", || async { world.discord.sent_to(9).len() == 2 }).await;
    assert_eq!(said_by_user(&world).await, ["good morning"]);
    assert_eq!(world.store.users(None, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn in_a_server_only_mentions_of_known_accounts_are_answered() {
    let world = linked().await;
    world.discord.write_in_server("3001", 7, "not for you");
    world.discord.write_in_server("3001", 9, "<@99> who are you?");
    world.discord.write_in_server("3001", 9, &format!("<@99> {}", world.code_for("discord", "ann")));
    world.discord.write_in_server("3001", 7, "<@99> are you there?");
    world
        .until("the reply", || async { world.discord.sent().iter().any(|sent| sent.channel == "3001") })
        .await;
    world.until_quiet("discord").await;
    assert_eq!(said_by_user(&world).await, ["are you there?"]);
    let sent = world.discord.sent();
    assert_eq!(sent.iter().filter(|sent| sent.channel == "3001").count(), 1, "no line to unknown accounts");
    assert_eq!(world.status_of("discord").await.linked, 1, "a code that others read links nobody");
    // A proactive message is not sent to a channel that other people read.
    let channels = world.runtime.channels().unwrap();
    assert_eq!(channels.conversation_of("discord", &scope("self").user).await.unwrap(), None);
    world.discord.write(7, "here we are alone");
    until_said(&world, "here we are alone").await;
    let reached = channels.conversation_of("discord", &scope("self").user).await.unwrap();
    assert_eq!(reached, Some(DiscordServer::direct_conversation(7)));
    // After a gap, only the messages that mention the bot are fetched from the server's history.
    world.discord.set_away(true);
    world.discord.write_in_server("3001", 7, "again not for you");
    world.discord.write_in_server("3001", 7, "<@99> and now?");
    world.discord.set_away(false);
    until_said(&world, "and now?").await;
    assert_eq!(said_by_user(&world).await, ["are you there?", "here we are alone", "and now?"]);
}

#[tokio::test]
async fn replies_go_where_their_messages_were_written() {
    let world = linked().await;
    let before = world.discord.sent().len();
    world.discord.write(7, "between us");
    world.discord.write_in_server("3001", 7, "<@99> are you there?");
    world.until("both replies", || async { world.discord.sent().len() >= before + 2 }).await;
    world.until_quiet("discord").await;
    let mut places: Vec<String> =
        world.discord.sent()[before..].iter().map(|sent| sent.channel.clone()).collect();
    places.sort();
    let mut expected = ["3001".to_owned(), DiscordServer::direct_conversation(7)];
    expected.sort();
    assert_eq!(places, expected, "each line is answered where it was said");
}

#[tokio::test]
async fn attachments_are_named_and_foreign_messages_are_ignored() {
    let world = linked().await;
    world
        .discord
        .write_with(7, json!({"attachments": [{"filename": "cat.png", "content_type": "image/png"}]}));
    world.discord.write_with(7, json!({"sticker_items": [{"name": "Wave"}]}));
    world.discord.write_with(7, json!({"content": "spam", "author": {"id": "7", "bot": true}}));
    world.discord.write_with(7, json!({"content": "hook", "webhook_id": "8"}));
    world.discord.write_with(7, json!({"content": 5, "author": "nobody"}));
    world.discord.write_with(7, json!({"content": ""}));
    world.discord.write(7, &"long ".repeat(20_000));
    world.discord.write(7, "last");
    until_said(&world, "last").await;
    assert_eq!(said_by_user(&world).await, ["[photo cat.png]", "[sticker Wave]", "last"]);
    assert!(
        world.discord.sent_to(7).iter().any(|line| line.contains("too long")),
        "the user is not left waiting"
    );
}

#[tokio::test]
async fn a_long_text_that_came_as_a_file_is_read() {
    let world = linked().await;
    world.discord.paste(7, "my diary:", "One day.\n\n第二天。\n");
    until_said(&world, "my diary:\n\nOne day.\n\n第二天。").await;
    let long = "Dear diary. ".repeat(1_500);
    let id = world.discord.paste(7, "", &long);
    until_said(&world, long.trim()).await;
    world.discord.paste(7, "too long:", &"x".repeat(100_000));
    until_said(&world, "[file message.txt] too long:").await;
    let other =
        json!({"filename": "message.txt", "content_type": "text/plain", "url": "http://203.0.113.7/a"});
    world.discord.write_with(7, json!({"content": "elsewhere", "attachments": [other]}));
    until_said(&world, "[file message.txt] elsewhere").await;
    world.discord.lose_files();
    world.discord.edit(7, &id, "see below");
    world.discord.write(7, "last");
    until_said(&world, "last").await;
    assert!(said_by_user(&world).await.contains(&long.trim().to_owned()), "its words stay");
}

#[tokio::test]
async fn a_bot_that_is_refused_is_said_in_plain_words() {
    let world = linked().await;
    world.discord.inject_fault(GatewayFault::Close(4_014));
    world.until_state("discord", "failed").await;
    assert!(world.status_of("discord").await.error.unwrap().contains("developer portal"));
    world.until_state("discord", "ready").await;
    world.discord.inject_fault(GatewayFault::Close(4_004));
    world.until_state("discord", "failed").await;
    let error = world.status_of("discord").await.error.unwrap();
    assert!(error.contains("rejects the bot's token") && !error.contains("123:abc"), "{error}");
}

#[tokio::test]
async fn undeliverable_messages_are_listed_and_can_be_retried() {
    let world = linked().await;
    world.discord.fail("POST messages", DiscordFault::Blocked);
    world.discord.write(7, "hello");
    world
        .until("an undeliverable message", || async { world.status_of("discord").await.undeliverable == 1 })
        .await;
    assert_eq!(world.runtime.channels().unwrap().retry("discord").await.unwrap(), Some(1));
    until_answered(&world, 2).await;
    assert_eq!(world.status_of("discord").await.undeliverable, 0);
}
