//! Consolidation that fails: it waits, gives up, reports the reason, and never blocks others.

use memory::consolidate::ConsolidationEvent;
use memory::nodes::NodeKind;
use memory::ports::{Extraction, MindError, SessionStore, StoreError};
use memory::sessions::SessionStatus;
use store::Fault;

use crate::workshop::{Workshop, event};
use crate::world::{MINUTE, SECOND, WEB, World};

const CAT: &str = "我养了只白猫,叫小黑";

fn down() -> MindError {
    MindError::Transient("the model is down".to_owned())
}

fn full() -> StoreError {
    StoreError::Unwritable("there is no room left".to_owned())
}

/// The mock extracts the whole first message.
fn remembers(workshop: &Workshop) {
    workshop.mind.extract_with(|input| {
        let text = input.messages[0].content.clone();
        Ok(Extraction { events: vec![event(input, &text, &text, 2)], ..Extraction::default() })
    });
}

#[tokio::test]
async fn it_waits_two_four_and_eight_seconds_and_then_gives_up_with_the_cause() {
    let workshop = Workshop::new().await;
    workshop.mind.extract_with(|_| Err(down()));
    let session = workshop.said(CAT).await;
    assert!(workshop.consolidate_one().await.unwrap());
    for (attempts, wait) in [(1, 2), (2, 4), (3, 8)] {
        let stands = workshop.now_stands(&session).await;
        assert_eq!((stands.status, stands.attempts), (SessionStatus::Closing, attempts));
        workshop.pass(wait * SECOND - SECOND / 10).await;
        assert!(!workshop.consolidate_one().await.unwrap(), "before its time, after attempt {attempts}");
        workshop.pass(SECOND / 10).await;
        assert!(workshop.consolidate_one().await.unwrap(), "at its time, after attempt {attempts}");
    }
    let stands = workshop.now_stands(&session).await;
    assert_eq!((stands.status, stands.attempts), (SessionStatus::Failed, 4));
    assert!(stands.last_error.unwrap().contains("the model is down"));
    workshop.pass(100 * MINUTE).await;
    assert!(!workshop.consolidate_one().await.unwrap(), "it is not taken up by itself");
    assert_eq!(workshop.mind.extractions().len(), 4);
    let formed = workshop.formed.lock().unwrap();
    assert!(matches!(&formed[..], [ConsolidationEvent::Failed { .. }]), "{formed:?}");
}

#[tokio::test]
async fn a_person_takes_a_failed_session_up_again() {
    let workshop = Workshop::new().await;
    workshop.mind.extract_next(Err(MindError::Permanent("wrong key".to_owned())));
    remembers(&workshop);
    let session = workshop.said(CAT).await;
    workshop.consolidate().await;
    let stands = workshop.now_stands(&session).await;
    assert_eq!((stands.status, stands.attempts), (SessionStatus::Failed, 1), "no use in trying again");
    let retried = workshop.store.retry_session(session.id).await.unwrap().unwrap();
    assert_eq!((retried.status, retried.attempts), (SessionStatus::Closing, 0));
    workshop.consolidate().await;
    assert_eq!(workshop.now_stands(&session).await.status, SessionStatus::Closed);
    assert_eq!(workshop.nodes(NodeKind::Event).await.len(), 1);
}

#[tokio::test]
async fn a_poison_session_does_not_hold_up_the_others() {
    for poison in ["transient", "permanent", "panic"] {
        let workshop = Workshop::new().await;
        workshop.mind.extract_with(move |input| {
            let text = input.messages[0].content.clone();
            match poison {
                _ if !text.contains("毒") => {}
                "transient" => return Err(down()),
                "permanent" => return Err(MindError::Permanent("refused".to_owned())),
                _ => panic!("the story wants a defect"),
            }
            Ok(Extraction { events: vec![event(input, &text, &text, 2)], ..Extraction::default() })
        });
        let first = workshop.said("我叫毒药").await;
        let second = workshop.said(CAT).await;
        workshop.consolidate().await;
        assert_eq!(workshop.now_stands(&second).await.status, SessionStatus::Closed, "{poison}");
        for _ in 0..4 {
            workshop.pass(10 * SECOND).await;
            workshop.consolidate().await;
        }
        let first = workshop.now_stands(&first).await;
        assert_eq!(first.status, SessionStatus::Failed, "{poison}");
        let cause = first.last_error.unwrap();
        let expected = match poison {
            "transient" => "the model is down",
            "permanent" => "refused",
            _ => "internal error",
        };
        assert!(cause.contains(expected), "{cause}");
    }
}

