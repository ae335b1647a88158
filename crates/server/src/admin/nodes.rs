//! Events (L3), thoughts, intentions and expectations (L4), and what was refused without evidence.

use std::cmp::Reverse;

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::{NodeId, SessionId, TurnId};
use memory::nodes::{EventTime, Evidence, Node, NodeKind, RejectedMemory, RelationalTag, Subject};
use memory::ports::Store;
use memory::recall::{Corrected, FormerValue};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::Admin;
use crate::cursor::{Cursor, PageQuery};
use crate::extract::{Query, ScopeParam, page_size};
use crate::problem::Problem;
use crate::state::App;

const PAGE_DEFAULT: u32 = 20;
/// Refused memories that can be listed; the oldest fall out.
const REJECTED_MAX: u32 = 10_000;
/// Rows fetched at once while a list is walked.
const STEP: u32 = 500;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NodePageQuery {
    limit: Option<u32>,
    #[serde(default)]
    offset: u32,
    /// The `next_cursor` of the page before.
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

/// The NODE of the compatible interface, and what is known beyond it.
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
    /// Time at which the words were said on which it rests. What was imported was said long before it was written here.
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
    Query(page): Query<NodePageQuery>,
) -> Result<Json<NodeList>, Problem> {
    list(&app, &scope, NodeKind::Event, NodePageQuery { subject: None, ..page }).await
}

pub(crate) async fn thoughts(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(page): Query<NodePageQuery>,
) -> Result<Json<NodeList>, Problem> {
    list(&app, &scope, NodeKind::Thought, page).await
}

pub(crate) async fn intentions(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(page): Query<NodePageQuery>,
) -> Result<Json<NodeList>, Problem> {
    list(&app, &scope, NodeKind::Intention, page).await
}

pub(crate) async fn expectations(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(page): Query<NodePageQuery>,
) -> Result<Json<NodeList>, Problem> {
    list(&app, &scope, NodeKind::Expectation, page).await
}

/// A page of one kind, newest first, from behind `cursor` or from `offset`.
async fn list(
    app: &App,
    scope: &Scope,
    kind: NodeKind,
    page: NodePageQuery,
) -> Result<Json<NodeList>, Problem> {
    let limit = page_size(page.limit, PAGE_DEFAULT)?;
    let store = app.runtime().store();
    let (below, skip) = match page.cursor {
        Some(cursor) => (Some(place_of(store, scope, &cursor).await?), 0),
        None => (None, page.offset),
    };
    // One more than the page shows, to see whether there is more.
    let reach = skip.saturating_add(limit).saturating_add(1);
    let [_, _, events, thoughts] = store.counts(scope).await?;
    let (rows, total) = match (page.subject, kind) {
        (None, NodeKind::Event) => (store.nodes_before(scope, &[kind], below, reach).await?, events),
        (None, NodeKind::Thought) => (store.nodes_before(scope, &[kind], below, reach).await?, thoughts),
        (subject, _) => about(store, scope, kind, subject, below, reach as usize).await?,
    };
    let mut rows = rows.into_iter().skip(skip as usize);
    let shown: Vec<Node> = rows.by_ref().take(limit as usize).collect();
    let last = shown.last().map(|node| Cursor(node.seq));
    let next_cursor = rows.next().and(last).map(|place| place.encode());
    let items = items(store, scope, shown).await?;
    let (offset, subject) = (page.offset, page.subject);
    Ok(Json(NodeList { node_type: kind, limit, offset, total, subject, items, next_cursor }))
}

/// The newest nodes about a subject (`None`: any) below a number, at most `reach`, and how many there are in all. The
/// store lists by kind alone and counts only events and thoughts, so this walks.
async fn about(
    store: &dyn Store,
    scope: &Scope,
    kind: NodeKind,
    subject: Option<Subject>,
    below: Option<i64>,
    reach: usize,
) -> Result<(Vec<Node>, u64), Problem> {
    let (mut found, mut total, mut before) = (Vec::new(), 0, None);
    loop {
        let step = store.nodes_before(scope, &[kind], before, STEP).await?;
        let is_last = step.len() < STEP as usize;
        before = step.last().map(|node| node.seq);
        for node in step.into_iter().filter(|node| subject.is_none_or(|subject| node.subject == subject)) {
            total += 1;
            if found.len() < reach && below.is_none_or(|below| node.seq < below) {
                found.push(node);
            }
        }
        if is_last {
            return Ok((found, total));
        }
    }
}

