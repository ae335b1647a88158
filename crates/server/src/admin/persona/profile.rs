//! Core blocks, name and mood of a persona. Only people write core blocks.

use axum::Json;
use axum::extract::State;
use memory::core_blocks::{CoreBlockLabel, CoreBlocks, check_length};
use memory::facts::{Facts, known_zone};
use memory::mood::Mood;
use memory::ports::FirstPersona;
use memory::recall::{FormerValue, OutdatedValues};
use memory::{PersonaId, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::admin::persona::facts;
use crate::auth::Admin;
use crate::extract::{self, ScopeParam, run_detached};
use crate::problem::Problem;
use crate::respond::OkResponse;
use crate::state::App;

const NAME_LENGTH_MAX: usize = 256;
const ZONE_LENGTH_MAX: usize = 64;
#[derive(Serialize, JsonSchema)]
pub(crate) struct PersonaBody {
    id: PersonaId,
    display_name: String,
    voice_enabled: bool,
    voice_id: Option<String>,
    has_avatar: bool,
    core_blocks: CoreBlocks,
    /// Values in the core blocks that are no longer current. The blocks themselves do not change.
    no_longer_current: OutdatedBlocks,
    facts: Facts,
    episodic_state: Mood,
}

/// Former values by core block.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OutdatedBlocks {
    persona: Vec<FormerValue>,
    user: Vec<FormerValue>,
    style: Vec<FormerValue>,
}

/// Handler of `GET /api/admin/persona`.
pub(crate) async fn show(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
) -> Result<Json<PersonaBody>, Problem> {
    persona_body(&app, &scope).await.map(Json)
}

