//! The voice setting of a persona.

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::persona::publish_change;
use crate::auth::Admin;
use crate::extract::{self, ScopeParam, run_detached};
use crate::problem::Problem;
use crate::state::App;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct VoiceRequest {
    enabled: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct VoiceResponse {
    ok: bool,
    voice_enabled: bool,
}

/// `POST /api/admin/persona/voice-toggle`: stores the setting and publishes it.
pub(crate) async fn toggle(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    extract::Json(request): extract::Json<VoiceRequest>,
) -> Result<Json<VoiceResponse>, Problem> {
    run_detached(async move {
        let persona = app.runtime().ensure_known(&scope).await?;
        app.runtime().store().enable_voice(&scope.persona, request.enabled).await?;
        publish_change(&app, &scope, &persona.display_name).await
    })
    .await?;
    Ok(Json(VoiceResponse { ok: true, voice_enabled: request.enabled }))
}
