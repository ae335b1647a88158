use memory::ledger::ModelCall;
use memory::ports::{LedgerStore, TraceStore};
use serde_json::{Value, json};

use crate::home::{Home, scope, start, until, without_ids};

const UNKNOWN: &str = "01980000-0000-7000-8000-000000000000";

/// A conversation about a loss that was extracted; returns its session.
async fn remembered(home: &Home) -> String {
    remembered_of(
        home,
        &["My grandmother died last night.", "She raised me in Lisbon.", "I can't stop crying."],
    )
    .await
}

async fn remembered_of(home: &Home, lines: &[&str]) -> String {
    for line in lines {
        home.talk(line).await;
    }
    let open = home.get("/api/admin/sessions?status=open").await.json();
    let id = open["sessions"][0]["id"].as_str().unwrap().to_owned();
    home.post(&format!("/api/admin/sessions/{id}/close"), json!({})).await;
    id
}

async fn phase_g(home: &Home, session: &str) -> Value {
    let path = format!("/api/admin/sessions/{session}/consolidate-trace");
    loop {
        let trace = home.get(&path).await.json();
        if !trace["phase_g"].is_null() {
            return trace;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_turns_trace_has_the_compatible_fields() {
    let home = Home::new().await;
    let told = home.talk("I have a cat named Tom.").await;
    let turn = told.data["turn_id"].as_str().unwrap();
    while home.store.turn_traces(&scope("self"), None, 1).await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let list = home.get("/api/admin/turns").await.json();
    assert_eq!(list["limit"], 20);
    insta::assert_json_snapshot!("turn_head", without_ids(list["items"][0].clone()));
    let trace = home.get(&format!("/api/admin/turns/{turn}")).await.json();
    assert_eq!(trace["turn_id"], turn);
    for field in [
        "system_prompt",
        "user_prompt",
        "retrieval",
        "pinned_thoughts",
        "entity_alias_hits",
        "episodic_state",
        "steps",
        "prompt_hash",
        "cut",
        "error",
    ] {
        assert!(trace.get(field).is_some(), "{field}");
    }
    assert!(trace["pinned_thoughts"]["user"].is_array() && trace["pinned_thoughts"]["persona"].is_array());
    assert_eq!(trace["steps"][0]["stage"], "debounce");
    home.get(&format!("/api/admin/turns/{UNKNOWN}")).await.is_problem(404);
    home.get("/api/admin/turns/turn-9f0c1d2e3a4b").await.is_problem(404);
    for query in ["limit=0", "limit=201", "limit=many", "cursor=garbage"] {
        home.get(&format!("/api/admin/turns?{query}")).await.is_problem(422);
    }
    assert_eq!(home.get("/api/admin/turns?limit=200").await.json()["items"].as_array().unwrap().len(), 1);
    home.get("/api/admin/turns?persona_id=nope").await.is_problem(404);
    assert_eq!(home.get("/api/admin/turns?user_id=nobody").await.json()["items"], json!([]));
}

async fn turn_traces(home: &Home) -> Vec<Value> {
    home.get("/api/admin/turns?limit=200").await.json()["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn deletion_takes_only_the_traces_that_quote_the_deleted() {
    let home = Home::new().await;
    let session = remembered(&home).await;
    phase_g(&home, &session).await;
    home.clock.set(start() + std::time::Duration::from_secs(86_400));
    for line in ["What a windy day it is.", "I bought three red apples."] {
        home.talk(line).await;
    }
    while turn_traces(&home).await.len() < 5 {
        tokio::task::yield_now().await;
    }
    let thoughts = home.get("/api/admin/memory/thoughts").await.json();
    let thought = thoughts["items"][0].clone();
    let (id, words) = (thought["id"].as_str().unwrap(), thought["description"].as_str().unwrap());
    let mut quoting = Vec::new();
    for trace in turn_traces(&home).await {
        let turn = trace["turn_id"].as_str().unwrap().to_owned();
        let whole = home.get(&format!("/api/admin/turns/{turn}")).await.text;
        quoting.push((turn, whole.contains(words)));
    }
    assert!(quoting.iter().any(|(_, quotes)| *quotes), "a later prompt holds the thought: {words}");
    assert!(quoting.iter().any(|(_, quotes)| !quotes), "earlier ones do not");
    let gone = home.ask(axum::http::Method::DELETE, &format!("/api/admin/memory/thoughts/{id}"), None).await;
    assert_eq!(gone.status, 200, "{}", gone.text);
    for (turn, quotes) in quoting {
        let answer = home.get(&format!("/api/admin/turns/{turn}")).await;
        assert_eq!(answer.status, if quotes { 404 } else { 200 }, "{turn}");
        assert!(!answer.text.contains(words));
    }
}

#[tokio::test]
async fn a_sessions_trace_names_every_phase() {
    let home = Home::new().await;
    let session = remembered(&home).await;
    let trace = phase_g(&home, &session).await;
    assert_eq!(trace["session_id"], session.as_str());
    assert!(trace["finished_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(trace["phase_a"]["is_trivial"], false);
    for field in [
        "extract_prompt",
        "extract_response_raw",
        "events_created",
        "entities_resolved",
        "junction_writes",
        "junction_rejects",
        "session_mood_signal",
        "commitments_extracted",
        "rejected",
        "self_check_notes",
        "notes",
        "duration_ms",
    ] {
        assert!(trace["phase_b"].get(field).is_some(), "{field}");
    }
    assert!(trace["phase_c"]["shock_event_id"].is_string(), "a death shakes");
    assert_eq!(trace["phase_d"], json!({"timer_due": true, "reflections_last_24h": 0}));
    assert_eq!(trace["phase_e"]["reflection_gate"], "shock");
    assert_eq!(trace["phase_f"]["close_trigger"], "extracted");
    let slow = &trace["phase_g"];
    assert_eq!(
        (&slow["ran"], &slow["budget_check"], &slow["self_append_attempted"]),
        (&json!(true), &json!("ok"), &json!(false))
    );
    assert_eq!(slow["nodes_written"], json!([]), "the reflection has told it all");
    home.get(&format!("/api/admin/sessions/{UNKNOWN}/consolidate-trace")).await.is_problem(404);
}

#[tokio::test]
async fn transcripts_of_slow_cycles_are_listed_and_read() {
    let home = Home::new().await;
    assert_eq!(
        home.get("/api/admin/slow-tick/transcripts").await.json(),
        json!({"count": 0, "items": [], "next_cursor": null})
    );
    let session = remembered(&home).await;
    phase_g(&home, &session).await;
    // An hour without messages later there is no reflection, and new material for the slow cycle.
    let later = memory::ports::Clock::now(&home.clock) + std::time::Duration::from_secs(3_600);
    home.clock.set(later);
    let mut watcher = home.runtime.broadcast().subscribe();
    let session = remembered_of(&home, &["I have a cat named Tom."]).await;
    let told = until(&mut watcher, &["memory.thought.created"]).await;
    assert_eq!((&told.data["source"], &told.data["session_id"]), (&json!("slow_tick"), &Value::Null));
    let trace = phase_g(&home, &session).await;
    assert_eq!(trace["phase_g"]["nodes_written"][0]["kind"], "thought");
    let list = home.get("/api/admin/slow-tick/transcripts?limit=100000").await.json();
    assert_eq!(list["count"], 2);
    let path = "/api/admin/slow-tick/transcripts";
    let first = home.get(&format!("{path}?limit=1")).await.json();
    let next = first["next_cursor"].as_str().unwrap();
    let second = home.get(&format!("{path}?limit=1&cursor={next}")).await.json();
    assert_eq!(json!([first["items"][0], second["items"][0]]), list["items"]);
    assert_eq!(second["next_cursor"], Value::Null);
    assert_eq!(home.get(&format!("{path}?user_id=ann")).await.json()["count"], 0);
    home.get(&format!("{path}?cursor=garbage")).await.is_problem(422);
    let head = &list["items"][0];
    assert!(head["size_bytes"].as_u64().unwrap() > 100 && head["created_at"].is_string());
    let path = format!("/api/admin/slow-tick/transcripts/{}", head["cycle_id"].as_str().unwrap());
    let transcript = home.get(&path).await.json();
    for field in ["recent_thoughts", "elapsed_hours", "now_iso", "recent_events"] {
        assert!(transcript["input"].get(field).is_some(), "{field}");
    }
    for field in ["salient_questions", "new_thoughts", "new_expectations", "thought_ids", "expectation_ids"] {
        assert!(transcript["output"][field].is_array(), "{field}");
    }
    assert_eq!(transcript["persona_id"], "default");
    assert_eq!(transcript["output"]["new_thoughts"][0]["subject"], "user");
    home.get("/api/admin/slow-tick/transcripts/..secret").await.is_problem(400);
    home.get("/api/admin/slow-tick/transcripts/.hidden").await.is_problem(400);
    home.get("/api/admin/slow-tick/transcripts/20260502T190411_default").await.is_problem(404);
    let thoughts = home.get("/api/admin/memory/thoughts?subject=user").await.json();
    assert_eq!(thoughts["items"][0]["source"], "slow_tick");
    assert_eq!(thoughts["items"][0]["source_session_id"], Value::Null);
}

#[tokio::test]
async fn turns_and_calls_are_read_page_by_page() {
    let home = Home::new().await;
    for line in ["one", "two", "three"] {
        home.talk(line).await;
    }
    while home.store.turn_traces(&scope("self"), None, 9).await.unwrap().len() < 3 {
        tokio::task::yield_now().await;
    }
    for _ in 0..3 {
        home.store.record_call(call(0, "reply", "large", None)).await.unwrap();
    }
    for (path, id) in [("/api/admin/turns", "turn_id"), ("/api/admin/cost/recent", "id")] {
        let all = home.get(path).await.json();
        let all: Vec<Value> = all["items"].as_array().unwrap().iter().map(|item| item[id].clone()).collect();
        let (mut seen, mut query) = (Vec::new(), "?limit=2".to_owned());
        loop {
            let page = home.get(&format!("{path}{query}")).await.json();
            seen.extend(page["items"].as_array().unwrap().iter().map(|item| item[id].clone()));
            let Some(next) = page["next_cursor"].as_str() else { break };
            query = format!("?limit=2&cursor={next}");
        }
        assert_eq!(seen, all, "{path}");
        home.get(&format!("{path}?cursor=garbage")).await.is_problem(422);
    }
}

/// A call this many hours ago.
fn call(hours: i64, task: &str, tier: &str, cost_usd: Option<f64>) -> ModelCall {
    ModelCall {
        at: start() - jiff::SignedDuration::from_hours(hours),
        task: task.to_owned(),
        tier: tier.to_owned(),
        provider: "openai".to_owned(),
        model: "gpt-x".to_owned(),
        input_tokens: 1_000,
        output_tokens: 100,
        cached_tokens: 400,
        latency_ms: 900,
        outcome: "ok".to_owned(),
        turn_id: None,
        session_id: None,
        prompt_hash: "ab".repeat(32),
        cost_usd,
    }
}

#[tokio::test]
async fn costs_are_summed_by_feature_and_day() {
    let home = Home::new().await;
    for call in [
        call(24 * 40, "reply", "large", Some(9.0)),
        call(24 * 8, "reply", "large", Some(4.0)),
        call(24, "extraction", "small", Some(0.25)),
        call(1, "reply", "large", Some(0.5)),
        call(0, "slow_cycle", "medium", None),
    ] {
        home.store.record_call(call).await.unwrap();
    }
    let today = home.get("/api/admin/cost/summary?range=today").await.json();
    insta::assert_json_snapshot!("cost_today", today);
    let week = home.get("/api/admin/cost/summary?range=7d").await.json();
    assert_eq!((&week["range"], &week["total_usd"]), (&json!("7d"), &json!(0.75)));
    let days: Vec<&str> =
        week["by_day"].as_array().unwrap().iter().map(|day| day["date"].as_str().unwrap()).collect();
    assert_eq!(days, ["2026-05-01", "2026-05-02"]);
    assert_eq!(week["by_feature"]["consolidate"]["calls"], 1);
    let month = home.get("/api/admin/cost/summary").await.json();
    assert_eq!((&month["range"], &month["total_usd"]), (&json!("30d"), &json!(4.75)));
    home.get("/api/admin/cost/summary?range=90d").await.is_problem(422);

    let recent = home.get("/api/admin/cost/recent?limit=2").await.json();
    assert_eq!((&recent["limit"], recent["items"].as_array().unwrap().len()), (&json!(2), 2));
    insta::assert_json_snapshot!("cost_recent", recent["items"][0]);
    assert_eq!(
        (&recent["items"][1]["feature"], &recent["items"][1]["tier"]),
        (&json!("chat"), &json!("main"))
    );
    home.get("/api/admin/cost/recent?limit=0").await.is_problem(422);
    let status = home.get("/api/admin/status").await.json();
    assert_eq!(
        status["spending"],
        json!({"today_usd": 0.5, "daily_cap_usd": null, "paused": false, "notice": null})
    );
}

#[tokio::test]
async fn deleting_a_thought_leaves_the_steps_of_its_sessions_trace_that_do_not_quote_it() {
    let home = Home::new().await;
    let session = remembered(&home).await;
    let before = phase_g(&home, &session).await;
    let thought = before["phase_e"]["thoughts_created"][0]["id"].as_str().expect("a thought").to_owned();
    let path = format!("/api/admin/memory/thoughts/{thought}");
    assert_eq!(home.ask(axum::http::Method::DELETE, &path, None).await.status, 200);
    let after = home.get(&format!("/api/admin/sessions/{session}/consolidate-trace")).await.json();
    assert_eq!(after["phase_e"], Value::Null, "it named the thought: {after}");
    for phase in ["phase_a", "phase_b", "phase_c", "phase_d", "phase_f"] {
        assert_eq!(after[phase], before[phase], "{phase}");
    }
}
