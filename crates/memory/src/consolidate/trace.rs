//! Traces of a session's phases. The fields of the legacy API come first.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::decisions::{ReflectionDecision, SlowCycleDecision};
use super::slow_cycle_answer::CheckedCycle;
use super::{GateDecision, NewNode};
use crate::entities::Entity;
use crate::identifiers::{CycleId, EntityId};
use crate::nodes::{Node, NodeKind, RejectedMemory};
use crate::ports::{Extraction, ExtractionCommit, SlowCycleInput};
use crate::scope::Scope;

pub(super) fn gate_json(worth: GateDecision) -> Value {
    let reason = match worth {
        GateDecision::Trivial => "short, without a reason to remember it",
        GateDecision::LongEnough => "long enough",
        GateDecision::StrongEmotion => "short, but it mentions a loss, a crisis or a milestone",
        GateDecision::Substance => "short, but the user said something new",
        GateDecision::Correction => "short, but the user corrected something",
        GateDecision::Remembered => "short, but it is about an existing memory",
    };
    json!({"is_trivial": worth == GateDecision::Trivial, "reason": reason})
}

/// The parts of an answer that are not memories, for the trace.
pub(super) struct ModelNotes {
    /// Dropped parts, each with its reason.
    dropped: Vec<String>,
    /// The model's answer to the request to look again for a missed peak; empty if it gave none.
    self_check: String,
}

impl ModelNotes {
    pub(super) fn from_answer(answer: &Extraction) -> Self {
        Self { dropped: answer.notes.clone(), self_check: answer.self_check_notes.clone() }
    }
}

