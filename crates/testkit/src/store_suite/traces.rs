//! Laws of costs and traces.

use memory::identifiers::SessionId;
use memory::ledger::{ModelCall, TokenUsage};
use memory::ports::{PhaseTrace, Store, TurnSummary, TurnTrace};
use serde_json::json;

use super::Outcome;
use super::stage::{Stage, at};

/// Sums are by task and quarter of an hour. An unknown price does not count as zero.
pub async fn costs_are_added_up(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let session = SessionId(stage.id());
    let call = |seconds: i64, task: &str, cost_usd: Option<f64>| ModelCall {
        at: at(seconds),
        task: task.to_owned(),
        tier: "small".to_owned(),
        provider: "scripted".to_owned(),
        model: "model".to_owned(),
        input_tokens: 1_000,
        output_tokens: 20,
        cached_tokens: 400,
        latency_ms: 12,
        outcome: "ok".to_owned(),
        turn_id: None,
        session_id: (task == "extraction").then_some(session),
        prompt_hash: format!("digest of {task}"),
        cost_usd,
    };
    let calls = [
        call(10, "reply", Some(0.5)),
        call(20, "extraction", Some(0.25)),
        call(30, "reply", None),
        call(1_000, "reply", Some(1.0)),
    ];
    for call in &calls {
        store.record_call(call.clone()).await?;
    }
    let sums = store.call_sums_since(at(0)).await?;
    let listed: Vec<_> = sums
        .iter()
        .map(|sum| (sum.quarter, sum.task.as_str(), sum.calls, sum.unpriced_calls, sum.cost_usd))
        .collect();
    assert_eq!(
        listed,
        [(at(0), "extraction", 1, 0, 0.25), (at(0), "reply", 2, 1, 0.5), (at(900), "reply", 1, 0, 1.0)]
    );
    assert_eq!(sums[1].usage, TokenUsage { input_tokens: 2_000, output_tokens: 40, cached_tokens: 800 });
    assert!((store.spent_since(at(20)).await? - 1.25).abs() < 1e-9);
    assert!(store.spent_since(at(5_000)).await?.abs() < 1e-9);
    let recent = store.recent_calls(None, 2).await?;
    assert!(recent[0].0 > recent[1].0, "newest first");
    assert_eq!(
        recent.into_iter().map(|(_, call)| call).collect::<Vec<_>>(),
        [calls[3].clone(), calls[2].clone()]
    );
    let before = store.recent_calls(None, 2).await?.pop().map(|(number, _)| number);
    let earlier: Vec<_> = store.recent_calls(before, 1).await?.into_iter().map(|(_, call)| call).collect();
    assert_eq!(earlier, [calls[1].clone()]);
    assert_eq!(store.calls_of_session(session).await?, [calls[1].clone()]);
    Ok(())
}

/// A trace belongs to its turn, the last one replaces earlier ones, and it expires.
pub async fn traces_of_turns_are_stored_for_a_limited_time(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let mut heads = Vec::new();
    for seconds in [10, 20] {
        let turn_id = stage.turn_id();
        let mut line = stage.user_line("hello", seconds);
        line.turn_id = Some(turn_id);
        stage.capture(line).await?;
        let head = TurnSummary {
            turn_id,
            scope: stage.scope.clone(),
            channel_id: "web".to_owned(),
            started_at: at(seconds),
            finished_at: Some(at(seconds + 2)),
            duration_ms: Some(2_000),
            first_token_ms: Some(300),
            input_tokens: Some(100),
            output_tokens: None,
            llm_model: Some("model".to_owned()),
        };
        for attempt in 1..=2 {
            let detail = json!({"attempt": attempt});
            store.store_turn_trace(TurnTrace { head: head.clone(), detail }).await?;
        }
        heads.push(head);
    }
    let unknown = TurnSummary { turn_id: stage.turn_id(), ..heads[0].clone() };
    store.store_turn_trace(TurnTrace { head: unknown, detail: json!({}) }).await?;
    heads.reverse();
    assert_eq!(store.turn_traces(&stage.scope, None, 10).await?, heads);
    assert_eq!(store.turn_traces(&stage.scope, None, 1).await?, [heads[0].clone()]);
    let place = Some((heads[0].started_at, heads[0].turn_id));
    assert_eq!(store.turn_traces(&stage.scope, place, 10).await?, [heads[1].clone()]);
    assert!(store.turn_traces(&stage.other, None, 10).await?.is_empty(), "another's turns are not ours");
    let trace = TurnTrace { head: heads[1].clone(), detail: json!({"attempt": 2}) };
    assert_eq!(store.turn_trace(heads[1].turn_id).await?, Some(trace));
    assert_eq!(store.drop_traces(at(15)).await?, 1);
    assert_eq!(store.turn_trace(heads[1].turn_id).await?, None);
    assert_eq!(store.turn_traces(&stage.scope, None, 10).await?.len(), 1);
    Ok(())
}

/// The phases of a session are listed in order, each from its last attempt.
pub async fn traces_of_sessions_are_stored_for_a_limited_time(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (_, session) = stage.claimed_session("hello", 10).await?;
    let phase = |phase, seconds| PhaseTrace { phase, detail: json!({"at": seconds}), at: at(seconds) };
    for trace in [phase('b', 30), phase('a', 20), phase('b', 40)] {
        store.store_phase_trace(session.id, trace).await?;
    }
    store.store_phase_trace(SessionId(stage.id()), phase('a', 20)).await?;
    assert_eq!(store.phases(session.id).await?, [phase('a', 20), phase('b', 40)]);
    assert_eq!(store.drop_traces(at(40)).await?, 1);
    assert_eq!(store.phases(session.id).await?, [phase('b', 40)]);
    Ok(())
}
