//! The process ends at every step of consolidation: nothing is lost and nothing is stored twice.

use std::sync::Arc;

use memory::nodes::NodeKind;
use memory::ports::{LedgerStore as _, NodeStore};
use memory::sessions::{Session, SessionStatus};
use serde_json::json;
use store::Fault;
use testkit::Reply;
use testkit::scripted_model::reconciliation_answer;
use tokio::sync::Notify;

use crate::corrected::{BERLIN, BERLIN_SAID, LYON, LYON_SAID, live};
use crate::world::{HOUR, MINUTE, WEB, World, scope, soon};

const CAT: &str = "我养了只白猫,叫小黑";

/// One session, one event with one mention, one thought, whatever happened before.
async fn everything_is_there_once(world: &World, when: &str) {
    world.until(when, || async { world.sessions().await[0].status == SessionStatus::Closed }).await;
    world.settle().await;
    let session = world.sessions().await.remove(0);
    assert_eq!((session.extracted_events, session.attempts), (1, 0), "{when}");
    let (events, thoughts) = (world.nodes(NodeKind::Event).await, world.nodes(NodeKind::Thought).await);
    assert_eq!((events.len(), thoughts.len()), (1, 1), "{when}");
    assert_eq!(events[0].mention_count, 1, "{when}");
    assert_eq!(world.store.node(events[0].id).await.unwrap().unwrap().evidence.len(), 1, "{when}");
    assert_eq!(world.store.node(thoughts[0].id).await.unwrap().unwrap().filling, [events[0].id], "{when}");
    assert!(world.store.rejected(&scope("ann"), None, 10).await.unwrap().is_empty(), "{when}");
    assert!(world.store.check().await.unwrap().is_intact(), "{when}");
}

#[tokio::test]
async fn a_death_at_any_step_loses_nothing_and_doubles_nothing() {
    // Method, when the process ends in it, and the number of extractions and reflections in total.
    let deaths = [
        ("end_quiet_sessions", Fault::DeathBefore, 1, 1),
        ("end_quiet_sessions", Fault::DeathAfter, 1, 1),
        ("claim_closing_session", Fault::DeathAfter, 1, 1),
        ("session_messages", Fault::DeathAfter, 1, 1),
        ("commit_extraction", Fault::DeathBefore, 2, 1),
        ("commit_extraction", Fault::DeathAfter, 1, 1),
        ("events_since", Fault::DeathAfter, 1, 1),
        ("commit_reflection", Fault::DeathBefore, 1, 2),
        ("commit_reflection", Fault::DeathAfter, 1, 1),
        ("finish_session", Fault::DeathBefore, 1, 1),
        ("finish_session", Fault::DeathAfter, 1, 1),
    ];
    for (method, fault, extractions, reflections) in deaths {
        let when = format!("{fault:?} in {method}");
        let mut world = World::new().await;
        world.talk(WEB, CAT).await;
        world.store.faults().plan(method, fault);
        if method == "end_quiet_sessions" {
            world.clock.advance(MINUTE).await;
        } else {
            let session = world.sessions().await.remove(0);
            world.runtime.sessions().close(session.id).await.unwrap();
        }
        soon(&when, world.store.faults().death()).await;
        world.restart_after(MINUTE).await;
        if method == "end_quiet_sessions" {
            world.silence().await;
        }
        everything_is_there_once(&world, &when).await;
        assert_eq!(world.model.requests_for("extraction").len(), extractions, "{when}");
        assert_eq!(world.model.requests_for("reflection").len(), reflections, "{when}");
    }
}

#[tokio::test]
async fn a_death_between_a_memory_and_its_question_loses_no_correction() {
    // Method, when the process ends in it, and the number of requests in total.
    let deaths = [
        ("commit_extraction", Fault::DeathAfter, 1),
        ("waiting_pairs", Fault::DeathAfter, 1),
        ("commit_reconciliation", Fault::DeathBefore, 2),
        ("commit_reconciliation", Fault::DeathAfter, 1),
    ];
    for (method, fault, questions) in deaths {
        let when = format!("{fault:?} in {method}");
        let dies_with_the_answer = method == "commit_reconciliation" && fault == Fault::DeathAfter;
        let mut world = World::new().await;
        let berlin = live(&mut world, BERLIN_SAID, BERLIN, None).await;
        world.model.answer_task("extraction", |_| {
            Reply::json(json!({"self_check_notes": "", "events": [{"type": "event", "description": LYON,
                "emotional_impact": 2, "evidence": [{"message": "m1", "quote": LYON_SAID}]}]}))
        });
        world.model.answer_task("reconciliation", |request| reconciliation_answer(request, |_| "replaces"));
        world.pass(HOUR).await;
        world.talk(WEB, LYON_SAID).await;
        world.store.faults().plan(method, fault);
        let session =
            world.sessions().await.into_iter().find(|session| session.status == SessionStatus::Open).unwrap();
        world.runtime.sessions().close(session.id).await.unwrap();
        soon(&when, world.store.faults().death()).await;
        world.restart_after(MINUTE).await;
        let is_closed = |known: &Session| known.id == session.id && known.status == SessionStatus::Closed;
        world.until(&when, || async { world.sessions().await.iter().any(is_closed) }).await;
        world.settle().await;
        let nodes = world.nodes(NodeKind::Event).await;
        let lyon: Vec<_> = nodes.iter().filter(|node| node.description == LYON).collect();
        assert_eq!(lyon.len(), 1, "{when}: {nodes:?}");
        let former = world.store.node(berlin.id).await.unwrap().unwrap().node;
        assert_eq!(former.superseded_by, Some(lyon[0].id), "{when}");
        assert_eq!(world.model.requests_for("reconciliation").len(), questions, "{when}");
        // Calls are recorded beside the work: the one whose answer was being stored at the end may be missing.
        if !dies_with_the_answer {
            let calls = world.store.calls_of_session(session.id).await.unwrap();
            assert!(
                calls.iter().any(|call| call.task == "reconciliation" && call.outcome == "ok"),
                "{when}: {calls:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_stop_in_the_middle_gives_the_work_back() {
    for (task, extractions) in [("extraction", 2), ("reflection", 1)] {
        let mut world = World::new().await;
        world.talk(WEB, CAT).await;
        let never = Arc::new(Notify::new());
        world.model.next(task, Reply::text("never").delay_first_token_until(&never));
        let session = world.sessions().await.remove(0);
        world.runtime.sessions().close(session.id).await.unwrap();
        soon(task, world.model.wait_until_asked(task, 1)).await;
        soon("the stop", world.runtime.stop()).await;
        assert_eq!(world.sessions().await[0].status, SessionStatus::Consolidating);
        world.restart_after(MINUTE).await;
        everything_is_there_once(&world, task).await;
        assert_eq!(world.model.requests_for("extraction").len(), extractions, "{task}");
    }
}