pub(super) async fn persona_body(app: &App, scope: &Scope) -> Result<PersonaBody, Problem> {
    let store = app.runtime().store();
    let persona = app.runtime().persona_of(scope).await?;
    let appearance = store.persona_appearance(&scope.persona).await?;
    let now = app.now();
    let mood = store.mood(scope).await?.map_or_else(|| Mood::neutral(now), |mood| mood.fade_at(now));
    let core_blocks = store.core_blocks(scope).await?;
    let written = [&core_blocks.persona, &core_blocks.user, &core_blocks.style];
    let corrected =
        OutdatedValues::former_values_in_texts(store, scope, written.map(String::clone).to_vec()).await?;
    let [persona_block, user_block, style_block] = written.map(|block| corrected.former_values_in(block));
    Ok(PersonaBody {
        no_longer_current: OutdatedBlocks { persona: persona_block, user: user_block, style: style_block },
        id: persona.id,
        display_name: persona.display_name,
        voice_enabled: appearance.voice_enabled,
        voice_id: appearance.voice_id,
        has_avatar: appearance.has_avatar,
        core_blocks,
        facts: store.persona_facts(&scope.persona).await?,
        episodic_state: mood,
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PersonaEdit {
    display_name: Option<String>,
    persona_block: Option<String>,
    user_block: Option<String>,
}

/// Handler of `POST /api/admin/persona`: replaces the given fields; an empty block clears it. If one field is
/// invalid, nothing is written.
pub(crate) async fn edit(
    State(app): State<App>,
    Admin(editor): Admin,
    ScopeParam(scope): ScopeParam,
    extract::Json(edit): extract::Json<PersonaEdit>,
) -> Result<Json<OkResponse>, Problem> {
    let name = edit.display_name.map(|name| checked_name(&name)).transpose()?;
    let blocks = [(CoreBlockLabel::Persona, edit.persona_block), (CoreBlockLabel::User, edit.user_block)];
    let blocks = checked_blocks(blocks)?;
    run_detached(async move {
        let edits = app.runtime().personas().lock_edits().await;
        Ok(edits.write(&scope, name, blocks, &editor.name).await?)
    })
    .await?;
    Ok(OkResponse::json())
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OnboardingRequest {
    display_name: String,
    persona_block: String,
    user_block: String,
    style_block: Option<String>,
    facts: Option<Map<String, Value>>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct OnboardingResponse {
    ok: bool,
    persona_id: PersonaId,
}

/// Handler of `POST /api/admin/persona/onboarding`: writes name, core blocks and facts of a persona, all or nothing.
/// 409 once any block is written.
pub(crate) async fn onboard_persona(
    State(app): State<App>,
    Admin(editor): Admin,
    ScopeParam(scope): ScopeParam,
    extract::Json(first): extract::Json<OnboardingRequest>,
) -> Result<Json<OnboardingResponse>, Problem> {
    let name = checked_name(&first.display_name)?;
    let blocks = CoreBlocks {
        persona: checked_block(CoreBlockLabel::Persona, first.persona_block)?,
        user: checked_block(CoreBlockLabel::User, first.user_block)?,
        style: checked_block(CoreBlockLabel::Style, first.style_block.unwrap_or_default())?,
    };
    // If facts are given, all fifteen are replaced: unnamed ones are unknown.
    let facts = match &first.facts {
        Some(facts) => facts::read(Some(facts))?,
        None => Vec::new(),
    };
    let persona_id = scope.persona.clone();
    run_detached(async move {
        let first = FirstPersona { display_name: name, facts, blocks };
        if app.runtime().personas().write_first(&scope, first, &editor.name).await? {
            return Ok(());
        }
        let detail = "this persona already has texts; edit them instead";
        Err(Problem::conflict(detail).with_code("already_onboarded"))
    })
    .await?;
    Ok(Json(OnboardingResponse { ok: true, persona_id }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TimezoneRequest {
    timezone: String,
    #[serde(default, rename = "override")]
    overwrite: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct TimezoneResponse {
    ok: bool,
    /// The name of the zone in the IANA database.
    timezone: String,
    /// False if a zone was set before and `override` is not set.
    written: bool,
}

/// Handler of `POST /api/admin/users/timezone`: sets the user's zone. An existing zone stays, unless `override` is
/// set.
pub(crate) async fn set_timezone(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    extract::Json(zone): extract::Json<TimezoneRequest>,
) -> Result<Json<TimezoneResponse>, Problem> {
    if !(1..=ZONE_LENGTH_MAX).contains(&zone.timezone.chars().count()) {
        return Err(Problem::unprocessable(format!("timezone: 1 to {ZONE_LENGTH_MAX} characters")));
    }
    let unknown = || Problem::bad_request("timezone: unknown zone; use a name like Europe/Lisbon");
    let name = known_zone(&zone.timezone).ok_or_else(unknown)?;
    let user = app.runtime().store().ensure_user(&scope.user, app.now()).await?;
    if let (Some(kept), false) = (user.timezone, zone.overwrite) {
        return Ok(Json(TimezoneResponse { ok: true, timezone: kept, written: false }));
    }
    app.runtime().store().set_user_timezone(&scope.user, Some(name.clone())).await?;
    Ok(Json(TimezoneResponse { ok: true, timezone: name, written: true }))
}

/// Checks the length of a block; a blank one becomes empty.
pub(crate) fn checked_block(label: CoreBlockLabel, text: String) -> Result<String, Problem> {
    check_length(label, &text)?;
    Ok(if text.trim().is_empty() { String::new() } else { text })
}

pub(crate) fn checked_name(name: &str) -> Result<String, Problem> {
    let name = name.trim();
    if (1..=NAME_LENGTH_MAX).contains(&name.chars().count()) {
        return Ok(name.to_owned());
    }
    let detail = format!("display_name: 1 to {NAME_LENGTH_MAX} characters; nothing was saved");
    Err(Problem::unprocessable(detail))
}

/// Core blocks to write.
pub(crate) type Blocks = Vec<(CoreBlockLabel, String)>;

/// The given blocks, with their lengths checked.
fn checked_blocks(blocks: [(CoreBlockLabel, Option<String>); 2]) -> Result<Blocks, Problem> {
    let given: Blocks = blocks.into_iter().filter_map(|(label, text)| Some((label, text?))).collect();
    for (label, text) in &given {
        check_length(*label, text)?;
    }
    Ok(given)
}
