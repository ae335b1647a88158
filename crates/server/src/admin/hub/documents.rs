//! The shared self: documents, their versions, and conflicts.

use std::cmp::Reverse;

use axum::Json;
use axum::extract::{FromRequestParts, RawPathParams, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use hub::api::conflicts::{ConflictEntry, ConflictQuery, ConflictResolve, Resolution};
use hub::api::documents::{DocumentEdit, DocumentEntry, DocumentText, VersionEntry};
use hub::api::memories::{MemorySearch, PendingPeriod, SearchResults};
use hub::api::sync::SyncStatus;
use hub::names::LORE_FOLDER;
use hub::rollup::RollupOutcome;
use hub::{Caller, Category, DiaryName, DocumentName, EditOutcome, Hub};
use memory::Scope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::Admin;
use crate::cursor::PageQuery;
use crate::extract::{self, Query, ScopeParam, run_detached};
use crate::problem::Problem;
use crate::respond::OkResponse;
use crate::state::App;

/// The author of changes through this interface, as versions name it.
const ADMIN_EDITOR: &str = "admin";

pub(super) fn hub(app: &App) -> Result<Hub, Problem> {
    let hub = app.runtime().hub().cloned();
    hub.ok_or_else(|| Problem::unavailable("the hub is not available"))
}

pub(super) fn person(hub: &Hub, scope: Scope) -> Caller {
    Caller { scope, instance: hub.instance_id(), is_person: true, is_bound: false, is_of_one_user: false }
}

fn parse_document_name(kind: &str, filename: &str) -> Result<DocumentName, Problem> {
    let stem = filename.strip_suffix(".md").unwrap_or(filename);
    DocumentName::parse(kind, stem).map_err(|error| Problem::unprocessable(error.to_string()))
}

/// Path parameters of a document: `{kind}/{filename}`, or `custom/lore/{filename}`; with `{version}` if there is one.
pub(crate) struct DocumentPath {
    name: DocumentName,
    version: Option<String>,
}

impl FromRequestParts<App> for DocumentPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let values = RawPathParams::from_request_parts(parts, app).await;
        let values = values.map_err(|error| Problem::bad_request(error.to_string()))?;
        let value = |wanted: &str| values.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value);
        let filename = value("filename").unwrap_or_default();
        let name = match value("kind") {
            Some(kind) => parse_document_name(kind, filename)?,
            None => parse_document_name(Category::Custom.as_str(), &format!("{LORE_FOLDER}{filename}"))?,
        };
        Ok(Self { name, version: value("version").map(str::to_owned) })
    }
}

fn no_document() -> Problem {
    Problem::not_found("document not found")
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct DocumentKindQuery {
    /// Lists only documents of this category or granularity.
    kind: Option<String>,
    /// True to list only deleted documents that can be restored.
    #[serde(default)]
    deleted: bool,
}

/// Documents without their texts.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DocumentList {
    documents: Vec<DocumentEntry>,
    next_cursor: Option<String>,
}

/// Handler of `GET /api/hub/documents`.
pub(crate) async fn list(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(wanted): Query<DocumentKindQuery>,
    Query(paging): Query<PageQuery>,
) -> Result<Json<DocumentList>, Problem> {
    let hub = hub(&app)?;
    let mut documents = match wanted.deleted {
        true => hub.deleted_documents(&scope).await?,
        false => hub.document_list(&scope).await?,
    };
    documents.retain(|document| wanted.kind.as_ref().is_none_or(|kind| *kind == document.kind));
    let place = |document: &DocumentEntry| (document.kind.clone(), document.filename.clone());
    let (documents, next_cursor) = paging.slice_page(documents, place)?;
    Ok(Json(DocumentList { documents, next_cursor }))
}

pub(crate) async fn read(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    DocumentPath { name, .. }: DocumentPath,
) -> Result<Json<DocumentText>, Problem> {
    let document = hub(&app)?.document_read(&scope, &name).await?;
    Ok(Json(document.ok_or_else(no_document)?))
}

/// Handler of `PUT /api/hub/documents/{kind}/{filename}`: stores a person's own version.
pub(crate) async fn write(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    DocumentPath { name, .. }: DocumentPath,
    extract::Json(edit): extract::Json<DocumentEdit>,
) -> Result<Json<DocumentText>, Problem> {
    let hub = hub(&app)?;
    let outcome = run_detached(async move {
        // Together with the handlers that write core blocks directly.
        let _edit = app.runtime().personas().lock_edits().await;
        Ok(hub.document_write(&person(&hub, scope), &name, ADMIN_EDITOR, &edit).await?)
    });
    edit_response(outcome.await?)
}

pub(crate) async fn remove(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    DocumentPath { name, .. }: DocumentPath,
) -> Result<Json<OkResponse>, Problem> {
    let hub = hub(&app)?;
    let removed = run_detached(async move { Ok(hub.document_delete(&person(&hub, scope), &name).await?) });
    match removed.await? {
        true => Ok(OkResponse::json()),
        false => Err(no_document()),
    }
}

/// Versions of a document, the newest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct VersionList {
    versions: Vec<VersionEntry>,
    next_cursor: Option<String>,
}

/// Handler of `GET /api/hub/documents/{kind}/{filename}/versions`.
pub(crate) async fn versions(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    DocumentPath { name, .. }: DocumentPath,
    Query(paging): Query<PageQuery>,
) -> Result<Json<VersionList>, Problem> {
    let versions = hub(&app)?.document_history(&scope, &name).await?;
    if versions.is_empty() {
        return Err(no_document());
    }
    let (versions, next_cursor) = paging.slice_page(versions, |version| Reverse(version.version))?;
    Ok(Json(VersionList { versions, next_cursor }))
}

