//! Whether the persona is to be heard.

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::persona::tell_of_change;
use crate::auth::Admin;
use crate::extract::{self, InScope, to_the_end};
use crate::problem::Problem;
use crate::state::App;

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "VoiceWish")]
pub(crate) struct Wish {
    enabled: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "VoiceSet")]
pub(crate) struct Set {
    ok: bool,
    voice_enabled: bool,
}

/// `POST /api/admin/persona/voice-toggle`: the wish is kept, and open pages hear of it.
pub(crate) async fn toggle(
    State(app): State<App>,
    Admin(_): Admin,
    InScope(scope): InScope,
    extract::Json(wish): extract::Json<Wish>,
) -> Result<Json<Set>, Problem> {
    to_the_end(async move {
        let persona = app.runtime().ensure_known(&scope).await?;
        app.runtime().store().enable_voice(&scope.persona, wish.enabled).await?;
        tell_of_change(&app, &scope, &persona.display_name).await
    })
    .await?;
    Ok(Json(Set { ok: true, voice_enabled: wish.enabled }))
}
