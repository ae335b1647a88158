//! Events (L3), thoughts, intentions and expectations (L4), and refused memories.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::{NodeId, RejectedId, SessionId, TurnId};
use memory::nodes::{EventTime, Evidence, Node, NodeKind, RejectedMemory, RelationalTag, Subject};
use memory::ports::{NodeOrigin, NodePageQuery, Store};
use memory::recall::{FormerValue, OutdatedValues};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::Admin;
use crate::cursor::{Cursor, PageQuery, page_of};
use crate::extract::{LIST_LIMIT_MAX, Query, ScopeParam, page_size};
use crate::problem::Problem;
use crate::state::App;

const PAGE_DEFAULT: u32 = 20;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NodeListQuery {
    limit: Option<u32>,
    #[serde(default)]
    offset: u32,
    /// The `next_cursor` of the preceding page.
    cursor: Option<String>,
    subject: Option<Subject>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct NodeList {
    node_type: NodeKind,
    limit: u32,
    offset: u32,
    total: u64,
    subject: Option<Subject>,
    items: Vec<NodeBody>,
    next_cursor: Option<String>,
}

/// A node in the form of the compatible interface, with additional fields.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NodeBody {
    id: NodeId,
    node_type: NodeKind,
    description: String,
    emotional_impact: i8,
    emotion_tags: Vec<String>,
    relational_tags: Vec<RelationalTag>,
    source_session_id: Option<SessionId>,
    source_turn_id: Option<TurnId>,
    imported_from: Option<String>,
    source_deleted: bool,
    created_at: Timestamp,
    /// Time of the messages that are its evidence. For an imported memory it is long before `created_at`.
    said_at: Timestamp,
    access_count: u32,
    subject: Subject,
    filling_event_ids: Vec<NodeId>,
    source: Option<&'static str>,
    event_time: Option<EventTime>,
    mention_count: u32,
    superseded_by: Option<NodeId>,
    pinned: bool,
    evidence: Vec<Evidence>,
    /// A value in it that was replaced, with the current one.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_longer_current: Option<FormerValue>,
}

/// Handler of `GET /api/admin/memory/events`.
pub(crate) async fn events(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(page): Query<NodeListQuery>,
) -> Result<Json<NodeList>, Problem> {
    list(&app, &scope, NodeKind::Event, NodeListQuery { subject: None, ..page }).await
}

pub(crate) async fn thoughts(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(page): Query<NodeListQuery>,
) -> Result<Json<NodeList>, Problem> {
    list(&app, &scope, NodeKind::Thought, page).await
}

pub(crate) async fn intentions(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(page): Query<NodeListQuery>,
) -> Result<Json<NodeList>, Problem> {
    list(&app, &scope, NodeKind::Intention, page).await
}

pub(crate) async fn expectations(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(page): Query<NodeListQuery>,
) -> Result<Json<NodeList>, Problem> {
    list(&app, &scope, NodeKind::Expectation, page).await
}

/// A page of one kind, newest first, after `cursor` or from `offset`.
async fn list(
    app: &App,
    scope: &Scope,
    kind: NodeKind,
    page: NodeListQuery,
) -> Result<Json<NodeList>, Problem> {
    let limit = page_size(page.limit, PAGE_DEFAULT)?;
    let store = app.runtime().store();
    let (below, skip) = match page.cursor {
        Some(cursor) => (Some(place_of(store, scope, &cursor).await?), 0),
        None => (None, page.offset),
    };
    // One more than the page shows, to find out if there are more.
    let subject = page.subject;
    let query = NodePageQuery { kind, subject, below, skip, limit: limit + 1 };
    let (nodes, total) = store.node_page(scope, query).await?;
    let (shown, last) = page_of(nodes, limit, |node| Cursor(node.seq));
    let next_cursor = last.map(|place| place.encode());
    let items = node_bodies(store, scope, shown).await?;
    Ok(Json(NodeList { node_type: kind, limit, offset: page.offset, total, subject, items, next_cursor }))
}

/// The number below which the page begins: from the cursor, or that of the memory that the cursor names.
async fn place_of(store: &dyn Store, scope: &Scope, cursor: &str) -> Result<i64, Problem> {
    match cursor.parse() {
        Ok(id) => seq_of(store, scope, id).await,
        Err(_) => Cursor::<i64>::read(cursor).map(|Cursor(seq)| seq),
    }
}

