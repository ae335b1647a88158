//! Traces of turns and sessions, transcripts of slow cycles.

use axum::Json;
use axum::extract::{Path, State};
use jiff::Timestamp;
use memory::identifiers::{CycleId, EntityId, NodeId, SessionId, TurnId};
use memory::ports::{TranscriptSummary, TurnSummary};
use memory::sessions::SessionStatus;
use memory::{PersonaId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::admin::work::cost::SessionCallBody;
use crate::auth::Admin;
use crate::cursor::{Cursor, page_of};
use crate::extract::{Id, LIST_LIMIT_MAX, Query, ScopeParam, page_size};
use crate::problem::Problem;
use crate::state::App;

const TURNS_DEFAULT: u32 = 20;
const TRANSCRIPTS_DEFAULT: i64 = 50;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TurnTraceQuery {
    limit: Option<u32>,
    /// The `next_cursor` of the preceding page.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct TurnList {
    items: Vec<TurnSummaryBody>,
    limit: u32,
    next_cursor: Option<String>,
}

/// Summary of a turn, without its texts. Fields of steps that were not reached are null.
#[derive(Serialize, JsonSchema)]
struct TurnSummaryBody {
    turn_id: TurnId,
    persona_id: PersonaId,
    user_id: UserId,
    channel_id: String,
    /// Time at which the turn's first message arrived.
    started_at: Timestamp,
    finished_at: Option<Timestamp>,
    duration_ms: Option<i64>,
    first_token_ms: Option<i64>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    llm_model: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct TurnTraceBody {
    #[serde(flatten)]
    head: TurnSummaryBody,
    #[serde(flatten)]
    detail: TurnDetail,
}

/// The trace of a turn. After a failure, fields of later steps are missing.
#[derive(Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
struct TurnDetail {
    system_prompt: Option<String>,
    user_prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_hash: Option<String>,
    /// Sections that did not fit into the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<Vec<String>>,
    error: Option<String>,
    steps: Vec<TraceStep>,
    /// Memories in the prompt.
    retrieval: Vec<ScoredMemory>,
    /// The best memories that are not in the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    fallen: Option<Vec<ScoredMemory>>,
    pinned_thoughts: PinnedThoughts,
    #[serde(skip_serializing_if = "Option::is_none")]
    expectation_matches: Option<Vec<ThoughtRef>>,
    /// Names of the documents in the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<Vec<String>>,
    /// Names of the documents about periods that the messages ask about.
    #[serde(skip_serializing_if = "Option::is_none")]
    periods: Option<Vec<String>>,
    entity_alias_hits: Vec<AliasHit>,
    /// The result of speaking the reply; absent if it was not to be spoken.
    #[serde(skip_serializing_if = "Option::is_none")]
    voice: Option<SpokenReply>,
    #[schemars(with = "Option<Map<String, Value>>")]
    episodic_state: Value,
}

#[derive(Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
struct SpokenReply {
    /// `spoken`; `text_only` after a failure; or `dropped` together with its reply.
    outcome: String,
    sentences: u32,
    duration_seconds: f64,
    /// Why the reply was not spoken.
    error: Option<String>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct TraceStep {
    stage: String,
    /// Milliseconds from the first message to the start of the step.
    t_ms: i64,
    duration_ms: i64,
    detail: Map<String, Value>,
}

/// The parts of a memory's score, weighted by the settings at that time.
#[derive(Deserialize, Serialize, JsonSchema)]
struct ScoredMemory {
    node_id: NodeId,
    #[serde(rename = "type")]
    type_name: Option<String>,
    desc_snippet: String,
    recency: f64,
    relevance: f64,
    impact: f64,
    relational: f64,
    entity_anchor: f64,
    total: f64,
    anchored: bool,
    /// Why the memory is not in the prompt.
    reason: Option<String>,
}

#[derive(Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
struct PinnedThoughts {
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<Vec<ThoughtRef>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    persona: Option<Vec<ThoughtRef>>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct ThoughtRef {
    id: NodeId,
    description: String,
}

/// An entity with a name or alias in the user's messages.
#[derive(Deserialize, Serialize, JsonSchema)]
struct AliasHit {
    entity_id: EntityId,
    canonical_name: String,
    kind: String,
}

/// Handler of `GET /api/admin/turns`, newest first.
pub(crate) async fn turns(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(page): Query<TurnTraceQuery>,
) -> Result<Json<TurnList>, Problem> {
    let limit = page_size(page.limit, TURNS_DEFAULT)?;
    let last = page.cursor.as_deref().map(Cursor::<(Timestamp, TurnId)>::read).transpose()?;
    let place = last.map(|Cursor(place)| place);
    let heads = app.runtime().store().turn_traces(&scope, place, limit + 1).await?;
    let (heads, next_cursor) = page_of(heads, limit, |head| Cursor((head.started_at, head.turn_id)).encode());
    let items = heads.into_iter().map(TurnSummaryBody::from).collect();
    Ok(Json(TurnList { items, limit, next_cursor }))
}

pub(crate) async fn turn(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<TurnId>,
) -> Result<Json<TurnTraceBody>, Problem> {
    let trace = app.runtime().store().turn_trace(id).await?;
    let trace = trace.filter(|trace| principal.may_see(&trace.head.scope));
    let trace = trace.ok_or_else(|| Problem::not_found("this turn has no trace"))?;
    let detail: TurnDetail =
        serde_json::from_value(trace.detail).map_err(|error| Problem::internal(&error))?;
    Ok(Json(TurnTraceBody { head: trace.head.into(), detail }))
}

impl From<TurnSummary> for TurnSummaryBody {
    fn from(head: TurnSummary) -> Self {
        Self {
            turn_id: head.turn_id,
            persona_id: head.scope.persona,
            user_id: head.scope.user,
            channel_id: head.channel_id,
            started_at: head.started_at,
            finished_at: head.finished_at,
            duration_ms: head.duration_ms,
            first_token_ms: head.first_token_ms,
            input_tokens: head.input_tokens,
            output_tokens: head.output_tokens,
            llm_model: head.llm_model,
        }
    }
}

/// The trace of a session's consolidation. A phase that did not run is null.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ConsolidationTraceBody {
    session_id: SessionId,
    finished_at: Option<Timestamp>,
    #[schemars(with = "Option<Map<String, Value>>")]
    phase_a: Value,
    #[schemars(with = "Option<Map<String, Value>>")]
    phase_b: Value,
    #[schemars(with = "Option<Map<String, Value>>")]
    phase_c: Value,
    #[schemars(with = "Option<Map<String, Value>>")]
    phase_d: Value,
    #[schemars(with = "Option<Map<String, Value>>")]
    phase_e: Value,
    #[schemars(with = "Option<Map<String, Value>>")]
    phase_f: Value,
    #[schemars(with = "Option<Map<String, Value>>")]
    phase_g: Value,
    calls: Vec<SessionCallBody>,
    status: SessionStatus,
    last_error: Option<String>,
}

/// Handler of `GET /api/admin/sessions/{session_id}/consolidate-trace`.
pub(crate) async fn session(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<SessionId>,
) -> Result<Json<ConsolidationTraceBody>, Problem> {
    let store = app.runtime().store();
    let phases = store.phases(id).await?;
    let found = store.session(id).await?.filter(|_| !phases.is_empty());
    let found = found.filter(|session| principal.may_see(&session.scope));
    let found = found.ok_or_else(|| Problem::not_found("this session has no trace"))?;
    let phase = |letter| {
        let found = phases.iter().find(|phase| phase.phase == letter);
        found.map_or(Value::Null, |phase| phase.detail.clone())
    };
    Ok(Json(ConsolidationTraceBody {
        session_id: id,
        finished_at: found.closed_at,
        phase_a: phase('a'),
        phase_b: phase('b'),
        phase_c: phase('c'),
        phase_d: phase('d'),
        phase_e: phase('e'),
        phase_f: phase('f'),
        phase_g: phase('g'),
        calls: store.calls_of_session(id).await?.into_iter().map(SessionCallBody::from).collect(),
        status: found.status,
        last_error: found.last_error,
    }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TranscriptQuery {
    limit: Option<i64>,
    /// The `next_cursor` of the preceding page.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct TranscriptList {
    count: usize,
    items: Vec<TranscriptSummaryBody>,
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct TranscriptSummaryBody {
    cycle_id: CycleId,
    created_at: Timestamp,
    size_bytes: u64,
}

/// Handler of `GET /api/admin/slow-tick/transcripts`, newest first. A limit out of bounds is clamped.
pub(crate) async fn transcripts(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(page): Query<TranscriptQuery>,
) -> Result<Json<TranscriptList>, Problem> {
    let limit = page.limit.unwrap_or(TRANSCRIPTS_DEFAULT).clamp(1, i64::from(LIST_LIMIT_MAX));
    let limit = u32::try_from(limit).unwrap_or(1);
    let last = page.cursor.as_deref().map(Cursor::<(Timestamp, CycleId)>::read).transpose()?;
    let place = last.map(|Cursor(place)| place);
    let heads = app.runtime().store().transcripts(&scope, place, limit + 1).await?;
    let (heads, next_cursor) = page_of(heads, limit, |head| Cursor((head.at, head.id)).encode());
    let body = |head: TranscriptSummary| TranscriptSummaryBody {
        cycle_id: head.id,
        created_at: head.at,
        size_bytes: head.size,
    };
    let items: Vec<TranscriptSummaryBody> = heads.into_iter().map(body).collect();
    Ok(Json(TranscriptList { count: items.len(), items, next_cursor }))
}

pub(crate) async fn transcript(
    State(app): State<App>,
    Admin(_): Admin,
    Path(id): Path<String>,
) -> Result<Json<Map<String, Value>>, Problem> {
    if id.contains("..") || id.starts_with('.') {
        return Err(Problem::bad_request("cycle_id: invalid"));
    }
    let nothing = || Problem::not_found("cycle_id not found");
    let id: CycleId = id.parse().map_err(|_| nothing())?;
    match app.runtime().store().transcript(id).await? {
        Some(Value::Object(transcript)) => Ok(Json(transcript)),
        _ => Err(nothing()),
    }
}
