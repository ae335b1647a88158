//! A corrected value is never stated as current by names and by the graph's facts.

use hub::graph::{EdgeGet, GraphEdge};
use memory::nodes::Node;
use memory::ports::EntityStore as _;
use serde_json::json;
use testkit::Reply;
use testkit::scripted_model::reconciliation_answer;

use crate::corrected::{live_with, moved, short_window, stale};
use crate::world::{HOUR, SECOND, WEB, World, scope, settings};

const BLACK: &str = "用户养了一只猫，叫小黑";
const WHITE: &str = "用户的猫现在叫小白";

/// A cat called 小黑 that is called 小白 now, with the names that the model gives it.
async fn renamed(world: &mut World) -> Node {
    let named = |name: &str, aliases: &[&str]| json!({"mentioned_entities": [{"canonical_name": name, "kind": "pet", "aliases": aliases}]});
    live_with(world, "我养了只猫叫小黑", BLACK, None, named("小黑", &[])).await;
    world.pass(24 * HOUR).await;
    let newer =
        live_with(world, "我的猫改名了，现在叫小白", WHITE, Some(BLACK), named("小白", &["小黑"])).await;
    world.pass(HOUR).await;
    newer
}

#[tokio::test]
async fn entity_goes_by_its_present_name() {
    let mut world = World::new().await;
    let newer = renamed(&mut world).await;
    let scope = scope("ann");
    let cat = world.store.entities(&scope, 10).await.unwrap().remove(0);
    assert_eq!((cat.canonical_name.as_str(), cat.aliases.len()), ("小黑", 2), "{cat:?}");
    world.store.describe_entity(&scope, cat.id, "喜欢晒太阳的猫", world.runtime.clock().now()).await.unwrap();
    world.talk(WEB, "小白今天怎么样").await;
    let prompt = world.last_prompt();
    assert!(prompt.contains("- About 小白:\n") && prompt.contains("喜欢晒太阳的猫"), "{prompt}");
    assert_eq!(stale(&prompt, "小黑"), Vec::<&str>::new(), "{prompt}");

    let node = world.graph().live_node(&scope, &cat.id.to_string()).await.unwrap().node.unwrap();
    let former = node.no_longer_current.expect("a note");
    assert_eq!((former.text.as_str(), former.current_text.as_str(), former.mistaken), (BLACK, WHITE, false));
    world.runtime.changes().undo_node(newer.id).await.unwrap().unwrap();
    let node = world.graph().live_node(&scope, &cat.id.to_string()).await.unwrap().node.unwrap();
    assert_eq!(node.no_longer_current, None, "undo takes the note away");
    world.talk(WEB, "小黑今天怎么样").await;
    assert!(world.last_prompt().contains("- About 小黑:\n"), "{}", world.last_prompt());
}

/// More corrections than are read for one reply.
const LATER: usize = 120;

#[tokio::test]
async fn value_replaced_many_corrections_ago_is_still_known() {
    let mut world = World::with(short_window(), None).await;
    // A thought that cites it would lead to it too.
    world.model.answer_task("reflection", |_| Reply::json(json!({"thoughts": []})));
    moved(&mut world).await;
    world.talk(WEB, "my brother still writes to my flat in Berlin by the river").await;
    world.silence().await;
    let tea = live_with(&mut world, "i like green tea", "The user likes green tea", None, json!({})).await;
    for number in 0..LATER {
        world.pass(SECOND).await;
        let text = format!("The user likes tea of the {number}th kind");
        world.runtime.changes().correct_node(tea.id, &text).await.unwrap().unwrap();
    }
    for _ in 0..12 {
        world.talk(WEB, "it rained all day").await;
        world.silence().await;
    }
    world.talk(WEB, "does my brother still write to me?").await;
    let prompt = world.last_prompt();
    assert!(prompt.contains("my brother still writes"), "{prompt}");
    assert_eq!(stale(&prompt, "Berlin"), Vec::<&str>::new(), "{prompt}");
}

