//! Named tokens: which there are, a new one, and the end of one.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use memory::UserId;
use memory::access::{AccessScope, NamedToken};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::audit::AuditObject;
use crate::auth::{Admin, NewToken, NewTokenError, make_token};
use crate::cursor::PageQuery;
use crate::extract::{self, Query};
use crate::problem::Problem;
use crate::state::App;

/// `GET /api/admin/tokens`: by name, without what they are made of.
pub(crate) async fn list(
    State(app): State<App>,
    Admin(_): Admin,
    Query(paging): Query<PageQuery>,
) -> Result<Json<Value>, Problem> {
    let (tokens, next_cursor) = paging.of(app.named.all().await?, |token| token.name.clone())?;
    let tokens: Vec<Value> = tokens.iter().map(shown).collect();
    Ok(Json(json!({"tokens": tokens, "next_cursor": next_cursor})))
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "NewToken")]
pub(crate) struct NewTokenRequest {
    name: Option<String>,
    #[serde(default)]
    scopes: Vec<String>,
    user_id: Option<String>,
}

/// `POST /api/admin/tokens` → 201 with the token, which is never shown again.
pub(crate) async fn make(
    State(app): State<App>,
    Admin(_): Admin,
    extract::Json(asked): extract::Json<NewTokenRequest>,
) -> Result<Response, Problem> {
    let scopes: Result<Vec<AccessScope>, _> = asked.scopes.iter().map(|scope| scope.parse()).collect();
    let scopes = scopes.map_err(|error| Problem::unprocessable(format!("scopes: {error}")))?;
    let user = asked.user_id.map(UserId::new).transpose();
    let user = user.map_err(|error| Problem::unprocessable(format!("user_id: {error}")))?;
    let new = NewToken { name: asked.name, scopes, user };
    let (token, text) = make_token(app.named.store(), app.parts.tokens.random(), app.now(), new).await?;
    let mut answer = shown(&token);
    if let Some(fields) = answer.as_object_mut() {
        fields.insert("token".to_owned(), json!(text));
    }
    let object = AuditObject(format!("token {}", token.name));
    Ok((StatusCode::CREATED, axum::Extension(object), Json(answer)).into_response())
}

/// `DELETE /api/admin/tokens/{name}`: the token opens nothing from now on.
pub(crate) async fn revoke(
    State(app): State<App>,
    Admin(_): Admin,
    Path(name): Path<String>,
) -> Result<Json<Value>, Problem> {
    match app.named.revoke(&name).await? {
        Some(token) => Ok(Json(json!({"deleted": true, "name": token.name}))),
        None => Err(Problem::not_found("there is no token of this name")),
    }
}

fn shown(token: &NamedToken) -> Value {
    json!({
        "name": token.name, "prefix": format!("ev_{}", token.prefix), "scopes": token.scopes,
        "user_id": token.user, "created_at": token.created_at, "last_used_at": token.last_used_at,
    })
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
