//! Decisions about proactive messages, with reasons.

use axum::extract::State;
use axum::{Extension, Json};
use jiff::Timestamp;
use memory::identifiers::{DecisionId, MessageId, NodeId};
use memory::proactive::{ListedDecision, ProactiveGate, ProactiveOutcome, ProactiveTrigger};
use memory::{PersonaId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::admin::program::audit::AuditObject;
use crate::auth::{Admin, Principal};
use crate::cursor::{Cursor, page_of};
use crate::extract::{self, Query, page_size};
use crate::problem::Problem;
use crate::state::App;

const PAGE_DEFAULT: u32 = 50;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct DecisionQuery {
    limit: Option<u32>,
    /// The `next_cursor` of the preceding page.
    cursor: Option<String>,
    /// Only decisions about this user.
    user_id: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct DecisionList {
    decisions: Vec<DecisionBody>,
    /// Time until which the user of the query, or `self`, has muted proactive messages.
    muted_until: Option<Timestamp>,
    next_cursor: Option<String>,
}

/// A decision. It holds until the next one about the same user.
#[derive(Serialize, JsonSchema)]
struct DecisionBody {
    id: DecisionId,
    at: Timestamp,
    persona_id: PersonaId,
    user_id: UserId,
    outcome: Option<ProactiveOutcome>,
    /// The gate that prevented the message.
    gate: Option<ProactiveGate>,
    /// The trigger of the decision.
    trigger: Option<ProactiveTrigger>,
    /// The decision in a sentence.
    reason: String,
    /// The message that was sent. Its receipt has the decision's id.
    message_id: Option<MessageId>,
    channel_id: Option<String>,
    /// The memory that led to the decision.
    node_id: Option<NodeId>,
    /// Present text of the memory that led to the decision.
    about: Option<String>,
}

/// Handler of `GET /api/admin/proactive`, newest first.
pub(crate) async fn list(
    State(app): State<App>,
    Admin(principal): Admin,
    Query(query): Query<DecisionQuery>,
) -> Result<Json<DecisionList>, Problem> {
    let limit = page_size(query.limit, PAGE_DEFAULT)?;
    let last = query.cursor.as_deref().map(Cursor::<(Timestamp, DecisionId)>::read).transpose()?;
    let is_named = query.user_id.is_some();
    let user = user_of(&app, &principal, query.user_id).await?;
    let store = app.runtime().proactive();
    let muted_until = store.muted_until(&user).await?.filter(|until| *until > app.now());
    let only = is_named.then_some(&user);
    let found = store.decisions(only, last.map(|Cursor(place)| place), limit + 1).await?;
    let (found, next_cursor) =
        page_of(found, limit, |one| Cursor((one.decision.at, one.decision.id)).encode());
    let decisions = found.into_iter().map(DecisionBody::from).collect();
    Ok(Json(DecisionList { decisions, muted_until, next_cursor }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct MuteRequest {
    user_id: String,
    /// Time until which messages are muted; null allows them again.
    until: Option<Timestamp>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct MuteResponse {
    user_id: UserId,
    until: Option<Timestamp>,
}

/// Handler of `POST /api/admin/proactive/mute`.
pub(crate) async fn mute(
    State(app): State<App>,
    Admin(principal): Admin,
    extract::Json(wanted): extract::Json<MuteRequest>,
) -> Result<(Extension<AuditObject>, Json<MuteResponse>), Problem> {
    let user = user_of(&app, &principal, Some(wanted.user_id)).await?;
    if !app.runtime().proactive().mute(&user, wanted.until).await? {
        return Err(Problem::not_found("user_id not found"));
    }
    let object = AuditObject(user.to_string());
    Ok((Extension(object), Json(MuteResponse { user_id: user, until: wanted.until })))
}

async fn user_of(app: &App, principal: &Principal, user: Option<String>) -> Result<UserId, Problem> {
    app.scope(principal, None, user).await.map(|scope| scope.user)
}

impl From<ListedDecision> for DecisionBody {
    fn from(ListedDecision { decision, about }: ListedDecision) -> Self {
        let reason = decision.reason_sentence();
        let trigger = decision.trigger;
        Self {
            id: decision.id,
            at: decision.at,
            persona_id: decision.scope.persona,
            user_id: decision.scope.user,
            outcome: decision.outcome,
            gate: decision.gate,
            trigger: trigger.as_ref().map(|trigger| trigger.trigger),
            reason,
            message_id: decision.message_id,
            channel_id: decision.channel_id,
            node_id: trigger.and_then(|trigger| trigger.node),
            about,
        }
    }
}
