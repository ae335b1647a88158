//! Who may come in: the owner's token, named tokens and their scopes, the login link, how much each may ask for, and the
//! checks that keep other sites' pages out.

mod tokens;
mod named;
mod limits;
pub(crate) mod quota;
pub(crate) mod refusals;
pub(crate) mod client;
pub(crate) mod login;
mod logins;
pub(crate) mod host;
pub(crate) mod origin;

use std::net::IpAddr;
use std::time::Duration;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{CONNECTION, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use memory::access::AccessScope;
use memory::{Scope, UserId};

use crate::problem::Problem;
use crate::state::App;

pub(crate) use limits::{Allowance, Limits};
pub(crate) use named::{NamedTokens, TokenLookup};
pub use named::{NewToken, NewTokenError, make_token};
pub(crate) use refusals::Refusals;
pub use tokens::{LoginCode, Random, TokenError, Tokens};

/// First segments of the paths that need a token. Everything else is the page, which holds no secret.
const GUARDED: [&str; 4] = ["api", "v1", "mcp", "metrics"];

/// `Retry-After` when connections are scarce, in seconds.
const ROOM_RETRY_SECONDS: u64 = 5;

/// Streams of the owner.
const OWNER_STREAMS_MAX: usize = 2_048;
/// Streams of a named token for which no number was said: a few devices with a few windows each.
const NAMED_STREAMS_MAX: usize = 16;

/// Wrong tokens from this machine that are looked at for each request that an address elsewhere may send: a program with an old
/// token must not keep others of the machine out.
const LOCAL_GUESSES: u32 = 10;

/// Describes the interface and holds nothing of anybody.
const OPEN: &str = "/api/openapi.json";

/// The author of a request, with its rights. Handlers take it as an argument, so a path without a guard answers 401.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Principal {
    /// Goes into the record of acts.
    pub(crate) name: String,
    /// True if the persona, its memory and the program may be looked into, and changed where the method is open to it.
    pub(crate) may_admin: bool,
    /// The one user whom the token speaks for; none for one that may speak for all.
    pub(crate) user: Option<UserId>,
    /// The scopes of the token; none for all rights.
    pub(crate) scopes: Option<Vec<AccessScope>>,
    /// The public part of a named token; none for the owner.
    pub(crate) prefix: Option<String>,
    /// Time at which its token ends by itself.
    pub(crate) expires_at: Option<Timestamp>,
    /// Streams that it may have open at once.
    pub(crate) streams_max: usize,
    /// Users that it may create; the usual number where none is said.
    pub(crate) users_max: Option<u32>,
    /// The login of a browser; none for a program with a token.
    pub(crate) login: Option<String>,
}

impl Principal {
    pub(crate) fn owner() -> Self {
        Self {
            name: "owner".to_owned(),
            may_admin: true,
            user: None,
            scopes: None,
            prefix: None,
            expires_at: None,
            streams_max: OWNER_STREAMS_MAX,
            users_max: None,
            login: None,
        }
    }

    /// True if what belongs to this memory may be shown.
    pub(crate) fn may_see(&self, scope: &Scope) -> bool {
        self.user.as_ref().is_none_or(|user| *user == scope.user)
    }

    /// True if this is the owner, by token or by login.
    pub(crate) fn is_owner(&self) -> bool {
        self.scopes.is_none()
    }

    fn may(&self, needed: &[RequiredScope], method: &Method) -> bool {
        let Some(scopes) = &self.scopes else { return true };
        let is_read = matches!(*method, Method::GET | Method::HEAD);
        needed.iter().any(|needed| scopes.iter().any(|scope| needed.is(scope, is_read)))
    }
}

/// A kind of scope that opens a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequiredScope {
    Chat,
    Admin,
    Metrics,
    Openai,
    Hub,
}

impl RequiredScope {
    fn is(self, scope: &AccessScope, is_read: bool) -> bool {
        match self {
            Self::Chat => *scope == AccessScope::Chat || is_read && *scope == AccessScope::ChatRead,
            Self::Admin => *scope == AccessScope::Admin || is_read && *scope == AccessScope::AdminRead,
            Self::Metrics => *scope == AccessScope::Metrics,
            Self::Openai => *scope == AccessScope::Openai,
            Self::Hub => matches!(scope, AccessScope::Hub(_)),
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Admin => "admin",
            Self::Metrics => "metrics",
            Self::Openai => "openai",
            Self::Hub => "hub:INSTANCE",
        }
    }
}

