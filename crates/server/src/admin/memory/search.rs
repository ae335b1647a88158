//! Search for memories and messages by words and meaning.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use memory::identifiers::{MessageId, NodeId, SessionId};
use memory::messages::{Message, Role};
use memory::nodes::NodeKind;
use memory::recall::{
    FormerValue, MessageHit, OutdatedValues, SearchPage, SearchPlace, SearchQuery, SearchResults,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::admin::memory::nodes::{NodeBody, node_bodies};
use crate::auth::Admin;
use crate::cursor::Cursor;
use crate::extract::{Query, ScopeParam, page_size};
use crate::problem::Problem;
use crate::state::App;

const PAGE_DEFAULT: u32 = 20;
const TEXT_LENGTH_MAX: usize = 256;
const TAG_LENGTH_MAX: usize = 64;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct MemorySearchQuery {
    /// The text to search for, 1 to 256 characters.
    q: String,
    #[serde(default, rename = "type")]
    kind: SearchKind,
    tag: Option<String>,
    limit: Option<u32>,
    #[serde(default)]
    offset: u32,
    /// The `next_cursor` of the preceding page; `offset` is ignored then.
    cursor: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SearchKind {
    Events,
    Thoughts,
    Messages,
    #[default]
    All,
}

impl SearchKind {
    fn includes_all_kinds(self) -> bool {
        matches!(self, Self::All)
    }

    fn node_kinds(self) -> Vec<NodeKind> {
        match self {
            Self::Events => vec![NodeKind::Event],
            Self::Thoughts => vec![NodeKind::Thought],
            Self::Messages => Vec::new(),
            Self::All => vec![NodeKind::Event, NodeKind::Thought, NodeKind::Intention, NodeKind::Expectation],
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SearchResponse {
    q: String,
    r#type: SearchKind,
    tag: Option<String>,
    limit: u32,
    offset: u32,
    /// Total number of matching memories.
    total: usize,
    items: Vec<NodeBody>,
    matched_snippets: Vec<Snippet>,
    /// Cursor for memories; with `type=messages`, for messages.
    next_cursor: Option<String>,
    /// Messages: with `type=messages`, and on the first page of `all` without a tag.
    messages: Vec<MessageFound>,
    /// Total number of matching messages; 0 if they were not searched.
    messages_total: usize,
    /// Cursor for further messages, with `type=messages`.
    next_messages_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct MessageFound {
    /// Always `message` for these hits.
    r#type: &'static str,
    message_id: MessageId,
    session_id: SessionId,
    role: Role,
    /// The speaker's name, with the role `other`.
    #[serde(skip_serializing_if = "Option::is_none")]
    speaker: Option<String>,
    created_at: Timestamp,
    /// Match with the query, from 0 to 1.
    score: f64,
    /// Snippet as HTML whose only tags are `<b>`.
    snippet: String,
    /// A value in it that was replaced, with the current one.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_longer_current: Option<FormerValue>,
}

#[derive(Serialize, JsonSchema)]
struct Snippet {
    node_id: NodeId,
    /// Snippet as HTML whose only tags are `<b>`.
    snippet: String,
}

/// Handler of `GET /api/admin/memory/search`: the best match first. A page with a cursor continues after the last
/// match of the preceding page, also if rows were written meanwhile. `all` returns the first page of messages
/// together with the first page of memories; `type=messages` with their cursor continues.
pub(crate) async fn search(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(asked): Query<MemorySearchQuery>,
) -> Result<Json<SearchResponse>, Problem> {
    let limit = page_size(asked.limit, PAGE_DEFAULT)?;
    if !(1..=TEXT_LENGTH_MAX).contains(&asked.q.chars().count()) {
        return Err(Problem::unprocessable(format!("q: must have 1 to {TEXT_LENGTH_MAX} characters")));
    }
    if asked.tag.as_ref().is_some_and(|tag| tag.chars().count() > TAG_LENGTH_MAX) {
        return Err(Problem::unprocessable(format!("tag: at most {TAG_LENGTH_MAX} characters")));
    }
    let cursor = asked.cursor.as_deref().map(Cursor::<SearchPlace>::read).transpose()?;
    let place = cursor.map(|Cursor(place)| place);
    let is_first = place.is_none() && asked.offset == 0;
    let skipped = if place.is_some() { 0 } else { asked.offset as usize };
    let page = SearchPage { behind: place, skipped, limit: limit as usize };
    let kinds = asked.kind.node_kinds();
    let memories = async {
        if kinds.is_empty() {
            return Ok(SearchResults::default());
        }
        let text = asked.q.clone();
        let wanted = SearchQuery { scope: scope.clone(), text, kinds, tag: asked.tag.clone() };
        app.runtime().vectors().search(&wanted, &page).await
    };
    // Messages have no tags.
    let with_messages =
        matches!(asked.kind, SearchKind::Messages) || asked.kind.includes_all_kinds() && is_first;
    let messages = async {
        if !with_messages || asked.tag.is_some() {
            return Ok(SearchResults::default());
        }
        app.runtime().vectors().search_messages(&scope, &asked.q, &page).await
    };
    let (memories, messages) = tokio::try_join!(memories, messages)?;
    let written = |place: Option<SearchPlace>| place.map(|place| Cursor(place).encode());
    let next_messages_cursor = written(messages.next);
    let (mut nodes, mut matched_snippets) = (Vec::new(), Vec::new());
    for found in memories.hits {
        matched_snippets.push(Snippet { node_id: found.node.id, snippet: found.snippet });
        nodes.push(found.node);
    }
    let store = app.runtime().store();
    let items = node_bodies(store, &scope, nodes).await?;
    let said: Vec<Message> = messages.hits.iter().map(|hit| hit.message.clone()).collect();
    let mut former = OutdatedValues::former_values_in_messages(store, &scope, &said).await?;
    let found = messages
        .hits
        .into_iter()
        .map(|hit| MessageFound { no_longer_current: former.remove(&hit.message.id), ..message_found(hit) });
    let found = found.collect();
    let is_of_messages = matches!(asked.kind, SearchKind::Messages);
    Ok(Json(SearchResponse {
        q: asked.q,
        r#type: asked.kind,
        tag: asked.tag,
        limit,
        offset: asked.offset,
        total: memories.total,
        items,
        matched_snippets,
        next_cursor: if is_of_messages { next_messages_cursor.clone() } else { written(memories.next) },
        messages: found,
        messages_total: messages.total,
        next_messages_cursor,
    }))
}

fn message_found(hit: MessageHit) -> MessageFound {
    MessageFound {
        r#type: "message",
        message_id: hit.message.id,
        session_id: hit.message.session_id,
        role: hit.message.role,
        speaker: hit.message.speaker,
        created_at: hit.message.created_at,
        score: hit.score,
        snippet: hit.snippet,
        no_longer_current: None,
    }
}
