//! Work that failed and waits for a person.

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
use crate::extract::{LIST_LIMIT_MAX, Query, page_size};
use crate::problem::Problem;
use crate::state::App;

#[derive(serde::Deserialize, JsonSchema)]
pub(crate) struct Page {
    limit: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FailedWork")]
pub(crate) struct Failed {
    count: usize,
    items: Vec<Item>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FailedWorkItem")]
struct Item {
    kind: Kind,
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
#[schemars(rename = "WorkKind")]
enum Kind {
    /// A stretch of talk that did not become memory.
    Session,
    /// Words that got no reply.
    Turn,
}

/// `GET /api/admin/work/failed`: sessions that did not become memory and turns without a reply, newest first.
pub(crate) async fn failed(
    State(app): State<App>,
    Admin(principal): Admin,
    Query(page): Query<Page>,
) -> Result<Json<Failed>, Problem> {
    let limit = page_size(page.limit, LIST_LIMIT_MAX)?;
    let store = app.runtime().store();
    let status = Some(SessionStatus::Failed);
    let sessions = store.sessions(SessionFilter { scope: None, status, limit: LIST_LIMIT_MAX, before: None });
    let sessions = sessions.await?.into_iter().filter(|session| principal.may_see(&session.scope));
    let turns = store.failed_turns(LIST_LIMIT_MAX).await?;
    let turns = turns.into_iter().filter(|turn| principal.may_see(&turn.scope));
    let mut items: Vec<Item> = sessions.map(Item::from).chain(turns.map(Item::from)).collect();
    items.sort_by(|a, b| b.at.cmp(&a.at).then(b.id.cmp(&a.id)));
    items.truncate(limit as usize);
    Ok(Json(Failed { count: items.len(), items }))
}

impl From<Session> for Item {
    fn from(session: Session) -> Self {
        let SessionId(id) = session.id;
        Self {
            kind: Kind::Session,
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

impl From<Turn> for Item {
    fn from(turn: Turn) -> Self {
        let TurnId(id) = turn.id;
        Self {
            kind: Kind::Turn,
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
