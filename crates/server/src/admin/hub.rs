//! The shared self: its documents, their versions, what waits for a decision.

use std::cmp::Reverse;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hub::door::conflicts::{ConflictEntry, ConflictQuery, ConflictResolve, Resolution};
use hub::door::documents::{DocumentEdit, DocumentEntry, DocumentText, VersionEntry};
use hub::door::memories::{MemorySearch, SearchResults, UntoldPeriod};
use hub::door::sync::SyncStatus;
use hub::rollup::Retold;
use hub::{Caller, DocumentName, EditOutcome, Hub, MemoryName};
use memory::Scope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::auth::Admin;
use crate::cursor::Paging;
use crate::extract::{self, InScope, Query, to_the_end};
use crate::problem::Problem;
use crate::state::App;

/// Who edits through this interface, as versions say it.
const EDITOR: &str = "admin";

fn hub(app: &App) -> Result<Hub, Problem> {
    let hub = app.runtime().hub().cloned();
    hub.ok_or_else(|| Problem::unavailable("this daemon has no hub"))
}

fn person(hub: &Hub, scope: Scope) -> Caller {
    Caller { scope, instance: hub.settings().instance.clone(), is_person: true }
}

fn named(kind: &str, filename: &str) -> Result<DocumentName, Problem> {
    let stem = filename.strip_suffix(".md").unwrap_or(filename);
    DocumentName::parse(kind, stem).map_err(|error| Problem::unprocessable(error.to_string()))
}

fn missing() -> Problem {
    Problem::not_found("there is no such document")
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "DocumentKind")]
pub(crate) struct Kind {
    kind: Option<String>,
}

/// Documents without their texts.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Documents")]
pub(crate) struct Listed {
    documents: Vec<DocumentEntry>,
    next_cursor: Option<String>,
}

/// `GET /api/hub/documents`
pub(crate) async fn list(
    State(app): State<App>,
    Admin(_): Admin,
    InScope(scope): InScope,
    Query(wanted): Query<Kind>,
    Query(paging): Query<Paging>,
) -> Result<Json<Listed>, Problem> {
    let mut documents = hub(&app)?.document_list(&scope).await?;
    documents.retain(|document| wanted.kind.as_ref().is_none_or(|kind| *kind == document.kind));
    let place = |document: &DocumentEntry| (document.kind.clone(), document.filename.clone());
    let (documents, next_cursor) = paging.of(documents, place)?;
    Ok(Json(Listed { documents, next_cursor }))
}

/// `GET /api/hub/documents/{kind}/{filename}`
pub(crate) async fn read(
    State(app): State<App>,
    Admin(_): Admin,
    InScope(scope): InScope,
    axum::extract::Path((kind, filename)): axum::extract::Path<(String, String)>,
) -> Result<Json<DocumentText>, Problem> {
    let document = hub(&app)?.document_read(&scope, &named(&kind, &filename)?).await?;
    Ok(Json(document.ok_or_else(missing)?))
}

/// `PUT /api/hub/documents/{kind}/{filename}`: a person's own version.
pub(crate) async fn write(
    State(app): State<App>,
    Admin(_): Admin,
    InScope(scope): InScope,
    axum::extract::Path((kind, filename)): axum::extract::Path<(String, String)>,
    extract::Json(edit): extract::Json<DocumentEdit>,
) -> Result<Json<DocumentText>, Problem> {
    let (hub, name) = (hub(&app)?, named(&kind, &filename)?);
    let outcome = to_the_end(async move {
        // With the handlers that write core blocks by themselves.
        let _edit = app.persona_edit.lock().await;
        Ok(hub.document_write(&person(&hub, scope), &name, EDITOR, &edit).await?)
    });
    written(outcome.await?)
}

/// `DELETE /api/hub/documents/{kind}/{filename}`
pub(crate) async fn remove(
    State(app): State<App>,
    Admin(_): Admin,
    InScope(scope): InScope,
    axum::extract::Path((kind, filename)): axum::extract::Path<(String, String)>,
) -> Result<Json<Value>, Problem> {
    let (hub, name) = (hub(&app)?, named(&kind, &filename)?);
    let removed = to_the_end(async move { Ok(hub.document_delete(&person(&hub, scope), &name).await?) });
    match removed.await? {
        true => Ok(Json(json!({"ok": true}))),
        false => Err(missing()),
    }
}

/// Versions of a document, the newest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Versions {
    versions: Vec<VersionEntry>,
    next_cursor: Option<String>,
}

/// `GET /api/hub/documents/{kind}/{filename}/versions`
pub(crate) async fn versions(
    State(app): State<App>,
    Admin(_): Admin,
    InScope(scope): InScope,
    axum::extract::Path((kind, filename)): axum::extract::Path<(String, String)>,
    Query(paging): Query<Paging>,
) -> Result<Json<Versions>, Problem> {
    let versions = hub(&app)?.document_history(&scope, &named(&kind, &filename)?).await?;
    if versions.is_empty() {
        return Err(missing());
    }
    let (versions, next_cursor) = paging.of(versions, |version| Reverse(version.version))?;
    Ok(Json(Versions { versions, next_cursor }))
}

/// `POST /api/hub/documents/{kind}/{filename}/versions/{version}/restore`
pub(crate) async fn restore(
    State(app): State<App>,
    Admin(_): Admin,
    InScope(scope): InScope,
    axum::extract::Path((kind, filename, version)): axum::extract::Path<(String, String, String)>,
) -> Result<Json<DocumentText>, Problem> {
    let (hub, name) = (hub(&app)?, named(&kind, &filename)?);
    let version = version.parse().map_err(|_| no_such_version())?;
    let outcome = to_the_end(async move {
        let _edit = app.persona_edit.lock().await;
        Ok(hub.document_restore(&person(&hub, scope), &name, EDITOR, version).await?)
    });
    written(outcome.await?)
}

