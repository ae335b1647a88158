//! Who the persona is (L1), as its people write it. Nothing else writes here.

use axum::Json;
use axum::extract::State;
use jiff::tz::TimeZone;
use memory::Scope;
use memory::core_blocks::{CoreBlockLabel, CoreBlocks, check_length};
use memory::mood::Mood;
use runtime::Told;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::auth::Admin;
use crate::extract::{self, InScope, to_the_end};
use crate::problem::Problem;
use crate::state::App;

const NAME_LENGTH_MAX: usize = 256;
const ZONE_LENGTH_MAX: usize = 64;
/// The biographic facts of the compatible interface. Nothing stores them yet.
const FACTS: [&str; 15] = [
    "full_name",
    "gender",
    "birth_date",
    "ethnicity",
    "nationality",
    "native_language",
    "locale_region",
    "education_level",
    "occupation",
    "occupation_field",
    "location",
    "timezone",
    "relationship_status",
    "life_stage",
    "health_status",
];

/// `GET /api/admin/persona`
pub(crate) async fn show(
    State(app): State<App>,
    Admin(_): Admin,
    InScope(scope): InScope,
) -> Result<Json<Value>, Problem> {
    let store = app.runtime().store();
    let persona = app.runtime().ensure_known(&scope).await?;
    let blocks = store.core_blocks(&scope).await?;
    let now = app.now();
    let mood = store.mood(&scope).await?.map_or_else(|| Mood::neutral(now), |mood| mood.at(now));
    let facts: Map<String, Value> = FACTS.iter().map(|name| ((*name).to_owned(), Value::Null)).collect();
    Ok(Json(json!({
        "id": persona.id, "display_name": persona.display_name,
        "voice_enabled": false, "voice_id": null, "has_avatar": false,
        "core_blocks": blocks, "facts": facts, "episodic_state": mood,
    })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    display_name: Option<String>,
    persona_block: Option<String>,
    user_block: Option<String>,
}

/// `POST /api/admin/persona`: each field that is given replaces what was there; an empty block clears it. When one
/// field can't be taken, nothing is written.
pub(crate) async fn edit(
    State(app): State<App>,
    Admin(editor): Admin,
    InScope(scope): InScope,
    extract::Json(edit): extract::Json<Edit>,
) -> Result<Json<Value>, Problem> {
    let name = edit.display_name.map(|name| checked_name(&name)).transpose()?;
    let blocks = [(CoreBlockLabel::Persona, edit.persona_block), (CoreBlockLabel::User, edit.user_block)];
    let blocks = given(blocks)?;
    to_the_end(async move {
        let _edit = app.persona_edit.lock().await;
        write(&app, &scope, name, blocks, &editor.name).await
    })
    .await?;
    Ok(Json(json!({"ok": true})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Onboarding {
    display_name: String,
    persona_block: String,
    user_block: String,
    facts: Option<Map<String, Value>>,
}

/// `POST /api/admin/persona/onboarding`: the first words about a persona. 409 once any block is written.
pub(crate) async fn onboard(
    State(app): State<App>,
    Admin(editor): Admin,
    InScope(scope): InScope,
    extract::Json(first): extract::Json<Onboarding>,
) -> Result<Json<Value>, Problem> {
    let name = checked_name(&first.display_name)?;
    let blocks = given([
        (CoreBlockLabel::Persona, Some(first.persona_block)),
        (CoreBlockLabel::User, Some(first.user_block)),
    ])?;
    if first.facts.is_some_and(|facts| facts.values().any(|fact| !fact.is_null())) {
        return Err(Problem::unprocessable("facts can't be kept yet; leave them out. Nothing was written"));
    }
    let persona_id = scope.persona.clone();
    to_the_end(async move {
        let _edit = app.persona_edit.lock().await;
        if app.runtime().store().core_blocks(&scope).await? != CoreBlocks::default() {
            return Err(Problem::conflict("this persona has been written already; edit it instead"));
        }
        write(&app, &scope, Some(name), blocks, &editor.name).await
    })
    .await?;
    Ok(Json(json!({"ok": true, "persona_id": persona_id})))
}

#[derive(Deserialize)]
pub(crate) struct Zone {
    timezone: String,
    #[serde(default, rename = "override")]
    overwrite: bool,
}

/// `POST /api/admin/users/timezone`: where the user lives. A zone that is set stays, unless `override` says otherwise.
pub(crate) async fn set_timezone(
    State(app): State<App>,
    Admin(_): Admin,
    InScope(scope): InScope,
    extract::Json(zone): extract::Json<Zone>,
) -> Result<Json<Value>, Problem> {
    if !(1..=ZONE_LENGTH_MAX).contains(&zone.timezone.chars().count()) {
        return Err(Problem::unprocessable(format!("timezone: it needs 1 to {ZONE_LENGTH_MAX} characters")));
    }
    let unknown =
        || Problem::bad_request("timezone: there is no such zone; it is written like Europe/Lisbon");
    // A zone is looked up in the system's folder of zones, so what is no name must not reach it.
    let is_name = zone.timezone.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_+-".contains(&byte));
    let found = Some(&zone.timezone).filter(|name| is_name && !name.starts_with('/'));
    let found = found.and_then(|name| TimeZone::get(name).ok()).ok_or_else(unknown)?;
    let name = found.iana_name().ok_or_else(unknown)?.to_owned();
    let user = app.runtime().store().ensure_user(&scope.user, app.now()).await?;
    if let (Some(kept), false) = (user.timezone, zone.overwrite) {
        return Ok(Json(json!({"ok": true, "timezone": kept, "written": false})));
    }
    app.runtime().store().set_user_timezone(&scope.user, &name).await?;
    Ok(Json(json!({"ok": true, "timezone": name, "written": true})))
}

fn checked_name(name: &str) -> Result<String, Problem> {
    let name = name.trim();
    if (1..=NAME_LENGTH_MAX).contains(&name.chars().count()) {
        return Ok(name.to_owned());
    }
    let detail = format!("display_name: it needs 1 to {NAME_LENGTH_MAX} characters; nothing was written");
    Err(Problem::unprocessable(detail))
}

type Blocks = Vec<(CoreBlockLabel, String)>;

/// The blocks that a request gives, each within its limit.
fn given(blocks: [(CoreBlockLabel, Option<String>); 2]) -> Result<Blocks, Problem> {
    let given: Blocks = blocks.into_iter().filter_map(|(label, text)| Some((label, text?))).collect();
    for (label, text) in &given {
        check_length(*label, text)?;
    }
    Ok(given)
}

/// Writes what differs from what is stored, then tells of it.
async fn write(
    app: &App,
    scope: &Scope,
    name: Option<String>,
    blocks: Blocks,
    editor: &str,
) -> Result<(), Problem> {
    let store = app.runtime().store();
    let persona = app.runtime().ensure_known(scope).await?;
    let stored = store.core_blocks(scope).await?;
    for (label, text) in blocks {
        write_block(app, scope, &stored, label, &text, editor).await?;
    }
    let name = name.unwrap_or_else(|| persona.display_name.clone());
    if name != persona.display_name {
        store.rename_persona(&scope.persona, &name).await?;
    }
    tell_of_change(app, scope, &name);
    Ok(())
}

/// Replaces a block, unless it says the same already. White space alone is no text: it clears the block.
pub(super) async fn write_block(
    app: &App,
    scope: &Scope,
    stored: &CoreBlocks,
    label: CoreBlockLabel,
    text: &str,
    editor: &str,
) -> Result<(), Problem> {
    let text = if text.trim().is_empty() { "" } else { text };
    let before = match label {
        CoreBlockLabel::Persona => &stored.persona,
        CoreBlockLabel::User => &stored.user,
        CoreBlockLabel::Style => &stored.style,
    };
    if before != text {
        app.runtime().store().write_core_block(scope, label, text, editor, app.now()).await?;
    }
    Ok(())
}

/// Tells open pages that the persona is another now.
pub(super) fn tell_of_change(app: &App, scope: &Scope, display_name: &str) {
    let data = json!({"voice_enabled": false, "display_name": display_name,
        "persona_id": scope.persona, "user_id": scope.user});
    app.runtime().broadcast().tell(Told { scope: scope.clone(), name: "chat.settings.updated", data });
}
