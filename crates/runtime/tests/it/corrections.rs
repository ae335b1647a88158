//! A person's correction reaches the index, the prompt and the next extraction.

use std::sync::Arc;

use memory::nodes::{Node, NodeKind};
use memory::ports::{MessageStore, NodeStore};
use serde_json::json;
use testkit::{Reply, WordHashEmbedder};

use crate::world::{HOUR, SECOND, WEB, World, scope, section, settings};

/// A home with one event that quotes the whole message.
async fn with_event(world: &mut World, line: &str, description: &str) -> Node {
    let event = json!({"type": "event", "description": description, "emotional_impact": 2,
        "evidence": [{"message": "m1", "quote": line}]});
    world.model.next("extraction", Reply::json(json!({"events": [event], "self_check_notes": ""})));
    world.talk(WEB, line).await;
    world.silence().await;
    world.nodes(NodeKind::Event).await.pop().unwrap()
}

/// The node's relevance for a text, by its vector and by its words; `None` if it is no candidate.
async fn relevance(world: &World, node: &Node, text: &str) -> (f64, f64) {
    let found = world.runtime.recall().candidates_for(scope("ann"), text.to_owned(), None).await.unwrap();
    let candidate = found.candidates.into_iter().find(|candidate| candidate.id == node.id.0);
    candidate.map_or((0.0, 0.0), |candidate| {
        (candidate.vector_relevance.unwrap_or(0.0), candidate.word_relevance.unwrap_or(0.0))
    })
}

#[tokio::test]
async fn the_vector_index_follows_a_correction_and_its_undo() {
    let embedder = Arc::new(WordHashEmbedder::new());
    let mut world = World::with(settings(), Some(embedder)).await;
    let line = "i have a white cat named Shadow";
    let node = with_event(&mut world, line, "The user has a white cat named Shadow").await;
    let near = |(vector, words): (f64, f64)| vector > 0.5 && words > 0.5;
    let far = |(vector, words): (f64, f64)| vector < 0.5 && words < 0.1;
    assert!(near(relevance(&world, &node, "white cat").await));
    let corrected =
        world.runtime.changes().correct_node(node.id, "The user keeps grey parrots").await.unwrap().unwrap();
    assert_eq!(corrected.id, node.id);
    assert!(near(relevance(&world, &node, "grey parrots").await));
    let of_cat = relevance(&world, &node, "white cat").await;
    assert!(far(of_cat), "{of_cat:?}");
    world.runtime.changes().undo_node(node.id).await.unwrap().unwrap();
    world.until("the vector", || async { near(relevance(&world, &node, "white cat").await) }).await;
    assert!(far(relevance(&world, &node, "grey parrots").await));
}

#[tokio::test]
async fn a_pinned_event_is_in_every_prompt() {
    let mut world = World::new().await;
    let node = with_event(&mut world, "我养了只白猫,叫小黑", "用户养了一只白猫,叫小黑").await;
    let remembered = "Recent things you remember happened";
    world.talk(WEB, "今天下雨").await;
    assert!(!section(&world.last_prompt(), remembered).contains("小黑"));
    world.runtime.changes().pin_node(node.id, true).await.unwrap();
    let done = world.talk(WEB, "还在下雨").await;
    assert!(section(&world.last_prompt(), remembered).contains("小黑"));
    let turn = serde_json::from_value(done["turn_id"].clone()).unwrap();
    let receipt = memory::ports::LedgerStore::receipt(&*world.store, turn).await.unwrap().unwrap();
    assert!(receipt.pinned.contains(&node.id));
}

/// The memory was in the prompt of this session, and the user only pastes it.
#[tokio::test]
async fn a_recalled_memory_that_the_user_repeats_is_no_new_evidence() {
    let mut world = World::new().await;
    with_event(&mut world, "我养了只白猫,叫小黑", "用户养了一只白猫,名字叫小黑").await;
    world.pass(HOUR).await;
    world.talk(WEB, "你还记得我的白猫吗").await;
    assert!(world.last_prompt().contains("用户养了一只白猫,名字叫小黑"));
    let pasted = "用户养了一只白猫,名字叫小黑";
    world.talk(WEB, pasted).await;
    world.model.answer_task("extraction", move |_| {
        let event = json!({"type": "event", "description": "用户养了一只白猫", "emotional_impact": 2,
            "evidence": [{"message": "m3", "quote": pasted}]});
        Reply::json(json!({"events": [event], "self_check_notes": ""}))
    });
    world.silence().await;
    assert_eq!(world.nodes(NodeKind::Event).await.len(), 1);
    let rejected = world.store.rejected(&scope("ann"), None, 10).await.unwrap();
    assert!(rejected[0].reason.contains("repeats"), "{rejected:?}");
}

#[tokio::test]
async fn a_reply_said_anew_does_not_see_the_one_it_replaces() {
    let mut world = World::new().await;
    world.model.next("reply", Reply::text("a reply to be forgotten"));
    world.talk(WEB, "hello there").await;
    world.runtime.turns().regenerate(&scope("ann"), None).await.unwrap();
    world.clock.advance(SECOND).await;
    world.hear("chat.message.done").await;
    assert!(!world.last_prompt().contains("to be forgotten"));
    let said: Vec<String> = world.messages().await.into_iter().map(|message| message.content).collect();
    assert_eq!(said.len(), 2);
    assert!(!said.iter().any(|text| text.contains("to be forgotten")));
    let numbered = world.store.messages_before(&scope("ann"), None, 10).await.unwrap();
    assert_eq!(numbered[0].turn_id, numbered[1].turn_id);
}
