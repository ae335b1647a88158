//! Proactive messages: what triggers them, what prevents them, and what is stored of each decision.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use memory::identifiers::NodeId;
use memory::messages::Role;
use memory::nodes::NodeKind;
use memory::ports::{Clock as _, LedgerStore as _, ProactiveStore, UserStore as _};
use memory::proactive::{ListedDecision, ProactiveGate, ProactiveOutcome, ProactiveTrigger};
use runtime::{ProactiveSettings, RuntimeSettings};
use serde_json::json;
use testkit::scripted_model::Reply;
use tokio::sync::Notify;

use crate::plans::{Plan, commit_plan};
use crate::world::{HOUR, MINUTE, SECOND, WEB, World, scope, settings};

const TICK: Duration = Duration::from_secs(600);
const PROMISE: &str = "周四问她面试怎么样";

fn proactive(change: impl FnOnce(&mut ProactiveSettings)) -> RuntimeSettings {
    let mut proactive = ProactiveSettings { enabled: true, tick: TICK, ..ProactiveSettings::default() };
    change(&mut proactive);
    RuntimeSettings { proactive, ..settings() }
}

async fn world(change: impl FnOnce(&mut ProactiveSettings)) -> World {
    World::with(proactive(change), None).await
}

/// The persona has a promise that is due in this many hours.
pub(crate) async fn holding(
    world: &mut World,
    kind: NodeKind,
    text: &str,
    hours: i64,
    number: u64,
) -> NodeId {
    world.talk(WEB, "我有一场面试,在周四,很紧张").await;
    world.silence().await;
    let event = world.nodes(NodeKind::Event).await.pop().unwrap();
    let start = world.clock.now() + SignedDuration::from_hours(hours);
    commit_plan(world, &event, Plan { kind, text, start, number }).await
}

async fn decisions(world: &World) -> Vec<ListedDecision> {
    let mut decisions = world.store.decisions(None, None, 1_000).await.unwrap();
    decisions.reverse();
    decisions
}

async fn sent(world: &World) -> Vec<ListedDecision> {
    let all = decisions(world).await.into_iter();
    all.filter(|one| one.decision.outcome == Some(ProactiveOutcome::Sent)).collect()
}

#[tokio::test]
async fn a_promise_is_kept_when_its_time_comes_once_and_says_why() {
    let mut world = world(|_| {}).await;
    world
        .model
        .answer_task("proactive", |_| Reply::json(json!({"message": "面试怎么样了?", "reason": "due"})));
    let id = holding(&mut world, NodeKind::Intention, PROMISE, 5, 99).await;
    world.pass(4 * HOUR).await;
    assert!(sent(&world).await.is_empty());
    world.pass(2 * HOUR).await;
    let done = world.hear_until("chat.message.done", |data| data["turn_id"].is_null()).await;
    assert_eq!((&done["content"], &done["source_channel_id"]), (&json!("面试怎么样了?"), &json!(WEB)));
    assert_eq!(done["in_reply_to_turn_id"], json!(null));
    let kept = world.messages().await.pop().unwrap();
    assert_eq!((kept.role, kept.turn_id, kept.content.as_str()), (Role::Persona, None, "面试怎么样了?"));
    let all = sent(&world).await;
    let [one] = all.as_slice() else { panic!("{all:?}") };
    let trigger = one.decision.trigger.clone().unwrap();
    assert_eq!((trigger.trigger, trigger.node), (ProactiveTrigger::PromiseDue, Some(id)));
    assert_eq!((one.decision.message_id, one.about.as_deref()), (Some(kept.id), Some(PROMISE)));
    assert_eq!(one.decision.reason_sentence(), "a promise was due");
    let receipt = world.store.receipt(memory::identifiers::TurnId(one.decision.id.0)).await.unwrap().unwrap();
    assert_eq!(receipt.prompt_hash.len(), 64);
    let behind = world.store.decisions_behind(&[kept.seq, kept.seq + 1]).await.unwrap();
    assert_eq!(behind, BTreeMap::from([(kept.seq, one.decision.id)]));
    let request = world.model.requests_for("proactive").pop().unwrap();
    assert!(request.system().contains("You are Echo.") && request.system().contains("# Writing first"));
    assert!(request.user().contains(PROMISE) && !request.user().contains("# What they just said"));
    world.pass(20 * HOUR).await;
    let again = sent(&world).await.into_iter().filter(|one| one.about.as_deref() == Some(PROMISE)).count();
    assert_eq!(again, 1, "a trigger is used once");
}

