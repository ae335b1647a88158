//! Who may come in: the token, the login link, and the checks that keep other sites' pages out.

mod tokens;
pub(crate) mod login;
pub(crate) mod host;
pub(crate) mod origin;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use memory::{Scope, UserId};

use crate::problem::Problem;
use crate::state::App;

pub use tokens::{LoginCode, Random, TokenError, Tokens};

/// First segments of the paths that need a token. Everything else is the page, which holds no secret.
const GUARDED: [&str; 4] = ["api", "v1", "mcp", "metrics"];

/// Who asks, and what they may do. Handlers take it as an argument, so a path that nobody guards answers 401.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Principal {
    /// Goes into audit rows.
    pub(crate) name: String,
    /// Whether the persona, its memory and the program may be looked into and changed.
    pub(crate) may_admin: bool,
    /// The one user whom the token speaks for; none for one that may speak for all.
    pub(crate) user: Option<UserId>,
}

impl Principal {
    pub(crate) fn owner() -> Self {
        Self { name: "owner".to_owned(), may_admin: true, user: None }
    }

    /// Whether what belongs to this memory may be shown.
    pub(crate) fn may_see(&self, scope: &Scope) -> bool {
        self.user.as_ref().is_none_or(|user| *user == scope.user)
    }
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
            Err(Problem::forbidden("this token may not administer"))
        }
    }
}

/// Whether the path needs a token, known or not.
pub(crate) fn is_guarded(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    GUARDED.contains(&first)
}

/// Finds out who asks. Whoever can't be told is refused, except on open paths.
pub(crate) async fn authorize(State(app): State<App>, mut request: Request, next: Next) -> Response {
    match app.parts.tokens.principal(request.headers(), app.now()) {
        Some(principal) => {
            request.extensions_mut().insert(principal);
        }
        None if is_guarded(request.uri().path()) => return Problem::unauthorized().into_response(),
        None => {}
    }
    next.run(request).await
}
