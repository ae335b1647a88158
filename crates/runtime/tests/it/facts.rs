//! The graph that grows with the messages.

use hub::Caller;
use hub::graph::{EdgeGet, GraphEdge};
use memory::forget::{ForgetMode, Selection};
use memory::ports::LedgerStore as _;
use serde_json::{Value, json};
use testkit::Reply;

use crate::world::{HOUR, MINUTE, SECOND, WEB, World, scope, settings};

const CAT: &str = "我养了只白猫,叫小黑";

fn has_a_cat() -> Value {
    json!({
        "entities": [{"name": "小黑", "type": "pet"}],
        "relationships": [
            {"from": "user", "to": "小黑", "type": "has_pet", "memory": "e1", "confidence": 0.95},
            {"from": "user", "to": "豆豆", "type": "has_pet", "memory": "e1", "confidence": 0.95},
        ],
    })
}

async fn edges(world: &World) -> Vec<GraphEdge> {
    world.graph().edges(&scope("ann"), EdgeGet::default()).await.unwrap().edges
}

fn asked(world: &World) -> usize {
    world.model.requests_for("graph").len()
}

#[tokio::test]
async fn a_conversation_becomes_facts_once_and_they_are_erased_with_it() {
    let mut world = World::with_graph(settings()).await;
    world.model.answer_task("graph", |_| Reply::json(has_a_cat()));
    world.talk(WEB, CAT).await;
    world.silence().await;
    world.until("a fact", || async { !edges(&world).await.is_empty() }).await;
    let drawn = edges(&world).await;
    assert_eq!(drawn.len(), 1, "what stands in no memory is no end of a fact: {drawn:?}");
    let event = world.nodes(memory::nodes::NodeKind::Event).await.remove(0);
    assert_eq!((drawn[0].edge_type.as_str(), drawn[0].weight), ("has_pet", 0.95));
    assert_eq!(drawn[0].source_memory_ids, [event.id.to_string()]);
    assert_eq!(drawn[0].evidence.as_deref(), Some(event.description.as_str()));
    let question = world.model.requests_for("graph").remove(0);
    assert!(question.user().contains(&event.description), "{}", question.user());
    let session = world.sessions().await.remove(0);
    world
        .until("the ledger", || async {
            let calls = world.store.calls_of_session(session.id).await.unwrap();
            calls.iter().any(|call| call.task == "graph" && call.prompt_hash.len() == 64)
        })
        .await;

    world.restart_after(MINUTE).await;
    world.pass(10 * MINUTE).await;
    assert_eq!(asked(&world), 1, "what was read is not read again");

    let said = world.messages().await.into_iter().find(|message| message.content == CAT).unwrap();
    let selection = Selection { messages: [said.id].into(), ..Selection::default() };
    world.runtime.changes().delete(scope("ann"), selection, ForgetMode::Cascade).await.unwrap();
    assert_eq!(edges(&world).await, []);
    let nodes = world.graph().list_nodes(&scope("ann"), Default::default()).await.unwrap();
    assert_eq!(nodes.total, 0, "{nodes:?}");
}

#[tokio::test]
async fn a_failure_is_tried_again_and_a_crash_loses_nothing() {
    let mut world = World::with_graph(settings()).await;
    world.model.answer_task("graph", |_| Reply::error(503, "busy"));
    world.talk(WEB, CAT).await;
    world.silence().await;
    world.until("the first try", || async { asked(&world) > 0 }).await;
    world.pass(10 * MINUTE).await;
    world.until("another try", || async { asked(&world) > 1 }).await;
    world.pass(2 * HOUR).await;
    assert!(asked(&world) < 20, "the waits grow: {}", asked(&world));
    assert_eq!(edges(&world).await, []);
    world.model.answer_task("graph", |_| Reply::json(has_a_cat()));
    world.restart_after(SECOND).await;
    world.until("a fact", || async { edges(&world).await.len() == 1 }).await;
}

#[tokio::test]
async fn a_dead_endpoint_is_left_alone_however_many_talks_wait() {
    let mut settings = settings();
    settings.poll_every = 5 * SECOND;
    let mut world = World::with_graph(settings).await;
    world.model.answer_task("graph", |_| Reply::error(503, "busy"));
    for user in ["ann", "bo", "cy", "di", "ed", "flo"] {
        world.talk_as(user, WEB, CAT).await;
    }
    world.silence().await;
    world.until("the first tries", || async { asked(&world) >= 3 }).await;
    world.pass(2 * HOUR).await;
    assert!(asked(&world) <= 12, "one try after each rest: {}", asked(&world));
    world.model.answer_task("graph", |_| Reply::json(has_a_cat()));
    world.pass(HOUR).await;
    world.until("all of them", || async { edges(&world).await.len() == 1 }).await;
    for user in ["bo", "cy", "di", "ed", "flo"] {
        let drawn = world.graph().edges(&scope(user), EdgeGet::default()).await.unwrap().edges;
        assert_eq!(drawn.len(), 1, "{user}");
    }
}

#[tokio::test]
async fn facts_wait_at_the_cap_of_the_day() {
    let mut settings = settings();
    settings.daily_spend_cap = Some(1.5);
    let mut world = World::with_graph(settings).await;
    world.model.answer_task("graph", |_| Reply::error(503, "busy"));
    world.talk(WEB, CAT).await;
    world.silence().await;
    world.spend(1.5).await;
    world.until("the first try", || async { asked(&world) > 0 }).await;
    let before = asked(&world);
    world.model.answer_task("graph", |_| Reply::json(has_a_cat()));
    world.pass(2 * HOUR).await;
    assert_eq!((asked(&world), edges(&world).await.len()), (before, 0));
    world.pass(15 * HOUR).await;
    let told = world.take_event_names().await;
    let of_the_cap = told.iter().filter(|name| **name == "work.failed").count();
    assert_eq!(of_the_cap, 1, "whoever waits at it, it is told once a day: {told:?}");
    // A new day with a new budget.
    world.until("a fact", || async { edges(&world).await.len() == 1 }).await;
}

#[tokio::test]
async fn the_hub_says_how_the_drawing_fares() {
    let (mut world, hub) = World::with_graph_and_hub(settings()).await;
    let caller = Caller {
        scope: scope("ann"),
        instance: "laptop".parse().unwrap(),
        is_person: false,
        is_bound: false,
        is_of_one_user: false,
    };
    let status = async || hub.sync_status(&caller).await.unwrap().extraction;
    world.model.answer_task("graph", |_| Reply::error(503, "busy"));
    world.talk(WEB, CAT).await;
    world.silence().await;
    world.until("a failure", || async { status().await.attempts_total > 0 }).await;
    let failed = status().await;
    assert!(
        failed.llm_available && failed.last_error.is_some() && failed.last_success.is_none(),
        "{failed:?}"
    );
    assert!(!failed.last_error.unwrap().contains("小黑"));
    world.model.answer_task("graph", |_| Reply::json(has_a_cat()));
    world.pass(10 * MINUTE).await;
    world.until("a fact", || async { status().await.edges_created_total == 1 }).await;
    let drawn = status().await;
    assert_eq!((drawn.nodes_created_total, drawn.edges_created_total), (2, 1), "{drawn:?}");
    // The day's diary is read too and contains nothing new.
    assert!(drawn.successes_total >= 1 && drawn.attempts_total > failed.attempts_total, "{drawn:?}");
}
