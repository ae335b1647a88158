//! The people, places and things that the memory knows (L5).

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use memory::Scope;
use memory::entities::{Entity, EntityChange, EntityChanged, EntityKind, EntityUndone, MergeStatus};
use memory::identifiers::EntityId;
use memory::ports::{EntityPlace, Store};
use memory::recall::{FormerValue, OutdatedValues};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::Admin;
use crate::cursor::{Cursor, page_of};
use crate::extract::{Id, LIST_LIMIT_MAX, Query, ScopeParam, page_size, run_detached};
use crate::problem::Problem;
use crate::respond::OkResponse;
use crate::state::App;

/// Maximum length of a name, in characters: it is part of prompts.
const NAME_LENGTH_MAX: usize = 256;
/// Maximum length of a description, in characters: it is part of prompts.
const DESCRIPTION_LENGTH_MAX: usize = 4_000;
/// Maximum names besides the main one. Each is compared with the words of every message.
const ALIASES_MAX: usize = 100;

/// An entity in the form of the compatible interface, without its counts.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EntitySummary {
    id: EntityId,
    canonical_name: String,
    kind: EntityKind,
    description: Option<String>,
    merge_status: MergeStatus,
    merge_target_id: Option<EntityId>,
    owner_override: bool,
    created_at: Timestamp,
    updated_at: Timestamp,
    aliases: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct EntityDetail {
    #[serde(flatten)]
    entity: EntitySummary,
    linked_events_count: u64,
    last_mentioned_at: Option<Timestamp>,
    /// A value in its name or description that is no longer current.
    no_longer_current: Option<FormerValue>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct EntityQuery {
    limit: Option<u32>,
    /// The `next_cursor` of the preceding page.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct EntityList {
    entities: Vec<EntityDetail>,
    next_cursor: Option<String>,
}

/// Handler of `GET /api/admin/memory/entities`: those of uncertain identity first, then the last changed first.
pub(crate) async fn entities(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(page): Query<EntityQuery>,
) -> Result<Json<EntityList>, Problem> {
    let limit = page_size(page.limit, LIST_LIMIT_MAX)?;
    let store = app.runtime().store();
    let last = match page.cursor {
        Some(cursor) => Some(place_of(store, &scope, &cursor).await?),
        None => None,
    };
    let found = store.entity_page(&scope, last, limit + 1).await?;
    let (page, next_cursor) = page_of(found, limit, |last| Cursor(EntityPlace::from(last)).encode());
    let entities = with_counts(&app, &scope, page).await?;
    Ok(Json(EntityList { entities, next_cursor }))
}

/// The position after which the page begins: from the cursor, or that of the entity that the cursor names.
async fn place_of(store: &dyn Store, scope: &Scope, cursor: &str) -> Result<EntityPlace, Problem> {
    let Ok(id) = cursor.parse() else { return Cursor::read(cursor).map(|Cursor(place)| place) };
    let named = store.entity(scope, id).await?.map(|entity| EntityPlace::from(&entity));
    named.ok_or_else(|| Problem::not_found("cursor: expired; request the first page"))
}

pub(crate) async fn entity(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Id(id): Id<EntityId>,
) -> Result<Json<EntityDetail>, Problem> {
    let entity = app.runtime().store().entity(&scope, id).await?.ok_or_else(no_entity)?;
    entity_response(&app, &scope, entity).await
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewEntityRequest {
    canonical_name: String,
    #[serde(default = "default_kind")]
    kind: EntityKind,
    description: Option<String>,
    aliases: Option<Vec<String>>,
}

fn default_kind() -> EntityKind {
    EntityKind::Person
}

/// Handler of `POST /api/admin/memory/entities`: adds an entity.
pub(crate) async fn create(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    crate::extract::Json(new): crate::extract::Json<NewEntityRequest>,
) -> Result<Json<EntityDetail>, Problem> {
    let canonical_name = checked_name("canonical_name", new.canonical_name)?;
    let description = new.description.map(checked_description).transpose()?;
    let aliases = new.aliases.unwrap_or_default();
    if aliases.len() > ALIASES_MAX {
        return Err(Problem::unprocessable(format!("aliases: at most {ALIASES_MAX}")));
    }
    let aliases = aliases.into_iter().map(|alias| checked_name("aliases", alias));
    let aliases = aliases.collect::<Result<Vec<_>, _>>()?;
    let (runtime, of) = (app.runtime().clone(), scope.clone());
    let work = async move {
        Ok(runtime.changes().create_entity(&of, canonical_name, new.kind, description, aliases).await?)
    };
    let created = changed_entity(run_detached(work).await?)?;
    entity_response(&app, &scope, created).await
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct EditEntityRequest {
    canonical_name: Option<String>,
    description: Option<String>,
}

/// Handler of `PATCH /api/admin/memory/entities/{id}`: changes the name, the description, or both. The description
/// belongs to the owner from then on, even if it is empty.
pub(crate) async fn edit(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Id(id): Id<EntityId>,
    crate::extract::Json(edit): crate::extract::Json<EditEntityRequest>,
) -> Result<Json<EntityDetail>, Problem> {
    let name = edit.canonical_name.map(|name| checked_name("canonical_name", name)).transpose()?;
    let description = edit.description.map(checked_description).transpose()?;
    let rename = name.map(|name| EntityChange::Rename { name });
    let describe = description.map(|description| EntityChange::Describe { description });
    let changes: Vec<EntityChange> = rename.into_iter().chain(describe).collect();
    if changes.is_empty() {
        return Err(Problem::unprocessable("description, canonical_name: send at least one of them"));
    }
    let (runtime, of) = (app.runtime().clone(), scope.clone());
    let work = async move {
        let mut entity = None;
        for change in changes {
            entity = Some(changed_entity(runtime.changes().change_entity(&of, id, change).await?)?);
        }
        entity.ok_or_else(no_entity)
    };
    let entity = run_detached(work).await?;
    entity_response(&app, &scope, entity).await
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct MergeRequest {
    target_id: EntityId,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct MergeResponse {
    ok: bool,
    merged_into: EntityId,
}

/// Handler of `POST /api/admin/memory/entities/{id}/merge`: the two are the same. `merged_into` is the one that
/// stays: the settled one of the two, else the older of two uncertain ones, else the target.
pub(crate) async fn merge(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Id(id): Id<EntityId>,
    crate::extract::Json(MergeRequest { target_id }): crate::extract::Json<MergeRequest>,
) -> Result<Json<MergeResponse>, Problem> {
    let stays = settle(&app, scope, id, target_id, EntityChange::Merge { other: target_id }).await?;
    Ok(Json(MergeResponse { ok: true, merged_into: stays.id }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SeparateRequest {
    other_id: EntityId,
}

/// Handler of `POST /api/admin/memory/entities/{id}/confirm-separate`: the two are different, and the persona does
/// not ask again.
pub(crate) async fn confirm_separate(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Id(id): Id<EntityId>,
    crate::extract::Json(SeparateRequest { other_id }): crate::extract::Json<SeparateRequest>,
) -> Result<Json<OkResponse>, Problem> {
    settle(&app, scope, id, other_id, EntityChange::Separate { other: other_id }).await?;
    Ok(OkResponse::json())
}

async fn settle(
    app: &App,
    scope: Scope,
    id: EntityId,
    other: EntityId,
    change: EntityChange,
) -> Result<Entity, Problem> {
    let store = app.runtime().store();
    for id in [id, other] {
        store.entity(&scope, id).await?.ok_or_else(no_entity)?;
    }
    if id == other {
        return Err(Problem::bad_request(
            "other_id and target_id must name another entity; nothing was changed",
        ));
    }
    let runtime = app.runtime().clone();
    let work = async move { changed_entity(runtime.changes().change_entity(&scope, id, change).await?) };
    run_detached(work).await
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct UndoEntityResponse {
    ok: bool,
    /// `merge`, `separate`, `rename` or `describe`.
    undone: &'static str,
    entities: Vec<EntityDetail>,
}

/// Handler of `POST /api/admin/memory/entities/{id}/undo`: undoes the last merge, separation, name or description.
pub(crate) async fn undo(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Id(id): Id<EntityId>,
) -> Result<Json<UndoEntityResponse>, Problem> {
    let (runtime, of) = (app.runtime().clone(), scope.clone());
    let outcome =
        run_detached(async move { Ok(runtime.changes().undo_entity_change(&of, id).await?) }).await?;
    match outcome {
        EntityUndone::Undone { change, entities } => {
            let entities = with_counts(&app, &scope, entities).await?;
            Ok(Json(UndoEntityResponse { ok: true, undone: change, entities }))
        }
        EntityUndone::NothingToUndo => Err(Problem::conflict("this entity has no change to undo")),
        EntityUndone::ChangedSince => {
            Err(Problem::conflict("the other entity was merged or separated later; undo that first"))
        }
        EntityUndone::NotThere => Err(no_entity()),
    }
}

fn changed_entity(outcome: EntityChanged) -> Result<Entity, Problem> {
    match outcome {
        EntityChanged::Changed(entities) => entities.into_iter().next().ok_or_else(no_entity),
        EntityChanged::NotThere => Err(no_entity()),
        EntityChanged::NameTaken(by) => Err(Problem::conflict(format!(
            "{} ({}) already has this name; if both are the same, merge them",
            by.canonical_name, by.id
        ))),
    }
}

fn no_entity() -> Problem {
    Problem::not_found("entity not found")
}

fn checked_name(field: &str, name: String) -> Result<String, Problem> {
    let name = name.trim();
    let is_name =
        (1..=NAME_LENGTH_MAX).contains(&name.chars().count()) && !name.chars().any(char::is_control);
    if is_name {
        return Ok(name.to_owned());
    }
    Err(Problem::unprocessable(format!("{field}: 1 to {NAME_LENGTH_MAX} characters on one line")))
}

fn checked_description(text: String) -> Result<String, Problem> {
    if text.chars().count() <= DESCRIPTION_LENGTH_MAX {
        return Ok(text);
    }
    Err(Problem::unprocessable(format!("description: at most {DESCRIPTION_LENGTH_MAX} characters")))
}

async fn entity_response(app: &App, scope: &Scope, entity: Entity) -> Result<Json<EntityDetail>, Problem> {
    let entity = with_counts(app, scope, vec![entity]).await?.into_iter().next();
    entity.map(Json).ok_or_else(no_entity)
}

/// The entities with the number of their mentions.
async fn with_counts(app: &App, scope: &Scope, entities: Vec<Entity>) -> Result<Vec<EntityDetail>, Problem> {
    let ids: Vec<EntityId> = entities.iter().map(|entity| entity.id).collect();
    let mentions = app.runtime().store().entity_mentions(scope, &ids).await?;
    let described =
        entities.iter().flat_map(|entity| [Some(&entity.canonical_name), entity.description.as_ref()]);
    let texts = described.flatten().cloned().collect();
    let corrected = OutdatedValues::former_values_in_texts(app.runtime().store(), scope, texts).await?;
    let counted = entities.into_iter().map(|entity| {
        let spoken_of = mentions.iter().find(|mentions| mentions.entity_id == entity.id);
        EntityDetail {
            linked_events_count: spoken_of.map_or(0, |mentions| mentions.events),
            last_mentioned_at: spoken_of.and_then(|mentions| mentions.last_at),
            no_longer_current: corrected.former_value_in_description(
                &entity.canonical_name,
                &entity.aliases,
                entity.description.as_deref().unwrap_or_default(),
            ),
            entity: entity.into(),
        }
    });
    Ok(counted.collect())
}

impl From<Entity> for EntitySummary {
    fn from(entity: Entity) -> Self {
        let mut aliases = entity.aliases;
        aliases.sort();
        Self {
            id: entity.id,
            canonical_name: entity.canonical_name,
            kind: entity.kind,
            description: entity.description,
            merge_status: entity.merge_status,
            merge_target_id: entity.merge_target,
            owner_override: entity.owner_override,
            created_at: entity.created_at,
            updated_at: entity.updated_at,
            aliases,
        }
    }
}
