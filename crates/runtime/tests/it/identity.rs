//! Identity of people: by similarity, in doubt, and decided by the user's statements.

use std::sync::Arc;

use async_trait::async_trait;
use memory::consolidate::ConsolidationEvent;
use memory::entities::MergeStatus::{self, Confirmed, Disambiguated, Uncertain};
use memory::entities::{ChangedBy, EntityChange, EntityKind, EntityUndone};
use memory::messages::Role;
use memory::nodes::NodeKind;
use memory::ports::{
    Clarification, EmbedError, Embedder, Embedding, EntityStore, Extraction, MentionedEntity,
};
use serde_json::json;
use testkit::Reply;

use crate::workshop::{Workshop, entity, event};
use crate::world::{MINUTE, WEB, World, scope};

/// Names on a circle: the cosine of two is that of the angle between them. Chinese names have no vector.
struct Circle;

fn degrees(text: &str) -> f32 {
    match text {
        "Samantha" | "小黑" | "Samantha Street" => 0.0,
        "Sammy Jo" => 20.0,
        "Sam" => -41.0,
        "Bob" => 100.0,
        _ => 180.0,
    }
}

#[async_trait]
impl Embedder for Circle {
    fn dimension(&self) -> usize {
        2
    }

    fn fingerprint(&self) -> &'static str {
        "circle"
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        let embedding = |text: &String| {
            let angle = degrees(text).to_radians();
            Embedding {
                vector: vec![angle.cos(), angle.sin()],
                readability: f32::from(u8::from(text.is_ascii())),
            }
        };
        Ok(texts.iter().map(embedding).collect())
    }
}

async fn workshop() -> Workshop {
    Workshop::with(Some(Arc::new(Circle))).await
}

/// A session of one message in which these entities are named and this identity is stated.
async fn hear(
    workshop: &Workshop,
    text: &'static str,
    entities: &[MentionedEntity],
    settled: Option<(&str, &str, bool)>,
) {
    let entities = entities.to_vec();
    let clarification = settled.map(|(a, b, same)| Clarification { a: a.to_owned(), b: b.to_owned(), same });
    workshop.mind.extract_with(move |input| {
        Ok(Extraction {
            events: vec![event(input, text, text, 2)],
            mentioned_entities: entities.clone(),
            clarification: clarification.clone(),
            ..Extraction::default()
        })
    });
    let lines = [(Role::User, text), (Role::User, "I like it here"), (Role::Persona, "hm")];
    workshop.session(&lines).await;
    workshop.consolidate().await;
}

fn person(name: &str) -> MentionedEntity {
    entity(name, &[], EntityKind::Person)
}

async fn standing(workshop: &Workshop) -> Vec<(String, MergeStatus, usize)> {
    let entities = workshop.entities().await;
    entities.into_iter().map(|e| (e.canonical_name, e.merge_status, e.aliases.len())).collect()
}

fn stands(name: &str, status: MergeStatus, aliases: usize) -> (String, MergeStatus, usize) {
    (name.to_owned(), status, aliases)
}

#[tokio::test]
async fn a_new_name_is_the_same_uncertain_or_new_by_its_likeness() {
    let workshop = workshop().await;
    hear(&workshop, "my sister Samantha came by, I was so glad", &[person("Samantha")], None).await;
    hear(&workshop, "I called Sammy Jo, my sister, last night", &[person("Sammy Jo")], None).await;
    assert_eq!(standing(&workshop).await, [stands("Samantha", Confirmed, 2)], "0.94 is the same");
    hear(&workshop, "my friend Sam moved away, I miss him", &[person("Sam")], None).await;
    hear(&workshop, "my friend Bob has a new job, I am glad", &[person("Bob")], None).await;
    let street = entity("Samantha Street", &[], EntityKind::Place);
    hear(&workshop, "I live in Samantha Street, my home", &[street], None).await;
    hear(&workshop, "我养了只猫叫小黑,我很喜欢它", &[entity("小黑", &[], EntityKind::Person)], None).await;
    let all = standing(&workshop).await;
    let expected = [
        stands("Samantha", Confirmed, 2),
        stands("Sam", Uncertain, 1),
        stands("Bob", Confirmed, 1),
        stands("Samantha Street", Confirmed, 1),
        stands("小黑", Confirmed, 1),
    ];
    assert_eq!(all, expected, "a place is no person, and what can't be read is like nothing");
    let told = workshop
        .formed
        .lock()
        .unwrap()
        .iter()
        .filter_map(|formed| match formed {
            ConsolidationEvent::Entity { entity, .. } => Some(entity.canonical_name.clone()),
            _ => None,
        })
        .collect::<Vec<_>>();
    assert_eq!(
        told,
        ["Samantha", "Samantha", "Bob", "Samantha Street", "小黑"],
        "of the uncertain one nobody hears"
    );
}

#[tokio::test]
async fn a_likeness_that_was_none_is_parted_with_its_own_memories() {
    let workshop = workshop().await;
    hear(&workshop, "my sister Samantha came by, I was so glad", &[person("Samantha")], None).await;
    hear(&workshop, "I met Sammy Jo, my new neighbour", &[person("Sammy Jo")], None).await;
    let samantha = workshop.entities().await.remove(0);
    let undone = workshop.store.undo_entity_change(&workshop.scope, samantha.id).await.unwrap();
    let EntityUndone::Undone { change, entities } = undone else { panic!("{undone:?}") };
    assert_eq!((change, entities.len()), ("merge", 2));
    for entity in entities {
        let mentions = workshop.store.entity_mentions(&workshop.scope, &[entity.id]).await.unwrap();
        assert_eq!((entity.aliases.len(), mentions[0].events), (1, 1), "{entity:?}");
    }
}

