//! The people, places and things that the memory knows (L5).

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use memory::Scope;
use memory::entities::{EntityKind, MergeStatus};
use memory::identifiers::EntityId;
use memory::nodes::NodeKind;
use memory::ports::{Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::auth::Admin;
use crate::extract::{InScope, LIST_LIMIT_MAX, Query, page_size};
use crate::problem::Problem;
use crate::state::App;

/// Entities that can be listed; those that changed longest ago fall out.
const ENTITIES_MAX: u32 = 10_000;
/// Nodes of an entity that are counted.
const LINKED_MAX: u32 = 1_000;

/// The ENTITY of the compatible interface, without its counts.
#[derive(Serialize)]
pub(crate) struct Entity {
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

#[derive(Serialize)]
struct Counted {
    #[serde(flatten)]
    entity: Entity,
    linked_events_count: usize,
    last_mentioned_at: Option<Timestamp>,
}

#[derive(Deserialize)]
pub(crate) struct Page {
    limit: Option<u32>,
    cursor: Option<EntityId>,
}

#[derive(Serialize)]
pub(crate) struct List {
    entities: Vec<Counted>,
    next_cursor: Option<EntityId>,
}

/// `GET /api/admin/memory/entities`: those whose identity is open first, then the last changed first.
pub(crate) async fn entities(
    State(app): State<App>,
    Admin(_): Admin,
    InScope(scope): InScope,
    Query(page): Query<Page>,
) -> Result<Json<List>, Problem> {
    let limit = page_size(page.limit, LIST_LIMIT_MAX)? as usize;
    let store = app.runtime().store();
    let mut all = store.entities(&scope, ENTITIES_MAX).await?;
    all.sort_by_key(|entity| entity.merge_status != MergeStatus::Uncertain);
    let start = match page.cursor {
        None => 0,
        Some(id) => {
            let place = all.iter().position(|entity| entity.id == id);
            place.ok_or_else(|| Problem::not_found("cursor: there is no such entity; start again"))? + 1
        }
    };
    let has_more = all.len() > start + limit;
    let mut entities = Vec::new();
    for entity in all.into_iter().skip(start).take(limit) {
        entities.push(counted(store, &scope, entity.into()).await?);
    }
    let next_cursor = entities.last().filter(|_| has_more).map(|counted| counted.entity.id);
    Ok(Json(List { entities, next_cursor }))
}

async fn counted(store: &dyn Store, scope: &Scope, entity: Entity) -> Result<Counted, StoreError> {
    let linked = store.nodes_linked_to(scope, &[entity.id], LINKED_MAX).await?;
    let nodes = store.nodes_numbered(scope, &linked).await?;
    Ok(Counted {
        entity,
        linked_events_count: nodes.iter().filter(|indexed| indexed.node.kind == NodeKind::Event).count(),
        last_mentioned_at: nodes.iter().map(|indexed| indexed.node.created_at).max(),
    })
}

impl From<memory::entities::Entity> for Entity {
    fn from(entity: memory::entities::Entity) -> Self {
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