#[tokio::test]
async fn a_graph_fact_ends_with_what_it_depends_on() {
    let mut world = World::with_graph(settings()).await;
    world.model.answer_task("graph", |request| {
        let facts = request.user().contains("Berlin").then(|| {
            json!([{"from": "user", "to": "Berlin", "type": "lives_in", "memory": "e1", "confidence": 0.9}])
        });
        Reply::json(json!({
            "entities": [{"name": "Berlin", "type": "place"}],
            "relationships": facts.unwrap_or_else(|| json!([])),
        }))
    });
    let (berlin, lyon) = ("The user lives in Berlin", "The user lives in Lyon");
    live_with(&mut world, "i have settled, i live in Berlin", berlin, None, json!({})).await;
    let valid = async |world: &World| -> Vec<GraphEdge> {
        let asked = EdgeGet { only_valid: true, ..EdgeGet::default() };
        world.graph().edges(&scope("ann"), asked).await.unwrap().edges
    };
    world.until("a fact", || async { valid(&world).await.len() == 1 }).await;
    world.pass(24 * HOUR).await;
    // The graph facts can't be extracted from the newer memory.
    world.model.answer_task("graph", |_| Reply::error(503, "busy"));
    let newer = live_with(&mut world, "i have moved, i live in Lyon", lyon, Some(berlin), json!({})).await;
    world.pass(SECOND).await;
    assert_eq!(valid(&world).await, []);
    let all = world.graph().edges(&scope("ann"), EdgeGet::default()).await.unwrap().edges;
    assert!(all[0].valid_until.is_some_and(|until| until > all[0].created_at), "it stays, dated: {all:?}");
    world.runtime.changes().undo_node(newer.id).await.unwrap().unwrap();
    assert_eq!(valid(&world).await.len(), 1, "undo gives it back");
}

/// The message, its memory, the correction, its memory, the wrong and the right name, and their kind.
const WRONG_NAMES: [(&str, &str, &str, &str, &str, &str, &str); 2] = [
    (
        "my sister is called Lena, she plays the harp",
        "The user's sister is called Lena and plays the harp",
        "sorry, i mistyped, my sister is called Lina",
        "The user's sister is called Lina",
        "Lena",
        "Lina",
        "person",
    ),
    (
        "我养了只猫，叫小黑",
        "用户养了一只猫，叫小黑",
        "我打错字了，我的猫叫小白",
        "用户的猫叫小白",
        "小黑",
        "小白",
        "pet",
    ),
];

#[tokio::test]
async fn a_wrong_name_is_another_name_of_the_right_one() {
    for (said, known, corrected, new, wrong, right, kind) in WRONG_NAMES {
        let named = |name: &str| json!({"mentioned_entities": [{"canonical_name": name, "kind": kind}]});
        for other in [None, Some("Lena's exam in law is on Friday, Lena is a friend; 小黑是朋友的狗")]
        {
            let mut world = World::new().await;
            live_with(&mut world, said, known, None, named(wrong)).await;
            world.pass(24 * HOUR).await;
            if let Some(other) = other {
                live_with(&mut world, other, other, None, named(wrong)).await;
                world.pass(24 * HOUR).await;
            }
            world.model.answer_task("extraction", move |_| {
                Reply::json(json!({"self_check_notes": "", "mentioned_entities": [{"canonical_name": right, "kind": kind}],
                    "events": [{"type": "event", "description": new, "emotional_impact": 1,
                        "evidence": [{"message": "m1", "quote": corrected}]}]}))
            });
            world.model.answer_task("reconciliation", move |request| {
                reconciliation_answer(
                    request,
                    move |pair| if pair.older == known { "corrects" } else { "unrelated" },
                )
            });
            world.talk(WEB, corrected).await;
            world.silence().await;
            let entities = world.store.entities(&scope("ann"), 10).await.unwrap();
            let names: Vec<&str> = entities.iter().map(|entity| entity.canonical_name.as_str()).collect();
            match other {
                None => {
                    assert_eq!(names, [right], "{entities:?}");
                    assert!(entities[0].aliases.iter().any(|alias| alias == wrong), "{entities:?}");
                }
                // Another entity has the name as well.
                Some(_) => assert_eq!(names.len(), 2, "{entities:?}"),
            }
        }
    }
}
