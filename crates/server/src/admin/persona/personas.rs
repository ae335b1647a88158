//! Several personas in one home.

use axum::Json;
use axum::extract::State;
use memory::core_blocks::{CoreBlockLabel, CoreBlocks};
use memory::ports::FirstPersona;
use memory::{PersonaId, Scope};
use runtime::PersonaCreation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::admin::persona::facts;
use crate::admin::persona::profile::{self, PersonaBody};
use crate::auth::Admin;
use crate::cursor::page_of;
use crate::extract::{self, LIST_LIMIT_MAX, Query, ScopeParam, page_size, run_detached};
use crate::problem::Problem;
use crate::respond::Created;
use crate::state::App;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct PersonaQuery {
    limit: Option<u32>,
    cursor: Option<PersonaId>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PersonaList {
    personas: Vec<PersonaSummary>,
    next_cursor: Option<PersonaId>,
}

#[derive(Serialize, JsonSchema)]
struct PersonaSummary {
    id: PersonaId,
    display_name: String,
    /// True if this is the default persona.
    is_default: bool,
    voice_enabled: bool,
    has_voice_id: bool,
    has_avatar: bool,
    /// True if no core block is written yet.
    onboarding_required: bool,
}

/// Handler of `GET /api/admin/personas`, by id.
pub(crate) async fn list(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(page): Query<PersonaQuery>,
) -> Result<Json<PersonaList>, Problem> {
    let limit = page_size(page.limit, LIST_LIMIT_MAX)?;
    let runtime = app.runtime();
    let found = runtime.store().persona_page(&scope.user, page.cursor.as_ref(), limit + 1).await?;
    let (found, next_cursor) = page_of(found, limit, |last| last.record.id.clone());
    let default = runtime.settings().persona.clone();
    let personas = found.into_iter().map(|listed| PersonaSummary {
        is_default: listed.record.id == default,
        id: listed.record.id,
        display_name: listed.record.display_name,
        voice_enabled: listed.appearance.voice_enabled,
        has_voice_id: listed.appearance.voice_id.is_some(),
        has_avatar: listed.appearance.has_avatar,
        onboarding_required: !listed.is_written,
    });
    Ok(Json(PersonaList { personas: personas.collect(), next_cursor }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPersonaRequest {
    /// The id in requests, as `persona_id` and `model`.
    id: PersonaId,
    /// A display name; the id by default.
    display_name: Option<String>,
    persona_block: Option<String>,
    user_block: Option<String>,
    style_block: Option<String>,
    facts: Option<Map<String, Value>>,
}

/// Handler of `POST /api/admin/personas`: creates a persona, completely or not at all. 201 with the persona.
pub(crate) async fn create(
    State(app): State<App>,
    Admin(editor): Admin,
    ScopeParam(scope): ScopeParam,
    extract::Json(new): extract::Json<NewPersonaRequest>,
) -> Result<Created<PersonaBody>, Problem> {
    if new.id.as_str().contains(['/', '?', '#', '%']) {
        return Err(Problem::unprocessable("id: must not contain / ? # or %, because it is part of URLs"));
    }
    let name = new.display_name.unwrap_or_else(|| new.id.to_string());
    let name = profile::checked_name(&name)?;
    let blocks = CoreBlocks {
        persona: profile::checked_block(CoreBlockLabel::Persona, new.persona_block.unwrap_or_default())?,
        user: profile::checked_block(CoreBlockLabel::User, new.user_block.unwrap_or_default())?,
        style: profile::checked_block(CoreBlockLabel::Style, new.style_block.unwrap_or_default())?,
    };
    let first = FirstPersona { display_name: name, facts: facts::read(new.facts.as_ref())?, blocks };
    let scope = Scope::new(new.id, scope.user);
    let shown = scope.clone();
    let created = run_detached({
        let app = app.clone();
        async move { Ok(app.runtime().personas().create(&scope, first, &editor.name).await?) }
    })
    .await?;
    let taken = match created {
        PersonaCreation::Created => return Ok(Created(profile::persona_body(&app, &shown).await?)),
        PersonaCreation::NameTaken => {
            "display_name: a persona of this name already exists; choose another name"
        }
        PersonaCreation::IdTaken => "id: a persona with this id already exists",
    };
    Err(Problem::conflict(taken).with_code("persona_exists"))
}