/// Scopes that open the paths below a prefix; any one of them is enough. Longer prefixes first.
const OPENED_BY: [(&str, &[RequiredScope]); 6] = [
    ("/api/chat", &[RequiredScope::Chat]),
    ("/api/state", &[RequiredScope::Chat, RequiredScope::Admin]),
    ("/mcp", &[RequiredScope::Hub]),
    ("/metrics", &[RequiredScope::Metrics, RequiredScope::Admin]),
    ("/v1", &[RequiredScope::Openai, RequiredScope::Chat]),
    // Whatever else there is or will be: /api/admin, /api/hub, and paths that nobody has thought of.
    ("", &[RequiredScope::Admin]),
];

/// Scopes that open a path.
fn opened_by(path: &str) -> &'static [RequiredScope] {
    let path = path.trim_start_matches('/');
    let below = |root: &str| {
        let rest = path.strip_prefix(root.trim_start_matches('/'));
        root.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    OPENED_BY.iter().find(|(root, _)| below(root)).map_or(&[RequiredScope::Admin], |(_, needed)| *needed)
}

impl FromRequestParts<App> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(Problem::unauthorized)
    }
}

/// A principal who may administer.
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

/// True if the path needs a token, known or not.
pub(crate) fn is_guarded(path: &str) -> bool {
    if path == OPEN {
        return false;
    }
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    GUARDED.contains(&first)
}

/// Finds out who asks, whether the token opens the path, and whether they ask too much. Whoever can't be told is refused,
/// except on open paths.
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
                // The place is needed.
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            response
        }
    }
}

/// The identity that the credentials of a request prove.
#[derive(Default)]
struct Identity {
    principal: Option<Principal>,
    /// True if there is a login's cookie without the page's half.
    is_half_login: bool,
    /// A `Set-Cookie` value that makes the browser's cookie last longer.
    renewed_cookie: Option<String>,
}

/// A request without its body, which no other thread may look at.
#[derive(Clone, Copy)]
struct RequestHead<'a> {
    method: &'a Method,
    path: &'a str,
    headers: &'a HeaderMap,
    address: IpAddr,
}

/// Returns a `Set-Cookie` value if the browser's cookie is to last longer.
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
    if is_for_owner && !(is_owner || client::is_sign_of_life(path) || path == login::PATH) {
        app.runtime().metrics().refused("connections");
        let detail =
            "too many connections; only the owner is answered. Nothing was changed, try again in a moment";
        return Err(Problem::unavailable(detail).with_retry_after(ROOM_RETRY_SECONDS));
    }
    let bearer = tokens::bearer(request.headers());
    let Some(principal) = identity.principal else {
        if is_guarded(path) {
            app.runtime().metrics().refused("token");
            if bearer.is_some() {
                refusals::note(app, None, address, StatusCode::UNAUTHORIZED.as_u16());
            }
            return Err(if identity.is_half_login { Problem::half_login() } else { Problem::unauthorized() });
        }
        return Ok(None);
    };
    if !principal.is_owner() {
        app.limits
            .take_of_token(allowance, &principal.name)
            .map_err(|wait| too_many(app, wait, Some(&principal.name), address))?;
        bearer.iter().for_each(|bearer| app.named.note_use(bearer, now));
    }
    if is_guarded(path) && !principal.may(opened_by(path), request.method()) {
        app.runtime().metrics().refused("scope");
        refusals::note(app, Some(&principal.name), address, StatusCode::FORBIDDEN.as_u16());
        return Err(wrong_scope(opened_by(path)));
    }
    request.extensions_mut().insert(principal);
    Ok(identity.renewed_cookie)
}

