//! Extractors of requests. What they reject is a [`Problem`].

use std::future::Future;
use std::str::FromStr;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::response::IntoResponse;
use memory::Scope;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::auth::Principal;
use crate::problem::Problem;
use crate::state::App;
use crate::tasks::spawn;

/// Maximum rows of a list. A page is built in memory before it is sent.
pub(crate) const LIST_LIMIT_MAX: u32 = 200;

pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned + JsonSchema> FromRequest<App> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let bytes = read_body(request, app).await?;
        if bytes.trim_ascii().is_empty() {
            return Err(no_body::<T>());
        }
        serde_json::from_slice(&bytes).map(Self).map_err(|error| invalid_body(&error))
    }
}

/// An optional JSON body.
pub(crate) struct OptionalJson<T>(pub(crate) T);

impl<T: DeserializeOwned + Default> FromRequest<App> for OptionalJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let bytes = read_body(request, app).await?;
        if bytes.trim_ascii().is_empty() {
            return Ok(Self(T::default()));
        }
        serde_json::from_slice(&bytes).map(Self).map_err(|error| invalid_body(&error))
    }
}

/// The error for a missing body; names the required and allowed fields.
fn no_body<T: JsonSchema>() -> Problem {
    let schema = SchemaGenerator::default().into_root_schema_for::<T>();
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let required: Vec<&str> = required.filter_map(Value::as_str).collect();
    let known = schema.get("properties").and_then(Value::as_object);
    let known: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let fields = match (required.as_slice(), known.as_slice()) {
        ([], []) => String::new(),
        ([], known) => format!(" with any of: {}", known.join(", ")),
        (required, _) => format!(" with: {}", required.join(", ")),
    };
    Problem::unprocessable(format!("the body is missing: send a JSON object{fields}; nothing was changed"))
}

fn invalid_body(error: &serde_json::Error) -> Problem {
    Problem::unprocessable(format!("invalid body: {error}"))
}

async fn read_body(request: Request, app: &App) -> Result<Bytes, Problem> {
    // A form that another site's page could send by itself is never accepted as JSON.
    let declared = request.headers().get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or_default());
    if declared.is_some_and(|kind| !is_json(kind)) {
        let detail = "the body must be JSON with the content type application/json; nothing was changed";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    let bytes = Bytes::from_request(request, app).await;
    bytes.map_err(|rejection| unreadable_body(rejection.into_response().status(), app))
}

/// True if a content type is JSON.
pub(crate) fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

fn unreadable_body(status: StatusCode, app: &App) -> Problem {
    match status {
        StatusCode::PAYLOAD_TOO_LARGE => too_large(app.parts.settings.load().body_limit),
        _ => Problem::bad_request("the body could not be read; nothing was changed"),
    }
}

/// The error for a body over the limit, in bytes.
pub(crate) fn too_large(limit: usize) -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!("the body is larger than {limit} bytes; nothing was changed"),
    )
}

pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        axum::extract::Query::try_from_uri(&parts.uri)
            .map(|axum::extract::Query(value)| Self(value))
            .map_err(|error| Problem::unprocessable(error.body_text()))
    }
}

/// An id in the path. An invalid one is answered 404.
pub(crate) struct Id<T>(pub(crate) T);

impl<T: FromStr> FromRequestParts<App> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let none = || Problem::not_found("id not found");
        let Path(text) = Path::<String>::from_request_parts(parts, app).await.map_err(|_| none())?;
        text.parse().map(Self).map_err(|_| none())
    }
}

/// The scope of `persona_id` and `user_id` in the query; the configured persona and `self` by default.
pub(crate) struct ScopeParam(pub(crate) Scope);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ScopeQuery {
    /// Default: the configured persona.
    persona_id: Option<String>,
    /// Default: `self`, or the token's user.
    user_id: Option<String>,
}

impl FromRequestParts<App> for ScopeParam {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let principal = Principal::from_request_parts(parts, app).await?;
        let Query(query) = Query::<ScopeQuery>::from_request_parts(parts, app).await?;
        app.scope(&principal, query.persona_id, query.user_id).await.map(Self)
    }
}

/// Like [`ScopeParam`], but `None`, for all scopes, if the query names none and the token is not bound to one user.
pub(crate) struct OptionalScope(pub(crate) Option<Scope>);

impl FromRequestParts<App> for OptionalScope {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let principal = Principal::from_request_parts(parts, app).await?;
        let Query(query) = Query::<ScopeQuery>::from_request_parts(parts, app).await?;
        if query.persona_id.is_none() && query.user_id.is_none() && principal.user.is_none() {
            return Ok(Self(None));
        }
        app.scope(&principal, query.persona_id, query.user_id).await.map(|scope| Self(Some(scope)))
    }
}

/// Refuses a page size that is out of bounds.
pub(crate) fn page_size(asked: Option<u32>, default: u32) -> Result<u32, Problem> {
    match asked {
        None => Ok(default),
        Some(limit) if (1..=LIST_LIMIT_MAX).contains(&limit) => Ok(limit),
        Some(_) => Err(Problem::unprocessable(format!("limit: must be 1 to {LIST_LIMIT_MAX}"))),
    }
}

/// Completes the work even if the client disconnects: a message must not be half written.
pub(crate) async fn run_detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    let (sender, receiver) = oneshot::channel();
    let handle = spawn(Box::pin(async move {
        // The receiver is dropped if the request was: nobody waits for the result.
        let _ = sender.send(work.await);
    }));
    match receiver.await {
        Ok(result) => result,
        Err(_) => Err(match handle.await {
            Ok(()) => Problem::internal(&"the work ended without a result"),
            Err(error) => Problem::internal(&error),
        }),
    }
}
