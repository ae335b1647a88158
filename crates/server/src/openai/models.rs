//! Personas, listed as models.

use axum::Json;
use axum::extract::State;
use memory::PersonaId;
use memory::ports::PersonaRecord;
use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::Principal;
use crate::extract::Id;
use crate::problem::Problem;
use crate::state::App;

#[derive(Serialize, JsonSchema)]
pub(crate) struct ModelList {
    object: ListTag,
    data: Vec<ModelBody>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ModelBody {
    id: PersonaId,
    object: ModelTag,
    /// In seconds since 1970 (Unix time).
    created: i64,
    owned_by: &'static str,
    name: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum ListTag {
    List,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum ModelTag {
    Model,
}

/// Handler of `GET /v1/models`.
pub(crate) async fn list(State(app): State<App>, _: Principal) -> Result<Json<ModelList>, Problem> {
    Ok(Json(ModelList { object: ListTag::List, data: list_all(&app).await? }))
}

pub(crate) async fn show(
    State(app): State<App>,
    _: Principal,
    Id(id): Id<String>,
) -> Result<Json<ModelBody>, Problem> {
    let persona = PersonaId::new(id).map_err(|_| no_model())?;
    let found = app.runtime().store().persona(&persona).await?;
    found.map(|persona| Json(model_body(&app, persona))).ok_or_else(no_model)
}

pub(super) fn no_model() -> Problem {
    Problem::not_found("model not found; GET /v1/models lists the available ones")
        .with_code("model_not_found")
}

async fn list_all(app: &App) -> Result<Vec<ModelBody>, Problem> {
    let personas = app.runtime().store().personas().await?;
    Ok(personas.into_iter().map(|persona| model_body(app, persona)).collect())
}

fn model_body(app: &App, persona: PersonaRecord) -> ModelBody {
    ModelBody {
        id: persona.id,
        object: ModelTag::Model,
        created: app.parts.started_at.as_second(),
        owned_by: "echovessel",
        name: persona.display_name,
    }
}