#[tokio::test]
async fn an_extraction_that_cannot_be_written_is_retried_and_reported_once() {
    let workshop = Workshop::new().await;
    remembers(&workshop);
    workshop.store.faults().plan("commit_extraction", Fault::Error(full()));
    let session = workshop.said(CAT).await;
    workshop.consolidate().await;
    assert!(workshop.formed.lock().unwrap().is_empty(), "nothing is committed, so nothing is announced");
    assert_eq!(workshop.now_stands(&session).await.status, SessionStatus::Closing);
    workshop.pass(2 * SECOND).await;
    workshop.consolidate().await;
    let formed = workshop.formed.lock().unwrap();
    assert!(
        matches!(
            &formed[..],
            [ConsolidationEvent::Event { .. }, ConsolidationEvent::Closed { events: 1, .. }]
        ),
        "{formed:?}"
    );
}

#[tokio::test]
async fn a_reflection_that_fails_does_not_extract_again() {
    let workshop = Workshop::new().await;
    remembers(&workshop);
    workshop.mind.reflect_next(Err(down()));
    let session = workshop.said(CAT).await;
    workshop.consolidate().await;
    assert!(workshop.now_stands(&session).await.extracted);
    workshop.pass(2 * SECOND).await;
    workshop.consolidate().await;
    assert_eq!(workshop.now_stands(&session).await.status, SessionStatus::Closed);
    assert_eq!((workshop.mind.extractions().len(), workshop.mind.reflections().len()), (1, 2));
    assert_eq!(workshop.nodes(NodeKind::Event).await.len(), 1);
}

#[tokio::test]
async fn a_store_that_cannot_even_record_the_failure_gives_the_session_back() {
    let mut world = World::new().await;
    world.talk(WEB, CAT).await;
    let session = world.sessions().await.remove(0);
    for method in ["commit_extraction", "record_failure", "release_claims", "release_claims"] {
        world.store.faults().plan(method, Fault::Error(full()));
    }
    world.runtime.sessions().close(session.id).await.unwrap();
    world.settle().await;
    assert_eq!(world.sessions().await[0].status, SessionStatus::Consolidating, "nobody could write");
    assert!(!world.take_event_names().await.contains(&"memory.event.created"));
    world.pass(3 * MINUTE).await;
    let session = world.sessions().await.remove(0);
    assert_eq!((session.status, session.attempts), (SessionStatus::Closed, 0));
    assert_eq!(world.nodes(NodeKind::Event).await.len(), 1);
}

#[tokio::test]
async fn a_failed_session_is_reported_and_can_be_retried() {
    let mut world = World::new().await;
    world.talk(WEB, CAT).await;
    let refusal = testkit::Reply::error(401, "bad key");
    world.model.next("extraction", refusal);
    let session = world.sessions().await.remove(0);
    world.runtime.sessions().close(session.id).await.unwrap();
    let failed = world.hear("work.failed").await;
    assert_eq!(failed["session_id"], serde_json::json!(session.id));
    assert!(!failed["reason"].as_str().unwrap().is_empty());
    assert!(world.runtime.sessions().retry(session.id).await.unwrap().is_some());
    let closed = world.hear("chat.session.boundary").await;
    assert_eq!(closed["events_count"], 1);
    assert!(world.runtime.sessions().retry(session.id).await.unwrap().is_none());
}
