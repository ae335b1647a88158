//! Sessions: waiting and failed ones, ending one, retrying one.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use memory::identifiers::SessionId;
use memory::ports::SessionFilter;
use memory::sessions::{CloseTrigger, Session, SessionStatus};
use memory::{PersonaId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::Admin;
use crate::cursor::page_of;
use crate::extract::{Id, LIST_LIMIT_MAX, OptionalScope, Query, ScopeParam, page_size, run_detached};
use crate::legacy::names::failed_trigger;
use crate::problem::Problem;
use crate::respond::Accepted;
use crate::state::App;

const PAGE_DEFAULT: u32 = 50;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SessionQuery {
    status: Option<SessionStatus>,
    limit: Option<u32>,
    cursor: Option<SessionId>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionList {
    sessions: Vec<SessionBody>,
    next_cursor: Option<SessionId>,
}

#[derive(Serialize, JsonSchema)]
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
    /// Title of the conversation in the program that it was imported from.
    title: Option<String>,
    attempts: u32,
    last_error: Option<String>,
}

/// Handler of `GET /api/admin/sessions`, newest first.
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
            return Err(Problem::not_found("cursor: expired; request the first page"));
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

#[derive(Serialize, JsonSchema)]
pub(crate) struct FailedSessionList {
    count: usize,
    items: Vec<FailedSessionBody>,
    next_cursor: Option<SessionId>,
}

#[derive(Serialize, JsonSchema)]
struct FailedSessionBody {
    id: SessionId,
    channel_id: String,
    persona_id: PersonaId,
    user_id: UserId,
    message_count: u32,
    started_at: Timestamp,
    /// Reason of its end; for a failed session followed by `|failed:` and at most 60 characters of the error.
    close_trigger: String,
    attempts: u32,
    last_error: Option<String>,
}

/// Handler of `GET /api/admin/sessions/failed`: of all users, as in the compatible interface, unless the request
/// names one.
pub(crate) async fn list_failed_sessions(
    State(app): State<App>,
    Admin(principal): Admin,
    OptionalScope(scope): OptionalScope,
    Query(page): Query<FailedSessionQuery>,
) -> Result<Json<FailedSessionList>, Problem> {
    let limit = page_size(page.limit, LIST_LIMIT_MAX)?;
    let store = app.runtime().store();
    if let Some(cursor) = page.cursor
        && !store.session(cursor).await?.is_some_and(|session| principal.may_see(&session.scope))
    {
        return Err(Problem::not_found("cursor: expired; request the first page"));
    }
    let status = Some(SessionStatus::Failed);
    let filter = SessionFilter { scope, status, limit: limit + 1, before: page.cursor };
    let (found, next_cursor) = page_of(store.sessions(filter).await?, limit, |session| session.id);
    let items: Vec<FailedSessionBody> = found.into_iter().map(FailedSessionBody::from).collect();
    Ok(Json(FailedSessionList { count: items.len(), items, next_cursor }))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionResponse {
    ok: bool,
    session_id: SessionId,
    status: SessionStatus,
}

/// Handler of `POST /api/admin/sessions/{id}/close`: 202 when the session has ended and waits for consolidation. One
/// that ended earlier does not change.
pub(crate) async fn close(
    State(app): State<App>,
    Admin(_): Admin,
    Id(id): Id<SessionId>,
) -> Result<Accepted<SessionResponse>, Problem> {
    let session = run_detached(async move {
        match app.runtime().sessions().close(id).await? {
            Some(ended) => Ok(Some(ended)),
            None => Ok(app.runtime().store().session(id).await?),
        }
    })
    .await?;
    accepted_session(session.ok_or_else(no_session)?)
}

/// Handler of `POST /api/admin/sessions/{id}/retry`: 202 when a failed session waits again.
pub(crate) async fn retry(
    State(app): State<App>,
    Admin(_): Admin,
    Id(id): Id<SessionId>,
) -> Result<Accepted<SessionResponse>, Problem> {
    app.runtime().store().session(id).await?.ok_or_else(no_session)?;
    let retried = run_detached(async move { Ok(app.runtime().sessions().retry(id).await?) }).await?;
    accepted_session(retried.ok_or_else(|| {
        Problem::conflict(
            "only failed sessions can be retried, and this one has not \
                failed",
        )
    })?)
}

fn no_session() -> Problem {
    Problem::not_found("session not found")
}

fn accepted_session(session: Session) -> Result<Accepted<SessionResponse>, Problem> {
    Ok(Accepted(SessionResponse { ok: true, session_id: session.id, status: session.status }))
}

impl From<Session> for FailedSessionBody {
    fn from(session: Session) -> Self {
        let close_trigger = failed_trigger(&session);
        Self {
            id: session.id,
            channel_id: session.channel_id,
            persona_id: session.scope.persona,
            user_id: session.scope.user,
            message_count: session.message_count,
            started_at: session.first_message_at,
            close_trigger,
            attempts: session.attempts,
            last_error: session.last_error,
        }
    }
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
            title: session.title,
            attempts: session.attempts,
            last_error: session.last_error,
        }
    }
}
