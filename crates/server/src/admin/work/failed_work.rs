//! Failed work that a person can retry.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use memory::identifiers::{SessionId, TurnId};
use memory::messages::Turn;
use memory::ports::FailedWork;
use memory::sessions::Session;
use memory::{PersonaId, UserId};
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use crate::auth::Admin;
use crate::cursor::{Cursor, PageQuery, page_of};
use crate::extract::{LIST_LIMIT_MAX, OptionalScope, Query, page_size};
use crate::problem::Problem;
use crate::state::App;

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
    /// Number of attempts so far; a turn has one.
    attempts: u32,
    at: Timestamp,
    /// Path of a `POST` request that tries again.
    retry: String,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum WorkKind {
    /// A session whose consolidation failed.
    Session,
    /// A turn without a reply.
    Turn,
}

/// Handler of `GET /api/admin/work/failed`: failed sessions and turns, newest first.
pub(crate) async fn list_failed_work(
    State(app): State<App>,
    Admin(_): Admin,
    OptionalScope(scope): OptionalScope,
    Query(paging): Query<PageQuery>,
) -> Result<Json<FailedWorkList>, Problem> {
    let limit = page_size(paging.limit, LIST_LIMIT_MAX)?;
    let last = paging.cursor.as_deref().map(Cursor::<(Timestamp, Uuid)>::read).transpose()?;
    let before = last.map(|Cursor(place)| place);
    let found = app.runtime().store().failed_work(scope.as_ref(), before, limit + 1).await?;
    let (found, next) = page_of(found, limit, FailedWork::list_position);
    let items: Vec<FailedWorkItem> = found.into_iter().map(FailedWorkItem::from).collect();
    let next_cursor = next.map(|place| Cursor(place).encode());
    Ok(Json(FailedWorkList { count: items.len(), items, next_cursor }))
}

impl From<FailedWork> for FailedWorkItem {
    fn from(work: FailedWork) -> Self {
        match work {
            FailedWork::Session(session) => session.into(),
            FailedWork::Turn(turn) => turn.into(),
        }
    }
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
