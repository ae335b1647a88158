//! Named tokens: list, create, revoke.

use axum::extract::{Path, State};
use axum::{Extension, Json};
use jiff::Timestamp;
use memory::UserId;
use memory::access::{AccessScope, NamedToken};
use runtime::{AccessCreated, AccessKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::admin::program::audit::AuditObject;
use crate::auth::{Admin, NewToken, NewTokenError, make_token};
use crate::cursor::PageQuery;
use crate::extract::{self, Query};
use crate::problem::Problem;
use crate::respond::Created;
use crate::state::App;

#[derive(Serialize, JsonSchema)]
pub(crate) struct TokenList {
    tokens: Vec<TokenBody>,
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct TokenBody {
    name: String,
    /// Public part that identifies a token.
    prefix: String,
    scopes: Vec<AccessScope>,
    user_id: Option<UserId>,
    created_at: Timestamp,
    last_used_at: Option<Timestamp>,
    /// Time at which the token expires; `null` if it does not.
    expires_at: Option<Timestamp>,
    /// Maximum open streams; `null` for the default.
    streams_max: Option<u32>,
    /// Maximum users that it may create; `null` for the default.
    users_max: Option<u32>,
}

/// Handler of `GET /api/admin/tokens`: by name, without the tokens themselves.
pub(crate) async fn list(
    State(app): State<App>,
    Admin(_): Admin,
    Query(paging): Query<PageQuery>,
) -> Result<Json<TokenList>, Problem> {
    let (tokens, next_cursor) =
        paging.slice_page(app.named.all_tokens().await?, |token| token.name.clone())?;
    Ok(Json(TokenList { tokens: tokens.into_iter().map(TokenBody::from).collect(), next_cursor }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewTokenRequest {
    name: Option<String>,
    #[serde(default)]
    scopes: Vec<String>,
    user_id: Option<String>,
    expires_at: Option<Timestamp>,
    streams_max: Option<u32>,
    users_max: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct NewTokenResponse {
    #[serde(flatten)]
    head: TokenBody,
    /// The token itself; it can't be read again.
    token: String,
}

/// Handler of `POST /api/admin/tokens`: 201 with the token, which is never shown again.
pub(crate) async fn make(
    State(app): State<App>,
    Admin(_): Admin,
    extract::Json(asked): extract::Json<NewTokenRequest>,
) -> Result<(Extension<AuditObject>, Created<NewTokenResponse>), Problem> {
    let scopes: Result<Vec<AccessScope>, _> = asked.scopes.iter().map(|scope| scope.parse()).collect();
    let scopes = scopes.map_err(|error| Problem::unprocessable(format!("scopes: {error}")))?;
    let user = asked.user_id.clone().map(UserId::new).transpose();
    let user = user.map_err(|error| Problem::unprocessable(format!("user_id: {error}")))?;
    let NewTokenRequest { name, expires_at, streams_max, users_max, .. } = asked;
    let new = NewToken { name, scopes, user, expires_at, streams_max, users_max };
    let (token, text) =
        make_token(app.named.store(), app.parts.tokens.random_source(), app.now(), new).await?;
    let object = AuditObject(format!("token {}", token.name));
    let name = token.name.clone();
    app.announce_access(AccessCreated { kind: AccessKind::Token, name, address: None });
    Ok((Extension(object), Created(NewTokenResponse { head: token.into(), token: text })))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct TokenRevoked {
    deleted: bool,
    name: String,
}

/// Handler of `DELETE /api/admin/tokens/{name}`: revokes a token at once.
pub(crate) async fn revoke(
    State(app): State<App>,
    Admin(_): Admin,
    Path(name): Path<String>,
) -> Result<Json<TokenRevoked>, Problem> {
    match app.named.revoke(&name).await? {
        Some(token) => Ok(Json(TokenRevoked { deleted: true, name: token.name })),
        None => Err(Problem::not_found("token not found")),
    }
}

impl From<NamedToken> for TokenBody {
    fn from(token: NamedToken) -> Self {
        Self {
            name: token.name,
            prefix: format!("ev_{}", token.prefix),
            scopes: token.scopes,
            user_id: token.user,
            created_at: token.created_at,
            last_used_at: token.last_used_at,
            expires_at: token.expires_at,
            streams_max: token.streams_max,
            users_max: token.users_max,
        }
    }
}

impl From<NewTokenError> for Problem {
    fn from(error: NewTokenError) -> Self {
        match error {
            NewTokenError::Invalid(reason) => Self::unprocessable(reason),
            NewTokenError::Taken(_) => Self::conflict(error.to_string()),
            NewTokenError::Store(error) => error.into(),
        }
    }
}