/// Finds out who asks by the owner's token, a named token or a login, and refuses who guesses too often.
async fn identify(app: &App, head: RequestHead<'_>, allowance: Allowance) -> Result<Identity, Problem> {
    let RequestHead { headers, address, .. } = head;
    let now = app.now();
    let is_owner = app.parts.tokens.is_owners(headers);
    let bearer = tokens::bearer(headers);
    let look = match bearer {
        Some(bearer) if !is_owner => app.named.look(bearer, now),
        _ => TokenLookup::Foreign,
    };
    // Every program of this machine shares the loopback address; there only what costs a hash is counted by it, and guesses.
    if !address.is_loopback() || matches!(look, TokenLookup::Unproven(_)) {
        if !client::is_sign_of_life(head.path) {
            app.limits
                .take_of_address(allowance, client::client_of(address))
                .map_err(|wait| too_many(app, wait, None, address))?;
        }
    } else if bearer.is_some() && !is_owner && !matches!(look, TokenLookup::Known(_)) {
        let guesses = Allowance {
            per_second: allowance.per_second.saturating_mul(LOCAL_GUESSES),
            burst: allowance.burst.saturating_mul(LOCAL_GUESSES),
        };
        app.local_guesses
            .take_of_address(guesses, address)
            .map_err(|wait| too_many(app, wait, None, address))?;
    }
    let principal = match look {
        _ if is_owner => Some(Principal::owner()),
        TokenLookup::Known(known) => Some(known),
        TokenLookup::Unproven(bearer) => app.named.prove(&bearer, now).await?,
        TokenLookup::Foreign if bearer.is_none() => return logins::identify(app, head).await,
        TokenLookup::Foreign => None,
    };
    Ok(Identity { principal, ..Identity::default() })
}

fn too_many(app: &App, wait: Duration, token: Option<&str>, address: IpAddr) -> Problem {
    app.runtime().metrics().refused("rate");
    refusals::note(app, token, address, StatusCode::TOO_MANY_REQUESTS.as_u16());
    Problem::too_many_requests(wait)
}

fn wrong_scope(needed: &[RequiredScope]) -> Problem {
    let words: Vec<&str> = needed.iter().map(|needed| needed.as_str()).collect();
    Problem::forbidden(format!("this token lacks a scope: it needs the scope {}", words.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_its_scope_also_those_to_come() {
        assert_eq!(opened_by("/api/chat/send"), [RequiredScope::Chat]);
        assert_eq!(opened_by("//api/chat"), [RequiredScope::Chat]);
        assert_eq!(opened_by("/v1/models"), [RequiredScope::Openai, RequiredScope::Chat]);
        assert_eq!(opened_by("/mcp"), [RequiredScope::Hub]);
        assert_eq!(opened_by("/metrics"), [RequiredScope::Metrics, RequiredScope::Admin]);
        for path in
            ["/api/admin/stop", "/api/hub/conflicts", "/api/chatter", "/api/statement", "/api", "/api/new"]
        {
            assert_eq!(opened_by(path), [RequiredScope::Admin], "{path}");
        }
    }

    #[test]
    fn a_scope_opens_its_own_paths_and_no_others() {
        let with = |scopes: &[&str]| Principal {
            scopes: Some(scopes.iter().map(|scope| scope.parse().unwrap()).collect()),
            ..Principal::owner()
        };
        assert!(with(&["chat"]).may(opened_by("/v1/models"), &Method::GET));
        assert!(!with(&["openai"]).may(opened_by("/api/chat/send"), &Method::GET));
        assert!(!with(&["admin"]).may(opened_by("/api/chat/send"), &Method::GET));
        assert!(!with(&["chat", "openai", "hub:pi"]).may(opened_by("/metrics"), &Method::GET));
        assert!(with(&["hub:pi"]).may(opened_by("/mcp"), &Method::GET));
        let reads = with(&["chat:read", "admin:read"]);
        for path in ["/api/chat/history", "/api/chat/events", "/api/admin/config", "/metrics", "/v1/models"] {
            assert!(reads.may(opened_by(path), &Method::GET), "{path}");
            assert!(!reads.may(opened_by(path), &Method::POST), "{path}");
        }
        assert!(!with(&["chat:read"]).may(opened_by("/api/admin/config"), &Method::GET));
        assert!(Principal::owner().may(opened_by("/anything"), &Method::POST));
    }
}
