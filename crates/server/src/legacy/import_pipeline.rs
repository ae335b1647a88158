//! Imports of one file or text at a time, as pipelines whose events can be watched.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use import::Mapping;
use memory::identifiers::ImportId;
use runtime::{ImportError, PipelineWatch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::admin::imports::runs::estimate;
use crate::admin::persona::import_end::{known_import_id, parsed_id, watch};
use crate::auth::Admin;
use crate::extract::{self, Query, ScopeParam, run_detached};
use crate::problem::Problem;
use crate::state::App;
use crate::upload::{self, multipart_form};

pub(crate) const UPLOAD_PATH: &str = "/api/admin/import/upload";
/// The path of an import's events.
pub(crate) const EVENTS_PATH: &str = "/api/admin/import/events";
pub(crate) const TEXT_PATH: &str = "/api/admin/import/upload_text";
/// Maximum size of a file or text, in bytes.
const SIZE_MAX: usize = 50 * 1024 * 1024;
/// Maximum size of a body: a text in JSON may need two bytes for one.
pub(crate) const BODY_SIZE_MAX: usize = 2 * SIZE_MAX + upload::FORM_BYTES_MAX;
const LABEL_LENGTH_MAX: usize = 256;
const PASTED: &str = "pasted_text";
/// Interval of comments that keep a connection open. Proxies commonly end one without data for 30 or 60 seconds.
const PING: Duration = Duration::from_secs(15);

/// A form with one file.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "describes what `upload` reads from the form")]
pub(crate) struct UploadForm {
    #[schemars(extend("contentMediaType" = "application/octet-stream"), with = "String")]
    file: Bytes,
    /// Name to show; default: the file's.
    source_label: Option<String>,
}

/// A stored file or text that is not started yet.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Upload {
    upload_id: ImportId,
    /// SHA-256 in hexadecimal digits.
    file_hash: String,
    /// Extension of the file's name, such as `.md`; empty if it has none.
    suffix: String,
    source_label: String,
    size_bytes: usize,
}

