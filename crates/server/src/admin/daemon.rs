//! The program itself: whether it lives, what it has, how it stands, and its end.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::channels;
use crate::auth::Admin;
use crate::extract::{OptionalScope, ScopeParam};
use crate::problem::Problem;
use crate::state::App;

/// `GET /health`: the program answers. Open to all.
pub(crate) async fn health() -> Json<Value> {
    Json(json!({"ok": true}))
}

/// `GET /ready`: the program can do its work. Open to all, so it says nothing more.
pub(crate) async fn ready(State(app): State<App>) -> (StatusCode, Json<Value>) {
    if !app.shutdown.is_cancelled() && app.runtime().store().work_counts().await.is_ok() {
        return (StatusCode::OK, Json(json!({"ok": true})));
    }
    (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"ok": false})))
}

/// `GET /api/state`: what a page shows first. It counts the memories of all users, unless the request names one or the
/// token speaks for one.
pub(crate) async fn state(
    State(app): State<App>,
    ScopeParam(scope): ScopeParam,
    OptionalScope(named): OptionalScope,
) -> Result<Json<Value>, Problem> {
    let store = app.runtime().store();
    let persona = app.runtime().ensure_known(&scope).await?;
    let own = store.counts(&scope).await?;
    // Whoever names a memory means the same one.
    let counts = if named.is_some() { own } else { store.total_counts().await? };
    let ([own_blocks, ..], [core_blocks, messages, events, thoughts]) = (own, counts);
    let models = (app.parts.models)();
    let appearance = store.appearance(&scope.persona).await?;
    Ok(Json(json!({
        "persona": {
            "id": persona.id, "display_name": persona.display_name,
            "voice_enabled": appearance.voice_enabled, "has_voice_id": appearance.voice_id.is_some(),
            "has_avatar": appearance.has_avatar,
        },
        "onboarding_required": own_blocks == 0,
        "memory_counts": {
            "core_blocks": core_blocks, "messages": messages, "events": events, "thoughts": thoughts,
        },
        "channels": channels::all(),
        "llm": models.llm,
        "embedding": models.embedding,
    })))
}

/// `GET /api/admin/status`: what `echovessel status` prints.
pub(crate) async fn status(State(app): State<App>, Admin(_): Admin) -> Result<Json<Value>, Problem> {
    let [waiting, failed] = app.runtime().store().work_counts().await?;
    let vectors = app.runtime().vector_state().await?.map(|state| {
        json!({
            "model": state.model, "rows": state.rows, "with_vector": state.with_vector,
            "chunks": state.chunks, "chunks_with_vector": state.chunks_with_vector,
            "serving_meanwhile": state.serving_meanwhile, "failure": state.failure,
        })
    });
    let parts = &app.parts;
    let (models, settings) = ((parts.models)(), parts.settings.load_full());
    let spending = app.runtime().spending().await?;
    let uptime = app.now().duration_since(parts.started_at).as_secs().max(0);
    Ok(Json(json!({
        "pid": std::process::id(), "version": settings.version, "url": settings.url,
        "started_at": parts.started_at, "uptime_seconds": uptime,
        "persona_id": app.runtime().settings().persona,
        "sessions": {"waiting": waiting, "failed": failed},
        "spending": {"today_usd": spending.today_usd, "daily_cap_usd": spending.cap_usd,
            "paused": spending.is_reached(), "notice": spending.notice()},
        "llm": models.llm, "embedding": models.embedding, "vectors": vectors,
        "stopping": app.shutdown.is_cancelled(),
    })))
}

/// `POST /api/admin/stop`: the program ends in good order.
pub(crate) async fn stop(State(app): State<App>, Admin(_): Admin) -> (StatusCode, Json<Value>) {
    tracing::info!("asked to stop");
    app.shutdown.cancel();
    (StatusCode::ACCEPTED, Json(json!({"ok": true})))
}
