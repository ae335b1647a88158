//! Editing and deleting messages, regenerating and stopping replies.

use axum::Json;
use axum::extract::State;
use memory::Scope;
use memory::identifiers::{MessageId, NodeId, SessionId, TurnId};
use memory::messages::{Message, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::history::MessageBody;
use super::turns::TurnResponse;
use crate::admin::memory::forget::{self, ForgetModeQuery, MessageDeleted};
use crate::auth::{Principal, quota};
use crate::extract::{self, Id, OptionalJson, Query, run_detached};
use crate::problem::Problem;
use crate::respond::Accepted;
use crate::state::App;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct EditMessageRequest {
    content: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct EditMessageResponse {
    ok: bool,
    message: MessageBody,
    /// Memories that only the old text supported; they were deleted.
    withdrawn: Vec<NodeId>,
    /// The session, if it will be consolidated again.
    extracted_again: Option<SessionId>,
}

/// Handler of `PATCH /api/chat/messages/{id} {content}`: replaces the text of a user message and withdraws memories
/// that only the old text supported.
pub(crate) async fn edit(
    State(app): State<App>,
    principal: Principal,
    Id(id): Id<MessageId>,
    extract::Json(words): extract::Json<EditMessageRequest>,
) -> Result<Json<EditMessageResponse>, Problem> {
    let message = visible_message(&app, &principal, id).await?;
    if message.role != Role::User {
        return Err(Problem::forbidden("only user messages can be edited; to change a reply, regenerate it"));
    }
    let edited =
        run_detached(async move { Ok(app.runtime().changes().edit_message(id, &words.content).await?) })
            .await?;
    let edited = edited.ok_or_else(no_message)?;
    Ok(Json(EditMessageResponse {
        ok: true,
        message: edited.message.into(),
        withdrawn: edited.withdrawn.nodes.into_iter().map(|(id, _)| id).collect(),
        extracted_again: edited.withdrawn.sessions.into_iter().next(),
    }))
}

/// Handler of `DELETE /api/chat/messages/{id}`: deletes a message of either side, and memories that only it supports.
pub(crate) async fn delete(
    State(app): State<App>,
    principal: Principal,
    Id(id): Id<MessageId>,
    Query(ForgetModeQuery { choice }): Query<ForgetModeQuery>,
) -> Result<Json<MessageDeleted>, Problem> {
    forget::forget_message(app, &principal, id, choice).await
}

#[derive(Default, Deserialize, JsonSchema)]
pub(crate) struct RegenerateRequest {
    turn_id: Option<TurnId>,
    message_id: Option<MessageId>,
    user_id: Option<String>,
    persona_id: Option<String>,
}

/// Handler of `POST /api/chat/regenerate {turn_id?|message_id?}`: 202 when the last reply is being regenerated. It is
/// replaced once the new one is complete.
pub(crate) async fn regenerate(
    State(app): State<App>,
    principal: Principal,
    OptionalJson(which): OptionalJson<RegenerateRequest>,
) -> Result<Accepted<TurnResponse>, Problem> {
    let named = match (which.turn_id, which.message_id) {
        (Some(_), Some(_)) => {
            return Err(Problem::unprocessable("turn_id, message_id: send only one of them"));
        }
        (Some(turn), None) => Some((turn, scope_of_turn(&app, &principal, turn).await?)),
        (None, Some(id)) => {
            let message = visible_message(&app, &principal, id).await?;
            let alone = || Problem::conflict("this message is not a reply, so it can't be regenerated");
            Some((message.turn_id.ok_or_else(alone)?, message.scope))
        }
        (None, None) => None,
    };
    let (turn, scope) = match named {
        Some((turn, scope)) => (Some(turn), scope),
        None => (None, app.scope(&principal, which.persona_id, which.user_id).await?),
    };
    let admitted = quota::admit_turn(&app, &principal, &scope.user).await?;
    let turn = run_detached(async move {
        let turn = app.runtime().turns().regenerate(&scope, turn).await?;
        admitted.note(turn.id);
        Ok(turn)
    })
    .await?;
    Ok(TurnResponse::accepted(turn.id))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct StopRequest {
    turn_id: TurnId,
}

/// Handler of `POST /api/chat/stop {turn_id}`: 202 when the reply is being stopped. The text so far is stored.
pub(crate) async fn stop(
    State(app): State<App>,
    principal: Principal,
    extract::Json(stop): extract::Json<StopRequest>,
) -> Result<Accepted<TurnResponse>, Problem> {
    scope_of_turn(&app, &principal, stop.turn_id).await?;
    if app.runtime().turns().stop(stop.turn_id).await? {
        Ok(TurnResponse::accepted(stop.turn_id))
    } else {
        Err(Problem::conflict("no reply of this turn is in progress, so there is nothing to stop"))
    }
}

pub(super) async fn visible_message(
    app: &App,
    principal: &Principal,
    id: MessageId,
) -> Result<Message, Problem> {
    let message = app.runtime().store().message(id).await?;
    message.filter(|message| principal.may_see(&message.scope)).ok_or_else(no_message)
}

async fn scope_of_turn(app: &App, principal: &Principal, id: TurnId) -> Result<Scope, Problem> {
    let turn = app.runtime().store().turn(id).await?.filter(|turn| principal.may_see(&turn.scope));
    Ok(turn.ok_or_else(|| Problem::not_found("turn not found"))?.scope)
}

fn no_message() -> Problem {
    Problem::not_found("message not found")
}