async fn seq_of(store: &dyn Store, scope: &Scope, id: NodeId) -> Result<i64, Problem> {
    let unknown = || Problem::not_found("cursor: expired; request the first page");
    let found = store.node(id).await?.ok_or_else(unknown)?;
    let is_own = store.scope_of_node(id).await?.as_ref() == Some(scope);
    is_own.then_some(found.node.seq).ok_or_else(unknown)
}

/// The response bodies for nodes of one scope, with their former values.
pub(super) async fn node_bodies(
    store: &dyn Store,
    scope: &Scope,
    nodes: Vec<Node>,
) -> Result<Vec<NodeBody>, Problem> {
    let mut former = OutdatedValues::former_values_in_nodes(store, scope, &nodes).await?;
    let seqs: Vec<i64> = nodes.iter().map(|node| node.seq).collect();
    let mut origins = store.node_origins(&seqs).await?;
    let body = |node: Node| {
        let no_longer_current = former.remove(&node.id);
        let origin = origins.remove(&node.seq).unwrap_or_default();
        NodeBody { no_longer_current, ..node_body(node, origin) }
    };
    Ok(nodes.into_iter().map(body).collect())
}

/// The response for one node.
pub(super) async fn response_for_node(store: &dyn Store, node: Node) -> Result<NodeBody, Problem> {
    let origin = store.node_origins(&[node.seq]).await?.remove(&node.seq).unwrap_or_default();
    Ok(node_body(node, origin))
}

fn node_body(node: Node, origin: NodeOrigin) -> NodeBody {
    let source = match (node.kind, node.source_session_id) {
        (NodeKind::Thought, None) => Some("slow_tick"),
        (NodeKind::Thought, Some(_)) => Some(if origin.is_imported { "import" } else { "reflection" }),
        _ => None,
    };
    NodeBody {
        id: node.id,
        node_type: node.kind,
        description: node.description,
        emotional_impact: node.emotional_impact,
        emotion_tags: node.emotion_tags,
        relational_tags: node.relational_tags,
        source_session_id: node.source_session_id,
        source_turn_id: origin.turn,
        imported_from: None,
        source_deleted: false,
        created_at: node.created_at,
        said_at: origin.said_at.unwrap_or(node.created_at),
        access_count: node.access_count,
        subject: node.subject,
        filling_event_ids: origin.filling,
        source,
        event_time: node.event_time,
        mention_count: node.mention_count,
        superseded_by: node.superseded_by,
        pinned: node.pinned,
        evidence: origin.evidence,
        no_longer_current: None,
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct RejectedList {
    rejected: Vec<WaitingMemory>,
    next_cursor: Option<String>,
}

/// A memory that waits for a person's decision.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WaitingMemory {
    kind: WaitingKind,
    #[serde(flatten)]
    memory: RejectedMemory,
}

/// Why a memory waits.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WaitingKind {
    /// A language model proposed it, and the checks refused it.
    Refused,
    /// Another program had saved it, and an import found it.
    Proposal,
}

impl From<RejectedMemory> for WaitingMemory {
    fn from(memory: RejectedMemory) -> Self {
        let kind = match memory.proposal.source {
            Some(_) => WaitingKind::Proposal,
            None => WaitingKind::Refused,
        };
        Self { kind, memory }
    }
}

/// Handler of `GET /api/admin/memory/rejected`, newest first.
pub(crate) async fn list_rejected(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(page): Query<PageQuery>,
) -> Result<Json<RejectedList>, Problem> {
    let limit = page_size(page.limit, LIST_LIMIT_MAX)?;
    let last = page.cursor.as_deref().map(Cursor::<(Timestamp, RejectedId)>::read).transpose()?;
    let found = app.runtime().store().rejected(&scope, last.map(|Cursor(place)| place), limit + 1).await?;
    let place = |memory: &RejectedMemory| Cursor((memory.created_at, memory.id)).encode();
    let (rejected, next_cursor) = page_of(found, limit, place);
    Ok(Json(RejectedList { rejected: rejected.into_iter().map(WaitingMemory::from).collect(), next_cursor }))
}
