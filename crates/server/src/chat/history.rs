//! The history of messages, newest first, in pages that neither lose nor repeat a message.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::{DecisionId, MessageId, SessionId, TurnId};
use memory::messages::{Message, Role};
use memory::ports::Store;
use memory::sessions::IMPORT_CHANNEL_PREFIX;
use memory::{PersonaId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::cursor::{Cursor, page_of};
use crate::extract::{Query, ScopeParam, page_size};
use crate::problem::Problem;
use crate::state::App;

const PAGE_DEFAULT: u32 = 50;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct HistoryQuery {
    limit: Option<u32>,
    before: Option<String>,
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ChatHistory {
    messages: Vec<MessageBody>,
    has_more: bool,
    oldest_turn_id: Option<Uuid>,
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct MessageBody {
    id: MessageId,
    turn_id: Option<TurnId>,
    session_id: SessionId,
    source_channel_id: String,
    role: Role,
    /// The speaker's name, with the role `other`.
    #[serde(skip_serializing_if = "Option::is_none")]
    speaker: Option<String>,
    content: String,
    created_at: Timestamp,
    incomplete: bool,
    /// The language model that wrote the message in the program that it was imported from.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// For a proactive message: the id for its receipt at `GET /api/chat/turns/{id}/receipt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision_id: Option<DecisionId>,
    persona_id: PersonaId,
    user_id: UserId,
}

/// Handler of `GET /api/chat/history`: a page of at most `limit` messages, over all channels and sessions, in the
/// order in which they became durable, newest first.
///
/// - `cursor` is the `next_cursor` of the preceding page, or the id of a message. The page has older messages, also
///   if the message at that position was deleted meanwhile.
/// - `before` is the `oldest_turn_id` of the preceding page, or any turn's id: the page has messages older than that
///   turn's first one. If a page ends inside a turn, or on a message without one, its `oldest_turn_id` is the id of its
///   oldest message, which `before` accepts too.
///
/// Either way each message is on exactly one page, whatever the page size.
pub(crate) async fn history(
    State(app): State<App>,
    ScopeParam(scope): ScopeParam,
    Query(page): Query<HistoryQuery>,
) -> Result<Json<ChatHistory>, Problem> {
    let limit = page_size(page.limit, PAGE_DEFAULT)?;
    let store = app.runtime().store();
    let before = match (&page.cursor, &page.before) {
        (Some(_), Some(_)) => return Err(Problem::unprocessable("cursor, before: send only one of them")),
        (Some(cursor), None) => Some(older_than_place(store, &scope, cursor).await?),
        (None, Some(before)) => Some(page_start_before(store, &scope, before).await?),
        (None, None) => None,
    };
    let messages = store.messages_before(&scope, before, limit + 1).await?;
    let (messages, next_cursor) = page_of(messages, limit, |oldest| Cursor(oldest.seq).encode());
    let oldest_turn_id = match messages.last() {
        Some(oldest) => Some(place_of(store, oldest).await?),
        None => None,
    };
    let has_more = next_cursor.is_some();
    let unasked: Vec<i64> =
        messages.iter().filter(|message| may_be_unasked(message)).map(|message| message.seq).collect();
    let mut decisions = match unasked.is_empty() {
        true => BTreeMap::new(),
        false => app.runtime().proactive().decisions_behind(&unasked).await?,
    };
    let body = |message: Message| {
        let decision_id = decisions.remove(&message.seq);
        MessageBody { decision_id, ..message.into() }
    };
    let messages = messages.into_iter().map(body).collect();
    Ok(Json(ChatHistory { messages, has_more, oldest_turn_id, next_cursor }))
}

/// True if the message may be proactive.
fn may_be_unasked(message: &Message) -> bool {
    message.role == Role::Persona
        && message.turn_id.is_none()
        && !message.channel_id.starts_with(IMPORT_CHANNEL_PREFIX)
}

/// The number below which the page after this turn, or this message, begins.
async fn page_start_before(store: &dyn Store, scope: &Scope, id: &str) -> Result<i64, Problem> {
    let unknown = || Problem::not_found("before: not found; request the first page");
    let id: Uuid = id.parse().map_err(|_| unknown())?;
    let turn = store.turn_messages(TurnId(id)).await?;
    if let Some(first) =
        turn.iter().filter(|message| message.scope == *scope).map(|message| message.seq).min()
    {
        return Ok(first);
    }
    let message = store.message(MessageId(id)).await?.filter(|message| message.scope == *scope);
    message.map(|message| message.seq).ok_or_else(unknown)
}

async fn older_than_place(store: &dyn Store, scope: &Scope, cursor: &str) -> Result<i64, Problem> {
    match Cursor::<i64>::read(cursor) {
        Ok(Cursor(seq)) => Ok(seq),
        Err(_) => older_than_message(store, scope, cursor).await,
    }
}

async fn older_than_message(store: &dyn Store, scope: &Scope, id: &str) -> Result<i64, Problem> {
    let unknown = || Problem::not_found("cursor: expired; request the first page");
    let id = id.parse().map_err(|_| unknown())?;
    let message = store.message(id).await?.filter(|message| message.scope == *scope);
    message.map(|message| message.seq).ok_or_else(unknown)
}

/// The value of `before` for the page that begins directly below this message.
async fn place_of(store: &dyn Store, oldest: &Message) -> Result<Uuid, Problem> {
    let Some(turn_id) = oldest.turn_id else { return Ok(oldest.id.0) };
    let turn = store.turn_messages(turn_id).await?;
    let is_first = turn.iter().all(|message| message.seq >= oldest.seq);
    Ok(if is_first { turn_id.0 } else { oldest.id.0 })
}

impl From<Message> for MessageBody {
    fn from(message: Message) -> Self {
        Self {
            id: message.id,
            turn_id: message.turn_id,
            session_id: message.session_id,
            source_channel_id: message.channel_id,
            role: message.role,
            speaker: message.speaker,
            content: message.content,
            created_at: message.created_at,
            incomplete: message.incomplete,
            model: message.model,
            decision_id: None,
            persona_id: message.scope.persona,
            user_id: message.scope.user,
        }
    }
}
