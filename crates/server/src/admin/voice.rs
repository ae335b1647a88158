//! Whether the persona is to be heard.

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
#[schemars(rename = "VoiceWish")]
pub(crate) struct VoiceRequest {
    enabled: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "VoiceSet")]
pub(crate) struct VoiceResponse {
    ok: bool,
    voice_enabled: bool,
}

/// `POST /api/admin/persona/voice-toggle`: the wish is kept, and open pages hear of it.
pub(crate) async fn toggle(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    extract::Json(wish): extract::Json<VoiceRequest>,
) -> Result<Json<VoiceResponse>, Problem> {
    run_detached(async move {
        let persona = app.runtime().ensure_known(&scope).await?;
        app.runtime().store().enable_voice(&scope.persona, wish.enabled).await?;
        publish_change(&app, &scope, &persona.display_name).await
    })
    .await?;
    Ok(Json(VoiceResponse { ok: true, voice_enabled: wish.enabled }))
}