pub(crate) async fn restore(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    DocumentPath { name, version }: DocumentPath,
) -> Result<Json<DocumentText>, Problem> {
    let hub = hub(&app)?;
    let version = version.and_then(|version| version.parse().ok()).ok_or_else(no_such_version)?;
    let outcome = run_detached(async move {
        let _edit = app.runtime().personas().lock_edits().await;
        Ok(hub.document_restore(&person(&hub, scope), &name, ADMIN_EDITOR, version).await?)
    });
    edit_response(outcome.await?)
}

fn no_such_version() -> Problem {
    Problem::not_found("version not found, or its text was erased")
}

fn edit_response(outcome: EditOutcome) -> Result<Json<DocumentText>, Problem> {
    match outcome {
        EditOutcome::Written(text) => Ok(Json(*text)),
        EditOutcome::Changed(present) => Err(Problem::conflict(format!(
            "the document is now at version {present}; nothing was written. Read it again and edit that version"
        ))),
        EditOutcome::Missing => Err(no_such_version()),
    }
}

/// Periods whose roll-up is missing or outdated, the finer granularity first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PendingPeriodList {
    periods: Vec<PendingPeriod>,
}

/// Handler of `GET /api/hub/rollups`.
pub(crate) async fn pending_periods(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
) -> Result<Json<PendingPeriodList>, Problem> {
    Ok(Json(PendingPeriodList { periods: hub(&app)?.pending_periods(&scope).await? }))
}

/// Handler of `POST /api/hub/rollups/{kind}/{filename}`: writes the roll-up now, even if the period is not over.
pub(crate) async fn rewrite_rollup(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    axum::extract::Path((kind, filename)): axum::extract::Path<(String, String)>,
) -> Result<Json<DocumentText>, Problem> {
    let (hub, name) = (hub(&app)?, parse_document_name(&kind, &filename)?);
    let DocumentName::Diary(period) = name.clone() else {
        return Err(Problem::unprocessable("kind: must be weekly, monthly or yearly; nothing was written"));
    };
    run_detached(async move {
        check_outcome(hub.rewrite_rollup(&scope, &period).await?, &period)?;
        hub.document_read(&scope, &name).await?.map(Json).ok_or_else(no_document)
    })
    .await
}

fn check_outcome(outcome: RollupOutcome, period: &DiaryName) -> Result<(), Problem> {
    match outcome {
        RollupOutcome::Written => Ok(()),
        RollupOutcome::Current => {
            Err(Problem::conflict(format!("{} is up to date; nothing was written", period.date())))
        }
        RollupOutcome::NoSources(tier) => Err(Problem::not_found(format!(
            "no {} diary documents found for {}; nothing was written",
            tier.as_str(),
            period.date()
        ))),
        RollupOutcome::Failed(reason) => Err(Problem::new(
            StatusCode::BAD_GATEWAY,
            format!(
                "{} could not be written: {}. The existing document was kept",
                period.date(),
                reason.trim_end_matches(['.', ' '])
            ),
        )),
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ConflictListQuery {
    #[serde(default)]
    all: bool,
}

/// A page of the conflicts, the newest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ConflictList {
    conflicts: Vec<ConflictEntry>,
    next_cursor: Option<String>,
}

/// Handler of `GET /api/hub/conflicts`.
pub(crate) async fn conflicts(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(which): Query<ConflictListQuery>,
    Query(paging): Query<PageQuery>,
) -> Result<Json<ConflictList>, Problem> {
    let hub = hub(&app)?;
    let found = hub.conflict_list(&person(&hub, scope), ConflictQuery { all: which.all }).await?;
    let place = |conflict: &ConflictEntry| Reverse((conflict.created_at, conflict.id.clone()));
    let (conflicts, next_cursor) = paging.slice_page(found.conflicts, place)?;
    Ok(Json(ConflictList { conflicts, next_cursor }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ResolveRequest {
    resolution: Resolution,
    content: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ResolveResponse {
    ok: bool,
    message: String,
}

/// Handler of `POST /api/hub/conflicts/{id}`.
pub(crate) async fn resolve(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    axum::extract::Path(conflict_id): axum::extract::Path<String>,
    extract::Json(decision): extract::Json<ResolveRequest>,
) -> Result<Json<ResolveResponse>, Problem> {
    let hub = hub(&app)?;
    let ResolveRequest { resolution, content } = decision;
    let input = ConflictResolve { conflict_id, resolution, content };
    let outcome =
        run_detached(async move { Ok(hub.conflict_resolve(&person(&hub, scope), input).await?) }).await?;
    match outcome.success {
        true => Ok(Json(ResolveResponse { ok: true, message: outcome.message })),
        false => Err(Problem::not_found(outcome.message)),
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct DocumentSearchQuery {
    q: String,
    min_score: Option<f64>,
    max_results: Option<u32>,
}

/// Handler of `GET /api/hub/search`.
pub(crate) async fn search(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Query(wanted): Query<DocumentSearchQuery>,
) -> Result<Json<SearchResults>, Problem> {
    if wanted.q.trim().is_empty() {
        return Err(Problem::unprocessable("q: must not be empty"));
    }
    let hub = hub(&app)?;
    let search = MemorySearch {
        query: wanted.q,
        instance_id: hub.instance_id(),
        query_embedding: None,
        min_score: wanted.min_score,
        max_results: wanted.max_results,
    };
    Ok(Json(hub.memory_search(&person(&hub, scope), search).await?))
}

pub(crate) async fn status(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
) -> Result<Json<SyncStatus>, Problem> {
    let hub = hub(&app)?;
    Ok(Json(hub.sync_status(&person(&hub, scope)).await?))
}
