//! The router, and the layers that a request passes on its way to a handler.

use std::collections::BTreeSet;
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
use axum::routing::{any, get};
use futures_util::StreamExt as _;
use tokio_util::sync::CancellationToken;

use crate::admin::{audit, avatar, import_pipeline, imports, metrics, voice};
use crate::auth::{self, host, login, origin};
use crate::chat::voice as chat_voice;
use crate::extract;
use crate::mcp;
use crate::problem::{self, Problem};
use crate::routes::{self, Route};
use crate::state::{App, ServerParts};
use crate::ui;
use crate::upload;

/// Only what this server serves; no frame, no inline script, no foreign form.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'; \
                      connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

/// Most bytes of a refused body that are still read, so that its sender gets to see the answer.
const DRAINED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How long a refused body is still read.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(2);

/// Every path that needs a token.
pub fn api_paths() -> Vec<&'static str> {
    let paths = routes::all().into_iter().filter(Route::is_guarded).map(|route| route.path);
    paths.chain([mcp::http::PATH]).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The whole server without its socket. Cancels `shutdown` when it is asked to stop the program.
pub fn router(parts: ServerParts, shutdown: CancellationToken) -> Router {
    let app = App::new(parts, shutdown);
    let mut router = Router::new()
        .route("/login", get(login::log_in).head(login::look))
        .route(mcp::http::PATH, any(mcp::http::answer));
    for route in routes::all() {
        router = router.route(route.path, route.handler);
    }
    // The last layer is the first that a request meets.
    router
        .fallback(fallback)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(app.clone(), audit::record))
        .layer(from_fn_with_state(app.clone(), refuse_large))
        .layer(from_fn_with_state(app.clone(), auth::authorize))
        .layer(from_fn_with_state(app.clone(), origin::check))
        .layer(from_fn_with_state(app.clone(), host::check))
        .layer(from_fn(problem::use_openai_shape))
        .layer(from_fn(set_security_headers))
        .layer(from_fn_with_state(app.clone(), metrics::count))
        .with_state(app)
}

/// An unknown path of the API is 404; any other path is a view of the web UI.
async fn fallback(request: Request) -> Response {
    if auth::is_guarded(request.uri().path()) {
        return Problem::not_found("path not found").with_code("unknown_url").into_response();
    }
    ui::page(request.method(), request.uri().path(), request.headers())
}

async fn wrong_method() -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this path does not accept this method")
}

/// Refuses a body whose declared length is over the limit.
async fn refuse_large(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let limit = match request.uri().path() {
        mcp::http::PATH => mcp::MESSAGE_BYTES_MAX,
        crate::sync::PATH => ::sync::PAGE_BYTES_MAX,
        avatar::PATH => app.parts.settings.load().body_limit.max(avatar::UPLOAD_SIZE_MAX),
        imports::PATH => imports::UPLOAD_SIZE_MAX,
        import_pipeline::UPLOAD_PATH | import_pipeline::TEXT_PATH => import_pipeline::BODY_SIZE_MAX,
        voice::SAMPLES_PATH => voice::SAMPLE_SIZE_MAX + upload::FORM_BYTES_MAX,
        chat_voice::TRANSCRIBE_PATH => chat_voice::RECORDING_SIZE_MAX + upload::FORM_BYTES_MAX,
        _ => app.parts.settings.load().body_limit,
    };
    // A body that does not say how large it is is cut off while it is read.
    DefaultBodyLimit::max(limit).apply(&mut request);
    let length =
        request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > limit as u64) {
        let refusal = extract::too_large(limit).into_response();
        let waits_for_continue = request.headers().contains_key(EXPECT);
        if !waits_for_continue {
            let timeout = app.runtime().clock().sleep(DRAIN_TIME_MAX);
            tokio::select! {
                () = drain(request.into_body()) => {}
                () = timeout => {}
            }
        }
        return refusal;
    }
    next.run(request).await
}

/// Reads and drops a body. A client that is still sending when its connection closes sees a
/// broken connection instead of the answer.
async fn drain(body: Body) {
    let mut chunks = body.into_data_stream();
    let mut left = DRAINED_BYTES_MAX;
    while let Some(Ok(chunk)) = chunks.next().await {
        left = left.saturating_sub(chunk.len());
        if left == 0 {
            return;
        }
    }
}

async fn set_security_headers(request: Request, next: Next) -> Response {
    let is_private = auth::is_guarded(request.uri().path());
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    let resource_policy = HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(resource_policy, HeaderValue::from_static("same-origin"));
    if is_private || !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}
