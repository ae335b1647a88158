//! Taking one thing away: what hangs on it, and deleting it. It is gone at once; there is no undo.

use axum::Json;
use axum::extract::{Path, State};
use memory::core_blocks::CoreBlockLabel;
use memory::forget::{
    CoreBlockAppend, Dependent, Dependents, ForgetMode, ForgetSummary, ForgetTarget, Selection,
};
use memory::identifiers::{MessageId, NodeId, SessionId};
use memory::nodes::NodeKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::auth::{Admin, Principal};
use crate::cursor::not_a_cursor;
use crate::extract::{self, Id, LIST_LIMIT_MAX, Query, ScopeParam, page_size, run_detached};
use crate::problem::Problem;
use crate::state::App;

/// Edits of one block that can be listed.
const APPENDS_MAX: u32 = 10_000;

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "PreviewRequest")]
pub(crate) struct PreviewRequest {
    node_id: NodeId,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ForgetModeQuery {
    #[serde(default)]
    pub(crate) choice: ForgetMode,
}

/// `POST /api/admin/memory/preview-delete`: what hangs on a node of any kind, and what each choice would take.
pub(crate) async fn preview(
    State(app): State<App>,
    Admin(principal): Admin,
    extract::Json(asked): extract::Json<PreviewRequest>,
) -> Result<Json<Value>, Problem> {
    let found = app.runtime().preview_delete(asked.node_id).await?;
    let (found, choices) =
        found.filter(|(found, _)| principal.may_see(&found.scope)).ok_or_else(no_memory)?;
    let resting: Vec<NodeId> = found.resting_on_it.iter().map(|thought| thought.id).collect();
    let descriptions: Vec<&str> = found.resting_on_it.iter().map(|t| t.description.as_str()).collect();
    let would_take: Map<String, Value> = choices
        .iter()
        .map(|(choice, taken)| (json!(choice).as_str().unwrap_or_default().to_owned(), json!(taken)))
        .collect();
    Ok(Json(json!({
        "target_id": found.node.id, "dependent_thought_ids": resting,
        "dependent_thought_descriptions": descriptions, "has_dependents": !found.resting_on_it.is_empty(),
        "node_type": found.node.kind, "description": found.node.description, "created_at": found.node.created_at,
        "source_session_id": found.node.source_session_id, "evidence": found.evidence,
        "rests_on": traced(&found.rests_on), "forgotten_event_ids": found.orphaned,
        "replaced_ids": found.replaced, "would_take": would_take,
    })))
}

/// TRACENODE of the compatible interface.
#[derive(Serialize, JsonSchema)]
struct TraceNode<'a> {
    id: NodeId,
    node_type: NodeKind,
    description: &'a str,
    created_at: jiff::Timestamp,
    source_session_id: Option<SessionId>,
}

fn traced(nodes: &[Dependent]) -> Vec<TraceNode<'_>> {
    nodes.iter().map(TraceNode::from).collect()
}

impl<'a> From<&'a Dependent> for TraceNode<'a> {
    fn from(node: &'a Dependent) -> Self {
        Self {
            id: node.id,
            node_type: node.kind,
            description: &node.description,
            created_at: node.created_at,
            source_session_id: node.source_session_id,
        }
    }
}

/// `GET /api/admin/memory/events/{id}/dependents`
pub(crate) async fn dependents(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<NodeId>,
) -> Result<Json<Value>, Problem> {
    let found = visible(&app, &principal, id, &[NodeKind::Event, NodeKind::Intention]).await?;
    Ok(Json(json!({"event_id": id, "dependent_thoughts": traced(&found.resting_on_it)})))
}

