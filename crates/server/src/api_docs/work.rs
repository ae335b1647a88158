//! Work: sessions, what failed, and what is not built.

use super::operation::{Operation, operation};
use crate::admin::not_implemented;
use crate::admin::{channels, cost, failed_work, sessions, traces};
use crate::cursor::PageQuery;

const TAG: &str = "work";

const TAKEN: &str = "{ok: bool, session_id: id, status: text}";
const CONSOLIDATED: &str = "{session_id: id, finished_at: time|null, phase_a: object|null, phase_b: object|null, \
    phase_c: object|null, phase_d: object|null, phase_e: object|null, phase_f: object|null, phase_g: object|null, \
    calls: [{task: text, at: time, model: text, outcome: text, tokens_in: int, tokens_out: int, cost_usd: num|null, \
    latency_ms: int, prompt_hash: text}], status: text, last_error: text|null}";
/// A memory that a turn weighed.
macro_rules! recalled {
    () => {
        "{node_id: id, type: text|null, desc_snippet: text, recency: num, relevance: num, impact: num, \
         relational: num, entity_anchor: num, total: num, anchored: bool, reason: text|null}"
    };
}
/// What of a turn is listed, without the brace that ends it.
macro_rules! turn_head {
    () => {
        "{turn_id: id, persona_id: text, user_id: text, channel_id: text, started_at: time, finished_at: time|null, \
         duration_ms: int|null, first_token_ms: int|null, input_tokens: int|null, output_tokens: int|null, \
         llm_model: text|null"
    };
}
const TURNS: &str = concat!("{items: [", turn_head!(), "}], limit: int, next_cursor: text|null}");
const TURN: &str = concat!(
    turn_head!(),
    ", system_prompt: text|null, user_prompt: text|null, prompt_hash?: text, cut?: [text], error?: text|null, \
     steps?: [{stage: text, t_ms: int, duration_ms: int, detail: object}], retrieval: [",
    recalled!(),
    "], fallen?: [",
    recalled!(),
    "], pinned_thoughts: {user?: [{id: id, description: text}], persona?: [{id: id, description: text}]}, \
     expectation_matches?: [{id: id, description: text}], documents?: [text], periods?: [text], \
     entity_alias_hits: [{entity_id: id, canonical_name: text, kind: text}], episodic_state: object|null}"
);
const TRANSCRIPTS: &str = "{count: int, items: [{cycle_id: text, created_at: time, size_bytes: int}], \
    next_cursor: text|null}";
const COST: &str = "{range: text, since: time, total_usd: num, total_tokens: int, total_tokens_in: int, \
    total_tokens_out: int, total_cache_read_input_tokens: int, total_cache_creation_input_tokens: int, unpriced_calls: int, \
    today_usd: num, daily_spend_cap_usd: num|null, notice: text|null, by_feature: <{calls: int, tokens_in: int, \
    tokens_out: int, cache_read_input_tokens: int, cache_creation_input_tokens: int, cost_usd: num}>, \
    by_day: [{date: text, usd: num, tokens: int, calls: int}]}";
const FAILED: &str = "{count: int, next_cursor: id|null, items: [{id: id, channel_id: text, persona_id: text, \
    user_id: text, message_count: int, started_at: time, close_trigger: text|null, attempts: int, last_error: text|null}]}";

pub(super) fn operations() -> Vec<Operation> {
    let on = |method, path, summary| operation(TAG, method, path, summary);
    let mut operations = vec![
        on("get", "/api/admin/sessions", "Sessions, newest first")
            .asks::<sessions::SessionQuery>()
            .in_scope()
            .answers::<sessions::SessionList>(),
        on("get", "/api/admin/sessions/failed", "Sessions that did not become memory")
            .asks::<sessions::FailedSessionQuery>()
            .in_scope()
            .answers_shape(200, FAILED)
            .refuses(&[404]),
        on("post", "/api/admin/sessions/{id}/close", "Ends a session now").answers_shape(202, TAKEN),
        on("post", "/api/admin/sessions/{id}/retry", "Takes a failed session up again")
            .answers_shape(202, TAKEN)
            .refuses(&[409]),
        on("get", "/api/admin/sessions/{id}/consolidate-trace", "How a session became memory")
            .answers_shape(200, CONSOLIDATED),
        on("get", "/api/admin/turns", "Turns with their times and tokens, newest first")
            .asks::<traces::TurnTraceList>()
            .in_scope()
            .answers_shape(200, TURNS),
        on("get", "/api/admin/turns/{id}", "How a reply came to be").answers_shape(200, TURN),
        on("get", "/api/admin/slow-tick/transcripts", "Slow cycles, newest first")
            .asks::<traces::TranscriptList>()
            .in_scope()
            .answers_shape(200, TRANSCRIPTS),
        on("get", "/api/admin/slow-tick/transcripts/{id}", "What was thought between two talks")
            .answers_shape(200, "object")
            .refuses(&[400]),
        on("get", "/api/admin/cost/summary", "What the language models cost")
            .asks::<cost::CostQuery>()
            .answers_shape(200, COST),
        on("get", "/api/admin/cost/recent", "The last calls of language models")
            .asks::<cost::RecentCallsQuery>()
            .answers_shape(200, "{limit: int, items: [object], next_cursor: text|null}"),
        on("get", "/api/admin/work/failed", "All work that failed and waits for a person")
            .asks::<PageQuery>()
            .in_scope()
            .answers::<failed_work::FailedWorkList>(),
        on("get", "/api/admin/channels", "By which ways words come in").answers::<channels::ChannelList>(),
        on("patch", "/api/admin/channels", "Changes a channel's settings")
            .takes_shape("{web?: {host?: text, port?: int, debounce_ms?: int}}")
            .answers_shape(200, "{updated_fields: [text], reload_triggered: bool, restart_required: bool}")
            .refuses(&[500, 501]),
    ];
    operations.extend(not_implemented::PATHS.iter().flat_map(|entry| {
        let method = |method: &&'static str| match *method {
            "GET" => "get",
            "POST" => "post",
            _ => "delete",
        };
        entry.methods.iter().map(move |name| {
            operation("not built", method(name), entry.path, "Not in this version yet").refuses(&[501])
        })
    }));
    operations
}
