//! One persona on several channels: proactive messages, and many users at the same time.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;
use memory::ports::{Clock as _, ProactiveStore as _};
use memory::proactive::{ProactiveGate, ProactiveOutcome};
use runtime::IncomingMessage;
use testkit::discord::{DiscordServer, GatewayFault};

use crate::world::{DEBOUNCE, OWN_WORDS, World, scope};

const HOUR: Duration = Duration::from_secs(3_600);
/// Users of one daemon who write at the same time.
const USERS: u64 = 1_000;

async fn linked_on_both() -> World {
    let world = World::new().await;
    world.link("self").await;
    world.link_on_discord(7, "self").await;
    world
}

fn on_telegram(world: &World) -> Vec<String> {
    world.platform.sent().into_iter().map(|(_, text)| text).collect()
}

/// Sends a message on a channel and waits for the reply.
async fn talk(world: &World, channel: &str, text: &str) {
    let count = world.messages("self").await.len() + 2;
    match channel {
        "discord" => drop(world.discord.write(7, text)),
        "telegram" => {
            world.platform.write(7, text);
        }
        channel => {
            let incoming = IncomingMessage {
                scope: scope("self"),
                channel_id: channel.to_owned(),
                content: text.to_owned(),
                external_ref: None,
            };
            world.runtime.turns().accept(incoming).await.unwrap();
        }
    }
    world.until("the reply", || async { world.messages("self").await.len() >= count }).await;
    for channel in ["discord", "telegram"] {
        world.until_quiet(channel).await;
    }
}

/// Advances the clock. A step over several heartbeats ends Discord's connection, so this waits for the reconnect.
async fn pass(world: &World, time: Duration, discord: &str) {
    let until = world.clock.now() + jiff::SignedDuration::try_from(time).unwrap();
    while world.clock.now() < until {
        world.clock.advance(Duration::from_secs(300)).await;
        world.until_state("discord", discord).await;
    }
}

async fn until_said_first(world: &World) {
    world
        .until("its own words", || async {
            let said = [world.discord.sent_to(7), on_telegram(world)].concat();
            said.iter().any(|text| text == OWN_WORDS)
        })
        .await;
}

#[tokio::test]
async fn proactive_messages_go_to_the_last_used_channel() {
    for (last, first) in [("discord", "telegram"), ("telegram", "discord")] {
        let world = linked_on_both().await;
        talk(&world, first, "good morning").await;
        talk(&world, last, "see you later").await;
        pass(&world, 7 * HOUR, "ready").await;
        until_said_first(&world).await;
        let (here, there) = (world.discord.sent_to(7), on_telegram(&world));
        let (written_to, other) = if last == "discord" { (here, there) } else { (there, here) };
        assert_eq!(
            written_to.last().map(String::as_str),
            Some(OWN_WORDS),
            "{last}: {written_to:?} {other:?}"
        );
        assert!(!other.iter().any(|text| text == OWN_WORDS), "{last}");
        let said = world.messages("self").await;
        let own: Vec<_> = said.iter().filter(|message| message.content == OWN_WORDS).collect();
        assert_eq!((own.len(), own[0].channel_id.as_str()), (1, last));
    }
}

#[tokio::test]
async fn a_failing_channel_is_replaced_by_the_next_one() {
    let world = linked_on_both().await;
    talk(&world, "telegram", "good morning").await;
    talk(&world, "discord", "see you later").await;
    world.discord.set_away(true);
    world.discord.inject_fault(GatewayFault::Cut);
    world.until_state("discord", "failed").await;
    pass(&world, 7 * HOUR, "failed").await;
    until_said_first(&world).await;
    assert_eq!(on_telegram(&world).last().map(String::as_str), Some(OWN_WORDS));
    assert!(!world.discord.sent_to(7).iter().any(|text| text == OWN_WORDS));
}

#[tokio::test]
async fn quiet_can_be_asked_for_on_each_channel() {
    for channel in ["discord", "telegram"] {
        let world = linked_on_both().await;
        talk(&world, channel, "/quiet").await;
        pass(&world, 7 * HOUR, "ready").await;
        let said = [world.discord.sent_to(7), on_telegram(&world)].concat();
        assert!(!said.iter().any(|text| text == OWN_WORDS), "{channel}: {said:?}");
        let decisions = world.store.decisions(None, None, 100).await.unwrap();
        let muted = decisions.iter().find(|one| one.decision.gate == Some(ProactiveGate::Muted));
        assert_eq!(
            muted.and_then(|one| one.decision.outcome),
            Some(ProactiveOutcome::Dropped),
            "{decisions:?}"
        );
    }
}

