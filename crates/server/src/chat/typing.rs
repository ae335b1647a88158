//! Typing signals: a reply waits while the user types, and begins at once afterwards.

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CHANNEL;
use crate::auth::Principal;
use crate::extract;
use crate::problem::Problem;
use crate::state::App;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TypingRequest {
    /// True for keystrokes, sent at most once a second; false when typing has ended.
    typing: bool,
    user_id: Option<String>,
    persona_id: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct TypingResponse {
    /// True if messages are waiting for more.
    waiting: bool,
}

/// Handler of `POST /api/chat/typing`. Nothing is stored.
pub(crate) async fn typing(
    State(app): State<App>,
    principal: Principal,
    extract::Json(asked): extract::Json<TypingRequest>,
) -> Result<Json<TypingResponse>, Problem> {
    let scope = app.scope(&principal, asked.persona_id, asked.user_id).await?;
    Ok(Json(TypingResponse { waiting: app.runtime().turns().note_typing(&scope, CHANNEL, asked.typing) }))
}
