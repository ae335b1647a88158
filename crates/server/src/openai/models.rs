//! Personas, as models.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::auth::Principal;
use crate::extract::Id;
use crate::problem::Problem;
use crate::state::App;

/// `GET /v1/models`
pub(crate) async fn list(State(app): State<App>, _: Principal) -> Result<Json<Value>, Problem> {
    Ok(Json(json!({"object": "list", "data": all(&app).await?})))
}

/// `GET /v1/models/{id}`
pub(crate) async fn one(
    State(app): State<App>,
    _: Principal,
    Id(id): Id<String>,
) -> Result<Json<Value>, Problem> {
    let found = all(&app).await?.into_iter().find(|model| model["id"] == id.as_str());
    found.map(Json).ok_or_else(no_model)
}

pub(super) fn no_model() -> Problem {
    Problem::not_found("there is no such model; GET /v1/models lists the personas")
        .with_code("model_not_found")
}

async fn all(app: &App) -> Result<Vec<Value>, Problem> {
    let created = app.parts.started_at.as_second();
    let personas = app.runtime().store().personas().await?;
    let model = |id, name| json!({"id": id, "object": "model", "created": created, "owned_by": "echovessel", "name": name});
    Ok(personas.into_iter().map(|persona| model(persona.id, persona.display_name)).collect())
}
