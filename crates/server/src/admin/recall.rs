//! What a text brings to mind, and why the rest does not.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use memory::capture;
use memory::recall::{Candidate, RecallTimings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entities::EntitySummary;
use crate::auth::Admin;
use crate::extract;
use crate::problem::Problem;
use crate::state::App;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct RecallRequest {
    text: String,
    user_id: Option<String>,
    persona_id: Option<String>,
    now: Option<Timestamp>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct RecallResponse {
    candidates: Vec<Candidate>,
    entities: Vec<EntitySummary>,
    /// How well the best memory fits, 0 to 1.
    support: f64,
    /// Whether nothing in memory is about the text.
    nothing_found: bool,
    elapsed_ms: RecallTimings,
}

/// `POST /api/admin/memory/recall`
pub(crate) async fn recall(
    State(app): State<App>,
    Admin(principal): Admin,
    extract::Json(question): extract::Json<RecallRequest>,
) -> Result<Json<RecallResponse>, Problem> {
    if capture::check(&question.text).is_err() {
        return Err(Problem::unprocessable(
            "text: it needs to be as long as a message may be, and not empty",
        ));
    }
    let scope = app.scope(&principal, question.persona_id, question.user_id).await?;
    let recalled = app.runtime().recall(scope, question.text, question.now).await?;
    let entities = recalled.entities.into_iter().map(EntitySummary::from).collect();
    Ok(Json(RecallResponse {
        candidates: recalled.candidates,
        entities,
        support: recalled.support,
        nothing_found: recalled.nothing_found,
        elapsed_ms: recalled.elapsed,
    }))
}
