//! Peers as their owner sees them, and one list of conflicts of every kind.

use ::sync::{ConflictRecord, PeerReport, SyncStore};
use axum::Json;
use axum::extract::State;
use hub::api::conflicts::{ConflictEntry, ConflictQuery, ConflictResolve, Resolution};
use jiff::Timestamp;
use memory::access::{INSTANCE_LENGTH_MAX, is_plain};
use runtime::PeerOutcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::Admin;
use crate::extract::{self, ScopeParam, run_detached};
use crate::problem::Problem;
use crate::respond::{DeletedResponse, OkResponse};
use crate::state::App;

/// What precedes the number of a conflict of rows; a conflict of documents has a UUID.
const ROW_CONFLICT: &str = "row-";

/// How peers stand.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PeerList {
    /// This home: `NAME~INCARNATION`; `null` while it has no peer.
    actor: Option<String>,
    peers: Vec<PeerBody>,
}

#[derive(Serialize, JsonSchema)]
struct PeerBody {
    name: String,
    /// Where it is asked; `null` for a peer that asks here.
    url: Option<String>,
    /// Changes received from it so far.
    received: u64,
    /// Changes sent to it so far.
    sent: u64,
    /// Open conflicts of rows on this machine.
    conflicts: u64,
    /// Changes that it lacks.
    waiting: u64,
    /// Erasures that it has not received yet.
    waiting_erasures: u64,
    last_seen: Option<Timestamp>,
    /// Why the last exchange failed; `null` if it did not.
    error: Option<String>,
}

impl PeerBody {
    fn new(report: PeerReport, conflicts: u64) -> Self {
        let peer = report.peer;
        Self {
            name: peer.name,
            url: peer.url,
            received: peer.received,
            sent: peer.sent,
            conflicts,
            waiting: report.to_send,
            waiting_erasures: report.waiting_erasures,
            last_seen: peer.seen_at,
            error: peer.error,
        }
    }
}

fn store(app: &App) -> Result<&dyn SyncStore, Problem> {
    app.runtime().sync_store().ok_or_else(|| Problem::unavailable("this process exchanges with no peers"))
}

/// `GET /api/admin/sync`
pub(crate) async fn status(State(app): State<App>, _: Admin) -> Result<Json<PeerList>, Problem> {
    let store = store(&app)?;
    let conflicts = store.conflicts().await?.len() as u64;
    let peers = store.peers().await?;
    let peers = peers.into_iter().map(|report| PeerBody::new(report, conflicts)).collect();
    let actor = store.own_actor().await?.map(|actor| actor.to_string());
    Ok(Json(PeerList { actor, peers }))
}

/// What an exchange with each peer did.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExchangeReport {
    peers: Vec<PeerOutcome>,
}