/// Trace of phase B. `entities` have the ids that nodes are linked to, with how each was identified.
pub(super) fn extraction_json(
    commit: &ExtractionCommit,
    entities: &[(EntityId, Entity, &'static str)],
    notes: &ModelNotes,
    started: Timestamp,
) -> Value {
    let name_of =
        |id| entities.iter().find(|(named, ..)| *named == id).map(|(_, entity, _)| &entity.canonical_name);
    let created: Vec<Value> = commit
        .nodes
        .iter()
        .map(|node| {
            json!({"id": node.id, "description": node.description, "impact": node.emotional_impact,
                "type": node.kind, "subject": node.subject})
        })
        .collect();
    let resolved: Vec<Value> = entities
        .iter()
        .map(|(_, entity, path)| {
            json!({"canonical_name": entity.canonical_name, "entity_id": entity.id, "dedup_path": path})
        })
        .collect();
    let links: Vec<Value> = commit
        .links
        .iter()
        .map(|(node, entity)| json!({"node_id": node, "entity_id": entity, "canonical_name": name_of(*entity)}))
        .collect();
    let commitments: Vec<Value> = commit
        .nodes
        .iter()
        .filter(|node| node.kind == NodeKind::Intention)
        .map(|node| json!({"id": node.id, "description": node.description}))
        .collect();
    let merged: Vec<Value> = commit
        .mentions
        .iter()
        .map(|mention| json!({"node_id": mention.node_id, "description": mention.merged.description}))
        .collect();
    json!({
        "extract_prompt": null, "extract_response_raw": null,
        "events_created": created, "entities_resolved": resolved, "junction_writes": links,
        "junction_rejects": [], "session_mood_signal": commit.mood, "commitments_extracted": commitments,
        "rejected": commit.rejected.iter().map(rejected_json).collect::<Vec<_>>(),
        "merged": merged, "session_summary": commit.summary, "self_check_notes": notes.self_check,
        "notes": notes.dropped,
        "started_at": started, "duration_ms": milliseconds(commit.at.duration_since(started)),
    })
}

fn rejected_json(rejected: &RejectedMemory) -> Value {
    json!({"id": rejected.id, "description": rejected.description, "reason": rejected.reason})
}

pub(super) fn shock_json(fresh: &[&Node]) -> Value {
    let shock = fresh.iter().find(|event| event.emotional_impact.unsigned_abs() >= super::SHOCK_IMPACT);
    json!({"shock_event_id": shock.map(|event| event.id)})
}

pub(super) fn timer_json(timer_due: bool, reflections_last_24h: usize) -> Value {
    json!({"timer_due": timer_due, "reflections_last_24h": reflections_last_24h})
}

pub(super) fn reflection_json(
    decision: ReflectionDecision,
    thoughts: &[NewNode],
    notes: &[String],
    started: Timestamp,
    ended: Timestamp,
) -> Value {
    let gate = match decision {
        ReflectionDecision::HardGate => "hard_gate_hit",
        ReflectionDecision::Shock => "shock",
        ReflectionDecision::Timer => "timer",
        ReflectionDecision::NotDue => "none",
    };
    let created: Vec<Value> = thoughts
        .iter()
        .map(|node| {
            json!({"id": node.id, "description": node.description, "impact": node.emotional_impact,
                "subject": node.subject, "filling": node.filling})
        })
        .collect();
    json!({
        "reflection_gate": gate, "reflect_prompt": null, "reflect_response_raw": null,
        "thoughts_created": created, "notes": notes,
        "started_at": started, "duration_ms": milliseconds(ended.duration_since(started)),
    })
}

pub(super) fn closed_session_json(trivial: bool, at: Option<Timestamp>) -> Value {
    let close_trigger = if trivial { "trivial" } else { "extracted" };
    json!({"status": "closed", "extracted_at": at, "close_trigger": close_trigger})
}

/// Trace of a phase G that did not run.
pub(super) fn slow_cycle_skipped(decision: SlowCycleDecision, started: Timestamp) -> Value {
    let (cool_down_ok, budget, reason) = match decision {
        SlowCycleDecision::Runs => (Some(true), Some("ok"), "it runs"),
        SlowCycleDecision::Disabled => (None, None, "it is switched off (slow_cycle.enabled)"),
        SlowCycleDecision::NothingNew => (None, None, "all recent events were already considered"),
        SlowCycleDecision::CoolingDown => {
            (Some(false), None, "the last cycle was too recent (slow_cycle.cool_down)")
        }
        SlowCycleDecision::CyclesSpent => (
            Some(true),
            Some("daily_cap"),
            "the daily limit of cycles is \
            reached",
        ),
        SlowCycleDecision::InputSpent => {
            (Some(true), Some("daily_input_tokens"), "the daily limit of input tokens is reached")
        }
        SlowCycleDecision::OutputSpent => {
            (Some(true), Some("daily_output_tokens"), "the daily limit of output tokens is reached")
        }
    };
    json!({
        "ran": false, "cool_down_ok": cool_down_ok, "budget_check": budget, "slow_cycle_prompt": null,
        "slow_cycle_response_raw": null, "nodes_written": [], "self_append_attempted": false,
        "reason": reason, "started_at": started,
    })
}

/// Trace of a phase G that ran.
pub(super) fn slow_cycle_ran(
    id: CycleId,
    nodes: &[NewNode],
    dropped: usize,
    error: Option<&str>,
    started: Timestamp,
) -> Value {
    let written: Vec<Value> = nodes.iter().map(|node| json!({"kind": node.kind, "id": node.id})).collect();
    json!({
        "ran": true, "cool_down_ok": true, "budget_check": "ok", "slow_cycle_prompt": null,
        "slow_cycle_response_raw": null, "nodes_written": written, "self_append_attempted": false,
        "cycle_id": id, "dropped": dropped, "error": error, "started_at": started,
    })
}

/// Input and answer of a cycle, for the trace.
pub(super) fn transcript_json(
    scope: &Scope,
    input: &SlowCycleInput,
    sifted: &CheckedCycle,
    nodes: &[NewNode],
) -> Value {
    let node_json = |node: &Node| {
        json!({"id": node.id, "type": node.kind, "description": node.description,
            "emotional_impact": node.emotional_impact, "created_at": node.created_at})
    };
    let of = |kind| nodes.iter().filter(move |node| node.kind == kind);
    let written = |kind| -> Vec<Value> {
        of(kind)
            .map(|node| {
                json!({"description": node.description, "subject": node.subject,
                    "emotional_impact": node.emotional_impact, "filling_event_ids": node.filling,
                    "due": node.event_time.map(|time| time.end.unwrap_or(time.start))})
            })
            .collect()
    };
    let ids = |kind| -> Vec<_> { of(kind).map(|node| node.id).collect() };
    let described: Vec<Value> =
        sifted.descriptions.iter().map(|(id, text)| json!({"entity_id": id, "description": text})).collect();
    json!({
        "persona_id": scope.persona, "user_id": scope.user, "session_id": input.session_id, "now_iso": input.now,
        "input": {
            "recent_thoughts": input.thoughts.iter().map(node_json).collect::<Vec<_>>(),
            "elapsed_hours": input.elapsed.map(|elapsed| elapsed.as_secs_f64() / 3_600.0),
            "now_iso": input.now,
            "recent_events": input.events.iter().map(node_json).collect::<Vec<_>>(),
            "expectations": input.expectations.iter().map(node_json).collect::<Vec<_>>(),
            "salient_questions": input.salient_questions,
        },
        "output": {
            "salient_questions": sifted.salient_questions,
            "new_thoughts": written(NodeKind::Thought),
            "new_expectations": written(NodeKind::Expectation),
            "new_intentions": written(NodeKind::Intention),
            "entity_descriptions": described,
            "thought_ids": ids(NodeKind::Thought),
            "expectation_ids": ids(NodeKind::Expectation),
            "intention_ids": ids(NodeKind::Intention),
            "notes": sifted.notes,
        },
    })
}

fn milliseconds(duration: SignedDuration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
