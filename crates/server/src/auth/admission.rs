//! Identifies the caller of a request, and checks scopes and rate limits.

use std::net::IpAddr;
use std::time::Duration;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{CONNECTION, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use memory::access::AuditEntry;

use super::identity::{Identity, RequestHead};
use super::limits::Allowance;
use super::named::TokenLookup;
use super::principal::{Principal, RequiredScope, scopes_for_path};
use super::{client, logins, tokens};
use crate::problem::Problem;
use crate::state::App;
use crate::tasks::spawn;

/// The actor of a refusal without a known token.
const UNKNOWN_ACTOR: &str = "(none)";

/// First path segments that need a token. All other paths belong to the page, which contains no secret.
const GUARDED_SEGMENTS: [&str; 4] = ["api", "v1", "mcp", "metrics"];

/// `Retry-After` when there are too many connections, in seconds. Connections without a request are closed after 15
/// seconds, so a few attempts succeed.
const ROOM_RETRY_SECONDS: u64 = 5;

/// Number of wrong tokens accepted from this machine for each one from another address: a program with an old token
/// must not lock out others of this machine.
const LOCAL_TOKEN_GUESSES: u32 = 10;

/// Path of the description of the API, which contains no personal data.
const PUBLIC_PATH: &str = "/api/openapi.json";

impl FromRequestParts<App> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(Problem::unauthorized)
    }
}

/// A request that may administer.
pub(crate) struct Admin(pub(crate) Principal);

impl FromRequestParts<App> for Admin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let principal = Principal::from_request_parts(parts, app).await?;
        if principal.may_admin {
            Ok(Self(principal))
        } else {
            Err(Problem::forbidden("this token lacks a scope: it needs the scope admin"))
        }
    }
}

/// True if the path needs a token, whether the path exists or not.
pub(crate) fn is_guarded(path: &str) -> bool {
    if path == PUBLIC_PATH {
        return false;
    }
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    GUARDED_SEGMENTS.contains(&first)
}

