//! The trace of a turn: its prompts, memories and steps with their times, for a person who asks why.

use std::sync::Arc;

use futures_util::future::OptionFuture;
use hub::RelatedMemory;
use jiff::Timestamp;
use memory::identifiers::{MessageId, NodeId};
use memory::ledger::TokenUsage;
use memory::messages::Message;
use memory::mood::Mood;
use memory::nodes::Node;
use memory::ports::{TurnSummary, TurnTrace};
use memory::recall::{Candidate, CandidateKind, OutdatedValues, RecallResult};
use mind::{RenderedReply, ReplyInput};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use crate::core::RuntimeCore;
use crate::forget_epochs::ForgetEpoch;
use crate::turns::conversations::ReadyTurn;

/// Maximum length of a memory's text in a list, in characters. It is one line in a terminal.
const SNIPPET_LENGTH: usize = 80;
/// Maximum length of a pinned thought, in characters. Thoughts are shown without a second line of explanation.
const THOUGHT_LENGTH: usize = 120;
/// Maximum memories to list that were not used. Traces are stored for each turn; the first of these show where the
/// limit was.
const FALLEN_MEMORIES_MAX: usize = 20;

/// The trace of a running turn.
pub(crate) struct TurnRecord {
    enabled: bool,
    /// Time of the first message, once it is known; before that, the time at which the turn was resumed.
    started_at: Timestamp,
    /// Time at which the last step ended.
    last: Timestamp,
    first_token_ms: Option<i64>,
    usage: Option<TokenUsage>,
    model: Option<String>,
    is_resumed: bool,
    steps: Vec<Value>,
    detail: Map<String, Value>,
    /// The result of speaking the reply, once it is known.
    speech: Option<oneshot::Receiver<Value>>,
    /// Number of deletions before the turn began. After a later one the trace is not stored.
    forgotten: ForgetEpoch,
}

impl TurnRecord {
    /// Starts the trace of a resumed turn.
    pub(crate) fn begin(core: &RuntimeCore, turn: &ReadyTurn) -> Self {
        let now = core.clock().now();
        Self {
            enabled: core.settings().trace.enabled,
            started_at: now,
            last: now,
            first_token_ms: None,
            usage: None,
            model: None,
            is_resumed: turn.is_resumed,
            steps: Vec::new(),
            detail: Map::new(),
            speech: None,
            forgotten: core.forget_epochs.for_scope(&turn.scope),
        }
    }

    /// Records the burst and its waiting time.
    pub(crate) fn note_burst(&mut self, burst: &[Message]) {
        let Some(first) = burst.first() else { return };
        let taken_up = self.last;
        // Nobody waited for a resumed turn, so the age of its messages does not count as its duration.
        self.started_at = if self.is_resumed { taken_up } else { first.created_at.min(taken_up) };
        self.last = self.started_at;
        let channel = json!({"messages": burst.len()});
        self.push_step("debounce", taken_up, channel);
        let ids: Vec<MessageId> = burst.iter().map(|message| message.id).collect();
        self.push_step("ingest_user", taken_up, json!({"message_ids": ids}));
    }

    /// Records that a step has ended.
    pub(crate) fn note_step(&mut self, core: &RuntimeCore, stage: &'static str, detail: Value) {
        self.push_step(stage, core.clock().now(), detail);
    }

    fn push_step(&mut self, stage: &'static str, now: Timestamp, detail: Value) {
        let t_ms = milliseconds_between(self.started_at, self.last);
        let duration_ms = milliseconds_between(self.last, now);
        self.steps.push(json!({"stage": stage, "t_ms": t_ms, "duration_ms": duration_ms, "detail": detail}));
        self.last = now;
    }

    /// Records the documents, the periods that the messages ask about, and related memories of other programs;
    /// without their texts.
    pub(crate) fn note_documents(&mut self, input: &ReplyInput, related: &[RelatedMemory]) {
        let names =
            |texts: &[(String, String)]| texts.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        self.set_field("documents", json!(names(&input.documents)));
        self.set_field("periods", json!(names(&input.periods)));
        let related = related.iter().map(|memory| {
            json!({"kind": memory.kind, "date": memory.name.date(), "source_instance": memory.source_instance,
                "relevance": memory.relevance})
        });
        self.set_field("related_documents", related.collect());
    }

