//! Takes a line. The answer comes by the event stream.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use memory::identifiers::{MessageId, TurnId};
use runtime::IncomingMessage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CHANNEL;
use crate::auth::Principal;
use crate::extract::{self, run_detached};
use crate::problem::Problem;
use crate::state::App;

/// Longest name that a client may give its own line, in characters.
const EXTERNAL_REF_LENGTH_MAX: usize = 256;

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ChatLine")]
pub(crate) struct SendRequest {
    content: String,
    user_id: Option<String>,
    persona_id: Option<String>,
    external_ref: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LineTaken")]
pub(crate) struct SendResponse {
    ok: bool,
    accepted: [MessageId; 1],
    turn_id: TurnId,
}

/// `POST /api/chat/send`: 202 when the line is durable.
pub(crate) async fn send(
    State(app): State<App>,
    principal: Principal,
    extract::Json(line): extract::Json<SendRequest>,
) -> Result<(StatusCode, Json<SendResponse>), Problem> {
    if line.external_ref.as_ref().is_some_and(|name| name.chars().count() > EXTERNAL_REF_LENGTH_MAX) {
        let detail =
            format!("external_ref: at most {EXTERNAL_REF_LENGTH_MAX} characters fit; nothing was written");
        return Err(Problem::unprocessable(detail));
    }
    let scope = app.scope(&principal, line.persona_id, line.user_id).await?;
    let incoming = IncomingMessage {
        scope,
        channel_id: CHANNEL.to_owned(),
        content: line.content,
        external_ref: line.external_ref,
    };
    let accepted = run_detached(async move { Ok(app.runtime().accept(incoming).await?) }).await?;
    let taken = SendResponse { ok: true, accepted: [accepted.message_id], turn_id: accepted.turn_id };
    Ok((StatusCode::ACCEPTED, Json(taken)))
}
