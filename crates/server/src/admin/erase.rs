//! Erasing, physically and completely, with a receipt; and starting a persona anew.

use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use memory::forget::{
    CONFIRM_WITHIN, EraseError, ErasureReceipt, ErasureRequest, ForgetMode, Selection, TEXT_LENGTH_MIN,
};
use memory::identifiers::{EntityId, ErasureId, MessageId, NodeId, SessionId};
use memory::text;
use memory::{PersonaId, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::auth::Admin;
use crate::cursor::page_of;
use crate::extract::{self, Query, ScopeParam, page_size, run_detached};
use crate::problem::Problem;
use crate::state::App;

const PAGE_DEFAULT: u32 = 50;
/// Most ids in one request.
const IDS_MAX: usize = 10_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "EraseRequest")]
pub(crate) struct EraseRequest {
    message_ids: Option<BTreeSet<MessageId>>,
    /// Nodes of any kind.
    event_ids: Option<BTreeSet<NodeId>>,
    session_ids: Option<BTreeSet<SessionId>>,
    entity_ids: Option<BTreeSet<EntityId>>,
    text: Option<String>,
    #[serde(default)]
    include_messages: bool,
    #[serde(default = "cascade")]
    choice: ForgetMode,
    #[serde(default)]
    dry_run: bool,
    confirm: Option<ErasureId>,
    user_id: Option<String>,
    persona_id: Option<String>,
}

