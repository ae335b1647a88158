//! The persona's mood after a session: it lasts half a day and concerns one user.

use memory::ports::PersonaStore;
use serde_json::json;
use testkit::Reply;

use crate::world::{HOUR, MINUTE, WEB, World, scope, section};

const HEADING: &str = "How you feel right now";

async fn leaves_a_mood(world: &mut World, user: &str, text: &str, mood: &str) {
    world.talk_as(user, WEB, text).await;
    world.model.next(
        "extraction",
        Reply::json(json!({
            "events": [], "mentioned_entities": [], "entity_clarification": null,
            "session_mood_signal": {"mood": mood, "energy": 3, "last_user_signal": "sounded tired"},
            "session_summary": null, "self_check_notes": "",
        })),
    );
    world.silence().await;
}

#[tokio::test]
async fn a_mood_colours_the_next_talk_and_is_gone_after_twelve_hours() {
    let mut world = World::new().await;
    world.talk(WEB, "我叫小明").await;
    assert!(!world.last_prompt().contains(HEADING), "nothing has happened yet");
    leaves_a_mood(&mut world, "ann", "我今天好累,我有点难过", "quiet and tender").await;
    let told = world.hear("chat.mood.update").await;
    assert_eq!(
        (&told["mood"], &told["energy"], &told["user_id"]),
        (&json!("quiet and tender"), &json!(3), &json!("ann"))
    );
    world.talk(WEB, "hi").await;
    let prompt = world.last_prompt();
    assert!(section(&prompt, HEADING).contains("quiet and tender, energy 3/10"), "{prompt}");
    assert!(section(&prompt, HEADING).contains("sounded tired"), "{prompt}");
    let written = world.store.mood(&scope("ann")).await.unwrap().unwrap();
    let age = world.runtime.clock().now().duration_since(written.updated_at).unsigned_abs();
    world.clock.advance(12 * HOUR - age - 10 * MINUTE).await;
    world.talk(WEB, "hi").await;
    assert!(world.last_prompt().contains(HEADING), "not yet twelve hours");
    world.clock.advance(11 * MINUTE).await;
    world.talk(WEB, "hi").await;
    assert!(!world.last_prompt().contains(HEADING), "it has faded");
    assert_eq!(
        world.store.mood(&scope("ann")).await.unwrap().unwrap(),
        written,
        "and nobody wrote that down"
    );
}

#[tokio::test]
async fn one_persons_mood_does_not_colour_anothers_talk() {
    let mut world = World::new().await;
    leaves_a_mood(&mut world, "ann", "我今天好累,我有点难过", "heavy").await;
    world.talk_as("bob", WEB, "hi").await;
    assert!(!world.last_prompt().contains(HEADING));
    leaves_a_mood(&mut world, "bob", "i love dancing", "elated").await;
    world.talk_as("ann", WEB, "hi").await;
    assert!(section(&world.last_prompt(), HEADING).contains("heavy"));
    world.talk_as("bob", WEB, "hi").await;
    assert!(section(&world.last_prompt(), HEADING).contains("elated"));
}

#[tokio::test]
async fn a_trivial_session_leaves_the_mood_as_it_was() {
    let mut world = World::new().await;
    leaves_a_mood(&mut world, "ann", "我今天好累,我有点难过", "heavy").await;
    let before = world.store.mood(&scope("ann")).await.unwrap();
    world.talk(WEB, "hi").await;
    world.silence().await;
    assert_eq!(world.store.mood(&scope("ann")).await.unwrap(), before);
}

#[tokio::test]
async fn a_neutral_mood_is_left_out_of_the_prompt() {
    let mut world = World::new().await;
    for word in ["Neutral", "calm", "平静", "中性"] {
        leaves_a_mood(&mut world, "ann", "我今天好累,我有点难过", word).await;
        world.talk(WEB, "hi").await;
        assert!(!world.last_prompt().contains(HEADING), "{word}");
    }
}
