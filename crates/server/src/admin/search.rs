//! Looking for a memory by words and meaning.

use axum::Json;
use axum::extract::State;
use memory::identifiers::NodeId;
use memory::nodes::NodeKind;
use memory::recall::SearchQuery;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::nodes::{NodeBody, item};
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
    /// 1 to 256 characters.
    q: String,
    #[serde(default, rename = "type")]
    kind: SearchKind,
    tag: Option<String>,
    limit: Option<u32>,
    #[serde(default)]
    offset: u32,
    /// Of the page before; then `offset` does not count.
    cursor: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SearchKind {
    Events,
    Thoughts,
    #[default]
    All,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SearchResponse {
    q: String,
    r#type: SearchKind,
    tag: Option<String>,
    limit: u32,
    offset: u32,
    /// How many match in all.
    total: usize,
    items: Vec<NodeBody>,
    matched_snippets: Vec<Snippet>,
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Snippet {
    node_id: NodeId,
    /// HTML whose only marks are `<b>`.
    snippet: String,
}

/// `GET /api/admin/memory/search`: the best match first. A page with a cursor goes on behind the last match of the page
/// before, also when memories were written meanwhile.
pub(crate) async fn search(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(asked): Query<MemorySearchQuery>,
) -> Result<Json<SearchResponse>, Problem> {
    let limit = page_size(asked.limit, PAGE_DEFAULT)?;
    if !(1..=TEXT_LENGTH_MAX).contains(&asked.q.chars().count()) {
        return Err(Problem::unprocessable(format!("q: it needs 1 to {TEXT_LENGTH_MAX} characters")));
    }
    if asked.tag.as_ref().is_some_and(|tag| tag.chars().count() > TAG_LENGTH_MAX) {
        return Err(Problem::unprocessable(format!("tag: at most {TAG_LENGTH_MAX} characters")));
    }
    let cursor = asked.cursor.as_deref().map(Cursor::<(f64, i64)>::read).transpose()?;
    let kinds = match asked.kind {
        SearchKind::Events => vec![NodeKind::Event],
        SearchKind::Thoughts => vec![NodeKind::Thought],
        SearchKind::All => {
            vec![NodeKind::Event, NodeKind::Thought, NodeKind::Intention, NodeKind::Expectation]
        }
    };
    let wanted = SearchQuery { scope, text: asked.q.clone(), kinds, tag: asked.tag.clone() };
    let found = app.runtime().search(&wanted).await?;
    let total = found.len();
    let is_behind = |score: f64, seq: i64| {
        cursor.as_ref().is_none_or(|Cursor((last_score, last_seq))| {
            last_score.total_cmp(&score).then(last_seq.cmp(&seq)).is_gt()
        })
    };
    let skipped = if cursor.is_some() { 0 } else { asked.offset as usize };
    let mut rest =
        found.into_iter().filter(|found| is_behind(found.score, found.node.seq)).skip(skipped).peekable();
    let (mut items, mut matched_snippets, mut last) = (Vec::new(), Vec::new(), None);
    for found in rest.by_ref().take(limit as usize) {
        last = Some(Cursor((found.score, found.node.seq)));
        matched_snippets.push(Snippet { node_id: found.node.id, snippet: found.snippet });
        items.push(item(app.runtime().store(), found.node).await?);
    }
    let next_cursor = last.filter(|_| rest.peek().is_some()).map(|place| place.written());
    let (q, tag, offset) = (asked.q, asked.tag, asked.offset);
    Ok(Json(SearchResponse {
        q,
        r#type: asked.kind,
        tag,
        limit,
        offset,
        total,
        items,
        matched_snippets,
        next_cursor,
    }))
}
