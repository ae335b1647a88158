//! Imports: files are examined, a person maps the speakers, and the content becomes messages and memories.

use axum::extract::multipart::Field;
use axum::extract::{FromRequest, Multipart, Request, State};
use axum::http::StatusCode;
use axum::{Json, body::Bytes};
use import::{FieldNames, ImportPreview, Mapping, ReadOptions};
use jiff::Timestamp;
use memory::identifiers::{ErasureId, ImportId};
use memory::ledger::TokenUsage;
use memory::ports::{ImportMemories, ImportSkip, Remembering};
use memory::{PersonaId, UserId};
use runtime::{
    ImportError, ImportState, ImportStatusReport, ImportUpload, ImportUploadWriter, StartedImport,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::Admin;
use crate::extract::{self, Id, run_detached};
use crate::problem::Problem;
use crate::respond::Created;
use crate::state::App;
use crate::upload::unreadable_form;

/// The path of uploads, which allows a larger body.
pub(crate) const PATH: &str = "/api/admin/imports";
/// Largest upload: all files together and the form around them, in bytes.
pub(crate) const UPLOAD_SIZE_MAX: usize = 8 * 1024 * 1024 * 1024;
/// Maximum files in one form; a zip archive may contain more.
const FILES_MAX: usize = 1_000;
/// Maximum fields of a file to list. An export can have hundreds, and the first ones identify the file.
const NAMED_FIELDS_MAX: usize = 20;
/// Maximum bytes of a form field that is not a file. These are names, ids and choices.
const FIELD_SIZE_MAX: usize = 256;
/// Maximum skipped items in an answer; all are counted. A damaged file can have one in each line.
const SKIPS_MAX: u32 = 1_000;

/// Tokens of consolidation's prompts for each session, besides its messages.
const TOKENS_ASKED_PER_SESSION: u64 = 4_000;
/// Tokens of the answers for each session: three events and a summary; a high estimate.
const TOKENS_ANSWERED_PER_SESSION: u64 = 600;
/// Bytes of text per token, in every script. English has four and Chinese three; a high estimate of tokens.
const BYTES_PER_TOKEN: u64 = 3;

/// A form with files.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "describes what `receive` reads from the form")]
pub(crate) struct ImportForm {
    /// One field for each file; zip archives may contain several.
    #[schemars(extend("contentMediaType" = "application/octet-stream"), with = "Vec<String>")]
    file: Vec<Bytes>,
    /// Modification time of the file in the next field, in milliseconds since 1970. It is used for messages without a
    /// time.
    modified: Option<Vec<i64>>,
    /// Id of the format of all files; detected if absent.
    format: Option<String>,
    /// For unknown JSON and CSV files: `text=NAME`, and `from`, `role`, `time`, `conversation`, `id` or `model`
    /// likewise, one in each field. A name in JSON may be a path, such as `message.text`.
    field: Option<Vec<String>>,
}

/// An import, from its upload to its last memory.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ImportBody {
    run_id: ImportId,
    state: ImportState,
    /// `null` until it is started.
    persona_id: Option<PersonaId>,
    user_id: Option<UserId>,
    files: Vec<String>,
    remembering: Option<Remembering>,
    /// Number of items read so far: recorded, written as documents, already there, proposed and skipped.
    found: u64,
    recorded: u64,
    /// Number of documents that it wrote: significant memories of the shared self.
    documents: u64,
    already_there: u64,
    /// Memories saved by the other program that wait for a person.
    proposed: u64,
    /// Messages without a time: they get that of the message before, else of the file.
    undated: u64,
    skipped_count: u64,
    sessions: u64,
    /// Number of sessions that are not consolidated yet.
    sessions_waiting: u64,
    /// Why recording was interrupted.
    problem: Option<String>,
    created_at: Timestamp,
    finished_at: Option<Timestamp>,
}

