//! The router, and the layers before a handler.

use std::collections::BTreeSet;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use tokio_util::sync::CancellationToken;

use crate::admin::program::{audit, metrics};
use crate::auth::logins::LOGIN_PATH;
use crate::auth::{self, host, login, origin};
use crate::bodies;
use crate::mcp;
use crate::problem::{self, Problem};
use crate::routes::{self, Route};
use crate::state::{App, ServerParts};
use crate::streams;
use crate::ui;

/// Content security policy: only content of this server; no frame, no inline script, no foreign form.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'; \
                      connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

/// Device features that the page may use: it records voice messages, nothing else.
const PERMISSIONS: &str =
    "microphone=(self), camera=(), geolocation=(), display-capture=(), payment=(), usb=()";

/// Every path that needs a token.
pub fn api_paths() -> Vec<&'static str> {
    let paths = routes::list_routes().into_iter().filter(Route::is_guarded).map(|route| route.path);
    paths.chain([mcp::http::PATH]).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The whole server except for its socket. Cancels `shutdown` when it is asked to stop the program.
pub fn router(parts: ServerParts, shutdown: CancellationToken) -> Router {
    let app = App::new(parts, shutdown);
    let mut router = Router::new()
        .route(LOGIN_PATH, get(login::log_in).head(login::check_link))
        .route(mcp::http::PATH, any(mcp::http::answer));
    for route in routes::list_routes() {
        router = router.route(route.path, route.handler);
    }
    // The last layer is the first that a request passes.
    router
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(app.clone(), streams::limit_stream))
        .layer(from_fn_with_state(app.clone(), audit::record))
        .layer(from_fn_with_state(app.clone(), bodies::limit_body))
        .layer(from_fn_with_state(app.clone(), auth::authorize))
        .layer(from_fn_with_state(app.clone(), origin::check))
        .layer(from_fn_with_state(app.clone(), host::check))
        .layer(from_fn(problem::use_openai_shape))
        .layer(from_fn_with_state(app.clone(), set_security_headers))
        .layer(from_fn_with_state(app.clone(), metrics::count))
        .with_state(app)
}

/// An unknown path of the API is 404; any other path is a view of the web UI.
async fn unknown_path(request: Request) -> Response {
    if auth::is_guarded(request.uri().path()) {
        return Problem::not_found("path not found").with_code("unknown_url").into_response();
    }
    ui::serve_page(request.method(), request.uri().path(), request.headers())
}

async fn wrong_method() -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this path does not accept this method")
}

async fn set_security_headers(State(app): State<App>, request: Request, next: Next) -> Response {
    let is_encrypted = app.parts.tls.is_some()
        || auth::client::is_encrypted(request.headers(), app.parts.settings.load().behind_proxy);
    let is_private = auth::is_guarded(request.uri().path());
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    let resource_policy = HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(resource_policy, HeaderValue::from_static("same-origin"));
    let opener_policy = HeaderName::from_static("cross-origin-opener-policy");
    headers.insert(opener_policy, HeaderValue::from_static("same-origin"));
    headers.insert(HeaderName::from_static("permissions-policy"), HeaderValue::from_static(PERMISSIONS));
    if is_encrypted {
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
    if is_private || !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}
