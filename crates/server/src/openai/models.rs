//! Personas, as models.

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
    Ok(Json(ModelList { object: ListTag::List, data: all(&app).await? }))
}

pub(crate) async fn one(
    State(app): State<App>,
    _: Principal,
    Id(id): Id<String>,
) -> Result<Json<ModelBody>, Problem> {
    let found = all(&app).await?.into_iter().find(|model| model.id.as_str() == id);
    found.map(Json).ok_or_else(no_model)
}

pub(super) fn no_model() -> Problem {
    Problem::not_found("model not found; GET /v1/models lists the available ones")
        .with_code("model_not_found")
}

async fn all(app: &App) -> Result<Vec<ModelBody>, Problem> {
    let created = app.parts.started_at.as_second();
    let personas = app.runtime().store().personas().await?;
    let model = |persona: PersonaRecord| ModelBody {
        id: persona.id,
        object: ModelTag::Model,
        created,
        owned_by: "echovessel",
        name: persona.display_name,
    };
    Ok(personas.into_iter().map(model).collect())
}