/// Handler of `POST /api/admin/import/upload`.
pub(crate) async fn upload(
    State(app): State<App>,
    Admin(_): Admin,
    request: Request,
) -> Result<Json<Upload>, Problem> {
    let (file, label) = multipart_form(request, &app, SIZE_MAX, Some("source_label")).await?;
    let (name, bytes) = file.ok_or_else(|| Problem::bad_request("file: missing; nothing was saved"))?;
    let label = checked_label(label)?.unwrap_or_else(|| name.clone());
    store_upload(&app, &name, label, bytes).await
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TextUpload {
    text: String,
    /// Name of the source; default: `pasted_text`.
    source_label: Option<String>,
}

/// Handler of `POST /api/admin/import/upload_text`.
pub(crate) async fn upload_text(
    State(app): State<App>,
    Admin(_): Admin,
    extract::Json(pasted): extract::Json<TextUpload>,
) -> Result<Json<Upload>, Problem> {
    if pasted.text.is_empty() {
        return Err(Problem::unprocessable("text: empty; nothing was saved"));
    }
    if pasted.text.len() > SIZE_MAX {
        return Err(upload::too_large(SIZE_MAX));
    }
    let label = checked_label(pasted.source_label)?.unwrap_or_else(|| PASTED.to_owned());
    store_upload(&app, "pasted.txt", label, pasted.text.into()).await
}

fn checked_label(label: Option<String>) -> Result<Option<String>, Problem> {
    let label = label.map(|label| label.trim().to_owned()).filter(|label| !label.is_empty());
    if label.as_ref().is_some_and(|label| label.chars().count() > LABEL_LENGTH_MAX) {
        let detail = format!("source_label: at most {LABEL_LENGTH_MAX} characters; nothing was saved");
        return Err(Problem::unprocessable(detail));
    }
    Ok(label)
}

async fn store_upload(
    app: &App,
    name: &str,
    source_label: String,
    bytes: Bytes,
) -> Result<Json<Upload>, Problem> {
    let file_hash = hex::encode(Sha256::digest(&bytes));
    let suffix = std::path::Path::new(name).extension().and_then(|ending| ending.to_str());
    let suffix = suffix.map(|ending| format!(".{}", ending.to_lowercase())).unwrap_or_default();
    let size_bytes = bytes.len();
    let mut arrived = app.runtime().imports().receive().await?;
    arrived.begin_file(&source_label, None).await.map_err(ImportError::Io)?;
    arrived.write(&bytes).await.map_err(ImportError::Io)?;
    let looking = app.clone();
    let kept =
        run_detached(async move { Ok(looking.runtime().imports().inspect_material(arrived).await?) }).await?;
    Ok(Json(Upload { upload_id: kept.id, file_hash, suffix, source_label, size_bytes }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct EstimateRequest {
    upload_id: String,
    /// Always `llm` at present.
    #[serde(default = "default_extractor")]
    stage: String,
}

fn default_extractor() -> String {
    "llm".to_owned()
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PipelineEstimate {
    tokens_in: u64,
    tokens_out_est: u64,
    cost_usd_est: f64,
    /// A note about the limits of the estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

/// Handler of `POST /api/admin/import/estimate`.
pub(crate) async fn estimate_import(
    State(app): State<App>,
    Admin(_): Admin,
    extract::Json(asked): extract::Json<EstimateRequest>,
) -> Result<Json<PipelineEstimate>, Problem> {
    if asked.stage != "llm" {
        return Err(Problem::bad_request("stage: must be `llm`"));
    }
    let report = app.runtime().imports().find(known_import_id("upload_id", &asked.upload_id)?).await?;
    let look = report.upload.map(|upload| upload.look).unwrap_or_default();
    if look.messages == 0 {
        let note = Some("no text was found that can be imported");
        return Ok(Json(PipelineEstimate { tokens_in: 0, tokens_out_est: 0, cost_usd_est: 0.0, note }));
    }
    let estimate = estimate(&app, &look);
    let note = estimate.usd.is_none().then_some("the price of the model is unknown");
    Ok(Json(PipelineEstimate {
        tokens_in: estimate.input_tokens,
        tokens_out_est: estimate.output_tokens,
        cost_usd_est: estimate.usd.unwrap_or_default(),
        note,
    }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct PipelineStartRequest {
    upload_id: String,
    /// Without effect: messages of an earlier import are never recorded twice.
    #[serde(default)]
    #[expect(dead_code, reason = "clients send it")]
    force_duplicate: bool,
    /// Roles of the speakers, if the file does not name them.
    #[serde(default)]
    mapping: Mapping,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PipelineStarted {
    pipeline_id: ImportId,
}

/// Handler of `POST /api/admin/import/start`; continues a cancelled import.
pub(crate) async fn start(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    extract::Json(asked): extract::Json<PipelineStartRequest>,
) -> Result<Json<PipelineStarted>, Problem> {
    let pipeline_id = known_import_id("upload_id", &asked.upload_id)?;
    run_detached(async move {
        Ok(app.runtime().imports().start_pipeline(pipeline_id, scope, asked.mapping).await?)
    })
    .await?;
    Ok(Json(PipelineStarted { pipeline_id }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct PipelineParam {
    pipeline_id: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PipelineCancelled {
    /// Always `cancelled` on success.
    status: &'static str,
}

/// Handler of `POST /api/admin/import/cancel`; succeeds also for an unknown import. Recorded messages stay.
pub(crate) async fn cancel(
    State(app): State<App>,
    Admin(_): Admin,
    extract::Json(asked): extract::Json<PipelineParam>,
) -> Result<Json<PipelineCancelled>, Problem> {
    if let Some(id) = parsed_id("pipeline_id", &asked.pipeline_id)? {
        run_detached(async move { Ok(app.runtime().imports().cancel(id).await?) }).await?;
    }
    Ok(Json(PipelineCancelled { status: "cancelled" }))
}

/// Handler of `GET /api/admin/import/events`: all events of a pipeline from the first on, whenever the client
/// connects; ends after the last.
pub(crate) async fn events(
    State(app): State<App>,
    Admin(_): Admin,
    Query(asked): Query<PipelineParam>,
) -> Result<Response, Problem> {
    let watch = watch(&app, known_import_id("pipeline_id", &asked.pipeline_id)?).await?;
    let headers = [(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"))];
    Ok((headers, Sse::new(event_frames(app, watch))).into_response())
}

fn event_frames(app: App, watch: PipelineWatch) -> impl Stream<Item = Result<Event, Infallible>> + Send {
    stream::unfold((app, watch), |(app, mut watch)| async move {
        let frame = tokio::select! {
            event = watch.next() => {
                let event = serde_json::to_string(&event?).ok()?;
                Event::default().event("import.progress").data(event)
            }
            () = app.runtime().clock().sleep(PING) => Event::default().comment("ping"),
            () = app.shutdown.cancelled() => return None,
        };
        Some((Ok(frame), (app, watch)))
    })
}
