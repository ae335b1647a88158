//! Deletes a memory, a message or a session with memories that only it supports. There is no undo.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::{Path, State};
use jiff::Timestamp;
use memory::core_blocks::CoreBlockLabel;
use memory::forget::{
    CoreBlockAppend, Dependent, Dependents, ForgetMode, ForgetSummary, ForgetTarget, Selection,
};
use memory::identifiers::{MessageId, NodeId, SessionId};
use memory::nodes::{Evidence, NodeKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::{Admin, Principal};
use crate::cursor::{not_a_cursor, page_of};
use crate::extract::{self, Id, LIST_LIMIT_MAX, Query, ScopeParam, page_size, run_detached};
use crate::problem::Problem;
use crate::state::App;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct PreviewRequest {
    node_id: NodeId,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ForgetModeQuery {
    #[serde(default)]
    pub(crate) choice: ForgetMode,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ForgetNodeQuery {
    #[serde(default)]
    choice: ForgetMode,
    /// True to silence the quotes that the memory depends on: no model sees them again, while their messages stay in
    /// the conversation.
    #[serde(default)]
    silence: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PreviewResponse {
    target_id: NodeId,
    dependent_thought_ids: Vec<NodeId>,
    dependent_thought_descriptions: Vec<String>,
    has_dependents: bool,
    node_type: NodeKind,
    description: String,
    created_at: Timestamp,
    source_session_id: Option<SessionId>,
    evidence: Vec<Evidence>,
    /// Cited events, the newest first.
    rests_on: Vec<DependentBody>,
    /// Cited events that were forgotten.
    forgotten_event_ids: Vec<NodeId>,
    /// Memories that the node replaced.
    replaced_ids: Vec<NodeId>,
    would_take: WouldTake,
}

/// The effect of each mode of deletion.
#[derive(Default, Serialize, JsonSchema)]
struct WouldTake {
    #[serde(skip_serializing_if = "Option::is_none")]
    orphan: Option<ForgetSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cascade: Option<ForgetSummary>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct DependentsResponse {
    event_id: NodeId,
    dependent_thoughts: Vec<DependentBody>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ThoughtTraceResponse {
    thought_id: NodeId,
    source_events: Vec<DependentBody>,
    source_sessions: Vec<SessionId>,
    forgotten_event_ids: Vec<NodeId>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct NodeDeleted {
    deleted: bool,
    node_id: NodeId,
    choice: ForgetMode,
    taken: ForgetSummary,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct MessageDeleted {
    deleted: bool,
    message_id: MessageId,
    taken: ForgetSummary,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionDeleted {
    deleted: bool,
    session_id: SessionId,
    messages_deleted: usize,
    taken: ForgetSummary,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct CoreBlockAppendDeleted {
    deleted: bool,
    append_id: String,
    label: CoreBlockLabel,
}

/// Handler of `POST /api/admin/memory/preview-delete`: what depends on a node of any kind, and what each mode would
/// delete.
pub(crate) async fn preview(
    State(app): State<App>,
    Admin(principal): Admin,
    extract::Json(asked): extract::Json<PreviewRequest>,
) -> Result<Json<PreviewResponse>, Problem> {
    let found = app.runtime().changes().preview_delete(asked.node_id).await?;
    let (found, choices) =
        found.filter(|(found, _)| principal.may_see(&found.scope)).ok_or_else(no_memory)?;
    let mut would_take = WouldTake::default();
    for (choice, taken) in choices {
        match choice {
            ForgetMode::Orphan => would_take.orphan = Some(taken),
            ForgetMode::Cascade => would_take.cascade = Some(taken),
        }
    }
    Ok(Json(PreviewResponse {
        target_id: found.node.id,
        dependent_thought_ids: found.resting_on_it.iter().map(|thought| thought.id).collect(),
        has_dependents: !found.resting_on_it.is_empty(),
        dependent_thought_descriptions: found.resting_on_it.into_iter().map(|t| t.description).collect(),
        node_type: found.node.kind,
        description: found.node.description,
        created_at: found.node.created_at,
        source_session_id: found.node.source_session_id,
        evidence: found.evidence,
        rests_on: found.rests_on.into_iter().map(DependentBody::from).collect(),
        forgotten_event_ids: found.orphaned,
        replaced_ids: found.replaced,
        would_take,
    }))
}

/// A memory that supports another or is supported by it.
#[derive(Serialize, JsonSchema)]
struct DependentBody {
    id: NodeId,
    node_type: NodeKind,
    description: String,
    created_at: Timestamp,
    source_session_id: Option<SessionId>,
}

impl From<Dependent> for DependentBody {
    fn from(node: Dependent) -> Self {
        Self {
            id: node.id,
            node_type: node.kind,
            description: node.description,
            created_at: node.created_at,
            source_session_id: node.source_session_id,
        }
    }
}

pub(crate) async fn dependents(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<NodeId>,
) -> Result<Json<DependentsResponse>, Problem> {
    let found = visible_node(&app, &principal, id, &[NodeKind::Event, NodeKind::Intention]).await?;
    let dependent_thoughts = found.resting_on_it.into_iter().map(DependentBody::from).collect();
    Ok(Json(DependentsResponse { event_id: id, dependent_thoughts }))
}

pub(crate) async fn trace(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<NodeId>,
) -> Result<Json<ThoughtTraceResponse>, Problem> {
    let found = visible_node(&app, &principal, id, &[NodeKind::Thought, NodeKind::Expectation]).await?;
    let sessions: BTreeSet<SessionId> =
        found.rests_on.iter().filter_map(|event| event.source_session_id).collect();
    Ok(Json(ThoughtTraceResponse {
        thought_id: id,
        source_events: found.rests_on.into_iter().map(DependentBody::from).collect(),
        source_sessions: sessions.into_iter().collect(),
        forgotten_event_ids: found.orphaned,
    }))
}

/// Handler of `DELETE /api/admin/memory/events/{id}`. An intention counts as an event of the persona.
pub(crate) async fn delete_event(
    app: State<App>,
    admin: Admin,
    id: Id<NodeId>,
    choice: Query<ForgetNodeQuery>,
) -> Result<Json<NodeDeleted>, Problem> {
    delete_node(app, admin, id, choice, &[NodeKind::Event, NodeKind::Intention]).await
}

/// Handler of `DELETE /api/admin/memory/thoughts/{id}`. An expectation counts as a thought.
pub(crate) async fn delete_thought(
    app: State<App>,
    admin: Admin,
    id: Id<NodeId>,
    choice: Query<ForgetNodeQuery>,
) -> Result<Json<NodeDeleted>, Problem> {
    delete_node(app, admin, id, choice, &[NodeKind::Thought, NodeKind::Expectation]).await
}

pub(crate) async fn delete_intention(
    app: State<App>,
    admin: Admin,
    id: Id<NodeId>,
    choice: Query<ForgetNodeQuery>,
) -> Result<Json<NodeDeleted>, Problem> {
    delete_node(app, admin, id, choice, &[NodeKind::Intention]).await
}

pub(crate) async fn delete_expectation(
    app: State<App>,
    admin: Admin,
    id: Id<NodeId>,
    choice: Query<ForgetNodeQuery>,
) -> Result<Json<NodeDeleted>, Problem> {
    delete_node(app, admin, id, choice, &[NodeKind::Expectation]).await
}

async fn delete_node(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<NodeId>,
    Query(ForgetNodeQuery { choice, silence }): Query<ForgetNodeQuery>,
    kinds: &[NodeKind],
) -> Result<Json<NodeDeleted>, Problem> {
    let found = visible_node(&app, &principal, id, kinds).await?;
    let selection = Selection { nodes: [id].into(), silences: silence, ..Selection::default() };
    let taken =
        run_detached(
            async move { Ok(app.runtime().changes().delete(found.scope, selection, choice).await?) },
        )
        .await?;
    Ok(Json(NodeDeleted { deleted: true, node_id: id, choice, taken }))
}

pub(crate) async fn delete_message(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<MessageId>,
    Query(ForgetModeQuery { choice }): Query<ForgetModeQuery>,
) -> Result<Json<MessageDeleted>, Problem> {
    forget_message(app, &principal, id, choice).await
}

/// Deletes a message in a scope that the token may access, with memories that only it supports.
pub(crate) async fn forget_message(
    app: App,
    principal: &Principal,
    id: MessageId,
    choice: ForgetMode,
) -> Result<Json<MessageDeleted>, Problem> {
    let scope = app
        .runtime()
        .changes()
        .scope_of(ForgetTarget::Message(id))
        .await?
        .filter(|scope| principal.may_see(scope));
    let scope = scope.ok_or_else(|| Problem::not_found("message not found"))?;
    let selection = Selection { messages: [id].into(), ..Selection::default() };
    let taken =
        run_detached(async move { Ok(app.runtime().changes().delete(scope, selection, choice).await?) })
            .await?;
    Ok(Json(MessageDeleted { deleted: true, message_id: id, taken }))
}

/// Handler of `DELETE /api/admin/memory/sessions/{id}`: deletes all its messages. The session itself stays, so a
/// repeated request deletes 0.
pub(crate) async fn delete_session(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<SessionId>,
    Query(ForgetModeQuery { choice }): Query<ForgetModeQuery>,
) -> Result<Json<SessionDeleted>, Problem> {
    let scope = app
        .runtime()
        .changes()
        .scope_of(ForgetTarget::Session(id))
        .await?
        .filter(|scope| principal.may_see(scope));
    let scope = scope.ok_or_else(|| Problem::not_found("session not found"))?;
    let selection = Selection { sessions: [id].into(), ..Selection::default() };
    let taken =
        run_detached(async move { Ok(app.runtime().changes().delete(scope, selection, choice).await?) })
            .await?;
    Ok(Json(SessionDeleted { deleted: true, session_id: id, messages_deleted: taken.messages.len(), taken }))
}

/// Handler of `GET /api/admin/memory/core-blocks/{label}/appends`: the edits of a core block, newest first.
pub(crate) async fn list_block_edits(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Path(label): Path<String>,
    Query(page): Query<CoreBlockAppendQuery>,
) -> Result<Json<CoreBlockAppendList>, Problem> {
    let label = parse_label(&label)?;
    let limit = page_size(page.limit, LIST_LIMIT_MAX)?;
    let last = page.cursor.map(|cursor| cursor.parse::<i64>().map_err(|_| not_a_cursor())).transpose()?;
    let found = app.runtime().store().core_block_appends(&scope, label, last, limit + 1).await?;
    let (appends, next_cursor) = page_of(found, limit, |last| last.id.to_string());
    let appends = appends.into_iter().map(CoreBlockAppendBody::from).collect();
    Ok(Json(CoreBlockAppendList { label, appends, next_cursor }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct CoreBlockAppendQuery {
    limit: Option<u32>,
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct CoreBlockAppendList {
    label: CoreBlockLabel,
    appends: Vec<CoreBlockAppendBody>,
    next_cursor: Option<String>,
}

/// A core block as it was after an edit.
#[derive(Serialize, JsonSchema)]
struct CoreBlockAppendBody {
    id: String,
    label: CoreBlockLabel,
    content: String,
    version: i64,
    edited_by: String,
    created_at: Timestamp,
}

impl From<CoreBlockAppend> for CoreBlockAppendBody {
    fn from(append: CoreBlockAppend) -> Self {
        Self {
            id: append.id.to_string(),
            label: append.label,
            content: append.content,
            version: append.version,
            edited_by: append.edited_by,
            created_at: append.created_at,
        }
    }
}

/// Handler of `DELETE /api/admin/memory/core-blocks/{label}/appends/{append_id}`: deletes an audit row; the block
/// does not change.
pub(crate) async fn delete_append(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Path((label, id)): Path<(String, String)>,
) -> Result<Json<CoreBlockAppendDeleted>, Problem> {
    let label = parse_label(&label)?;
    let missing = || Problem::not_found("append_id not found in this core block");
    let id: i64 = id.parse().map_err(|_| missing())?;
    let gone =
        run_detached(
            async move { Ok(app.runtime().store().forget_core_block_append(&scope, label, id).await?) },
        )
        .await?;
    match gone {
        true => Ok(Json(CoreBlockAppendDeleted { deleted: true, append_id: id.to_string(), label })),
        false => Err(missing()),
    }
}

fn parse_label(label: &str) -> Result<CoreBlockLabel, Problem> {
    let known = CoreBlockLabel::ALL.into_iter().find(|known| known.as_str() == label);
    known.ok_or_else(|| Problem::not_found("label: unknown core block; allowed are persona, user, style"))
}

/// The node, unless it is of another kind or belongs to a user for whom the token may not act.
async fn visible_node(
    app: &App,
    principal: &Principal,
    id: NodeId,
    kinds: &[NodeKind],
) -> Result<Dependents, Problem> {
    let found = app.runtime().store().dependents(id).await?;
    let found = found.filter(|found| principal.may_see(&found.scope) && kinds.contains(&found.node.kind));
    found.ok_or_else(no_memory)
}

fn no_memory() -> Problem {
    Problem::not_found("memory not found")
}