/// An import with a summary of its files and its results.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ImportDetail {
    #[serde(flatten)]
    import: ImportBody,
    /// A summary of the files; `null` once they are recorded and deleted.
    look: Option<ImportPreview>,
    /// Estimated cost of consolidating everything.
    estimate: Option<ImportEstimate>,
    /// The first skipped items.
    skipped: Vec<ImportSkip>,
    memories: ImportMemories,
}

/// A rough estimate: a language model reads every message once, with questions about each session.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ImportEstimate {
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    /// US dollars; `null` if the model's price is unknown.
    pub(crate) usd: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ImportList {
    imports: Vec<ImportBody>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImportStartRequest {
    /// Default: the configured persona.
    persona_id: Option<String>,
    /// Default: the owner (`self`).
    user_id: Option<String>,
    /// Roles of the speakers, the zone of times without one, and the selection of conversations.
    #[serde(default)]
    mapping: Mapping,
    /// True to consolidate the messages.
    #[serde(default = "on_by_default")]
    remember: bool,
    /// True to create the user if it does not exist.
    #[serde(default = "on_by_default")]
    create_user: bool,
}

pub(super) fn on_by_default() -> bool {
    true
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ImportUndone {
    run_id: ImportId,
    /// Number of messages that were erased.
    erased: u64,
    receipts: Vec<ErasureId>,
}

/// Handler of `POST /api/admin/imports`: a form with the files as `file`. Returns a summary of their content.
pub(crate) async fn upload(
    State(app): State<App>,
    Admin(_): Admin,
    request: Request,
) -> Result<Created<ImportDetail>, Problem> {
    let (arrived, options) = receive_form(request, &app).await?;
    let looking = app.clone();
    let upload =
        run_detached(async move { Ok(looking.runtime().imports().inspect_upload(arrived, options).await?) })
            .await?;
    let report = app.runtime().imports().find(upload.id).await?;
    Ok(Created(import_detail(&app, report).await?))
}

async fn receive_form(request: Request, app: &App) -> Result<(ImportUploadWriter, ReadOptions), Problem> {
    let no_form = |_| Problem::unprocessable("send multipart/form-data with each file in a field `file`");
    let mut form = Multipart::from_request(request, app).await.map_err(no_form)?;
    let (mut arrived, mut format, mut modified) = (app.runtime().imports().receive().await?, None, None);
    let mut named = Vec::new();
    loop {
        let next = form.next_field().await;
        let Some(mut field) = next.map_err(|error| unreadable_form(error.status(), UPLOAD_SIZE_MAX))? else {
            break;
        };
        match field.name() {
            Some("modified") => modified = Some(read_text(&mut field, "modified").await?),
            Some("file") => {
                if arrived.file_count() >= FILES_MAX {
                    let detail =
                        format!("at most {FILES_MAX} files; put them into a zip archive. Nothing was saved");
                    return Err(Problem::unprocessable(detail));
                }
                let name = field.file_name().unwrap_or_default().to_owned();
                let modified = modified.take().and_then(|at| at.parse().ok());
                let modified = modified.and_then(|at| Timestamp::from_millisecond(at).ok());
                arrived.begin_file(&name, modified).await.map_err(ImportError::Io)?;
                while let Some(bytes) = next_chunk(&mut field).await? {
                    arrived.write(&bytes).await.map_err(ImportError::Io)?;
                }
            }
            Some("format") => {
                format = Some(read_text(&mut field, "format").await?).filter(|value| !value.is_empty());
            }
            Some("field") if named.len() < NAMED_FIELDS_MAX => {
                named.push(read_text(&mut field, "field").await?)
            }
            _ => {
                return Err(Problem::unprocessable(
                    "the form has the fields `file`, `modified`, `format` and `field`; nothing was saved",
                ));
            }
        }
    }
    let fields = FieldNames::parse(named.iter().map(String::as_str));
    let fields =
        fields.map_err(|error| Problem::unprocessable(format!("field: {error}; nothing was saved")))?;
    match arrived.size() {
        0 => Err(Problem::bad_request("file: missing or empty; nothing was saved")),
        _ => Ok((arrived, ReadOptions { format, fields })),
    }
}

async fn read_text(field: &mut Field<'_>, name: &str) -> Result<String, Problem> {
    let mut value = Vec::new();
    while let Some(bytes) = next_chunk(field).await? {
        value.extend_from_slice(&bytes);
        if value.len() > FIELD_SIZE_MAX {
            return Err(Problem::unprocessable(format!("{name}: too long; nothing was saved")));
        }
    }
    Ok(String::from_utf8_lossy(&value).trim().to_owned())
}

async fn next_chunk(field: &mut Field<'_>) -> Result<Option<Bytes>, Problem> {
    field.chunk().await.map_err(|error| unreadable_form(error.status(), UPLOAD_SIZE_MAX))
}

pub(crate) async fn start(
    State(app): State<App>,
    Admin(principal): Admin,
    Id(id): Id<ImportId>,
    extract::Json(asked): extract::Json<ImportStartRequest>,
) -> Result<Json<ImportDetail>, Problem> {
    let scope = app.scope(&principal, asked.persona_id, asked.user_id).await?;
    if !asked.create_user {
        app.runtime().imports().check_is_known(&scope).await?;
    }
    let remembering = if asked.remember { Remembering::On } else { Remembering::Off };
    let started = StartedImport { scope, mapping: asked.mapping, remembering };
    let starting = app.clone();
    let report =
        run_detached(async move { Ok(starting.runtime().imports().start(id, started).await?) }).await?;
    Ok(Json(import_detail(&app, report).await?))
}

/// Handler of `GET /api/admin/imports`, newest first.
pub(crate) async fn list(State(app): State<App>, Admin(_): Admin) -> Result<Json<ImportList>, Problem> {
    let reports = app.runtime().imports().list().await?;
    Ok(Json(ImportList { imports: reports.iter().map(ImportBody::from_report).collect() }))
}

pub(crate) async fn show(
    State(app): State<App>,
    Admin(_): Admin,
    Id(id): Id<ImportId>,
) -> Result<Json<ImportDetail>, Problem> {
    let report = app.runtime().imports().find(id).await?;
    Ok(Json(import_detail(&app, report).await?))
}

pub(crate) async fn pause(
    State(app): State<App>,
    Admin(_): Admin,
    Id(id): Id<ImportId>,
) -> Result<Json<ImportDetail>, Problem> {
    let report = app.runtime().imports().pause(id).await?;
    Ok(Json(import_detail(&app, report).await?))
}

pub(crate) async fn resume(
    State(app): State<App>,
    Admin(_): Admin,
    Id(id): Id<ImportId>,
) -> Result<Json<ImportDetail>, Problem> {
    let resuming = app.clone();
    let report = run_detached(async move { Ok(resuming.runtime().imports().resume(id).await?) }).await?;
    Ok(Json(import_detail(&app, report).await?))
}

/// Handler of `POST /api/admin/imports/{id}/undo`: erases everything, with receipts.
pub(crate) async fn undo(
    State(app): State<App>,
    Admin(_): Admin,
    Id(id): Id<ImportId>,
) -> Result<Json<ImportUndone>, Problem> {
    let undone = run_detached(async move { Ok(app.runtime().imports().undo(id).await?) }).await?;
    Ok(Json(ImportUndone { run_id: id, erased: undone.messages, receipts: undone.receipts }))
}

async fn import_detail(app: &App, report: ImportStatusReport) -> Result<ImportDetail, Problem> {
    let import = ImportBody::from_report(&report);
    let (skipped, memories) = match &report.run {
        Some(run) => app.runtime().imports().run_outcome(run.run_id, SKIPS_MAX).await?,
        None => Default::default(),
    };
    let look = report.upload.map(|upload| upload.look);
    let estimate = look.as_ref().map(|look| estimate(app, look));
    Ok(ImportDetail { import, look, estimate, skipped, memories })
}

pub(crate) fn estimate(app: &App, look: &ImportPreview) -> ImportEstimate {
    let input_tokens =
        look.text_bytes.div_ceil(BYTES_PER_TOKEN) + look.sessions.saturating_mul(TOKENS_ASKED_PER_SESSION);
    let output_tokens = look.sessions.saturating_mul(TOKENS_ANSWERED_PER_SESSION);
    let model = (app.parts.models)().llm;
    let price = app.runtime().imports().price_of(&model.provider, model.model.as_deref().unwrap_or_default());
    let usage = TokenUsage { input_tokens, output_tokens, ..TokenUsage::default() };
    ImportEstimate { input_tokens, output_tokens, usd: price.map(|price| price.cost_in_dollars(usage)) }
}

impl ImportBody {
    fn from_report(report: &ImportStatusReport) -> Self {
        let run = report.run.as_ref();
        let started = report.upload.as_ref().and_then(|upload| upload.started.as_ref());
        let scope = run.map(|run| &run.scope).or(started.map(|started| &started.scope));
        let names = |upload: &ImportUpload| upload.files.iter().map(|file| file.name.clone()).collect();
        Self {
            run_id: report.id,
            state: report.state,
            persona_id: scope.map(|scope| scope.persona.clone()),
            user_id: scope.map(|scope| scope.user.clone()),
            files: run.map(|run| run.files.clone()).or(report.upload.as_ref().map(names)).unwrap_or_default(),
            remembering: run.map(|run| run.remembering),
            found: run.map_or(0, |run| run.found),
            recorded: run.map_or(0, |run| run.recorded),
            documents: run.map_or(0, |run| run.documents),
            already_there: run.map_or(0, |run| run.already_there),
            proposed: run.map_or(0, |run| run.proposed),
            undated: run.map_or(0, |run| run.undated),
            skipped_count: run.map_or(0, |run| run.skipped),
            sessions: run.map_or(0, |run| run.sessions),
            sessions_waiting: run.map_or(0, |run| run.sessions_waiting),
            problem: report.problem.clone(),
            created_at: report.created_at(),
            finished_at: run.and_then(|run| run.finished_at),
        }
    }
}

impl From<ImportError> for Problem {
    fn from(error: ImportError) -> Self {
        let detail = error.to_string();
        match error {
            ImportError::NotFound(_) => Self::not_found(detail),
            ImportError::NoCharacter | ImportError::NoGreeting { .. } | ImportError::NoPicture => {
                Self::unprocessable(detail)
            }
            ImportError::UnknownPersona(_) => Self::unprocessable(detail).with_code("unknown_persona"),
            ImportError::UnknownUser(_) => Self::unprocessable(detail).with_code("unknown_user"),
            ImportError::Capture(error) => error.into(),
            ImportError::Hub(error) => error.into(),
            ImportError::Approve(error) => error.into(),
            ImportError::Started | ImportError::NotStarted | ImportError::FilesMissing => {
                Self::conflict(detail)
            }
            ImportError::Mapping(_) | ImportError::Read(import::ImportError::UnknownFormat { .. }) => {
                Self::unprocessable(detail)
            }
            ImportError::Read(import::ImportError::TooManySources { .. }) => Self::unprocessable(detail),
            ImportError::Unavailable => Self::unavailable(detail),
            ImportError::Io(error) if error.kind() == std::io::ErrorKind::StorageFull => {
                Self::new(StatusCode::INSUFFICIENT_STORAGE, detail)
            }
            ImportError::Read(_) | ImportError::Io(_) => Self::internal(&detail),
            ImportError::Store(error) => error.into(),
            ImportError::Erase(error) => error.into(),
        }
    }
}