    /// Notes the result of recall.
    pub(crate) fn note_recall(&mut self, core: &RuntimeCore, recalled: &RecallResult) {
        if !self.enabled {
            return;
        }
        let hits: Vec<Value> = recalled
            .entities
            .iter()
            .map(|entity| {
                json!({"entity_id": entity.id, "canonical_name": entity.canonical_name, "kind": entity.kind})
            })
            .collect();
        let pinned = &recalled.pinned;
        let (embed, fetch, score) = (recalled.elapsed.embed, recalled.elapsed.fetch, recalled.elapsed.score);
        self.note_step(
            core,
            "vector_retrieve",
            json!({
                "embed_ms": embed, "fetch_ms": fetch, "score_ms": score,
                "candidates": recalled.candidates.len(), "chosen": recalled.nodes.len(),
                "passages": recalled.passages.len(), "words_only": recalled.words_only,
            }),
        );
        // Part of the step before, so these take no time of their own.
        self.note_step(core, "l5_alias_scan", json!({"hits": hits.len()}));
        self.note_step(
            core,
            "pinned_thoughts",
            json!({
                "user": pinned.about_user.len(), "persona": pinned.about_self.len(),
                "intentions": pinned.intentions.len(), "expectations": pinned.expectations.len(),
                "fulfilled": pinned.fulfilled.len(), "sessions": pinned.summaries.len(),
            }),
        );
        let nodes = || recalled.candidates.iter().filter(|found| found.kind == CandidateKind::Node);
        let retrieval: Vec<Value> = nodes().filter(|found| found.used).map(retrieved_json).collect();
        let fallen: Vec<Value> =
            nodes().filter(|found| !found.used).take(FALLEN_MEMORIES_MAX).map(retrieved_json).collect();
        self.set_field("retrieval", json!(retrieval));
        self.set_field("fallen", json!(fallen));
        self.set_field(
            "pinned_thoughts",
            json!({
                "user": thoughts_json(&pinned.about_user), "persona": thoughts_json(&pinned.about_self),
            }),
        );
        self.set_field("entity_alias_hits", json!(hits));
        self.set_field("expectation_matches", json!(thoughts_json(&pinned.fulfilled)));
    }

    /// Records values that were left out because they are no longer current.
    pub(crate) fn record_omitted_values(&mut self, corrected: &OutdatedValues) {
        self.set_field("held_back", json!(corrected.held_back));
    }

    /// Records the persona's mood.
    pub(crate) fn note_mood(&mut self, core: &RuntimeCore, mood: Option<&Mood>) {
        self.note_step(core, "l6_decay_check", json!({"neutral": mood.is_none_or(Mood::is_neutral)}));
        self.set_field("episodic_state", json!(mood));
    }

    pub(crate) fn note_prompt(&mut self, core: &RuntimeCore, prompt: &RenderedReply) {
        if !self.enabled {
            return;
        }
        self.note_step(core, "build_system_prompt", json!({"characters": prompt.system.chars().count()}));
        self.note_step(
            core,
            "build_user_prompt",
            json!({
                "characters": prompt.user.chars().count(), "tokens": prompt.tokens, "cut": prompt.cut,
                "prompt_hash": prompt.prompt_hash,
            }),
        );
        self.set_field("system_prompt", json!(prompt.system));
        self.set_field("user_prompt", json!(prompt.user));
        self.set_field("prompt_hash", json!(prompt.prompt_hash));
        self.set_field("cut", json!(prompt.cut));
    }

    /// Records that the reply is also spoken; the result arrives later.
    pub(crate) fn note_speech(&mut self, outcome: oneshot::Receiver<Value>) {
        self.speech = Some(outcome);
    }

