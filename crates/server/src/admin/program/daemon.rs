//! The program: its health, state and stop.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use memory::PersonaId;
use schemars::JsonSchema;
use serde::Serialize;

use crate::admin::work::channels::{self, Channel};
use crate::auth::Admin;
use crate::extract::{OptionalScope, ScopeParam};
use crate::ports::daemons::DaemonStatus;
use crate::ports::model_setup::{EmbeddingState, LlmState};
use crate::problem::Problem;
use crate::respond::{Accepted, OkResponse};
use crate::state::App;

#[derive(Serialize, JsonSchema)]
pub(crate) struct StateResponse {
    persona: PersonaState,
    /// True if no core block is written yet.
    onboarding_required: bool,
    /// Seconds of silence after which a conversation ends and is consolidated.
    session_idle_seconds: u64,
    memory_counts: MemoryCounts,
    channels: Vec<Channel>,
    llm: LlmState,
    embedding: EmbeddingState,
}

#[derive(Serialize, JsonSchema)]
struct PersonaState {
    id: PersonaId,
    display_name: String,
    voice_enabled: bool,
    has_voice_id: bool,
    has_avatar: bool,
}

#[derive(Serialize, JsonSchema)]
struct MemoryCounts {
    core_blocks: u64,
    messages: u64,
    events: u64,
    thoughts: u64,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct StatusResponse {
    pid: u32,
    version: String,
    url: String,
    started_at: Timestamp,
    uptime_seconds: i64,
    persona_id: PersonaId,
    sessions: SessionCounts,
    spending: SpendingStatus,
    llm: LlmState,
    embedding: EmbeddingState,
    /// Null if no embedding model is configured.
    vectors: Option<VectorStatus>,
    stopping: bool,
}

/// Numbers of sessions that are not consolidated.
#[derive(Serialize, JsonSchema)]
struct SessionCounts {
    waiting: u64,
    failed: u64,
}

#[derive(Serialize, JsonSchema)]
struct SpendingStatus {
    today_usd: f64,
    daily_cap_usd: Option<f64>,
    /// True if background work waits until tomorrow.
    paused: bool,
    notice: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct VectorStatus {
    /// Fingerprint of the embedding model.
    model: Option<String>,
    /// Live messages and nodes.
    rows: u64,
    with_vector: u64,
    /// Chunks of diary documents.
    chunks: u64,
    chunks_with_vector: u64,
    /// Fingerprint of the model that is still used for scopes with incomplete vectors.
    serving_meanwhile: Option<String>,
    failure: Option<String>,
}

/// Handler of `GET /health`: the program responds. Needs no token.
pub(crate) async fn health() -> Json<OkResponse> {
    OkResponse::json()
}

/// Handler of `GET /ready`: the program can do its work. Needs no token, so it returns nothing else.
pub(crate) async fn ready(State(app): State<App>) -> Response {
    if !app.shutdown.is_cancelled() && app.runtime().store().work_counts().await.is_ok() {
        return OkResponse::json().into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, OkResponse::not_successful()).into_response()
}

/// Handler of `GET /api/state`: what a page shows first. Counts memories of all users, unless the request names one
/// or the token may act for only one.
pub(crate) async fn state(
    State(app): State<App>,
    ScopeParam(scope): ScopeParam,
    OptionalScope(named): OptionalScope,
) -> Result<Json<StateResponse>, Problem> {
    let store = app.runtime().store();
    let persona = app.runtime().persona_of(&scope).await?;
    let own = store.scope_counts(&scope).await?;
    // A request that names a scope means the same one.
    let counts = if named.is_some() { own } else { store.total_counts().await? };
    let ([own_blocks, ..], [core_blocks, messages, events, thoughts]) = (own, counts);
    let models = (app.parts.models)();
    let appearance = store.persona_appearance(&scope.persona).await?;
    Ok(Json(StateResponse {
        persona: PersonaState {
            id: persona.id,
            display_name: persona.display_name,
            voice_enabled: appearance.voice_enabled,
            has_voice_id: appearance.voice_id.is_some(),
            has_avatar: appearance.has_avatar,
        },
        onboarding_required: own_blocks == 0,
        session_idle_seconds: app.runtime().settings().session.idle.as_secs(),
        memory_counts: MemoryCounts { core_blocks, messages, events, thoughts },
        channels: channels::list_channels(&app).await?,
        llm: models.llm,
        embedding: models.embedding,
    }))
}

/// Handler of `GET /api/admin/status`, the output of `echovessel status`.
pub(crate) async fn status(State(app): State<App>, Admin(_): Admin) -> Result<Json<StatusResponse>, Problem> {
    let [waiting, failed] = app.runtime().store().work_counts().await?;
    let vectors = app.runtime().vectors().state().await?.map(|state| VectorStatus {
        model: state.model,
        rows: state.rows,
        with_vector: state.with_vector,
        chunks: state.chunks,
        chunks_with_vector: state.chunks_with_vector,
        serving_meanwhile: state.serving_meanwhile,
        failure: state.failure,
    });
    let parts = &app.parts;
    let (models, settings) = ((parts.models)(), parts.settings.load_full());
    let spending = app.runtime().spending_today().await?;
    let uptime = app.now().duration_since(parts.started_at).as_secs().max(0);
    Ok(Json(StatusResponse {
        pid: std::process::id(),
        version: settings.version.clone(),
        url: settings.url.clone(),
        started_at: parts.started_at,
        uptime_seconds: uptime,
        persona_id: app.runtime().settings().persona.clone(),
        sessions: SessionCounts { waiting, failed },
        spending: SpendingStatus {
            today_usd: spending.today_usd,
            daily_cap_usd: spending.cap_usd,
            paused: spending.is_limit_reached(),
            notice: spending.notice(),
        },
        llm: models.llm,
        embedding: models.embedding,
        vectors,
        stopping: app.shutdown.is_cancelled(),
    }))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct DaemonList {
    daemons: Vec<DaemonStatus>,
}

/// Handler of `GET /api/admin/daemons`, the output of `echovessel daemons`.
pub(crate) async fn list_daemons(
    State(app): State<App>,
    Admin(_): Admin,
) -> Result<Json<DaemonList>, Problem> {
    Ok(Json(DaemonList { daemons: app.parts.daemons.list().await? }))
}

/// Handler of `POST /api/admin/stop`: stops the program.
pub(crate) async fn stop(State(app): State<App>, Admin(_): Admin) -> Accepted<OkResponse> {
    tracing::info!("shutdown requested");
    app.shutdown.cancel();
    let Json(answer) = OkResponse::json();
    Accepted(answer)
}