fn cascade() -> ForgetMode {
    ForgetMode::Cascade
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ErasureAnswer")]
pub(crate) struct EraseResponse {
    #[serde(flatten)]
    receipt: ErasureReceiptBody,
    dry_run: bool,
    /// Until when a dry run can be confirmed by its id.
    confirm_until: Option<Timestamp>,
}

/// A receipt on the wire: never the text.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ErasureReceipt")]
pub(crate) struct ErasureReceiptBody {
    id: ErasureId,
    persona_id: String,
    user_id: String,
    created_at: Timestamp,
    selected_by: Vec<String>,
    #[schemars(with = "BTreeMap<String, Vec<String>>")]
    erased: Value,
    counts: Value,
    /// Sessions that lost messages. They stay, with what is left in them.
    shortened_session_ids: Value,
    rewritten_ids: Value,
    orphaned_ids: Value,
    revived_ids: Value,
    left: Value,
    #[schemars(with = "Vec<BTreeMap<String, String>>")]
    not_reached: Vec<Value>,
    overwritten_at: Option<Timestamp>,
}

/// `POST /api/admin/memory/erase`
pub(crate) async fn erase(
    State(app): State<App>,
    Admin(principal): Admin,
    extract::Json(asked): extract::Json<EraseRequest>,
) -> Result<Json<EraseResponse>, Problem> {
    let scope = app.scope(&principal, asked.persona_id.clone(), asked.user_id.clone()).await?;
    let dry_run = asked.dry_run;
    let request = request(scope, asked).map_err(Problem::unprocessable)?;
    if dry_run {
        let receipt = app.runtime().erase_dry_run(request).await?;
        let confirm_until = receipt.created_at.checked_add(CONFIRM_WITHIN).ok();
        return Ok(Json(EraseResponse { receipt: receipt.into(), dry_run, confirm_until }));
    }
    let receipt = run_detached(async move { Ok(app.runtime().erase(request).await?) }).await?;
    Ok(Json(EraseResponse { receipt: receipt.into(), dry_run, confirm_until: None }))
}

/// What is to be erased, or why it can't be meant so.
pub(crate) fn request(scope: Scope, asked: EraseRequest) -> Result<ErasureRequest, String> {
    let confirm = asked.confirm;
    let mut selected_by = Vec::new();
    let mut named = |name: &str, given: bool| selected_by.extend(given.then(|| name.to_owned()));
    named("message_ids", asked.message_ids.as_ref().is_some_and(|ids| !ids.is_empty()));
    named("event_ids", asked.event_ids.as_ref().is_some_and(|ids| !ids.is_empty()));
    named("session_ids", asked.session_ids.as_ref().is_some_and(|ids| !ids.is_empty()));
    named("entity_ids", asked.entity_ids.as_ref().is_some_and(|ids| !ids.is_empty()));
    named("text", asked.text.is_some());
    let text = asked.text.map(|text| folded(&text)).transpose()?;
    let selection = Selection {
        messages: asked.message_ids.unwrap_or_default(),
        nodes: asked.event_ids.unwrap_or_default(),
        sessions: asked.session_ids.unwrap_or_default(),
        entities: asked.entity_ids.unwrap_or_default(),
        text,
        with_messages: asked.include_messages,
    };
    if selected_by.is_empty() {
        return Err(
            "say what to erase: message_ids, event_ids, session_ids, entity_ids or text; nothing was erased"
                .to_owned(),
        );
    }
    let ids = selection.messages.len()
        + selection.nodes.len()
        + selection.sessions.len()
        + selection.entities.len();
    if ids > IDS_MAX {
        return Err(format!("at most {IDS_MAX} ids at once; nothing was erased"));
    }
    Ok(ErasureRequest { scope, selection, thoughts: asked.choice, selected_by, confirm })
}

fn folded(text: &str) -> Result<String, String> {
    let folded = text::fold(text.trim());
    if folded.chars().count() < TEXT_LENGTH_MIN {
        return Err(format!("text: it needs at least {TEXT_LENGTH_MIN} characters; nothing was erased"));
    }
    Ok(folded)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ReceiptQuery {
    limit: Option<u32>,
    cursor: Option<ErasureId>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ErasureReceiptList")]
pub(crate) struct ErasureReceiptList {
    receipts: Vec<ErasureReceiptBody>,
    next_cursor: Option<ErasureId>,
}

/// `GET /api/admin/memory/receipts`: newest first.
pub(crate) async fn receipts(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(page): Query<ReceiptQuery>,
) -> Result<Json<ErasureReceiptList>, Problem> {
    let limit = page_size(page.limit, PAGE_DEFAULT)?;
    let found = app.runtime().store().erasure_receipts(&scope, page.cursor, limit + 1).await?;
    let (found, next_cursor) = page_of(found, limit, |receipt| receipt.id);
    Ok(Json(ErasureReceiptList {
        receipts: found.into_iter().map(ErasureReceiptBody::from).collect(),
        next_cursor,
    }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ResetRequest")]
pub(crate) struct ResetRequest {
    persona_id: Option<String>,
    /// The persona's id once more, or `true`.
    confirm: Option<Value>,
}

/// `POST /api/admin/reset`: the persona as if it were new. All memory of all its users, core blocks and facts are gone.
pub(crate) async fn reset(
    State(app): State<App>,
    Admin(principal): Admin,
    extract::Json(asked): extract::Json<ResetRequest>,
) -> Result<Json<Value>, Problem> {
    if principal.user.is_some() {
        return Err(Problem::forbidden("this token speaks for one user; a reset takes the memory of all"));
    }
    let persona = match asked.persona_id {
        None => app.runtime().settings().persona.clone(),
        Some(id) => {
            PersonaId::new(id).map_err(|error| Problem::unprocessable(format!("persona_id: {error}")))?
        }
    };
    let is_confirmed =
        asked.confirm.is_some_and(|confirm| confirm == json!(true) || confirm == json!(persona.as_str()));
    if !is_confirmed {
        return Err(Problem::unprocessable(
            "confirm: a reset takes everything that this persona is and remembers, of all users, for ever; send the \
             persona's id as `confirm` to do it. Nothing was done",
        ));
    }
    let edited = persona.clone();
    let counts = run_detached(async move {
        let _one_edit_at_a_time = app.persona_edit.lock().await;
        Ok(app.runtime().reset_persona(&edited).await?)
    })
    .await?;
    let counts = counts.ok_or_else(|| Problem::not_found("there is no persona of this id"))?;
    Ok(Json(json!({"ok": true, "persona_id": persona, "erased": counts})))
}

impl From<ErasureReceipt> for ErasureReceiptBody {
    fn from(receipt: ErasureReceipt) -> Self {
        let taken = receipt.taken;
        let mut counts = json!(taken.counts);
        if let Some(counts) = counts.as_object_mut() {
            for (kind, count) in [
                ("messages", taken.messages.len()),
                ("events", taken.events.len()),
                ("thoughts", taken.thoughts.len()),
                ("intentions", taken.intentions.len()),
                ("expectations", taken.expectations.len()),
                ("entities", taken.entities.len()),
                ("rejected", taken.rejected.len()),
                ("turns", taken.turns.len()),
            ] {
                counts.insert(kind.to_owned(), json!(count));
            }
        }
        let mut not_reached: Vec<Value> =
            receipt.copies.iter().map(|name| json!({"what": "backup", "name": name})).collect();
        let blocks = taken.left_core_blocks.iter();
        not_reached.extend(blocks.map(|label| json!({"what": "core_block", "name": label})));
        Self {
            id: receipt.id,
            persona_id: receipt.scope.persona.to_string(),
            user_id: receipt.scope.user.to_string(),
            created_at: receipt.created_at,
            selected_by: receipt.selected_by,
            erased: json!({
                "messages": taken.messages, "events": taken.events, "thoughts": taken.thoughts,
                "intentions": taken.intentions, "expectations": taken.expectations, "entities": taken.entities,
                "rejected": taken.rejected, "turns": taken.turns,
            }),
            counts,
            shortened_session_ids: json!(taken.sessions),
            rewritten_ids: json!(taken.rewritten),
            orphaned_ids: json!(taken.orphaned),
            revived_ids: json!(taken.revived),
            left: json!({"message_ids": taken.left_messages, "core_blocks": taken.left_core_blocks}),
            not_reached,
            overwritten_at: receipt.overwritten_at,
        }
    }
}

impl From<EraseError> for Problem {
    fn from(error: EraseError) -> Self {
        match error {
            EraseError::Unconfirmed => Self::unprocessable(error.to_string()),
            EraseError::UnknownConfirmation | EraseError::Changed => Self::conflict(error.to_string()),
            EraseError::Nothing(_) => Self::not_found(error.to_string()),
            EraseError::Store(error) => error.into(),
        }
    }
}
