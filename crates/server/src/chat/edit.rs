//! The user takes words back: edits a message, has a reply said anew, stops one.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use memory::Scope;
use memory::identifiers::{MessageId, NodeId, SessionId, TurnId};
use memory::messages::{Message, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::history::MessageBody;
use crate::admin::forget::{self, ForgetModeQuery};
use crate::auth::Principal;
use crate::extract::{self, Id, OptionalJson, Query, run_detached};
use crate::problem::Problem;
use crate::state::App;

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "MessageEdit")]
pub(crate) struct EditMessageRequest {
    content: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MessageEdited")]
pub(crate) struct EditMessageResponse {
    ok: bool,
    message: MessageBody,
    /// Memories that rested on the old words and are gone.
    withdrawn: Vec<NodeId>,
    /// The session, if it becomes memory again.
    extracted_again: Option<SessionId>,
}

/// `PATCH /api/chat/messages/{id} {content}`: the user's own message has new words; what rested on the old ones goes.
pub(crate) async fn edit(
    State(app): State<App>,
    principal: Principal,
    Id(id): Id<MessageId>,
    extract::Json(words): extract::Json<EditMessageRequest>,
) -> Result<Json<EditMessageResponse>, Problem> {
    let message = visible(&app, &principal, id).await?;
    if message.role != Role::User {
        return Err(Problem::forbidden("only the user's own words can be edited; a reply can be said anew"));
    }
    let edited =
        run_detached(async move { Ok(app.runtime().edit_message(id, &words.content).await?) }).await?;
    let edited = edited.ok_or_else(no_message)?;
    Ok(Json(EditMessageResponse {
        ok: true,
        message: edited.message.into(),
        withdrawn: edited.withdrawn.nodes.into_iter().map(|(id, _)| id).collect(),
        extracted_again: edited.withdrawn.sessions.into_iter().next(),
    }))
}

/// `DELETE /api/chat/messages/{id}`: a message of either side, and what only it proved.
pub(crate) async fn delete(
    State(app): State<App>,
    principal: Principal,
    Id(id): Id<MessageId>,
    Query(ForgetModeQuery { choice }): Query<ForgetModeQuery>,
) -> Result<Json<Value>, Problem> {
    forget::take_message(app, &principal, id, choice).await
}

#[derive(Default, Deserialize, JsonSchema)]
#[schemars(rename = "RegenerateRequest")]
pub(crate) struct RegenerateRequest {
    turn_id: Option<TurnId>,
    message_id: Option<MessageId>,
    user_id: Option<String>,
    persona_id: Option<String>,
}

/// `POST /api/chat/regenerate {turn_id?|message_id?}`: 202 when the last reply is being said anew. It stands until the
/// new one is there.
pub(crate) async fn regenerate(
    State(app): State<App>,
    principal: Principal,
    OptionalJson(which): OptionalJson<RegenerateRequest>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let named = match (which.turn_id, which.message_id) {
        (Some(_), Some(_)) => return Err(Problem::unprocessable("give turn_id or message_id, not both")),
        (Some(turn), None) => Some((turn, scope_of_turn(&app, &principal, turn).await?)),
        (None, Some(id)) => {
            let message = visible(&app, &principal, id).await?;
            let alone = || Problem::conflict("this message answers nothing, so it can't be said anew");
            Some((message.turn_id.ok_or_else(alone)?, message.scope))
        }
        (None, None) => None,
    };
    let (turn, scope) = match named {
        Some((turn, scope)) => (Some(turn), scope),
        None => (None, app.scope(&principal, which.persona_id, which.user_id).await?),
    };
    let turn = run_detached(async move { Ok(app.runtime().regenerate(&scope, turn).await?) }).await?;
    Ok((StatusCode::ACCEPTED, Json(json!({"ok": true, "turn_id": turn.id}))))
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "StopRequest")]
pub(crate) struct StopRequest {
    turn_id: TurnId,
}

/// `POST /api/chat/stop {turn_id}`: 202 when the reply is being stopped. What was said so far is kept.
pub(crate) async fn stop(
    State(app): State<App>,
    principal: Principal,
    extract::Json(stop): extract::Json<StopRequest>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    scope_of_turn(&app, &principal, stop.turn_id).await?;
    if app.runtime().stop_turn(stop.turn_id).await? {
        Ok((StatusCode::ACCEPTED, Json(json!({"ok": true, "turn_id": stop.turn_id}))))
    } else {
        Err(Problem::conflict("this turn is not being answered, so there is nothing to stop"))
    }
}

async fn visible(app: &App, principal: &Principal, id: MessageId) -> Result<Message, Problem> {
    let message = app.runtime().store().message(id).await?;
    message.filter(|message| principal.may_see(&message.scope)).ok_or_else(no_message)
}

async fn scope_of_turn(app: &App, principal: &Principal, id: TurnId) -> Result<Scope, Problem> {
    let turn = app.runtime().store().turn(id).await?.filter(|turn| principal.may_see(&turn.scope));
    Ok(turn.ok_or_else(|| Problem::not_found("there is no such turn"))?.scope)
}

fn no_message() -> Problem {
    Problem::not_found("there is no such message")
}