    /// Records the first token.
    pub(crate) fn record_first_token(&mut self, core: &RuntimeCore) {
        if self.first_token_ms.is_none() {
            self.first_token_ms = Some(milliseconds_between(self.last, core.clock().now()));
        }
    }

    /// Records that the model has finished, or failed with `cut`.
    pub(crate) fn note_model_end(
        &mut self,
        core: &RuntimeCore,
        model: &str,
        usage: TokenUsage,
        cut: Option<&str>,
    ) {
        self.model = Some(model.to_owned());
        self.usage = Some(usage);
        let first_token_ms = self.first_token_ms;
        self.note_step(
            core,
            "llm_stream",
            json!({
                "model": model, "first_token_ms": first_token_ms, "cut_off": cut,
                "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
                "cached_tokens": usage.cached_tokens,
            }),
        );
    }

    fn set_field(&mut self, name: &str, value: Value) {
        if self.enabled {
            self.detail.insert(name.to_owned(), value);
        }
    }

    /// Stores the trace in the background; a failure has no other effect.
    pub(crate) fn write_in_background(
        mut self,
        core: &Arc<RuntimeCore>,
        turn: &ReadyTurn,
        error: Option<String>,
    ) {
        if !self.enabled {
            return;
        }
        self.note_step(core, "on_turn_done", json!({"error": error}));
        let mut detail = std::mem::take(&mut self.detail);
        detail.insert("steps".to_owned(), Value::Array(self.steps));
        detail.insert("error".to_owned(), json!(error));
        let speech = self.speech.take();
        let mut trace = TurnTrace {
            head: TurnSummary {
                turn_id: turn.turn_id,
                scope: turn.scope.clone(),
                channel_id: turn.channel_id.clone(),
                started_at: self.started_at,
                finished_at: Some(self.last),
                duration_ms: Some(milliseconds_between(self.started_at, self.last)),
                first_token_ms: self.first_token_ms,
                input_tokens: self.usage.map(|usage| usage.input_tokens),
                output_tokens: self.usage.map(|usage| usage.output_tokens),
                llm_model: self.model,
            },
            detail: Value::Object(detail),
        };
        let (kept, scope, forgotten) = (core.clone(), turn.scope.clone(), self.forgotten);
        core.tasks.spawn(async move {
            // The sound may end after the turn; it has its own limits.
            if let Some(Ok(spoken)) = OptionFuture::from(speech).await
                && let Value::Object(detail) = &mut trace.detail
            {
                detail.insert("voice".to_owned(), spoken);
            }
            // Text that was forgotten meanwhile must not come back in the stored prompt.
            let _nothing_is_forgotten = kept.forget_epochs.block_forgetting().await;
            if kept.forget_epochs.for_scope(&scope) != forgotten {
                return;
            }
            if let Err(error) = kept.store().store_turn_trace(trace).await {
                tracing::warn!("the trace of a turn is missing: {error}");
            }
        });
    }
}

fn retrieved_json(found: &Candidate) -> Value {
    let rounded = |number: Option<f64>| (number.unwrap_or(0.0) * 10_000.0).round() / 10_000.0;
    json!({
        "node_id": NodeId(found.id), "type": found.type_name, "desc_snippet": truncate(&found.text, SNIPPET_LENGTH),
        "recency": rounded(found.recency), "relevance": rounded(found.relevance), "impact": rounded(found.impact),
        "relational": rounded(found.relational_bonus), "entity_anchor": rounded(found.entity_anchor),
        "total": rounded(Some(found.total)), "anchored": found.entity_anchor.is_some_and(|anchor| anchor > 0.0),
        "reason": found.reason,
    })
}

fn thoughts_json(nodes: &[Node]) -> Vec<Value> {
    nodes
        .iter()
        .map(|node| json!({"id": node.id, "description": truncate(&node.description, THOUGHT_LENGTH)}))
        .collect()
}

fn truncate(text: &str, length: usize) -> String {
    text.chars().take(length).collect()
}

fn milliseconds_between(from: Timestamp, to: Timestamp) -> i64 {
    i64::try_from(to.duration_since(from).as_millis()).unwrap_or(i64::MAX)
}