#[tokio::test]
async fn a_thousand_users_do_not_wait_for_one() {
    let people: Vec<String> = (1..=USERS).map(|person| person.to_string()).collect();
    let world = World::with_allowed(&people.iter().map(String::as_str).collect::<Vec<_>>()).await;
    world.until_state("discord", "ready").await;
    let bell = world.listener.hold("I am slow");
    // One message waits for the model, and the user sends more than the inbox accepts from one person.
    for number in 0..150 {
        world.discord.write(1, &format!("I am slow {number}"));
    }
    for person in 2..=USERS {
        world.discord.write(person, "hello");
    }
    let answered = || {
        let answered: HashSet<_> = world.discord.sent().into_iter().map(|sent| sent.channel).collect();
        (2..=USERS).filter(|person| answered.contains(&DiscordServer::direct_conversation(*person))).count()
            as u64
    };
    world.until("an answer for all others", || async { answered() == USERS - 1 }).await;
    assert!(world.discord.sent_to(1).is_empty());
    bell.notify_one();
    world.until("an answer for the slow one", || async { !world.discord.sent_to(1).is_empty() }).await;
}

/// Like [`World::until`], but the clock advances so slowly that the minute, which the prompts contain, does not
/// change.
async fn within_the_minute<F: Future<Output = bool>>(world: &World, holds: impl Fn() -> F) {
    world
        .until("something within the minute", || async {
            for _ in 0..200 {
                if holds().await {
                    return true;
                }
                tokio::task::yield_now().await;
            }
            false
        })
        .await;
}

/// Holds one conversation on a channel and returns the prompts that the model received.
async fn prompts_on(channel: &str) -> Vec<(String, String)> {
    let world = World::new().await;
    match channel {
        "discord" => world.link_on_discord(7, "self").await,
        "telegram" => world.link("self").await,
        _ => drop(world.runtime.ensure_scope_exists(&scope("self")).await.unwrap()),
    }
    let mut minute: Timestamp = "2026-03-05T09:10:00Z".parse().unwrap();
    for (number, text) in
        ["I have a cat. She is called Mia.", "What is my cat called?"].into_iter().enumerate()
    {
        while world.clock.now() < minute {
            let left = Duration::try_from(minute.duration_since(world.clock.now())).unwrap();
            world.clock.advance(left.min(Duration::from_secs(5))).await;
            within_the_minute(&world, || async { world.status_of("discord").await.state == "ready" }).await;
        }
        match channel {
            "discord" => drop(world.discord.write(7, text)),
            "telegram" => drop(world.platform.write(7, text)),
            _ => {
                let (scope, channel_id) = (scope("self"), channel.to_owned());
                let content = text.to_owned();
                let incoming = IncomingMessage { scope, channel_id, content, external_ref: None };
                world.runtime.turns().accept(incoming).await.unwrap();
            }
        }
        // Only the Discord channel waits for further messages before it replies. On other channels the reply can be
        // there at once.
        if channel == "discord" {
            within_the_minute(&world, || async { world.clock.sleepers_for(DEBOUNCE) == 1 }).await;
            world.clock.advance(DEBOUNCE).await;
        }
        within_the_minute(&world, || async { world.messages("self").await.len() == 2 * (number + 1) }).await;
        minute += Duration::from_secs(60);
    }
    let stored = world.messages("self").await;
    assert!(stored.iter().all(|message| message.channel_id == channel), "{stored:?}");
    world.stop().await;
    world.listener.prompts()
}

#[tokio::test]
async fn prompts_are_byte_identical_on_every_channel() {
    let on_the_page = prompts_on("web").await;
    assert_eq!(on_the_page.len(), 2);
    assert!(on_the_page[1].1.contains("She is called Mia."), "{}", on_the_page[1].1);
    for channel in ["discord", "telegram", "openai"] {
        assert_eq!(prompts_on(channel).await, on_the_page, "{channel}");
    }
}
