//! The entities of a session: found by any of their names, never stored twice, never confused with a namesake.

use std::sync::{Arc, Mutex};

use memory::consolidate::ConsolidationEvent;
use memory::entities::EntityKind;
use memory::nodes::NodeKind;
use memory::ports::{EntityStore, Extraction, MentionedEntity};
use serde_json::json;
use testkit::Reply;

use crate::workshop::{Workshop, entity, event};
use crate::world::{WEB, World, scope};

/// A session with this message of the user, in which these entities are named.
async fn mention_entities(workshop: &Workshop, text: &'static str, entities: &[MentionedEntity]) {
    let entities = Arc::new(Mutex::new(entities.to_vec()));
    workshop.mind.extract_with(move |input| {
        Ok(Extraction {
            events: vec![event(input, text, text, 2)],
            mentioned_entities: entities.lock().unwrap().clone(),
            ..Extraction::default()
        })
    });
    workshop.said(text).await;
    workshop.consolidate().await;
}

async fn names(workshop: &Workshop) -> Vec<(EntityKind, Vec<String>)> {
    workshop.entities().await.into_iter().map(|entity| (entity.kind, entity.aliases)).collect()
}

fn of<const N: usize>(kind: EntityKind, names: [&str; N]) -> (EntityKind, Vec<String>) {
    (kind, names.map(str::to_owned).to_vec())
}

#[tokio::test]
async fn a_second_mention_adds_names_to_the_same_one() {
    let workshop = Workshop::new().await;
    mention_entities(&workshop, "我养了只白猫,叫小黑", &[entity("小黑", &[], EntityKind::Pet)]).await;
    mention_entities(&workshop, "小黑又叫黑黑,我的宝贝", &[entity("小黑", &["黑黑"], EntityKind::Pet)]).await;
    mention_entities(&workshop, "黑黑今天病了,我的天", &[entity("黑黑", &["煤球"], EntityKind::Pet)]).await;
    assert_eq!(names(&workshop).await, [of(EntityKind::Pet, ["小黑", "黑黑", "煤球"])]);
    let entity = workshop.entities().await.remove(0);
    let nodes: Vec<_> = workshop.nodes(NodeKind::Event).await.into_iter().map(|node| node.id).collect();
    let links = workshop.store.entities_of_nodes(&nodes).await.unwrap();
    assert_eq!(links, nodes.iter().map(|node| (*node, entity.id)).collect::<Vec<_>>());
    let known = workshop.mind.extractions().pop().unwrap().known_entities;
    assert_eq!(known[0].aliases, ["小黑", "黑黑"], "the model is told whom it may meet again");
}

#[tokio::test]
async fn names_are_the_same_whatever_their_width_and_case() {
    let workshop = Workshop::new().await;
    mention_entities(
        &workshop,
        "i have a friend, Tom Brown",
        &[entity("Tom Brown", &["Tom"], EntityKind::Person)],
    )
    .await;
    mention_entities(&workshop, "i like ＴＯＭ a lot", &[entity("ＴＯＭ", &[], EntityKind::Person)]).await;
    assert_eq!(names(&workshop).await, [of(EntityKind::Person, ["Tom Brown", "Tom"])]);
}

#[tokio::test]
async fn kinds_must_agree_and_a_namesake_is_not_doubled_either() {
    let workshop = Workshop::new().await;
    mention_entities(&workshop, "我养了只白猫,叫小黑", &[entity("小黑", &[], EntityKind::Pet)]).await;
    for text in ["我同事小黑今天请客", "我同事小黑又请客了"] {
        mention_entities(&workshop, text, &[entity("小黑", &[], EntityKind::Person)]).await;
    }
    let pet_and_person = [of(EntityKind::Pet, ["小黑"]), of(EntityKind::Person, ["小黑"])];
    assert_eq!(names(&workshop).await, pet_and_person);
    let both = [entity("小黑", &[], EntityKind::Person), entity("小黑", &[], EntityKind::Pet)];
    mention_entities(&workshop, "我的同事小黑见到了我的猫小黑", &both).await;
    assert_eq!(names(&workshop).await, pet_and_person);
    mention_entities(&workshop, "小黑,我的那个小黑", &[entity("小黑", &[], EntityKind::Other)]).await;
    assert_eq!(names(&workshop).await, pet_and_person, "what has no kind is one that is known");
}

#[tokio::test]
async fn two_namesakes_of_one_session_are_two() {
    let workshop = Workshop::new().await;
    let both = [entity("小黑", &[], EntityKind::Person), entity("小黑", &[], EntityKind::Pet)];
    mention_entities(&workshop, "我的同事小黑见到了我的猫小黑", &both).await;
    let kinds: Vec<_> = workshop.entities().await.into_iter().map(|entity| entity.kind).collect();
    assert_eq!(kinds, [EntityKind::Person, EntityKind::Pet]);
    let told = workshop.formed.lock().unwrap();
    assert_eq!(
        told.iter().filter(|formed| matches!(formed, ConsolidationEvent::Entity { .. })).count(),
        2,
        "{told:?}"
    );
}

#[tokio::test]
async fn a_name_leads_to_its_memories_in_the_next_session() {
    let mut world = World::new().await;
    world.talk(WEB, "我养了只白猫,大名叫小黑,小名煤球").await;
    world.model.next("extraction", Reply::json(json!({
        "events": [{"type": "event", "description": "用户养了一只白猫", "emotional_impact": 2, "subject": "user",
            "evidence": [{"message": "m1", "quote": "我养了只白猫"}], "entities": ["小黑"]}],
        "mentioned_entities": [{"canonical_name": "小黑", "aliases": ["煤球"], "kind": "pet"}],
        "entity_clarification": null, "session_mood_signal": null, "session_summary": null, "self_check_notes": "",
    })));
    world.silence().await;
    let confirmed = world.hear("memory.entity.confirmed").await;
    assert_eq!((&confirmed["canonical_name"], &confirmed["kind"]), (&json!("小黑"), &json!("pet")));
    let recalled =
        world.runtime.recall().candidates_for(scope("ann"), "煤球最近怎么样".to_owned(), None).await.unwrap();
    assert_eq!(recalled.entities[0].canonical_name, "小黑");
    assert_eq!(recalled.nodes[0].node.description, "用户养了一只白猫", "although it shares no word");
    let anchored = recalled.candidates.iter().find(|candidate| candidate.used).unwrap();
    assert_eq!(anchored.entity_anchor, Some(1.0));
    let other =
        world.runtime.recall().candidates_for(scope("bob"), "煤球最近怎么样".to_owned(), None).await.unwrap();
    assert!(other.entities.is_empty() && other.nodes.is_empty(), "bob never told of it");
}
