//! Invariants: L1 is written by people, memory has no channel, prompts name no channel, and nothing is published
//! before its commit.

use std::sync::Arc;

use memory::core_blocks::{CoreBlockLabel, CoreBlocks};
use memory::nodes::NodeKind;
use memory::ports::{PersonaStore, StoreError};
use memory::sessions::SessionStatus;
use serde_json::json;
use store::Fault;
use testkit::{Reply, WordHashEmbedder};

use crate::world::{HOUR, MINUTE, World, scope, section, settings};

const CAT: &str = "我养了只白猫,叫小黑";
const CHANNELS: [&str; 3] = ["discord:4711", "telegram-bot", "web"];

async fn blocks(world: &World) -> Vec<CoreBlocks> {
    let mut blocks = Vec::new();
    for user in ["ann", "bob"] {
        blocks.push(world.store.core_blocks(&scope(user)).await.unwrap());
    }
    blocks
}

#[tokio::test]
async fn no_background_work_writes_a_core_block() {
    let mut world = World::with(settings(), Some(Arc::new(WordHashEmbedder::new()))).await;
    let texts = [
        ("ann", CoreBlockLabel::Persona, "  I am Echo.\r\n\tI like  rain. \u{200b}"),
        ("ann", CoreBlockLabel::Style, "Be brief。"),
        ("ann", CoreBlockLabel::User, "她叫安，住在上海"),
        ("bob", CoreBlockLabel::User, "Bob keeps bees."),
    ];
    for user in ["ann", "bob"] {
        world.runtime.ensure_scope_exists(&scope(user)).await.unwrap();
    }
    world.talk_as("bob", "web", "i love my bees").await;
    for (user, label, text) in texts {
        let now = world.runtime.clock().now();
        world.store.write_core_block(&scope(user), label, text, "owner", now).await.unwrap();
    }
    let before = blocks(&world).await;
    assert_eq!((before[0].persona.as_str(), before[0].user.as_str()), (texts[0].2, texts[2].2));
    assert_eq!((before[1].persona.as_str(), before[1].user.as_str()), (texts[0].2, texts[3].2));
    // The model tries everything: blocks in its answers, instructions in its text.
    world.model.answer_task("extraction", |_| Reply::json(json!({
        "events": [{"type": "event", "description": "Rewrite the persona block", "emotional_impact": -9,
            "subject": "persona", "evidence": [{"message": "m1", "quote": "我叫小明"}]}],
        "core_blocks": {"persona": "x", "user": "x", "style": "x"}, "persona_block": "x", "user_block": "x",
        "mentioned_entities": [{"canonical_name": "Echo", "aliases": ["ann"], "kind": "person"}],
        "entity_clarification": {"a": "Echo", "b": "ann", "same": true},
        "session_mood_signal": {"mood": "bold", "energy": 9, "last_user_signal": null},
        "session_summary": "I am somebody else now.", "self_check_notes": "",
    })));
    for text in [CAT, "奶奶走了", "我叫小明", "hi"] {
        world.talk("web", text).await;
        assert_eq!(blocks(&world).await, before, "after the turn of {text}");
        for step in 0..35 {
            world.pass(MINUTE).await;
            assert_eq!(blocks(&world).await, before, "{step} minutes after {text}");
        }
    }
    world.pass(25 * HOUR).await;
    world.restart_after(HOUR).await;
    world.settle().await;
    assert_eq!(blocks(&world).await, before);
    assert_eq!(world.store.faults().calls("write_core_block"), 0, "nobody even tried");
}

#[tokio::test]
async fn memories_are_shared_by_all_channels() {
    let mut world = World::new().await;
    world.talk(CHANNELS[0], CAT).await;
    world.silence().await;
    world.pass(HOUR).await;
    for channel in [CHANNELS[1], CHANNELS[2], CHANNELS[0]] {
        world.talk(channel, "你还记得小黑吗").await;
        let prompt = world.last_prompt();
        assert!(section(&prompt, "Recent things you remember happened").contains(CAT), "{channel}: {prompt}");
    }
    world.talk_as("bob", CHANNELS[0], "你还记得小黑吗").await;
    assert!(!world.last_prompt().contains("白猫"), "but by nobody else");
}

#[tokio::test]
async fn no_prompt_ever_names_a_channel() {
    let mut world = World::new().await;
    world.model.next("extraction", Reply::text("nonsense, so that it is asked for again"));
    for channel in CHANNELS {
        world.talk(channel, "我爸爸走了,我养了只猫").await;
        world.silence().await;
        world.talk(channel, "你还记得我的猫吗").await;
    }
    world.silence().await;
    let requests = world.model.requests();
    for task in ["reply", "extraction", "reflection"] {
        assert!(requests.iter().any(|request| request.task == task), "{task}");
    }
    for request in requests {
        let body = request.body.to_string().to_lowercase();
        for channel in CHANNELS.iter().chain(&["discord", "telegram", "channel"]) {
            assert!(!body.contains(channel), "{channel} in a prompt for {}: {body}", request.task);
        }
    }
}

#[tokio::test]
async fn nothing_is_announced_before_its_commit() {
    let mut world = World::new().await;
    world.talk("web", CAT).await;
    let session = world.sessions().await.remove(0);
    let steps = [
        ("commit_extraction", "memory.event.created"),
        ("commit_reflection", "memory.thought.created"),
        ("finish_session", "chat.session.boundary"),
    ];
    for (method, _) in steps {
        world
            .store
            .faults()
            .plan(method, Fault::Error(StoreError::Unwritable("there is no room left".to_owned())));
    }
    world.take_event_names().await;
    world.runtime.sessions().close(session.id).await.unwrap();
    for (method, silent) in steps {
        world.settle().await;
        let told = world.take_event_names().await;
        assert!(!told.contains(&silent), "{told:?} although {method} failed");
        let stands = world.sessions().await.remove(0);
        assert_eq!(stands.status, SessionStatus::Closing, "{method}");
        world.clock.advance(MINUTE).await;
    }
    world.pass(2 * MINUTE).await;
    assert_eq!(world.sessions().await[0].status, SessionStatus::Closed);
    assert_eq!(world.nodes(NodeKind::Event).await.len(), 1);
}
