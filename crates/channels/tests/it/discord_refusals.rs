//! Messages and requests that the Discord channel refuses, beside similar ones that it accepts.

use testkit::discord::DiscordFault;

use crate::discord::{linked, until_answered};

#[tokio::test]
async fn temporary_faults_lose_no_reply_and_permanent_ones_are_named() {
    let world = linked().await;
    let passing = [
        DiscordFault::BlockedByCloudflare,
        DiscordFault::Page(403),
        DiscordFault::Page(404),
        DiscordFault::Status(408),
        DiscordFault::Status(409),
        DiscordFault::Status(425),
    ];
    for (number, fault) in passing.into_iter().enumerate() {
        world.discord.fail("POST messages", fault);
        world.discord.write(7, &format!("hello {number}"));
        until_answered(&world, number + 2).await;
    }
    world.discord.fail("POST messages", DiscordFault::Blocked);
    world.discord.write(7, "are you there?");
    world
        .until("an undeliverable message", || async { world.status_of("discord").await.undeliverable == 1 })
        .await;
    let error = world.status_of("discord").await.error.unwrap();
    assert!(error.contains("Cannot send messages to this user (50007)"), "{error}");
}

#[tokio::test]
async fn a_token_that_is_refused_while_sending_fails_the_channel() {
    let world = linked().await;
    world.discord.fail("POST messages", DiscordFault::Unauthorized);
    world.discord.write(7, "hello");
    world.until_state("discord", "failed").await;
    assert!(world.status_of("discord").await.error.unwrap().contains("rejects the bot's token"));
    until_answered(&world, 2).await;
}

#[tokio::test]
async fn a_message_that_is_deleted_before_it_is_answered_gets_no_line() {
    let world = linked().await;
    let number = world.discord.write(7, "never mind");
    world.until("the message", || async { world.messages("self").await.len() == 1 }).await;
    world.discord.delete(7, &number);
    world.until("the deletion", || async { world.messages("self").await.is_empty() }).await;
    world.discord.write(7, "hello");
    until_answered(&world, 2).await;
    assert!(
        !world.discord.sent_to(7).iter().any(|text| text.contains("can't answer")),
        "{:?}",
        world.discord.sent_to(7)
    );
}
