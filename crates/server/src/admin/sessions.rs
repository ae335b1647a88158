//! Stretches of talk on their way to memory: which wait, which are stuck, end one now, try one again.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jiff::Timestamp;
use memory::identifiers::SessionId;
use memory::ports::SessionFilter;
use memory::sessions::{CloseTrigger, Session, SessionStatus};
use memory::{PersonaId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::auth::Admin;
use crate::cursor::page_of;
use crate::extract::{Id, LIST_LIMIT_MAX, OptionalScope, Query, ScopeParam, page_size, run_detached};
use crate::problem::Problem;
use crate::state::App;

const PAGE_DEFAULT: u32 = 50;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SessionQuery {
    status: Option<SessionStatus>,
    limit: Option<u32>,
    cursor: Option<SessionId>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionList")]
pub(crate) struct SessionList {
    sessions: Vec<SessionBody>,
    next_cursor: Option<SessionId>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Session")]
struct SessionBody {
    id: SessionId,
    channel_id: String,
    persona_id: PersonaId,
    user_id: UserId,
    status: SessionStatus,
    message_count: u32,
    total_tokens: u64,
    started_at: Timestamp,
    last_message_at: Timestamp,
    closed_at: Option<Timestamp>,
    close_trigger: Option<CloseTrigger>,
    trivial: bool,
    summary: Option<String>,
    attempts: u32,
    last_error: Option<String>,
}

/// `GET /api/admin/sessions`: newest first.
pub(crate) async fn list(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(page): Query<SessionQuery>,
) -> Result<Json<SessionList>, Problem> {
    let limit = page_size(page.limit, PAGE_DEFAULT)?;
    let store = app.runtime().store();
    if let Some(cursor) = page.cursor {
        let known = store.session(cursor).await?.is_some_and(|session| session.scope == scope);
        if !known {
            return Err(Problem::not_found("cursor: there is no such session; start again from the newest"));
        }
    }
    let filter =
        SessionFilter { scope: Some(scope), status: page.status, limit: limit + 1, before: page.cursor };
    let (found, next_cursor) = page_of(store.sessions(filter).await?, limit, |session| session.id);
    Ok(Json(SessionList { sessions: found.into_iter().map(SessionBody::from).collect(), next_cursor }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct FailedSessionQuery {
    limit: Option<u32>,
    cursor: Option<SessionId>,
}

/// `GET /api/admin/sessions/failed`: of all users, as the compatible interface has it, unless the request names one.
pub(crate) async fn failed(
    State(app): State<App>,
    Admin(principal): Admin,
    OptionalScope(scope): OptionalScope,
    Query(page): Query<FailedSessionQuery>,
) -> Result<Json<Value>, Problem> {
    let limit = page_size(page.limit, LIST_LIMIT_MAX)?;
    let store = app.runtime().store();
    if let Some(cursor) = page.cursor
        && !store.session(cursor).await?.is_some_and(|session| principal.may_see(&session.scope))
    {
        return Err(Problem::not_found("cursor: there is no such session; start again from the newest"));
    }
    let status = Some(SessionStatus::Failed);
    let filter = SessionFilter { scope, status, limit: limit + 1, before: page.cursor };
    let (found, next_cursor) = page_of(store.sessions(filter).await?, limit, |session| session.id);
    let items: Vec<Value> = found
        .into_iter()
        .map(|session| {
            json!({"id": session.id, "channel_id": session.channel_id, "persona_id": session.scope.persona,
                "user_id": session.scope.user, "message_count": session.message_count,
                "started_at": session.first_message_at, "close_trigger": session.close_trigger,
                "attempts": session.attempts, "last_error": session.last_error})
        })
        .collect();
    Ok(Json(json!({"count": items.len(), "items": items, "next_cursor": next_cursor})))
}

/// `POST /api/admin/sessions/{id}/close`: 202 when the session has ended and waits to become memory. One that ended
/// earlier is left as it stands.
pub(crate) async fn close(
    State(app): State<App>,
    Admin(_): Admin,
    Id(id): Id<SessionId>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let session = run_detached(async move {
        match app.runtime().close_session(id).await? {
            Some(ended) => Ok(Some(ended)),
            None => Ok(app.runtime().store().session(id).await?),
        }
    })
    .await?;
    taken(session.ok_or_else(no_session)?)
}

/// `POST /api/admin/sessions/{id}/retry`: 202 when a failed session waits again.
pub(crate) async fn retry(
    State(app): State<App>,
    Admin(_): Admin,
    Id(id): Id<SessionId>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    app.runtime().store().session(id).await?.ok_or_else(no_session)?;
    let retried = run_detached(async move { Ok(app.runtime().retry_session(id).await?) }).await?;
    taken(
        retried
            .ok_or_else(|| Problem::conflict("this session has not failed, so there is nothing to retry"))?,
    )
}

fn no_session() -> Problem {
    Problem::not_found("there is no such session")
}

fn taken(session: Session) -> Result<(StatusCode, Json<Value>), Problem> {
    let body = json!({"ok": true, "session_id": session.id, "status": session.status});
    Ok((StatusCode::ACCEPTED, Json(body)))
}

impl From<Session> for SessionBody {
    fn from(session: Session) -> Self {
        Self {
            id: session.id,
            channel_id: session.channel_id,
            persona_id: session.scope.persona,
            user_id: session.scope.user,
            status: session.status,
            message_count: session.message_count,
            total_tokens: session.total_tokens,
            started_at: session.first_message_at,
            last_message_at: session.last_message_at,
            closed_at: session.closed_at,
            close_trigger: session.close_trigger,
            trivial: session.trivial,
            summary: session.summary,
            attempts: session.attempts,
            last_error: session.last_error,
        }
    }
}