#[tokio::test]
async fn promises_due_at_night_are_kept_in_the_morning_of_the_users_zone() {
    // 09:32 UTC is 17:32 in Shanghai; nine hours later it is 02:32.
    let mut world = world(|_| {}).await;
    world.store.ensure_user(&scope("ann").user, world.clock.now()).await.unwrap();
    world.store.set_user_timezone(&scope("ann").user, Some("Asia/Shanghai".to_owned())).await.unwrap();
    holding(&mut world, NodeKind::Intention, PROMISE, 9, 99).await;
    world.pass(24 * HOUR).await;
    let all = sent(&world).await;
    let [one] = all.as_slice() else { panic!("{all:?}") };
    let zone = jiff::tz::TimeZone::get("Asia/Shanghai").unwrap();
    assert_eq!(one.decision.at.to_zoned(zone).hour(), 7);
    let quiet: Vec<_> = decisions(&world)
        .await
        .into_iter()
        .filter(|one| one.decision.gate == Some(ProactiveGate::QuietHours))
        .collect();
    assert!(quiet.iter().any(|one| one.about.as_deref() == Some(PROMISE)), "why it was quiet: {quiet:?}");
    assert!(quiet.len() <= 2, "a decision that stands is one row: {quiet:?}");
}

#[tokio::test]
async fn silence_of_the_model_is_kept_as_a_decision_and_not_asked_about_again() {
    let mut world = world(|_| {}).await;
    world.model.answer_task("proactive", |_| Reply::json(json!({"message": null, "reason": "not now"})));
    holding(&mut world, NodeKind::Expectation, "她会说起面试的结果", 2, 99).await;
    let before = world.messages().await.len();
    world.pass(5 * HOUR).await;
    assert_eq!(world.messages().await.len(), before);
    assert_eq!(world.model.requests_for("proactive").len(), 1);
    let said: Vec<_> = decisions(&world).await.into_iter().map(|one| one.decision).collect();
    let nothing =
        said.iter().find(|one| one.outcome == Some(ProactiveOutcome::NothingToSay) && one.gate.is_none());
    assert_eq!(
        nothing.unwrap().reason_sentence(),
        "an expectation was due, but the persona had nothing to say"
    );
}

#[tokio::test]
async fn a_model_that_fails_is_asked_again_and_the_promise_is_explained_in_the_end() {
    let mut world = world(|_| {}).await;
    world.model.answer_task("proactive", |_| Reply::error(500, "tired"));
    holding(&mut world, NodeKind::Intention, PROMISE, 2, 99).await;
    world.pass(60 * HOUR).await;
    let about: Vec<_> = decisions(&world)
        .await
        .into_iter()
        .filter(|one| one.about.as_deref() == Some(PROMISE))
        .map(|one| one.decision)
        .collect();
    let failed = about.iter().filter(|one| one.outcome == Some(ProactiveOutcome::Failed)).count();
    assert_eq!(failed, 3, "{about:?}");
    assert!(about.iter().any(|one| one.gate == Some(ProactiveGate::TooLate)), "{about:?}");
    assert!(!about.iter().any(|one| one.outcome == Some(ProactiveOutcome::Sent)));
}

#[tokio::test]
async fn the_cap_and_the_cold_are_respected_and_a_word_warms_again() {
    let mut world = world(|settings| {
        settings.max_per_24h = 2;
        settings.long_silence = HOUR;
    })
    .await;
    for (number, hours) in [(91, 2), (92, 3), (93, 4), (94, 30), (95, 31)] {
        holding(&mut world, NodeKind::Intention, &format!("promise {number}"), hours, number).await;
    }
    world.pass(12 * HOUR).await;
    let first = sent(&world).await.len();
    assert_eq!(first, 2, "{:?}", decisions(&world).await);
    world.pass(30 * HOUR).await;
    assert_eq!(sent(&world).await.len(), 2, "two messages without an answer: cold");
    let gates: Vec<_> = decisions(&world).await.into_iter().filter_map(|one| one.decision.gate).collect();
    assert!(
        gates.contains(&ProactiveGate::RateLimit) && gates.contains(&ProactiveGate::ColdUser),
        "{gates:?}"
    );
    world.talk(WEB, "我回来了").await;
    world.pass(3 * HOUR).await;
    assert!(sent(&world).await.len() > 2, "{:?}", decisions(&world).await);
}

