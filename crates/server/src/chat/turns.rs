//! A turn: the receipt of its reply, and retrying a failed one.

use axum::Json;
use axum::extract::State;
use memory::identifiers::{NodeId, TurnId};
use memory::ledger::ReplyReceipt;
use memory::messages::{Turn, TurnStatus};
use memory::recall::CandidateKind;
use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::{Principal, quota};
use crate::extract::{Id, run_detached};
use crate::problem::Problem;
use crate::respond::Accepted;
use crate::state::App;

/// Handler of `GET /api/chat/turns/{turn_id}/receipt`; for a proactive message with the id of its decision.
pub(crate) async fn receipt(
    State(app): State<App>,
    principal: Principal,
    Id(id): Id<TurnId>,
) -> Result<Json<ReplyReceipt>, Problem> {
    let store = app.runtime().store();
    match store.scope_of_receipt(id).await? {
        Some(scope) if principal.may_see(&scope) => {}
        Some(_) => return Err(Problem::not_found("turn not found")),
        None => drop(visible_turn(&app, &principal, id).await?),
    }
    let receipt = store.receipt(id).await?;
    let mut receipt =
        receipt.ok_or_else(|| Problem::not_found("this turn has no reply yet, so it has no receipt"))?;
    for candidate in receipt.used.iter_mut().filter(|candidate| candidate.kind == CandidateKind::Node) {
        if let Some(node) = store.node(NodeId(candidate.id)).await? {
            candidate.said_at = store.said_at(&[node.node.seq]).await?.remove(&node.node.seq);
        }
    }
    if let (Some(hub), Some(scope)) = (app.runtime().hub(), store.scope_of_receipt(id).await?) {
        let said = store.turn_messages(id).await?;
        let said: Vec<&str> = said.iter().map(|message| message.content.as_str()).collect();
        receipt.documents = hub.look_up_used(&scope, receipt.documents, &said.join("\n")).await?;
    }
    Ok(Json(receipt))
}

/// The turn whose reply is being written or stopped.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TurnResponse {
    ok: bool,
    turn_id: TurnId,
}

impl TurnResponse {
    pub(super) fn accepted(turn_id: TurnId) -> Accepted<Self> {
        Accepted(Self { ok: true, turn_id })
    }
}

/// Handler of `POST /api/chat/turns/{turn_id}/retry`: 202 when the turn waits for its reply again.
pub(crate) async fn retry(
    State(app): State<App>,
    principal: Principal,
    Id(id): Id<TurnId>,
) -> Result<Accepted<TurnResponse>, Problem> {
    let turn = visible_turn(&app, &principal, id).await?;
    let admitted = quota::admit_turn(&app, &principal, &turn.scope.user).await?;
    let retried = run_detached(async move {
        let retried = app.runtime().turns().retry(id).await?;
        admitted.note(id);
        Ok(retried)
    })
    .await?;
    match (retried, turn.status) {
        (Some(turn), _) => Ok(TurnResponse::accepted(turn.id)),
        (None, TurnStatus::Answered) => Err(Problem::conflict("this turn already has a reply")),
        (None, TurnStatus::Pending | TurnStatus::Failed) => {
            Err(Problem::conflict("the reply of this turn is in progress"))
        }
    }
}

/// The turn, unless it belongs to a user for whom the token may not act.
async fn visible_turn(app: &App, principal: &Principal, id: TurnId) -> Result<Turn, Problem> {
    let turn = app.runtime().store().turn(id).await?.filter(|turn| principal.may_see(&turn.scope));
    turn.ok_or_else(|| Problem::not_found("turn not found"))
}
