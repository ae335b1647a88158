//! Work that failed and has to be retried by hand.

use std::cmp::Reverse;

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use memory::identifiers::{SessionId, TurnId};
use memory::messages::Turn;
use memory::ports::SessionFilter;
use memory::sessions::{Session, SessionStatus};
use memory::{PersonaId, UserId};
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use crate::auth::Admin;
use crate::cursor::PageQuery;
use crate::extract::{OptionalScope, Query};
use crate::problem::Problem;
use crate::state::App;

/// Failed sessions, and failed turns, that can be listed; the oldest fall out.
const FAILED_MAX: u32 = 10_000;

#[derive(Serialize, JsonSchema)]
pub(crate) struct FailedWorkList {
    count: usize,
    items: Vec<FailedWorkItem>,
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct FailedWorkItem {
    kind: WorkKind,
    id: Uuid,
    persona_id: PersonaId,
    user_id: UserId,
    channel_id: String,
    reason: Option<String>,
    /// Attempts so far; a turn has one.
    attempts: u32,
    at: Timestamp,
    /// `POST` here tries again.
    retry: String,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum WorkKind {
    /// A session that was not consolidated.
    Session,
    /// A burst without a reply.
    Turn,
}

/// `GET /api/admin/work/failed`: sessions that did not become memory and turns without a reply, newest first.
pub(crate) async fn failed(
    State(app): State<App>,
    Admin(principal): Admin,
    OptionalScope(scope): OptionalScope,
    Query(paging): Query<PageQuery>,
) -> Result<Json<FailedWorkList>, Problem> {
    let store = app.runtime().store();
    let (status, limit) = (Some(SessionStatus::Failed), FAILED_MAX);
    let sessions =
        store.sessions(SessionFilter { scope: scope.clone(), status, limit, before: None }).await?;
    let sessions = sessions.into_iter().filter(|session| principal.may_see(&session.scope));
    let turns = store.failed_turns(FAILED_MAX).await?.into_iter();
    let turns = turns.filter(|turn| scope.as_ref().is_none_or(|scope| turn.scope == *scope));
    let turns = turns.filter(|turn| principal.may_see(&turn.scope));
    let items: Vec<FailedWorkItem> =
        sessions.map(FailedWorkItem::from).chain(turns.map(FailedWorkItem::from)).collect();
    let (items, next_cursor) = paging.of(items, |item| Reverse((item.at, item.id)))?;
    Ok(Json(FailedWorkList { count: items.len(), items, next_cursor }))
}

impl From<Session> for FailedWorkItem {
    fn from(session: Session) -> Self {
        let SessionId(id) = session.id;
        Self {
            kind: WorkKind::Session,
            id,
            persona_id: session.scope.persona,
            user_id: session.scope.user,
            channel_id: session.channel_id,
            reason: session.last_error,
            attempts: session.attempts,
            at: session.last_message_at,
            retry: format!("/api/admin/sessions/{id}/retry"),
        }
    }
}

impl From<Turn> for FailedWorkItem {
    fn from(turn: Turn) -> Self {
        let TurnId(id) = turn.id;
        Self {
            kind: WorkKind::Turn,
            id,
            persona_id: turn.scope.persona,
            user_id: turn.scope.user,
            channel_id: turn.channel_id,
            reason: turn.reason,
            attempts: 1,
            at: turn.last_message_at,
            retry: format!("/api/chat/turns/{id}/retry"),
        }
    }
}
