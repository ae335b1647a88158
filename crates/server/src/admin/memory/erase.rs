//! Erasure, physical and complete, with a receipt; and resetting a persona.

use std::collections::BTreeSet;

use axum::extract::State;
use axum::{Extension, Json};
use hub::DocumentName;
use jiff::Timestamp;
use memory::core_blocks::CoreBlockLabel;
use memory::forget::{
    CONFIRMATION_TIMEOUT, Counts, EraseError, ErasureReceipt, ErasureRequest, ForgetMode, ForgetSummary,
    InstanceWithCopy, ResetCounts, Selection, TEXT_LENGTH_MIN,
};
use memory::identifiers::{EntityId, ErasureId, MessageId, NodeId, RejectedId, SessionId, TurnId};
use memory::ports::{EvidencedNode, Store};
use memory::text;
use memory::{PersonaId, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::admin::program::audit::PreviewOnly;
use crate::auth::Admin;
use crate::cursor::page_of;
use crate::extract::{self, Query, ScopeParam, page_size, run_detached};
use crate::problem::Problem;
use crate::state::App;

const PAGE_DEFAULT: u32 = 50;
/// Maximum ids in one request. For more there are selections by time, conversation or text.
const IDS_MAX: usize = 10_000;
/// Maximum messages, and memories, whose text a dry run shows. A person checks with some of them if the selection is
/// right; the counts are exact.
const TEXTS_SHOWN: usize = 50;
const TEXT_SHOWN_LENGTH: usize = 200;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EraseRequest {
    message_ids: Option<BTreeSet<MessageId>>,
    /// Ids of nodes of any kind.
    event_ids: Option<BTreeSet<NodeId>>,
    session_ids: Option<BTreeSet<SessionId>>,
    entity_ids: Option<BTreeSet<EntityId>>,
    /// Documents of the shared self, as `kind/filename`, with all their versions. Core blocks are not erased.
    documents: Option<BTreeSet<String>>,
    text: Option<String>,
    #[serde(default)]
    include_messages: bool,
    #[serde(default = "default_mode")]
    choice: ForgetMode,
    #[serde(default)]
    dry_run: bool,
    confirm: Option<ErasureId>,
    user_id: Option<String>,
    persona_id: Option<String>,
}

fn default_mode() -> ForgetMode {
    ForgetMode::Cascade
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct EraseResponse {
    #[serde(flatten)]
    receipt: ErasureReceiptBody,
    dry_run: bool,
    /// Time until which a dry run can be confirmed by its id.
    confirm_until: Option<Timestamp>,
    /// For a dry run, the beginnings of the first messages and memories that would be erased; `counts` has the
    /// totals.
    texts: Vec<ErasedText>,
}

/// A text that would be erased.
#[derive(Serialize, JsonSchema)]
struct ErasedText {
    /// `message`, `event`, `thought`, `intention` or `expectation`.
    kind: &'static str,
    /// Time of the message or memory.
    at: Timestamp,
    text: String,
}

/// A receipt on the wire. It never contains erased text.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErasureReceiptBody {
    id: ErasureId,
    persona_id: String,
    user_id: String,
    created_at: Timestamp,
    selected_by: Vec<String>,
    erased: ErasedIds,
    counts: ErasureCounts,
    /// Sessions that lost messages and stay with the rest.
    shortened_session_ids: BTreeSet<SessionId>,
    rewritten_ids: BTreeSet<NodeId>,
    orphaned_ids: BTreeSet<NodeId>,
    revived_ids: BTreeSet<NodeId>,
    left: LeftTraces,
    not_reached: Vec<NotReached>,
    /// Instances that had a copy of a changed document and have received the erasure since.
    reached: Vec<InstanceWithCopy>,
    /// Time at which freed pages and the log were overwritten. Null before that, and always on a server.
    overwritten_at: Option<Timestamp>,
}

/// Ids of what was erased, by kind.
#[derive(Serialize, JsonSchema)]
struct ErasedIds {
    messages: BTreeSet<MessageId>,
    events: BTreeSet<NodeId>,
    thoughts: BTreeSet<NodeId>,
    intentions: BTreeSet<NodeId>,
    expectations: BTreeSet<NodeId>,
    entities: BTreeSet<EntityId>,
    rejected: BTreeSet<RejectedId>,
    turns: BTreeSet<TurnId>,
}

/// Numbers of erased rows, by kind.
#[derive(Serialize, JsonSchema)]
struct ErasureCounts {
    messages: usize,
    events: usize,
    thoughts: usize,
    intentions: usize,
    expectations: usize,
    entities: usize,
    rejected: usize,
    turns: usize,
    #[serde(flatten)]
    parts: Counts,
}

/// Places that still contain the text and that only their owner can change.
#[derive(Serialize, JsonSchema)]
struct LeftTraces {
    message_ids: BTreeSet<MessageId>,
    core_blocks: Vec<CoreBlockLabel>,
}

/// A copy of the data that an erasure does not change, or has not reached yet.
#[derive(Serialize, JsonSchema)]
struct NotReached {
    /// `backup`; `server`: data of the database server's operator; `core_block`; `shared`: a document of all users,
    /// which a token of one user can't change; or `instance`: one that has a copy of a document and receives the
    /// deletion with its next pull.
    what: &'static str,
    name: String,
}

/// Handler of `POST /api/admin/memory/erase`.
pub(crate) async fn erase(
    State(app): State<App>,
    Admin(principal): Admin,
    extract::Json(asked): extract::Json<EraseRequest>,
) -> Result<(Option<Extension<PreviewOnly>>, Json<EraseResponse>), Problem> {
    let scope = app.scope(&principal, asked.persona_id.clone(), asked.user_id.clone()).await?;
    let dry_run = asked.dry_run;
    let request = request(scope, asked).map_err(Problem::unprocessable)?;
    if dry_run {
        let receipt = app.runtime().changes().erase_dry_run(request).await?;
        let confirm_until = receipt.created_at.checked_add(CONFIRMATION_TIMEOUT).ok();
        let texts = found_texts(app.runtime().store(), &receipt.taken).await?;
        let response = EraseResponse { receipt: receipt.into(), dry_run, confirm_until, texts };
        return Ok((Some(Extension(PreviewOnly)), Json(response)));
    }
    let receipt = run_detached(async move { Ok(app.runtime().changes().erase(request).await?) }).await?;
    Ok((
        None,
        Json(EraseResponse { receipt: receipt.into(), dry_run, confirm_until: None, texts: Vec::new() }),
    ))
}

/// The texts that a dry run has found, messages first.
async fn found_texts(store: &dyn Store, found: &ForgetSummary) -> Result<Vec<ErasedText>, Problem> {
    let beginning = |text: &str| match text.char_indices().nth(TEXT_SHOWN_LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    };
    let mut texts = Vec::new();
    for id in found.messages.iter().take(TEXTS_SHOWN) {
        if let Some(message) = store.message(*id).await? {
            let text = beginning(&message.content);
            texts.push(ErasedText { kind: "message", at: message.created_at, text });
        }
    }
    for id in found.all_nodes().iter().take(TEXTS_SHOWN) {
        if let Some(EvidencedNode { node, .. }) = store.node(*id).await? {
            let text = beginning(&node.description);
            texts.push(ErasedText { kind: node.kind.as_str(), at: node.created_at, text });
        }
    }
    Ok(texts)
}

/// Builds the request to erase. The error says why the body is invalid.
pub(crate) fn request(scope: Scope, asked: EraseRequest) -> Result<ErasureRequest, String> {
    let confirm = asked.confirm;
    let mut selected_by = Vec::new();
    let mut named = |name: &str, given: bool| selected_by.extend(given.then(|| name.to_owned()));
    named("message_ids", asked.message_ids.as_ref().is_some_and(|ids| !ids.is_empty()));
    named("event_ids", asked.event_ids.as_ref().is_some_and(|ids| !ids.is_empty()));
    named("session_ids", asked.session_ids.as_ref().is_some_and(|ids| !ids.is_empty()));
    named("entity_ids", asked.entity_ids.as_ref().is_some_and(|ids| !ids.is_empty()));
    named("documents", asked.documents.as_ref().is_some_and(|names| !names.is_empty()));
    named("text", asked.text.is_some());
    let documents: Result<BTreeSet<String>, String> =
        asked.documents.unwrap_or_default().iter().map(|name| document_name(name)).collect();
    let text = asked.text.map(|text| fold_text(&text)).transpose()?;
    let selection = Selection {
        messages: asked.message_ids.unwrap_or_default(),
        nodes: asked.event_ids.unwrap_or_default(),
        sessions: asked.session_ids.unwrap_or_default(),
        entities: asked.entity_ids.unwrap_or_default(),
        documents: documents?,
        text,
        with_messages: asked.include_messages,
        silences: false,
        spares_shared: false,
    };
    if selected_by.is_empty() {
        return Err(
            "send what to erase: message_ids, event_ids, session_ids, entity_ids, documents or text; \
                nothing was erased"
                .to_owned(),
        );
    }
    let ids = selection.messages.len()
        + selection.nodes.len()
        + selection.sessions.len()
        + selection.entities.len()
        + selection.documents.len();
    if ids > IDS_MAX {
        return Err(format!("at most {IDS_MAX} ids at once; nothing was erased"));
    }
    Ok(ErasureRequest { scope, selection, thoughts: asked.choice, selected_by, confirm })
}

/// The name of a document in the form that the hub uses.
fn document_name(name: &str) -> Result<String, String> {
    let parsed = name.split_once('/').map(|(kind, file)| {
        DocumentName::parse(kind, file.strip_suffix(".md").unwrap_or(file)).map_err(|error| error.to_string())
    });
    let parsed = parsed.unwrap_or_else(|| Err(format!("`{name}` is not `kind/filename`")));
    parsed.map(|name| name.to_string()).map_err(|error| format!("documents: {error}; nothing was erased"))
}

fn fold_text(text: &str) -> Result<String, String> {
    let folded = text::fold(text.trim());
    if folded.chars().count() < TEXT_LENGTH_MIN {
        return Err(format!("text: must have at least {TEXT_LENGTH_MIN} characters; nothing was erased"));
    }
    Ok(folded)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ReceiptQuery {
    limit: Option<u32>,
    cursor: Option<ErasureId>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ErasureReceiptList {
    receipts: Vec<ErasureReceiptBody>,
    next_cursor: Option<ErasureId>,
}

/// Handler of `GET /api/admin/memory/receipts`, newest first.
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

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResetRequest {
    persona_id: Option<String>,
    /// The persona's id again, or `true`.
    confirm: Option<Value>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ResetResponse {
    ok: bool,
    persona_id: PersonaId,
    erased: ResetCounts,
}

/// Handler of `POST /api/admin/reset`: erases the persona's memory of all users, its core blocks and its facts.
pub(crate) async fn reset(
    State(app): State<App>,
    Admin(principal): Admin,
    extract::OptionalJson(asked): extract::OptionalJson<ResetRequest>,
) -> Result<Json<ResetResponse>, Problem> {
    if principal.user.is_some() {
        return Err(Problem::forbidden(
            "this token is bound to one user, but a reset erases the memory of all users",
        ));
    }
    let persona = match asked.persona_id {
        None => app.runtime().settings().persona.clone(),
        Some(id) => {
            PersonaId::new(id).map_err(|error| Problem::unprocessable(format!("persona_id: {error}")))?
        }
    };
    let is_confirmed = asked
        .confirm
        .is_some_and(|confirm| confirm == Value::Bool(true) || confirm.as_str() == Some(persona.as_str()));
    if !is_confirmed {
        return Err(Problem::unprocessable(format!(
            "confirm: missing; a reset permanently erases everything about this persona and all its memory \
                of all users. To confirm, send {{\"persona_id\": \"{persona}\", \"confirm\": \
                \"{persona}\"}}. Nothing was changed"
        )));
    }
    let edited = persona.clone();
    let counts = run_detached(async move { Ok(app.runtime().personas().reset(&edited).await?) }).await?;
    let counts = counts.ok_or_else(|| Problem::not_found("persona_id not found"))?;
    Ok(Json(ResetResponse { ok: true, persona_id: persona, erased: counts }))
}

impl From<ErasureReceipt> for ErasureReceiptBody {
    fn from(receipt: ErasureReceipt) -> Self {
        let taken = receipt.taken;
        let backups = receipt.copies.into_iter().map(|name| NotReached { what: "backup", name });
        let server = receipt.server.map(|database| NotReached {
            what: "server",
            name: format!("log, replicas, backups and freed blocks of the {database}"),
        });
        let blocks = taken.left_core_blocks.iter();
        let blocks = blocks.map(|label| NotReached { what: "core_block", name: label.as_str().to_owned() });
        let shared = taken.left_documents.iter();
        let shared = shared.map(|name| NotReached { what: "shared", name: name.clone() });
        let waiting = receipt.instances.iter().filter(|instance| instance.reached_at.is_none());
        let waiting = waiting.map(|instance| NotReached { what: "instance", name: instance.id.clone() });
        let not_reached = backups.chain(server).chain(blocks).chain(shared).chain(waiting).collect();
        let (reached, _): (Vec<_>, Vec<_>) =
            receipt.instances.into_iter().partition(|instance| instance.reached_at.is_some());
        Self {
            id: receipt.id,
            persona_id: receipt.scope.persona.to_string(),
            user_id: receipt.scope.user.to_string(),
            created_at: receipt.created_at,
            selected_by: receipt.selected_by,
            counts: ErasureCounts {
                messages: taken.messages.len(),
                events: taken.events.len(),
                thoughts: taken.thoughts.len(),
                intentions: taken.intentions.len(),
                expectations: taken.expectations.len(),
                entities: taken.entities.len(),
                rejected: taken.rejected.len(),
                turns: taken.turns.len(),
                parts: taken.counts,
            },
            erased: ErasedIds {
                messages: taken.messages,
                events: taken.events,
                thoughts: taken.thoughts,
                intentions: taken.intentions,
                expectations: taken.expectations,
                entities: taken.entities,
                rejected: taken.rejected,
                turns: taken.turns,
            },
            shortened_session_ids: taken.sessions,
            rewritten_ids: taken.rewritten,
            orphaned_ids: taken.orphaned,
            revived_ids: taken.revived,
            left: LeftTraces { message_ids: taken.left_messages, core_blocks: taken.left_core_blocks },
            not_reached,
            reached,
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
            EraseError::Interrupted { .. } => Self::unavailable(error.to_string()),
            EraseError::Store(error) => error.into(),
        }
    }
}