/// Identifies the caller, and checks the token's scopes and the rate limits. Unidentified callers are refused, except
/// on open paths.
pub(crate) async fn authorize(State(app): State<App>, mut request: Request, next: Next) -> Response {
    match admit(&app, &mut request).await {
        Ok(renewed_cookie) => {
            let mut response = next.run(request).await;
            if let Some(cookie) = renewed_cookie.and_then(|cookie| HeaderValue::try_from(cookie).ok()) {
                response.headers_mut().entry(SET_COOKIE).or_insert(cookie);
            }
            response
        }
        Err(problem) => {
            let mut response = problem.into_response();
            if response.status() == StatusCode::SERVICE_UNAVAILABLE {
                // The cache needs room.
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            response
        }
    }
}

/// Checks a request. Returns a `Set-Cookie` value if the browser's cookie should last longer.
async fn admit(app: &App, request: &mut Request) -> Result<Option<String>, Problem> {
    let now = app.now();
    let settings = app.parts.settings.load();
    let allowance = Allowance { per_second: settings.requests_per_second, burst: settings.burst };
    let address = client::address_of(request, settings.behind_proxy);
    let path = request.uri().path();
    let head = RequestHead { method: request.method(), path, headers: request.headers(), address };
    let is_for_owner = request.extensions().get::<client::Peer>().is_some_and(|peer| peer.is_for_owner);
    let identity = identify(app, head, allowance).await?;
    let is_owner = identity.principal.as_ref().is_some_and(Principal::is_owner);
    if is_for_owner && !(is_owner || client::is_health_path(path) || path == logins::LOGIN_PATH) {
        app.runtime().metrics().count_refusal("connections");
        let detail =
            "too many connections; only the owner is served. Nothing was changed, try again in a moment";
        return Err(Problem::unavailable(detail).with_retry_after(ROOM_RETRY_SECONDS));
    }
    let bearer = tokens::bearer_token(request.headers());
    let Some(principal) = identity.principal else {
        if is_guarded(path) {
            app.runtime().metrics().count_refusal("token");
            if bearer.is_some() {
                note_refusal(app, None, address, StatusCode::UNAUTHORIZED.as_u16());
            }
            return Err(if identity.is_half_login { Problem::half_login() } else { Problem::unauthorized() });
        }
        return Ok(None);
    };
    if !principal.is_owner() {
        app.limits
            .take_request_of_token(allowance, &principal.name)
            .map_err(|wait| too_many(app, wait, Some(&principal.name), address))?;
        bearer.iter().for_each(|bearer| app.named.note_use(bearer, now));
    }
    if is_guarded(path) && !principal.is_allowed(scopes_for_path(path), request.method()) {
        app.runtime().metrics().count_refusal("scope");
        note_refusal(app, Some(&principal.name), address, StatusCode::FORBIDDEN.as_u16());
        return Err(wrong_scope(scopes_for_path(path)));
    }
    request.extensions_mut().insert(principal);
    Ok(identity.renewed_cookie)
}

/// Identifies the caller by the owner's token, a named token or a login. Refuses callers with too many wrong tokens.
async fn identify(app: &App, head: RequestHead<'_>, allowance: Allowance) -> Result<Identity, Problem> {
    let RequestHead { headers, address, .. } = head;
    let now = app.now();
    let is_owner = app.parts.tokens.is_owner_request(headers);
    let bearer = tokens::bearer_token(headers);
    let look = match bearer {
        Some(bearer) if !is_owner => app.named.find_verified(bearer, now),
        _ => TokenLookup::Foreign,
    };
    // All programs of this machine share the loopback address, so only hashing and guesses are counted for it.
    if !address.is_loopback() || matches!(look, TokenLookup::Unproven(_)) {
        if !client::is_health_path(head.path) {
            app.limits
                .take_request_of_address(allowance, client::client_network(address))
                .map_err(|wait| too_many(app, wait, None, address))?;
        }
    } else if bearer.is_some() && !is_owner && !matches!(look, TokenLookup::Known(_)) {
        let guesses = Allowance {
            per_second: allowance.per_second.saturating_mul(LOCAL_TOKEN_GUESSES),
            burst: allowance.burst.saturating_mul(LOCAL_TOKEN_GUESSES),
        };
        app.local_guesses
            .take_request_of_address(guesses, address)
            .map_err(|wait| too_many(app, wait, None, address))?;
    }
    let principal = match look {
        _ if is_owner => Some(Principal::owner()),
        TokenLookup::Known(known) => Some(known),
        TokenLookup::Unproven(bearer) => app.named.verify_token(&bearer, now).await?,
        TokenLookup::Foreign if bearer.is_none() => return logins::identify(app, head).await,
        TokenLookup::Foreign => None,
    };
    Ok(Identity { principal, ..Identity::default() })
}

fn too_many(app: &App, wait: Duration, token: Option<&str>, address: IpAddr) -> Problem {
    app.runtime().metrics().count_refusal("rate");
    note_refusal(app, token, address, StatusCode::TOO_MANY_REQUESTS.as_u16());
    Problem::too_many_requests(wait)
}

fn wrong_scope(needed: &[RequiredScope]) -> Problem {
    let words: Vec<&str> = needed.iter().map(|needed| needed.as_str()).collect();
    Problem::forbidden(format!("this token lacks a scope: it needs the scope {}", words.join(" or ")))
}

/// Records a refused request: in the audit log, and in the log for programs that block addresses.
pub(super) fn note_refusal(app: &App, token: Option<&str>, address: IpAddr, status: u16) {
    let (now, token) = (app.now(), token.unwrap_or(UNKNOWN_ACTOR));
    if !app.refusals.is_first(now, token, address, status) {
        return;
    }
    tracing::warn!(token, %address, status, "refused");
    let (access, token) = (app.parts.access.clone(), token.to_owned());
    let entry = AuditEntry { at: now, token, act: "refused".to_owned(), object: address.to_string(), status };
    spawn(Box::pin(async move {
        if let Err(error) = access.record_act(entry).await {
            tracing::error!("a rejected request was not written to the audit log: {error}");
        }
    }));
}