/// The number below which the page begins: of the place where the page before ended, or of the memory that the cursor names.
async fn place_of(store: &dyn Store, scope: &Scope, cursor: &str) -> Result<i64, Problem> {
    match cursor.parse() {
        Ok(id) => seq_of(store, scope, id).await,
        Err(_) => Cursor::<i64>::read(cursor).map(|Cursor(seq)| seq),
    }
}

async fn seq_of(store: &dyn Store, scope: &Scope, id: NodeId) -> Result<i64, Problem> {
    let unknown = || Problem::not_found("cursor: expired; request the first page");
    let found = store.node(id).await?.ok_or_else(unknown)?;
    // Whose memory a node is in shows only in the lists of that memory.
    let own = store.nodes_before(scope, &[found.node.kind], Some(found.node.seq + 1), 1).await?;
    own.first().filter(|node| node.id == id).map(|node| node.seq).ok_or_else(unknown)
}

/// The bodies of nodes of one scope, with what each says that was replaced.
pub(super) async fn items(
    store: &dyn Store,
    scope: &Scope,
    nodes: Vec<Node>,
) -> Result<Vec<NodeBody>, Problem> {
    let mut former = Corrected::in_nodes(store, scope, &nodes).await?;
    let seqs: Vec<i64> = nodes.iter().map(|node| node.seq).collect();
    let said_at = store.said_at(&seqs).await?;
    let mut items = Vec::with_capacity(nodes.len());
    for node in nodes {
        let no_longer_current = former.remove(&node.id);
        let said_at = said_at.get(&node.seq).copied().unwrap_or(node.created_at);
        items.push(NodeBody { no_longer_current, ..body(store, node, said_at).await? });
    }
    Ok(items)
}

/// The body of one node, without what it says that was replaced.
pub(super) async fn item(store: &dyn Store, node: Node) -> Result<NodeBody, Problem> {
    let said_at = store.said_at(&[node.seq]).await?.remove(&node.seq).unwrap_or(node.created_at);
    body(store, node, said_at).await
}

async fn body(store: &dyn Store, node: Node, said_at: Timestamp) -> Result<NodeBody, Problem> {
    let (evidence, filling) = match store.node(node.id).await? {
        Some(found) => (found.evidence, found.filling),
        None => (Vec::new(), Vec::new()),
    };
    // The turn of the first words that it depends on.
    let source_turn_id = match evidence.first() {
        Some(first) => store.message(first.message_id).await?.and_then(|message| message.turn_id),
        None => None,
    };
    let source = match (node.kind, node.source_session_id) {
        (NodeKind::Thought, None) => Some("slow_tick"),
        (NodeKind::Thought, Some(session)) => {
            let session = store.session(session).await?;
            Some(if session.is_some_and(|session| session.is_imported()) { "import" } else { "reflection" })
        }
        _ => None,
    };
    Ok(NodeBody {
        id: node.id,
        node_type: node.kind,
        description: node.description,
        emotional_impact: node.emotional_impact,
        emotion_tags: node.emotion_tags,
        relational_tags: node.relational_tags,
        source_session_id: node.source_session_id,
        source_turn_id,
        imported_from: None,
        source_deleted: false,
        created_at: node.created_at,
        said_at,
        access_count: node.access_count,
        subject: node.subject,
        filling_event_ids: filling,
        source,
        event_time: node.event_time,
        mention_count: node.mention_count,
        superseded_by: node.superseded_by,
        pinned: node.pinned,
        evidence,
        no_longer_current: None,
    })
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct RejectedList {
    rejected: Vec<WaitingMemory>,
    next_cursor: Option<String>,
}

/// A memory that waits for a person.
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
    /// Another program had saved it, and an import brought it.
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

/// `GET /api/admin/memory/rejected`: newest first.
pub(crate) async fn rejected(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(page): Query<PageQuery>,
) -> Result<Json<RejectedList>, Problem> {
    let all = app.runtime().store().rejected(&scope, REJECTED_MAX).await?;
    let place = |memory: &RejectedMemory| Reverse((memory.created_at.as_microsecond(), memory.id));
    let (rejected, next_cursor) = page.of(all, place)?;
    Ok(Json(RejectedList { rejected: rejected.into_iter().map(WaitingMemory::from).collect(), next_cursor }))
}
