//! Corrections by people: a memory's text, a pin, undoing a change, a refused memory.

use axum::Json;
use axum::extract::State;
use memory::Scope;
use memory::corrections::{ApprovalEdits, ChangeKind, NodeVersion};
use memory::identifiers::{ImportId, NodeId, RejectedId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::admin::memory::nodes::{NodeBody, response_for_node};
use crate::auth::{Admin, Principal};
use crate::extract::{self, Id, LIST_LIMIT_MAX, OptionalJson, Query, page_size, run_detached};
use crate::problem::Problem;
use crate::state::App;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct EditNodeRequest {
    #[serde(alias = "description")]
    text: Option<String>,
    pinned: Option<bool>,
}

/// Handler of `PATCH /api/admin/memory/nodes/{id} {text?, pinned?}`. Returns the changed node. Its id stays; the
/// former text stays in the history.
pub(crate) async fn correct(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<NodeId>,
    extract::Json(change): extract::Json<EditNodeRequest>,
) -> Result<Json<NodeBody>, Problem> {
    if change.text.is_none() && change.pinned.is_none() {
        return Err(Problem::unprocessable("text, pinned: send at least one of them; nothing was changed"));
    }
    visible_scope(&app, &principal, id).await?;
    let node = run_detached({
        let app = app.clone();
        async move {
            let runtime = app.runtime();
            let mut node = None;
            if let Some(text) = change.text {
                node = Some(runtime.changes().correct_node(id, &text).await?.ok_or_else(no_node)?);
            }
            if let Some(pinned) = change.pinned {
                node = Some(runtime.changes().pin_node(id, pinned).await?.ok_or_else(no_node)?);
            }
            node.ok_or_else(no_node)
        }
    })
    .await?;
    Ok(Json(response_for_node(app.runtime().store(), node).await?))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct HistoryQuery {
    limit: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct NodeHistory {
    node_id: NodeId,
    versions: Vec<NodeVersion>,
}

/// Handler of `GET /api/admin/memory/nodes/{id}/history`: newest first, with the memories that it replaced and that
/// replaced it.
pub(crate) async fn history(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<NodeId>,
    Query(page): Query<HistoryQuery>,
) -> Result<Json<NodeHistory>, Problem> {
    let limit = page_size(page.limit, LIST_LIMIT_MAX)?;
    visible_scope(&app, &principal, id).await?;
    let versions = app.runtime().store().node_history(id, limit).await?.ok_or_else(no_node)?;
    Ok(Json(NodeHistory { node_id: id, versions }))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct UndoNodeResponse {
    ok: bool,
    undone: ChangeKind,
    node: NodeBody,
    restored: Option<NodeBody>,
}

/// Handler of `POST /api/admin/memory/nodes/{id}/undo`: undoes the last correction, supersession or mention merge;
/// 409 if there is none.
pub(crate) async fn undo(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<NodeId>,
) -> Result<Json<UndoNodeResponse>, Problem> {
    visible_scope(&app, &principal, id).await?;
    let undone = run_detached({
        let app = app.clone();
        async move { Ok(app.runtime().changes().undo_node(id).await?) }
    })
    .await?;
    let nothing = || Problem::conflict("this memory has no change to undo");
    let undone = undone.ok_or_else(nothing)?;
    let store = app.runtime().store();
    let restored = match undone.restored {
        Some(node) => Some(response_for_node(store, node).await?),
        None => None,
    };
    Ok(Json(UndoNodeResponse {
        ok: true,
        undone: undone.kind,
        node: response_for_node(store, undone.node).await?,
        restored,
    }))
}

#[derive(Default, Deserialize, JsonSchema)]
pub(crate) struct ApproveRequest {
    #[serde(alias = "description")]
    text: Option<String>,
    #[serde(alias = "impact")]
    emotional_impact: Option<i8>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ApproveResponse {
    ok: bool,
    id: RejectedId,
    node_id: NodeId,
    node: NodeBody,
}

/// Handler of `POST /api/admin/memory/rejected/{id}/approve {text?, emotional_impact?}`: stores the memory with the
/// approval as its evidence. An impact outside the scale is clamped, unless another one is given.
pub(crate) async fn approve(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<RejectedId>,
    OptionalJson(approved): OptionalJson<ApproveRequest>,
) -> Result<Json<ApproveResponse>, Problem> {
    let scope = scope_of_rejected(&app, &principal, id).await?;
    let edits = ApprovalEdits { text: approved.text, emotional_impact: approved.emotional_impact };
    let node = run_detached({
        let app = app.clone();
        async move { Ok(app.runtime().changes().approve_rejected(&scope, id, edits).await?) }
    })
    .await?
    .ok_or_else(already_decided)?;
    let store = app.runtime().store();
    let written = store.node(node.id).await?.ok_or_else(no_node)?;
    let body = response_for_node(store, written.node).await?;
    Ok(Json(ApproveResponse { ok: true, id, node_id: node.id, node: body }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApproveAllRequest {
    /// The import whose proposals are approved.
    run_id: ImportId,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ApproveAllResponse {
    ok: bool,
    /// Number of memories that were stored.
    approved: u64,
}

/// Handler of `POST /api/admin/memory/rejected/approve-all {run_id}`: approves the memories that an import brought
/// from another program.
pub(crate) async fn approve_all(
    State(app): State<App>,
    Admin(principal): Admin,
    extract::Json(asked): extract::Json<ApproveAllRequest>,
) -> Result<Json<ApproveAllResponse>, Problem> {
    let run = app.runtime().imports().find(asked.run_id).await?.run;
    if run.is_some_and(|run| !principal.may_see(&run.scope)) {
        return Err(Problem::not_found("import not found"));
    }
    let approved =
        run_detached(async move { Ok(app.runtime().imports().approve_proposals(asked.run_id).await?) })
            .await?;
    Ok(Json(ApproveAllResponse { ok: true, approved }))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct DismissResponse {
    ok: bool,
    id: RejectedId,
}

/// Handler of `POST /api/admin/memory/rejected/{id}/dismiss`: dismisses it permanently.
pub(crate) async fn dismiss(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<RejectedId>,
) -> Result<Json<DismissResponse>, Problem> {
    scope_of_rejected(&app, &principal, id).await?;
    let waited = run_detached(async move { Ok(app.runtime().changes().dismiss_rejected(id).await?) }).await?;
    if waited { Ok(Json(DismissResponse { ok: true, id })) } else { Err(already_decided()) }
}

/// Refuses a memory that does not exist, or that belongs to a user for whom the token may not act.
async fn visible_scope(app: &App, principal: &Principal, id: NodeId) -> Result<Scope, Problem> {
    let scope = app.runtime().store().scope_of_node(id).await?;
    scope.filter(|scope| principal.may_see(scope)).ok_or_else(no_node)
}

/// The scope of a refused memory, if it still waits.
async fn scope_of_rejected(app: &App, principal: &Principal, id: RejectedId) -> Result<Scope, Problem> {
    let pending = app.runtime().store().rejected_memory(id).await?;
    let pending = pending.filter(|pending| principal.may_see(&pending.scope));
    let pending = pending.ok_or_else(|| Problem::not_found("rejected memory not found"))?;
    if pending.settled { Err(already_decided()) } else { Ok(pending.scope) }
}

fn no_node() -> Problem {
    Problem::not_found("memory not found")
}

fn already_decided() -> Problem {
    Problem::conflict("this rejected memory was already approved or dismissed")
}
