//! Every path of the server, and what a request passes on its way to one.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, EXPECT, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any, delete, get, patch, post};
use futures_util::StreamExt as _;
use tokio_util::sync::CancellationToken;

use crate::admin::{
    audit, avatar, channels, config, corrections, cost, daemon, draft, entities, erase, facts, failed_work,
    forget, hub, metrics, nodes, not_implemented, persona, personas, recall, search, sessions, style,
    timeline, tokens, traces, users, voice,
};
use crate::api_docs;
use crate::auth::{self, host, login, origin};
use crate::chat::{edit, events, history, send, turns};
use crate::extract;
use crate::mcp;
use crate::openai::{completions, models};
use crate::problem::{self, Problem};
use crate::state::{App, ServerParts};
use crate::ui;

/// Nothing but what this server itself serves; no frame, no inline script, no foreign form.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'; \
                      connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

/// Most bytes of a refused body that are still read, so that its sender gets to see the answer.
const FORGOTTEN_MAX: usize = 16 * 1024 * 1024;
/// How long a refused body is still read.
const FORGETTING_TIME_MAX: Duration = Duration::from_secs(2);

/// The paths that need a token.
fn api() -> Vec<(&'static str, MethodRouter<App>)> {
    [talk_and_memory(), shared_self()].concat()
}

fn talk_and_memory() -> Vec<(&'static str, MethodRouter<App>)> {
    vec![
        ("/api/chat/send", post(send::send)),
        ("/api/chat/events", get(events::events)),
        ("/api/chat/history", get(history::history)),
        ("/api/chat/messages/{id}", patch(edit::edit).delete(edit::delete)),
        ("/api/chat/regenerate", post(edit::regenerate)),
        ("/api/chat/stop", post(edit::stop)),
        ("/api/chat/turns/{id}/receipt", get(turns::receipt)),
        ("/api/chat/turns/{id}/retry", post(turns::retry)),
        ("/api/state", get(daemon::state)),
        ("/api/docs", get(api_docs::page)),
        ("/api/docs/style.css", get(api_docs::style)),
        ("/api/admin/status", get(daemon::status)),
        ("/api/admin/stop", post(daemon::stop)),
        ("/api/admin/login-code", post(login::new_code)),
        ("/api/admin/config", get(config::show).patch(config::change)),
        ("/api/admin/reload", post(config::reload)),
        ("/api/admin/tokens", get(tokens::list).post(tokens::make)),
        ("/api/admin/tokens/{name}", delete(tokens::revoke)),
        ("/api/admin/audit", get(audit::list)),
        ("/metrics", get(metrics::metrics)),
        ("/api/admin/work/failed", get(failed_work::failed)),
        ("/api/admin/memory/search", get(search::search)),
        ("/api/admin/memory/recall", post(recall::recall)),
        ("/api/admin/memory/events", get(nodes::events)),
        ("/api/admin/memory/thoughts", get(nodes::thoughts)),
        ("/api/admin/memory/nodes/{id}", patch(corrections::correct)),
        ("/api/admin/memory/nodes/{id}/history", get(corrections::history)),
        ("/api/admin/memory/nodes/{id}/undo", post(corrections::undo)),
        ("/api/admin/memory/rejected", get(nodes::rejected)),
        ("/api/admin/memory/rejected/{id}/approve", post(corrections::approve)),
        ("/api/admin/memory/rejected/{id}/dismiss", post(corrections::dismiss)),
        ("/api/admin/memory/timeline", get(timeline::timeline)),
        ("/api/admin/memory/entities", get(entities::entities).post(entities::create)),
        ("/api/admin/memory/entities/{id}", get(entities::entity).patch(entities::edit)),
        ("/api/admin/memory/entities/{id}/merge", post(entities::merge)),
        ("/api/admin/memory/entities/{id}/confirm-separate", post(entities::confirm_separate)),
        ("/api/admin/memory/entities/{id}/undo", post(entities::undo)),
        ("/api/admin/memory/preview-delete", post(forget::preview)),
        ("/api/admin/memory/events/{id}", delete(forget::delete_event)),
        ("/api/admin/memory/events/{id}/dependents", get(forget::dependents)),
        ("/api/admin/memory/thoughts/{id}", delete(forget::delete_thought)),
        ("/api/admin/memory/thoughts/{id}/trace", get(forget::trace)),
        ("/api/admin/memory/intentions/{id}", delete(forget::delete_intention)),
        ("/api/admin/memory/expectations/{id}", delete(forget::delete_expectation)),
        ("/api/admin/memory/messages/{id}", delete(forget::delete_message)),
        ("/api/admin/memory/sessions/{id}", delete(forget::delete_session)),
        ("/api/admin/memory/core-blocks/{label}/appends", get(forget::appends)),
        ("/api/admin/memory/core-blocks/{label}/appends/{append_id}", delete(forget::delete_append)),
        ("/api/admin/memory/erase", post(erase::erase)),
        ("/api/admin/memory/receipts", get(erase::receipts)),
        ("/api/admin/reset", post(erase::reset)),
        ("/api/admin/sessions", get(sessions::list)),
        ("/api/admin/sessions/failed", get(sessions::failed)),
        ("/api/admin/sessions/{id}/close", post(sessions::close)),
        ("/api/admin/sessions/{id}/retry", post(sessions::retry)),
        ("/api/admin/sessions/{id}/consolidate-trace", get(traces::session)),
        ("/api/admin/turns", get(traces::turns)),
        ("/api/admin/turns/{id}", get(traces::turn)),
        ("/api/admin/slow-tick/transcripts", get(traces::transcripts)),
        ("/api/admin/slow-tick/transcripts/{id}", get(traces::transcript)),
        ("/api/admin/cost/summary", get(cost::summary)),
        ("/api/admin/cost/recent", get(cost::recent)),
        ("/mcp", any(mcp::http::answer)),
        ("/v1/models", get(models::list)),
        ("/v1/models/{id}", get(models::one)),
        ("/v1/chat/completions", post(completions::complete)),
    ]
}