#[tokio::test]
async fn the_users_answer_settles_who_is_whom() {
    for (text, same, expected) in [
        ("Sam is short for Samantha, my sister", true, vec![stands("Samantha", Confirmed, 2)]),
        (
            "no, Sam is my friend and Samantha my sister",
            false,
            vec![stands("Samantha", Confirmed, 1), stands("Sam", Disambiguated, 1)],
        ),
    ] {
        let workshop = workshop().await;
        hear(&workshop, "my sister Samantha came by, I was so glad", &[person("Samantha")], None).await;
        hear(&workshop, "my friend Sam moved away, I miss him", &[person("Sam")], None).await;
        hear(&workshop, "I like green tea a lot, my favourite", &[], Some(("Sam", "Samantha", same))).await;
        assert_eq!(standing(&workshop).await[1].1, Uncertain, "names that were not spoken of settle nothing");
        let asked = workshop.mind.extractions().pop().unwrap().entities_in_doubt;
        assert_eq!(
            (asked[0].0.canonical_name.as_str(), asked[0].1.canonical_name.as_str()),
            ("Sam", "Samantha")
        );
        hear(&workshop, text, &[], Some(("sam", "SAMANTHA", same))).await;
        assert_eq!(standing(&workshop).await, expected, "{text}");
        hear(&workshop, "I like black tea a lot, my favourite", &[], None).await;
        assert!(
            workshop.mind.extractions().pop().unwrap().entities_in_doubt.is_empty(),
            "it is not asked again"
        );
    }
}

#[tokio::test]
async fn two_names_that_were_never_doubted_are_settled_too() {
    let workshop = workshop().await;
    hear(&workshop, "my friend Bob has a new job, I am glad", &[person("Bob")], None).await;
    hear(&workshop, "Bob is also called Scott, my friend", &[], Some(("Bob", "Scott", true))).await;
    assert_eq!(standing(&workshop).await, [stands("Bob", Confirmed, 2)], "a name that nobody had is his");
    hear(&workshop, "my sister Samantha came by, I was so glad", &[person("Samantha")], None).await;
    hear(
        &workshop,
        "my doctor 小黑 and Samantha are one",
        &[person("小黑")],
        Some(("小黑", "Samantha", true)),
    )
    .await;
    assert_eq!(standing(&workshop).await[1], stands("Samantha", Confirmed, 2));
}

#[tokio::test]
async fn known_names_are_linked_also_when_the_answer_passes_over_them() {
    let workshop = workshop().await;
    hear(&workshop, "my friend Bob has a new job, I am glad", &[person("Bob")], None).await;
    hear(&workshop, "I had lunch with Bob and my Bobsled team", &[], None).await;
    let bob = workshop.entities().await.remove(0);
    let nodes: Vec<_> = workshop.nodes(NodeKind::Event).await.into_iter().map(|node| node.id).collect();
    let links = workshop.store.entities_of_nodes(&nodes).await.unwrap();
    assert_eq!(links, nodes.iter().map(|node| (*node, bob.id)).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_prompt_tells_of_whom_it_knows_and_asks_whom_it_doubts() {
    let mut world = World::with(crate::world::settings(), Some(Arc::new(Circle))).await;
    for (text, name) in [("I have a sister, Samantha", "Samantha"), ("I have a friend, Sam", "Sam")] {
        world.talk(WEB, text).await;
        world.model.next("extraction", Reply::json(json!({
            "events": [{"type": "event", "description": text, "emotional_impact": 2, "subject": "user",
                "evidence": [{"message": "m1", "quote": text}], "entities": [name]}],
            "mentioned_entities": [{"canonical_name": name, "aliases": [], "kind": "person"}],
            "entity_clarification": null, "session_mood_signal": null, "session_summary": null, "self_check_notes": "",
        })));
        world.silence().await;
    }
    let (samantha, sam) = (0, 1);
    let mut entities = world.store.entities(&scope("ann"), 9).await.unwrap();
    entities.sort_by_key(|entity| entity.id);
    let change = EntityChange::Describe { description: "The elder sister, a nurse.".to_owned() };
    world.runtime.changes().change_entity(&scope("ann"), entities[samantha].id, change).await.unwrap();
    let told = world.hear("memory.entity.description_updated").await;
    assert_eq!(
        (&told["source"], &told["description"]),
        (&json!("owner"), &json!("The elder sister, a nurse."))
    );
    let refused = world
        .store
        .describe_entity(&scope("ann"), entities[samantha].id, "a machine's", world_now(&world))
        .await;
    assert_eq!(refused.unwrap(), None);

    world.talk(WEB, "How is Sam?").await;
    let system = world.model.requests_for("reply").pop().unwrap().system();
    assert!(system.contains("# Entity disambiguation pending"), "{system}");
    assert!(system.contains("whether Sam and Samantha are the same"), "{system}");
    world.talk(WEB, "How is Samantha?").await;
    let system = world.model.requests_for("reply").pop().unwrap().system();
    assert!(system.contains("- About Samantha:\n  | The elder sister, a nurse."), "{system}");
    let outcome = world
        .store
        .change_entity(
            &scope("ann"),
            entities[sam].id,
            EntityChange::Separate { other: entities[samantha].id },
            ChangedBy::Owner,
            world_now(&world),
        )
        .await;
    outcome.unwrap();
    world.talk(WEB, "And Sam?").await;
    let system = world.model.requests_for("reply").pop().unwrap().system();
    assert!(!system.contains("# Entity disambiguation pending"), "{system}");
    world.pass(MINUTE).await;
}

fn world_now(world: &World) -> jiff::Timestamp {
    world.runtime.clock().now()
}
