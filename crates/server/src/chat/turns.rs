//! One turn: why the persona said that, and asking again when it said nothing.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use memory::identifiers::TurnId;
use memory::ledger::ReplyReceipt;
use memory::messages::{Turn, TurnStatus};
use serde_json::{Value, json};

use crate::auth::Principal;
use crate::extract::{Id, run_detached};
use crate::problem::Problem;
use crate::state::App;

/// `GET /api/chat/turns/{turn_id}/receipt`
pub(crate) async fn receipt(
    State(app): State<App>,
    principal: Principal,
    Id(id): Id<TurnId>,
) -> Result<Json<ReplyReceipt>, Problem> {
    visible(&app, &principal, id).await?;
    let receipt = app.runtime().store().receipt(id).await?;
    receipt.map(Json).ok_or_else(|| Problem::not_found("this turn has no reply yet, so there is no receipt"))
}

/// `POST /api/chat/turns/{turn_id}/retry`: 202 when the turn waits for its reply again.
pub(crate) async fn retry(
    State(app): State<App>,
    principal: Principal,
    Id(id): Id<TurnId>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let turn = visible(&app, &principal, id).await?;
    let retried = run_detached(async move { Ok(app.runtime().retry_turn(id).await?) }).await?;
    match (retried, turn.status) {
        (Some(turn), _) => Ok((StatusCode::ACCEPTED, Json(json!({"ok": true, "turn_id": turn.id})))),
        (None, TurnStatus::Answered) => Err(Problem::conflict("this turn has its reply already")),
        (None, TurnStatus::Pending | TurnStatus::Failed) => {
            Err(Problem::conflict("this turn is being answered"))
        }
    }
}

/// The turn, unless it belongs to somebody for whom the token does not speak.
async fn visible(app: &App, principal: &Principal, id: TurnId) -> Result<Turn, Problem> {
    let turn = app.runtime().store().turn(id).await?.filter(|turn| principal.may_see(&turn.scope));
    turn.ok_or_else(|| Problem::not_found("there is no such turn"))
}
