//! The end of an expectation when the user writes again, and of promises and expectations whose time passes.

use jiff::SignedDuration;
use memory::identifiers::NodeId;
use memory::nodes::NodeKind;
use memory::ports::{Clock, ExpectationOutcome, SlowCycleStore};

use crate::plans::{Plan, commit_plan};
use crate::world::{HOUR, WEB, World, section};

const EXPECTED: &str = "面试 — 她会说起面试的结果";

/// The persona expects to hear of the interview within three days.
async fn expecting(world: &mut World) -> NodeId {
    world.talk(WEB, "我有一场面试,在周五,很紧张").await;
    world.silence().await;
    let event = world.nodes(NodeKind::Event).await.pop().unwrap();
    let start = world.clock.now() + SignedDuration::from_hours(72);
    commit_plan(world, &event, Plan { kind: NodeKind::Expectation, text: EXPECTED, start, number: 99 }).await
}

#[tokio::test]
async fn a_fulfilled_expectation_shows_once_and_is_expected_no_more() {
    let mut world = World::new().await;
    let id = expecting(&mut world).await;
    world.talk(WEB, "今天下雨了").await;
    let prompt = world.last_prompt();
    assert!(section(&prompt, "You've been expecting").contains(EXPECTED), "{prompt}");
    assert_eq!(section(&prompt, "Expectation match"), "");
    world.talk(WEB, "面试结果出来了吗?").await;
    assert!(
        section(&world.last_prompt(), "You've been expecting").contains(EXPECTED),
        "a question tells nothing"
    );

    world.talk(WEB, "面试结果出来了,我过了!").await;
    let prompt = world.last_prompt();
    let matched = section(&prompt, "Expectation match");
    assert!(matched.starts_with(&format!("- {EXPECTED} · status=fulfilled\n")), "{prompt}");
    assert_eq!(section(&prompt, "You've been expecting"), "");
    world
        .until("the expectation to be settled", || async {
            world.store.expectation_end(id).await.unwrap().is_some()
        })
        .await;
    let settled = world.store.expectation_end(id).await.unwrap().unwrap();
    assert_eq!(settled.outcome, ExpectationOutcome::Fulfilled);
    let told = world.messages().await.into_iter().find(|message| message.content.contains("我过了")).unwrap();
    assert_eq!(settled.by, Some(told.id));

    world.talk(WEB, "面试结果我告诉过你了").await;
    let prompt = world.last_prompt();
    assert!(!prompt.contains(EXPECTED), "once: {prompt}");
    assert_eq!(world.nodes(NodeKind::Expectation).await.len(), 1, "history keeps it");
}

#[tokio::test]
async fn an_expectation_whose_time_goes_by_expires() {
    let mut world = World::new().await;
    let id = expecting(&mut world).await;
    world.pass(71 * HOUR).await;
    assert_eq!(world.store.expectation_end(id).await.unwrap(), None);
    world.pass(3 * HOUR).await;
    let settled = world.store.expectation_end(id).await.unwrap().unwrap();
    assert_eq!((settled.outcome, settled.by), (ExpectationOutcome::Expired, None));
    world.talk(WEB, "面试结果出来了,我过了!").await;
    assert!(!world.last_prompt().contains(EXPECTED), "what never came is not told");
}
