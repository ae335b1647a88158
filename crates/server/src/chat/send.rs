//! Sends a message. The reply arrives on the event stream.

use axum::extract::State;
use memory::identifiers::{MessageId, TurnId};
use runtime::IncomingMessage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CHANNEL;
use crate::auth::{Principal, quota};
use crate::extract::{self, run_detached};
use crate::problem::Problem;
use crate::respond::Accepted;
use crate::state::App;

/// Maximum length of a client's own id of a message, in characters: it is stored with each message.
const EXTERNAL_REF_LENGTH_MAX: usize = 256;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SendRequest {
    content: String,
    user_id: Option<String>,
    persona_id: Option<String>,
    external_ref: Option<String>,
    /// The id from `POST /api/chat/transcribe`: the recording is stored with this message.
    recording_id: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SendResponse {
    ok: bool,
    accepted: [MessageId; 1],
    turn_id: TurnId,
}

/// Handler of `POST /api/chat/send`: 202 when the message is durable.
pub(crate) async fn send(
    State(app): State<App>,
    principal: Principal,
    extract::Json(message): extract::Json<SendRequest>,
) -> Result<Accepted<SendResponse>, Problem> {
    if message.external_ref.as_ref().is_some_and(|name| name.chars().count() > EXTERNAL_REF_LENGTH_MAX) {
        let detail = format!("external_ref: at most {EXTERNAL_REF_LENGTH_MAX} characters; nothing was saved");
        return Err(Problem::unprocessable(detail));
    }
    let scope = app.scope(&principal, message.persona_id, message.user_id).await?;
    let admitted = quota::admit_turn(&app, &principal, &scope.user).await?;
    let incoming = IncomingMessage {
        scope,
        channel_id: CHANNEL.to_owned(),
        content: message.content,
        external_ref: message.external_ref,
    };
    let recording_id = message.recording_id;
    let accepted = run_detached(async move {
        let accepted = app.runtime().turns().accept(incoming).await?;
        admitted.note(accepted.turn_id);
        if let Some(recording_id) = recording_id
            && let Err(error) =
                app.runtime().voice().attach_recording(&recording_id, accepted.message_id).await
        {
            tracing::warn!("a message was stored without its recording: {error}");
        }
        Ok(accepted)
    })
    .await?;
    Ok(Accepted(SendResponse { ok: true, accepted: [accepted.message_id], turn_id: accepted.turn_id }))
}