/// `GET /api/admin/memory/thoughts/{id}/trace`
pub(crate) async fn trace(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<NodeId>,
) -> Result<Json<Value>, Problem> {
    let found = visible(&app, &principal, id, &[NodeKind::Thought, NodeKind::Expectation]).await?;
    let mut sessions: Vec<String> =
        found.rests_on.iter().filter_map(|event| event.source_session_id).map(|id| id.to_string()).collect();
    sessions.sort();
    sessions.dedup();
    Ok(Json(json!({
        "thought_id": id, "source_events": traced(&found.rests_on), "source_sessions": sessions,
        "forgotten_event_ids": found.orphaned,
    })))
}

/// `DELETE /api/admin/memory/events/{id}`; an intention is an event of the persona's.
pub(crate) async fn delete_event(
    app: State<App>,
    admin: Admin,
    id: Id<NodeId>,
    choice: Query<ForgetModeQuery>,
) -> Result<Json<Value>, Problem> {
    delete_node(app, admin, id, choice, &[NodeKind::Event, NodeKind::Intention]).await
}

/// `DELETE /api/admin/memory/thoughts/{id}`; an expectation is a thought that looks ahead.
pub(crate) async fn delete_thought(
    app: State<App>,
    admin: Admin,
    id: Id<NodeId>,
    choice: Query<ForgetModeQuery>,
) -> Result<Json<Value>, Problem> {
    delete_node(app, admin, id, choice, &[NodeKind::Thought, NodeKind::Expectation]).await
}

/// `DELETE /api/admin/memory/intentions/{id}`
pub(crate) async fn delete_intention(
    app: State<App>,
    admin: Admin,
    id: Id<NodeId>,
    choice: Query<ForgetModeQuery>,
) -> Result<Json<Value>, Problem> {
    delete_node(app, admin, id, choice, &[NodeKind::Intention]).await
}

/// `DELETE /api/admin/memory/expectations/{id}`
pub(crate) async fn delete_expectation(
    app: State<App>,
    admin: Admin,
    id: Id<NodeId>,
    choice: Query<ForgetModeQuery>,
) -> Result<Json<Value>, Problem> {
    delete_node(app, admin, id, choice, &[NodeKind::Expectation]).await
}

async fn delete_node(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<NodeId>,
    Query(ForgetModeQuery { choice }): Query<ForgetModeQuery>,
    kinds: &[NodeKind],
) -> Result<Json<Value>, Problem> {
    let found = visible(&app, &principal, id, kinds).await?;
    let selection = Selection { nodes: [id].into(), ..Selection::default() };
    let taken =
        run_detached(async move { Ok(app.runtime().delete(found.scope, selection, choice).await?) }).await?;
    Ok(Json(with_taken(json!({"deleted": true, "node_id": id, "choice": choice}), &taken)))
}

/// `DELETE /api/admin/memory/messages/{id}`
pub(crate) async fn delete_message(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<MessageId>,
    Query(ForgetModeQuery { choice }): Query<ForgetModeQuery>,
) -> Result<Json<Value>, Problem> {
    take_message(app, &principal, id, choice).await
}

/// Deletes a message of a memory that the token may see, and what only it proved.
pub(crate) async fn take_message(
    app: App,
    principal: &Principal,
    id: MessageId,
    choice: ForgetMode,
) -> Result<Json<Value>, Problem> {
    let scope =
        app.runtime().scope_of(ForgetTarget::Message(id)).await?.filter(|scope| principal.may_see(scope));
    let scope = scope.ok_or_else(|| Problem::not_found("there is no such message"))?;
    let selection = Selection { messages: [id].into(), ..Selection::default() };
    let taken =
        run_detached(async move { Ok(app.runtime().delete(scope, selection, choice).await?) }).await?;
    Ok(Json(with_taken(json!({"deleted": true, "message_id": id}), &taken)))
}