/// `POST /api/admin/sync/now`
pub(crate) async fn now(State(app): State<App>, _: Admin) -> Result<Json<ExchangeReport>, Problem> {
    let runtime = app.runtime().clone();
    let peers = run_detached(async move { runtime.sync_now().await.map_err(Problem::from) }).await?;
    Ok(Json(ExchangeReport { peers }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddPeerRequest {
    /// The other daemon's address, `https://HOST:PORT`; plain HTTP on loopback only.
    url: String,
    /// What it is called here; the host if it is not given.
    #[serde(default)]
    name: Option<String>,
    /// The token that the other side created with the scope `peer:NAME`. It is kept in a file of the home.
    #[serde(default)]
    token: Option<String>,
}

/// `POST /api/admin/sync/peers`
pub(crate) async fn add(
    State(app): State<App>,
    Admin(principal): Admin,
    extract::Json(asked): extract::Json<AddPeerRequest>,
) -> Result<Json<OkResponse>, Problem> {
    let name = asked.name.unwrap_or_else(|| name_of(&asked.url));
    if !is_plain(&name, INSTANCE_LENGTH_MAX) {
        return Err(Problem::unprocessable(format!(
            "name: `{name}` is not a name; use up to {INSTANCE_LENGTH_MAX} letters, digits, `.`, `_` and `-`"
        )));
    }
    if !principal.is_owner() {
        return Err(Problem::forbidden("url: only the owner says with whom the memory is exchanged"));
    }
    if asked.token.is_none() {
        return Err(Problem::unprocessable("token: missing; give the token of the other side"));
    }
    app.runtime()
        .add_peer(&name, &asked.url, asked.token.as_deref(), None)
        .await
        .map_err(Problem::unprocessable)?;
    Ok(OkResponse::json())
}

/// The host and port of an address as a name.
fn name_of(url: &str) -> String {
    let host = url.split("://").last().unwrap_or_default().split('/').next().unwrap_or_default();
    host.chars().map(|sign| if sign.is_ascii_alphanumeric() || sign == '.' { sign } else { '-' }).collect()
}

/// `DELETE /api/admin/sync/peers/{name}`
pub(crate) async fn remove(
    State(app): State<App>,
    _: Admin,
    axum::extract::Path(name): axum::extract::Path<String>,
) -> Result<Json<DeletedResponse>, Problem> {
    // The name becomes a file's: what is not a name must not leave the folder.
    match is_plain(&name, INSTANCE_LENGTH_MAX) && app.runtime().remove_peer(&name).await? {
        true => Ok(DeletedResponse::json()),
        false => Err(Problem::not_found(format!("peer `{name}` not found"))),
    }
}

/// Conflicts of every kind.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AnyConflictList {
    conflicts: Vec<AnyConflict>,
}

/// Two texts of which neither side had seen the other.
#[derive(Serialize, JsonSchema)]
struct AnyConflict {
    id: String,
    /// `message`, `node`, `core_block` or `document`.
    kind: String,
    /// The row's id, or the document's name.
    object: String,
    /// The text that is shown.
    shown: String,
    /// The text that is kept beside it.
    kept: String,
    opened_at: Timestamp,
}

impl From<ConflictRecord> for AnyConflict {
    fn from(conflict: ConflictRecord) -> Self {
        Self {
            id: format!("{ROW_CONFLICT}{}", conflict.id),
            kind: conflict.row.kind.as_str().to_owned(),
            object: conflict.row.id.replace('\u{1f}', "/"),
            shown: conflict.shown,
            kept: conflict.other,
            opened_at: conflict.opened_at,
        }
    }
}

impl From<ConflictEntry> for AnyConflict {
    fn from(conflict: ConflictEntry) -> Self {
        Self {
            id: conflict.id,
            kind: "document".to_owned(),
            object: format!("{}/{}", conflict.kind, conflict.filename),
            shown: conflict.shown.content.unwrap_or_default(),
            kept: conflict.kept.content.unwrap_or_default(),
            opened_at: conflict.created_at,
        }
    }
}

/// `GET /api/admin/conflicts`: those of rows, of all scopes, and those of this scope's documents.
pub(crate) async fn conflicts(
    State(app): State<App>,
    _: Admin,
    ScopeParam(scope): ScopeParam,
) -> Result<Json<AnyConflictList>, Problem> {
    let rows = store(&app)?.conflicts().await?;
    let hub = super::hub::hub(&app)?;
    let documents = hub.conflict_list(&super::hub::person(&hub, scope), ConflictQuery::default()).await?;
    let rows = rows.into_iter().map(AnyConflict::from);
    let mut conflicts: Vec<AnyConflict> =
        rows.chain(documents.conflicts.into_iter().map(AnyConflict::from)).collect();
    conflicts.sort_by(|a, b| (b.opened_at, &b.id).cmp(&(a.opened_at, &a.id)));
    Ok(Json(AnyConflictList { conflicts }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResolveAnyRequest {
    /// For rows `shown` or `kept`; documents can also be merged or dismissed.
    resolution: Resolution,
    /// The text that takes the place of both, for `merge`.
    #[serde(default)]
    content: Option<String>,
}

/// `POST /api/admin/conflicts/{id}`
pub(crate) async fn resolve(
    State(app): State<App>,
    _: Admin,
    ScopeParam(scope): ScopeParam,
    axum::extract::Path(id): axum::extract::Path<String>,
    extract::Json(decision): extract::Json<ResolveAnyRequest>,
) -> Result<Json<OkResponse>, Problem> {
    let missing = || Problem::not_found("conflict not found, or resolved already");
    let Some(number) = id.strip_prefix(ROW_CONFLICT) else {
        let hub = super::hub::hub(&app)?;
        let ResolveAnyRequest { resolution, content } = decision;
        let input = ConflictResolve { conflict_id: id, resolution, content };
        let work = async move { Ok(hub.conflict_resolve(&super::hub::person(&hub, scope), input).await?) };
        let outcome = run_detached(work).await?;
        return if outcome.success {
            Ok(OkResponse::json())
        } else {
            Err(Problem::not_found(outcome.message))
        };
    };
    let takes_kept = match decision.resolution {
        Resolution::Shown => false,
        Resolution::Kept => true,
        _ => {
            return Err(Problem::unprocessable(
                "resolution: `shown` or `kept`; edit the text to say something else",
            ));
        }
    };
    let number = number.parse().map_err(|_| missing())?;
    let settled = app.runtime().settle_conflict(number, takes_kept).await?;
    settled.then(OkResponse::json).ok_or_else(missing)
}