fn shared_self() -> Vec<(&'static str, MethodRouter<App>)> {
    vec![
        ("/api/hub/documents", get(hub::list)),
        ("/api/hub/documents/{kind}/{filename}", get(hub::read).put(hub::write).delete(hub::remove)),
        ("/api/hub/documents/{kind}/{filename}/versions", get(hub::versions)),
        ("/api/hub/documents/{kind}/{filename}/versions/{version}/restore", post(hub::restore)),
        ("/api/hub/rollups", get(hub::pending_periods)),
        ("/api/hub/rollups/{kind}/{filename}", post(hub::rewrite_rollup)),
        ("/api/hub/conflicts", get(hub::conflicts)),
        ("/api/hub/conflicts/{id}", post(hub::resolve)),
        ("/api/hub/search", get(hub::search)),
        ("/api/hub/status", get(hub::status)),
    ]
}

/// Those of personas and users.
fn people() -> Vec<(&'static str, MethodRouter<App>)> {
    vec![
        ("/api/admin/persona", get(persona::show).post(persona::edit)),
        ("/api/admin/persona/onboarding", post(persona::onboard)),
        ("/api/admin/persona/style", post(style::edit)),
        ("/api/admin/persona/facts", patch(facts::edit)),
        (avatar::PATH, get(avatar::show).post(avatar::upload).delete(avatar::remove)),
        ("/api/admin/persona/voice-toggle", post(voice::toggle)),
        ("/api/admin/persona/extract-from-input", post(draft::extract)),
        ("/api/admin/persona/bootstrap-from-material", post(draft::bootstrap)),
        ("/api/admin/personas", get(personas::list).post(personas::create)),
        ("/api/admin/users", get(users::list).post(users::create)),
        ("/api/admin/users/{id}", get(users::show).patch(users::edit)),
        ("/api/admin/users/{id}/identities", get(users::identities).post(users::bind).delete(users::unbind)),
        ("/api/admin/channels", get(channels::list).patch(channels::change)),
        ("/api/admin/users/timezone", post(persona::set_timezone)),
    ]
}

/// Every path that needs a token.
pub fn api_paths() -> Vec<&'static str> {
    api().into_iter().chain(people()).chain(not_implemented::routes()).map(|(path, _)| path).collect()
}

/// The whole server without its socket. Cancels `shutdown` when it is asked to stop the program.
pub fn router(parts: ServerParts, shutdown: CancellationToken) -> Router {
    let app = App::new(parts, shutdown);
    let mut router = Router::new()
        .route("/health", get(daemon::health))
        .route("/ready", get(daemon::ready))
        .route("/api/openapi.json", get(api_docs::json))
        .route("/login", get(login::log_in).head(login::look));
    for (path, method) in api().into_iter().chain(people()).chain(not_implemented::routes()) {
        router = router.route(path, method);
    }
    // The last layer is the first that a request meets.
    router
        .fallback(anything_else)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(app.clone(), audit::record))
        .layer(from_fn_with_state(app.clone(), refuse_large))
        .layer(from_fn_with_state(app.clone(), auth::authorize))
        .layer(from_fn_with_state(app.clone(), origin::check))
        .layer(from_fn_with_state(app.clone(), host::check))
        .layer(from_fn(problem::speak_openai))
        .layer(from_fn(secure))
        .layer(from_fn_with_state(app.clone(), metrics::count))
        .with_state(app)
}

/// An unknown path of the API is nothing; any other path is a place in the page.
async fn anything_else(request: Request) -> Response {
    if auth::is_guarded(request.uri().path()) {
        return Problem::not_found("there is no such path").with_code("unknown_url").into_response();
    }
    ui::page(request.method(), request.uri().path(), request.headers())
}

async fn wrong_method() -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this path does not take this method")
}

/// A body that says it is too large is refused without being kept.
async fn refuse_large(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let limit = match request.uri().path() {
        "/mcp" => mcp::MESSAGE_BYTES_MAX,
        avatar::PATH => app.parts.settings.load().body_limit.max(avatar::UPLOAD_SIZE_MAX),
        _ => app.parts.settings.load().body_limit,
    };
    // A body that does not say how large it is is cut off while it is read.
    DefaultBodyLimit::max(limit).apply(&mut request);
    let length =
        request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > limit as u64) {
        let refusal = extract::too_large(limit).into_response();
        let waits_for_leave = request.headers().contains_key(EXPECT);
        if !waits_for_leave {
            let patience = app.runtime().clock().sleep(FORGETTING_TIME_MAX);
            tokio::select! {
                () = pass_over(request.into_body()) => {}
                () = patience => {}
            }
        }
        return refusal;
    }
    next.run(request).await
}

/// Reads what is on its way and keeps nothing of it. A client that is still sending when its connection closes sees a
/// broken connection instead of the answer.
async fn pass_over(body: Body) {
    let mut pieces = body.into_data_stream();
    let mut left = FORGOTTEN_MAX;
    while let Some(Ok(piece)) = pieces.next().await {
        left = left.saturating_sub(piece.len());
        if left == 0 {
            return;
        }
    }
}

async fn secure(request: Request, next: Next) -> Response {
    let keep_nothing = auth::is_guarded(request.uri().path());
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    let resource_policy = HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(resource_policy, HeaderValue::from_static("same-origin"));
    if keep_nothing || !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}
