//! The trace of a turn, how long it is stored, and the daily spending limit.

use std::time::Duration;

use memory::ports::{LedgerStore, SlowCycleStore, TraceStore};
use memory::sessions::SessionStatus;
use testkit::Reply;

use crate::world::{HOUR, MINUTE, SECOND, WEB, World, scope, settings};

const DAY: Duration = Duration::from_secs(86_400);
const CAT: &str = "我养了只白猫,叫小黑";

async fn kept(world: &World, turns: usize) {
    world
        .until("the traces", || async {
            world.store.turn_traces(&scope("ann"), None, 10).await.unwrap().len() == turns
        })
        .await;
}

#[tokio::test]
async fn regenerated_reply_is_timed_from_the_request() {
    let mut world = World::new().await;
    let turn = world.talk(WEB, CAT).await["turn_id"].as_str().unwrap().parse().unwrap();
    kept(&world, 1).await;
    let store = world.store.clone();
    let duration = async || store.turn_trace(turn).await.unwrap().unwrap().head.duration_ms;
    assert_eq!(duration().await, Some(2_000));
    world.clock.advance(MINUTE).await;
    world.runtime.turns().regenerate(&scope("ann"), None).await.unwrap();
    world.hear("chat.message.done").await;
    world.until("the new trace", || async { duration().await != Some(2_000) }).await;
    let again = duration().await.unwrap();
    assert!(again < 2_000, "{again} ms: the age of the message is not part of it");
}

#[tokio::test]
async fn a_turn_tells_what_it_was_made_of_and_goes_after_its_time() {
    let mut world = World::new().await;
    world.talk(WEB, CAT).await;
    world.silence().await;
    let turn = world.talk(WEB, "你还记得我的猫吗").await["turn_id"].as_str().unwrap().parse().unwrap();
    kept(&world, 2).await;
    let trace = world.store.turn_trace(turn).await.unwrap().unwrap();
    assert_eq!((trace.head.channel_id.as_str(), trace.head.output_tokens), (WEB, Some(10)));
    assert_eq!(trace.head.duration_ms, Some(2_000), "the burst was waited for");
    let detail = trace.detail;
    assert!(detail["user_prompt"].as_str().unwrap().contains("你还记得我的猫吗"));
    assert!(detail["system_prompt"].as_str().unwrap().contains("You are Echo."));
    assert!(
        detail["retrieval"][0]["desc_snippet"].as_str().unwrap().contains("猫"),
        "{}",
        detail["retrieval"]
    );
    let steps = detail["steps"].as_array().unwrap();
    let stages: Vec<&str> = steps.iter().map(|step| step["stage"].as_str().unwrap()).collect();
    assert_eq!(
        stages,
        [
            "debounce",
            "ingest_user",
            "recent_window",
            "vector_retrieve",
            "l5_alias_scan",
            "pinned_thoughts",
            "l1_load",
            "l6_decay_check",
            "build_system_prompt",
            "build_user_prompt",
            "llm_stream",
            "ingest_persona",
            "on_turn_done",
        ]
    );
    assert_eq!((&steps[0]["t_ms"], &steps[0]["duration_ms"]), (&0.into(), &2_000.into()));
    let session = world.sessions().await.remove(0);
    assert_eq!(world.store.phases(session.id).await.unwrap().len(), 7);
    let calls = world.store.calls_of_session(session.id).await.unwrap();
    let tasks: Vec<&str> = calls.iter().map(|call| call.task.as_str()).collect();
    assert_eq!(tasks, ["extraction", "reflection", "slow_cycle"]);
    assert!(calls.iter().all(|call| call.prompt_hash.len() == 64 && call.cost_usd.is_none()));

    world.pass(13 * DAY).await;
    assert_eq!(world.store.turn_traces(&scope("ann"), None, 10).await.unwrap().len(), 2);
    world.pass(2 * DAY).await;
    assert!(world.store.turn_traces(&scope("ann"), None, 10).await.unwrap().is_empty());
    assert!(world.store.phases(session.id).await.unwrap().is_empty());
    assert!(world.store.transcripts(&scope("ann"), None, 10).await.unwrap().is_empty());
    assert!(world.store.receipt(turn).await.unwrap().is_some(), "receipts stay");
}

#[tokio::test]
async fn a_failed_turn_has_a_trace_and_a_switched_off_one_has_none() {
    let mut world = World::new().await;
    world.model.next("reply", Reply::error(400, "no such model"));
    world.say(WEB, "hello").await;
    world.clock.advance(2 * SECOND).await;
    world.hear("chat.message.failed").await;
    kept(&world, 1).await;
    let head = world.store.turn_traces(&scope("ann"), None, 1).await.unwrap().remove(0);
    let trace = world.store.turn_trace(head.turn_id).await.unwrap().unwrap();
    assert!(!trace.detail["error"].as_str().unwrap().is_empty());
    assert!(trace.detail["user_prompt"].as_str().unwrap().contains("hello"));

    let mut settings = settings();
    settings.trace.enabled = false;
    settings.consolidate.trace = false;
    let mut world = World::with(settings, None).await;
    world.talk(WEB, CAT).await;
    world.silence().await;
    assert!(world.store.turn_traces(&scope("ann"), None, 10).await.unwrap().is_empty());
    assert_eq!(
        world.store.faults().calls("store_turn_trace") + world.store.faults().calls("store_phase_trace"),
        0
    );
}

#[tokio::test]
async fn work_behind_the_talk_waits_when_the_day_has_cost_enough() {
    let mut settings = settings();
    settings.daily_spend_cap = Some(1.5);
    let mut world = World::with(settings, None).await;
    world.spend(1.5).await;
    world.talk(WEB, CAT).await;
    world.pass(HOUR).await;
    assert_eq!(world.sessions().await[0].status, SessionStatus::Closing, "it waits, and nothing is lost");
    assert!(world.model.requests_for("extraction").is_empty());
    let told = world.take_event_names().await;
    assert_eq!(told.iter().filter(|name| **name == "work.failed").count(), 1, "told once: {told:?}");
    let spending = world.runtime.spending_today().await.unwrap();
    assert!(spending.is_limit_reached() && spending.notice().unwrap().contains("llm.daily_spend_cap"));
    world.talk(WEB, "replies go on").await;

    world.pass(15 * HOUR + MINUTE).await;
    let first = world.sessions().await.remove(0);
    assert_eq!(first.status, SessionStatus::Closed, "a new day, a new purse");
    assert!(world.runtime.spending_today().await.unwrap().notice().is_none());
}
