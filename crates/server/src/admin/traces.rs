//! How replies and memories came to be: traces of turns and sessions, transcripts of slow cycles.

use axum::Json;
use axum::extract::{Path, State};
use jiff::Timestamp;
use memory::identifiers::{CycleId, SessionId, TurnId};
use memory::ports::TurnSummary;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::cost;
use crate::auth::Admin;
use crate::cursor::{Cursor, page_of};
use crate::extract::{Id, LIST_LIMIT_MAX, Query, ScopeParam, page_size};
use crate::problem::Problem;
use crate::state::App;

const TURNS_DEFAULT: u32 = 20;
const TRANSCRIPTS_DEFAULT: i64 = 50;
/// Fields of a turn's trace that are there even when the turn failed before they were known.
const TURN_FIELDS: [&str; 6] =
    ["system_prompt", "user_prompt", "retrieval", "pinned_thoughts", "entity_alias_hits", "episodic_state"];

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TurnTraceList {
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// `GET /api/admin/turns`: newest first.
pub(crate) async fn turns(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(page): Query<TurnTraceList>,
) -> Result<Json<Value>, Problem> {
    let limit = page_size(page.limit, TURNS_DEFAULT)?;
    let last = page.cursor.as_deref().map(Cursor::<(Timestamp, TurnId)>::read).transpose()?;
    let place = last.map(|Cursor(place)| place);
    let heads = app.runtime().store().turn_traces(&scope, place, limit + 1).await?;
    let (heads, next_cursor) =
        page_of(heads, limit, |head| Cursor((head.started_at, head.turn_id)).written());
    let items: Vec<Value> = heads.iter().map(|head| Value::Object(fields(head))).collect();
    Ok(Json(json!({"items": items, "limit": limit, "next_cursor": next_cursor})))
}

/// `GET /api/admin/turns/{turn_id}`
pub(crate) async fn turn(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<TurnId>,
) -> Result<Json<Value>, Problem> {
    let trace = app.runtime().store().turn_trace(id).await?;
    let trace = trace.filter(|trace| principal.may_see(&trace.head.scope));
    let trace = trace.ok_or_else(|| Problem::not_found("there is no trace of this turn"))?;
    let mut told = fields(&trace.head);
    for name in TURN_FIELDS {
        let empty = if matches!(name, "retrieval" | "entity_alias_hits") { json!([]) } else { Value::Null };
        told.insert(name.to_owned(), empty);
    }
    told.insert("pinned_thoughts".to_owned(), json!({}));
    if let Value::Object(detail) = trace.detail {
        told.extend(detail);
    }
    Ok(Json(Value::Object(told)))
}

fn fields(head: &TurnSummary) -> Map<String, Value> {
    let told = json!({
        "turn_id": head.turn_id, "persona_id": head.scope.persona, "user_id": head.scope.user,
        "channel_id": head.channel_id, "started_at": head.started_at, "finished_at": head.finished_at,
        "duration_ms": head.duration_ms, "first_token_ms": head.first_token_ms,
        "input_tokens": head.input_tokens, "output_tokens": head.output_tokens, "llm_model": head.llm_model,
    });
    if let Value::Object(told) = told { told } else { Map::new() }
}

/// `GET /api/admin/sessions/{session_id}/consolidate-trace`
pub(crate) async fn session(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<SessionId>,
) -> Result<Json<Value>, Problem> {
    let store = app.runtime().store();
    let phases = store.phases(id).await?;
    let found = store.session(id).await?.filter(|_| !phases.is_empty());
    let found = found.filter(|session| principal.may_see(&session.scope));
    let found = found.ok_or_else(|| Problem::not_found("there is no trace of this session"))?;
    let mut told = Map::new();
    told.insert("session_id".to_owned(), json!(id));
    told.insert("finished_at".to_owned(), json!(found.closed_at));
    for letter in 'a'..='g' {
        let phase = phases.iter().find(|phase| phase.phase == letter).map(|phase| phase.detail.clone());
        told.insert(format!("phase_{letter}"), phase.unwrap_or(Value::Null));
    }
    let calls = store.calls_of_session(id).await?;
    told.insert("calls".to_owned(), Value::Array(calls.iter().map(cost::traced).collect()));
    told.insert("status".to_owned(), json!(found.status));
    told.insert("last_error".to_owned(), json!(found.last_error));
    Ok(Json(Value::Object(told)))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TranscriptList {
    limit: Option<i64>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// `GET /api/admin/slow-tick/transcripts`: newest first; a limit out of bounds is taken as the nearest bound.
pub(crate) async fn transcripts(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(page): Query<TranscriptList>,
) -> Result<Json<Value>, Problem> {
    let limit = page.limit.unwrap_or(TRANSCRIPTS_DEFAULT).clamp(1, i64::from(LIST_LIMIT_MAX));
    let limit = u32::try_from(limit).unwrap_or(1);
    let last = page.cursor.as_deref().map(Cursor::<(Timestamp, CycleId)>::read).transpose()?;
    let place = last.map(|Cursor(place)| place);
    let heads = app.runtime().store().transcripts(&scope, place, limit + 1).await?;
    let (heads, next_cursor) = page_of(heads, limit, |head| Cursor((head.at, head.id)).written());
    let items: Vec<Value> = heads
        .iter()
        .map(|head| json!({"cycle_id": head.id, "created_at": head.at, "size_bytes": head.size}))
        .collect();
    Ok(Json(json!({"count": items.len(), "items": items, "next_cursor": next_cursor})))
}

/// `GET /api/admin/slow-tick/transcripts/{cycle_id}`
pub(crate) async fn transcript(
    State(app): State<App>,
    Admin(_): Admin,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    if id.contains("..") || id.starts_with('.') {
        return Err(Problem::bad_request("cycle_id: this can't be one"));
    }
    let nothing = || Problem::not_found("there is no transcript of this cycle");
    let id: CycleId = id.parse().map_err(|_| nothing())?;
    app.runtime().store().transcript(id).await?.map(Json).ok_or_else(nothing)
}