/// `DELETE /api/admin/memory/sessions/{id}`: all its messages. The session's row stays, so asking again finds 0.
pub(crate) async fn delete_session(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<SessionId>,
    Query(ForgetModeQuery { choice }): Query<ForgetModeQuery>,
) -> Result<Json<Value>, Problem> {
    let scope =
        app.runtime().scope_of(ForgetTarget::Session(id)).await?.filter(|scope| principal.may_see(scope));
    let scope = scope.ok_or_else(|| Problem::not_found("there is no such session"))?;
    let selection = Selection { sessions: [id].into(), ..Selection::default() };
    let taken =
        run_detached(async move { Ok(app.runtime().delete(scope, selection, choice).await?) }).await?;
    let body = json!({"deleted": true, "session_id": id, "messages_deleted": taken.messages.len()});
    Ok(Json(with_taken(body, &taken)))
}

/// `GET /api/admin/memory/core-blocks/{label}/appends`: what a core block was at each edit, newest first.
pub(crate) async fn appends(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Path(label): Path<String>,
    Query(page): Query<AppendQuery>,
) -> Result<Json<AppendList>, Problem> {
    let label = label_of(&label)?;
    let limit = page_size(page.limit, LIST_LIMIT_MAX)? as usize;
    let last = page.cursor.map(|cursor| cursor.parse::<i64>().map_err(|_| not_a_cursor())).transpose()?;
    let all = app.runtime().store().core_block_appends(&scope, label, APPENDS_MAX).await?;
    let mut rest = all.into_iter().filter(|append| last.is_none_or(|last| append.id < last));
    let appends: Vec<AppendBody> = rest.by_ref().take(limit).map(AppendBody::from).collect();
    let next_cursor = rest.next().and_then(|_| appends.last().map(|append| append.id.clone()));
    Ok(Json(AppendList { label, appends, next_cursor }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct AppendQuery {
    limit: Option<u32>,
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CoreBlockAppendList")]
pub(crate) struct AppendList {
    label: CoreBlockLabel,
    appends: Vec<AppendBody>,
    next_cursor: Option<String>,
}

/// A core block as it was after an edit.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CoreBlockAppend")]
struct AppendBody {
    id: String,
    label: CoreBlockLabel,
    content: String,
    version: i64,
    edited_by: String,
    created_at: jiff::Timestamp,
}

impl From<CoreBlockAppend> for AppendBody {
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

/// `DELETE /api/admin/memory/core-blocks/{label}/appends/{append_id}`: takes the audit row; the block stays as it is.
pub(crate) async fn delete_append(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Path((label, id)): Path<(String, String)>,
) -> Result<Json<Value>, Problem> {
    let label = label_of(&label)?;
    let missing = || Problem::not_found("there is no such edit of this block");
    let id: i64 = id.parse().map_err(|_| missing())?;
    let gone =
        run_detached(
            async move { Ok(app.runtime().store().forget_core_block_append(&scope, label, id).await?) },
        )
        .await?;
    match gone {
        true => Ok(Json(json!({"deleted": true, "append_id": id.to_string(), "label": label}))),
        false => Err(missing()),
    }
}

fn label_of(label: &str) -> Result<CoreBlockLabel, Problem> {
    let known = CoreBlockLabel::ALL.into_iter().find(|known| known.as_str() == label);
    known
        .ok_or_else(|| Problem::not_found("there is no such core block; the blocks are persona, user, style"))
}

/// The node, unless it is of another kind or belongs to somebody for whom the token does not speak.
async fn visible(
    app: &App,
    principal: &Principal,
    id: NodeId,
    kinds: &[NodeKind],
) -> Result<Dependents, Problem> {
    let found = app.runtime().store().dependents(id).await?;
    let found = found.filter(|found| principal.may_see(&found.scope) && kinds.contains(&found.node.kind));
    found.ok_or_else(no_memory)
}

/// The compatible answer, and what went beside it.
fn with_taken(mut body: Value, taken: &ForgetSummary) -> Value {
    if let Some(fields) = body.as_object_mut() {
        fields.insert("taken".to_owned(), json!(taken));
    }
    body
}

fn no_memory() -> Problem {
    Problem::not_found("there is no such memory")
}