#[tokio::test]
async fn a_word_mutes_for_a_day() {
    let mut world = world(|settings| settings.long_silence = 2 * HOUR).await;
    world.talk(WEB, " /Quiet ").await;
    world.pass(23 * HOUR).await;
    assert!(sent(&world).await.is_empty());
    let last = decisions(&world).await.pop().unwrap().decision;
    assert_eq!((last.outcome, last.gate), (Some(ProactiveOutcome::Dropped), Some(ProactiveGate::Muted)));
    world.pass(2 * HOUR).await;
    assert_eq!(sent(&world).await.len(), 1);
    let until = world.clock.now() + SignedDuration::from_hours(1);
    assert!(world.store.mute(&scope("ann").user, Some(until)).await.unwrap());
    assert_eq!(world.store.muted_until(&scope("ann").user).await.unwrap(), Some(until));
    assert!(!world.store.mute(&scope("nobody").user, Some(until)).await.unwrap());
}

#[tokio::test]
async fn running_conversations_are_not_interrupted() {
    let mut world = world(|settings| {
        settings.tick = MINUTE;
        settings.long_silence = 365 * 24 * HOUR;
    })
    .await;
    holding(&mut world, NodeKind::Intention, PROMISE, 1, 99).await;
    world.pass(58 * MINUTE).await;
    // A reply that hangs keeps the turn running while the promise becomes due.
    let never = Arc::new(Notify::new());
    world.model.answer_task("reply", move |_| Reply::text("…").delay_first_token_until(&never));
    world.accept("ann", "elsewhere", "wait, I have to tell you something").await.unwrap();
    world.clock.advance(90 * SECOND).await;
    world
        .until("the look around", || async {
            world.clock.advance(SECOND).await;
            decisions(&world).await.iter().any(|one| {
                one.decision.gate == Some(ProactiveGate::TurnInFlight)
                    && one.decision.outcome == Some(ProactiveOutcome::Deferred)
            })
        })
        .await;
    assert!(sent(&world).await.is_empty());
}

#[tokio::test]
async fn a_crash_while_it_writes_leaves_a_trace_and_no_message() {
    let mut world = world(|_| {}).await;
    holding(&mut world, NodeKind::Intention, PROMISE, 2, 99).await;
    let before = world.messages().await.len();
    let never = Arc::new(Notify::new());
    world.model.answer_task("proactive", move |_| Reply::text("…").delay_first_token_until(&never));
    world
        .until("the question", || async {
            // Time advances only while the loop sleeps, so that one iteration is complete before the next.
            if world.clock.sleepers_for(TICK) == 1 {
                world.clock.advance(MINUTE).await;
            }
            !world.model.requests_for("proactive").is_empty()
        })
        .await;
    world
        .model
        .answer_task("proactive", |_| Reply::json(json!({"message": "How did it go?", "reason": "due"})));
    world.restart_after(SECOND).await;
    world
        .until("the trace", || async {
            let all = decisions(&world).await;
            all.iter().any(|one| one.decision.outcome == Some(ProactiveOutcome::Failed))
        })
        .await;
    let all = decisions(&world).await;
    let failed = all.iter().find(|one| one.decision.outcome == Some(ProactiveOutcome::Failed)).unwrap();
    assert!(
        failed.decision.reason_sentence().contains("nothing was sent"),
        "{}",
        failed.decision.reason_sentence()
    );
    assert_eq!(world.messages().await.len(), before);
    world.pass(HOUR).await;
    assert_eq!(world.messages().await.last().unwrap().content, "How did it go?", "and it is kept after all");
}

#[tokio::test]
async fn nothing_is_sent_to_whom_never_spoke_and_nothing_while_disabled() {
    let world = world(|settings| settings.long_silence = HOUR).await;
    world.runtime.ensure_scope_exists(&scope("ann")).await.unwrap();
    world.pass(5 * HOUR).await;
    assert!(decisions(&world).await.is_empty());
    let mut off = World::with(
        proactive(|settings| {
            settings.enabled = false;
            settings.long_silence = HOUR;
        }),
        None,
    )
    .await;
    off.talk(WEB, "hello").await;
    off.pass(5 * HOUR).await;
    assert!(decisions(&off).await.is_empty());
}