fn no_such_version() -> Problem {
    Problem::not_found("there is no such version with a text")
}

fn written(outcome: EditOutcome) -> Result<Json<DocumentText>, Problem> {
    match outcome {
        EditOutcome::Written(text) => Ok(Json(*text)),
        EditOutcome::Changed(present) => Err(Problem::conflict(format!(
            "version {present} came meanwhile; nothing was written. Read it, and edit that"
        ))),
        EditOutcome::Missing => Err(no_such_version()),
    }
}

/// Periods that wait for their roll-up, the finer before the coarser.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UntoldPeriods")]
pub(crate) struct Untold {
    periods: Vec<UntoldPeriod>,
}

/// `GET /api/hub/rollups`
pub(crate) async fn untold(
    State(app): State<App>,
    Admin(_): Admin,
    InScope(scope): InScope,
) -> Result<Json<Untold>, Problem> {
    Ok(Json(Untold { periods: hub(&app)?.untold_periods(&scope).await? }))
}

/// `POST /api/hub/rollups/{kind}/{filename}`: writes one now, over or not; answers when it is written.
pub(crate) async fn retell(
    State(app): State<App>,
    Admin(_): Admin,
    InScope(scope): InScope,
    axum::extract::Path((kind, filename)): axum::extract::Path<(String, String)>,
) -> Result<Json<DocumentText>, Problem> {
    let (hub, name) = (hub(&app)?, named(&kind, &filename)?);
    let DocumentName::Memory(period) = name.clone() else {
        return Err(Problem::unprocessable("a roll-up is weekly, monthly or yearly; nothing was written"));
    };
    to_the_end(async move {
        retold(hub.retell(&scope, &period).await?, &period)?;
        hub.document_read(&scope, &name).await?.map(Json).ok_or_else(missing)
    })
    .await
}

fn retold(outcome: Retold, period: &MemoryName) -> Result<(), Problem> {
    match outcome {
        Retold::Written => Ok(()),
        Retold::Current => Err(Problem::conflict(format!(
            "{} is written already, and nothing of it has changed since",
            period.date()
        ))),
        Retold::NoSources(tier) => Err(Problem::not_found(format!(
            "there is no {} memory to tell {} from; nothing was written",
            tier.word(),
            period.date()
        ))),
        Retold::Failed(reason) => Err(Problem::new(
            StatusCode::BAD_GATEWAY,
            format!(
                "{} could not be written: {}. What there was stays as it is",
                period.date(),
                reason.trim_end_matches(['.', ' '])
            ),
        )),
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Which {
    #[serde(default)]
    all: bool,
}

/// A page of the conflicts, the newest first.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Conflicts")]
pub(crate) struct InDoubt {
    conflicts: Vec<ConflictEntry>,
    next_cursor: Option<String>,
}

/// `GET /api/hub/conflicts`
pub(crate) async fn conflicts(
    State(app): State<App>,
    Admin(_): Admin,
    InScope(scope): InScope,
    Query(which): Query<Which>,
    Query(paging): Query<Paging>,
) -> Result<Json<InDoubt>, Problem> {
    let hub = hub(&app)?;
    let found = hub.conflict_list(&person(&hub, scope), ConflictQuery { all: which.all }).await?;
    let place = |conflict: &ConflictEntry| Reverse((conflict.created_at, conflict.id.clone()));
    let (conflicts, next_cursor) = paging.of(found.conflicts, place)?;
    Ok(Json(InDoubt { conflicts, next_cursor }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Decision {
    resolution: Resolution,
    content: Option<String>,
}

/// `POST /api/hub/conflicts/{id}`
pub(crate) async fn resolve(
    State(app): State<App>,
    Admin(_): Admin,
    InScope(scope): InScope,
    axum::extract::Path(conflict_id): axum::extract::Path<String>,
    extract::Json(decision): extract::Json<Decision>,
) -> Result<Json<Value>, Problem> {
    let hub = hub(&app)?;
    let Decision { resolution, content } = decision;
    let input = ConflictResolve { conflict_id, resolution, content };
    let outcome =
        to_the_end(async move { Ok(hub.conflict_resolve(&person(&hub, scope), input).await?) }).await?;
    match outcome.success {
        true => Ok(Json(json!({"ok": true, "message": outcome.message}))),
        false => Err(Problem::not_found(outcome.message)),
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Wanted {
    q: String,
    min_score: Option<f64>,
    max_results: Option<u32>,
}

/// `GET /api/hub/search`
pub(crate) async fn search(
    State(app): State<App>,
    Admin(_): Admin,
    InScope(scope): InScope,
    Query(wanted): Query<Wanted>,
) -> Result<Json<SearchResults>, Problem> {
    if wanted.q.trim().is_empty() {
        return Err(Problem::unprocessable("q: say what is looked for"));
    }
    let hub = hub(&app)?;
    let search = MemorySearch {
        query: wanted.q,
        instance_id: hub.settings().instance.clone(),
        query_embedding: None,
        min_score: wanted.min_score,
        max_results: wanted.max_results,
    };
    Ok(Json(hub.memory_search(&person(&hub, scope), search).await?))
}

/// `GET /api/hub/status`
pub(crate) async fn status(
    State(app): State<App>,
    Admin(_): Admin,
    InScope(scope): InScope,
) -> Result<Json<SyncStatus>, Problem> {
    let hub = hub(&app)?;
    Ok(Json(hub.sync_status(&person(&hub, scope)).await?))
}
