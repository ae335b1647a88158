//! Errors for clients: RFC 9457 problem details; below `/v1` the error object of the OpenAI API.

use axum::Json;
use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hub::HubError;
use memory::capture::CaptureError;
use memory::core_blocks::CoreBlockTooLong;
use memory::corrections::{ApproveError, CorrectError};
use memory::ports::StoreError;
use runtime::{AcceptError, RegenerateError};
use schemars::JsonSchema;
use serde::Serialize;

/// `Retry-After` when the database is busy, in seconds. Groups of writes take milliseconds, so it is free long
/// before.
const BUSY_RETRY_SECONDS: u64 = 1;
/// `Retry-After` while the program stops, in seconds. A restart takes about as long.
const STOPPING_RETRY_SECONDS: u64 = 5;

/// RFC 9457 problem details. `code` is stable; `detail` is a sentence for people.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProblemBody<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: &'a str,
}

/// An error as the OpenAI API returns it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OpenAiErrorBody<'a> {
    error: OpenAiErrorDetail<'a>,
}

#[derive(Serialize, JsonSchema)]
struct OpenAiErrorDetail<'a> {
    message: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    code: Option<&'a str>,
    param: Option<&'a str>,
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    status: StatusCode,
    detail: String,
    /// The code of the OpenAI API, if it has one for this.
    code: Option<&'static str>,
    retry_after_seconds: Option<u64>,
    /// The request field in question, for the OpenAI API.
    param: Option<&'static str>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), code: None, retry_after_seconds: None, param: None }
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(crate) fn unauthorized() -> Self {
        let detail = "no valid token: send `Authorization: Bearer TOKEN`, or open the web UI with a login link \
                      (`echovessel token link` prints one)";
        Self::new(StatusCode::UNAUTHORIZED, detail).with_code("invalid_api_key")
    }

    /// A cookie without the page's key of the login.
    pub(crate) fn half_login() -> Self {
        let detail = "the cookie alone is not enough: the web UI sends the second half of its login in the \
            header x-echovessel-login. Open a new login link (`echovessel token link` prints one), or send \
            a token";
        Self::new(StatusCode::UNAUTHORIZED, detail).with_code("half_login")
    }

    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, detail)
    }

    /// The client exceeded `limits.requests_per_second` and `limits.burst`.
    pub(crate) fn too_many_requests(wait: std::time::Duration) -> Self {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let detail = "too many requests; nothing was changed, try again after the time in Retry-After";
        Self::new(StatusCode::TOO_MANY_REQUESTS, detail).with_retry_after(seconds.max(1))
    }

    /// The client has the maximum of open streams.
    pub(crate) fn too_many_streams(detail: &str) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, detail).with_retry_after(BUSY_RETRY_SECONDS)
    }

    /// The token has reached the replies of its day.
    pub(crate) fn too_many_turns(detail: String) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, detail)
    }

    pub(crate) fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    }

    /// A defect of this program. The cause is logged, not sent.
    pub(crate) fn internal(cause: &dyn std::fmt::Display) -> Self {
        tracing::error!("request failed: {cause}");
        let detail = "internal error; no partial change was written, and the log has the details";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }

    pub(crate) fn with_code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    pub(crate) fn with_param(mut self, param: &'static str) -> Self {
        self.param = Some(param);
        self
    }

    pub(crate) fn with_retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_seconds = Some(seconds);
        self
    }

    /// A name for programs, which stays the same when the text changes.
    fn stable_code(&self) -> &'static str {
        self.code.unwrap_or(match self.status.as_u16() {
            400 => "bad_request",
            401 => "unauthorized",
            403 => "forbidden",
            404 => "not_found",
            405 => "method_not_allowed",
            408 => "too_slow",
            409 => "conflict",
            413 => "too_large",
            415 => "wrong_type",
            421 => "wrong_host",
            422 => "invalid",
            429 => "too_many_requests",
            501 => "not_built",
            502 => "model_failed",
            503 => "unavailable",
            507 => "unwritable",
            _ => "internal",
        })
    }

    /// The error in the form of the OpenAI API.
    pub(crate) fn as_openai(&self) -> OpenAiErrorBody<'_> {
        let kind = match self.status.as_u16() {
            401 | 403 => "authentication_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        let code = match self.status {
            StatusCode::TOO_MANY_REQUESTS => Some("rate_limit_exceeded"),
            _ => self.code,
        };
        let error = OpenAiErrorDetail { message: &self.detail, kind, code, param: self.param };
        OpenAiErrorBody { error }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let title = self.status.canonical_reason().unwrap_or("Error");
        let body = ProblemBody {
            kind: "about:blank",
            title,
            status: self.status.as_u16(),
            detail: &self.detail,
            code: self.stable_code(),
        };
        let mut response = (self.status, Json(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(self);
        response
    }
}

/// Converts problems below `/v1` to the form of the OpenAI API, which has no 422.
pub(crate) async fn use_openai_shape(request: Request, next: Next) -> Response {
    let is_openai = request.uri().path().starts_with("/v1/");
    let response = next.run(request).await;
    let Some(problem) = response.extensions().get::<Problem>().filter(|_| is_openai) else { return response };
    let body = Json(problem.as_openai()).into_response().into_body();
    let (mut head, _) = response.into_parts();
    head.headers.remove(axum::http::header::CONTENT_LENGTH);
    head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if head.status == StatusCode::UNPROCESSABLE_ENTITY {
        head.status = StatusCode::BAD_REQUEST;
    }
    Response::from_parts(head, body)
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Unwritable(_) => {
                tracing::error!("{error}");
                Self::new(StatusCode::INSUFFICIENT_STORAGE, error.to_string())
            }
            StoreError::Busy(_) => {
                tracing::warn!("{error}");
                Self::unavailable(format!("{error}; nothing was written, try again"))
                    .with_retry_after(BUSY_RETRY_SECONDS)
            }
            StoreError::Unconfirmed(_) => {
                tracing::error!("{error}");
                Self::unavailable(error.to_string())
            }
            StoreError::Unusable(_) => {
                tracing::error!("{error}");
                Self::unavailable("the database can't be used; run `echovessel doctor` to see why")
            }
            StoreError::Failed(_) => Self::internal(&error),
        }
    }
}

impl From<HubError> for Problem {
    fn from(error: HubError) -> Self {
        match error {
            HubError::Invalid(detail) => Self::unprocessable(detail),
            HubError::Refused(detail) => Self::forbidden(detail),
            HubError::Store(error) => error.into(),
            HubError::Mirror(_) => Self::internal(&error),
        }
    }
}

impl From<CaptureError> for Problem {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::Empty | CaptureError::TooLong { .. } => Self::unprocessable(error.to_string()),
            CaptureError::Store(error) => error.into(),
        }
    }
}

impl From<AcceptError> for Problem {
    fn from(error: AcceptError) -> Self {
        let detail = error.to_string();
        match error {
            AcceptError::Full { retry_after } => Self::new(StatusCode::TOO_MANY_REQUESTS, detail)
                .with_retry_after(retry_after.as_secs().max(1)),
            AcceptError::Stopping => Self::unavailable(detail).with_retry_after(STOPPING_RETRY_SECONDS),
            AcceptError::Capture(error) => error.into(),
        }
    }
}

impl From<CorrectError> for Problem {
    fn from(error: CorrectError) -> Self {
        match error {
            CorrectError::Empty | CorrectError::TooLong { .. } => Self::unprocessable(error.to_string()),
            CorrectError::Store(error) => error.into(),
        }
    }
}

impl From<ApproveError> for Problem {
    fn from(error: ApproveError) -> Self {
        match error {
            ApproveError::Text(error) => error.into(),
            ApproveError::OutOfRange | ApproveError::NoImpact => Self::unprocessable(error.to_string()),
        }
    }
}

impl From<RegenerateError> for Problem {
    fn from(error: RegenerateError) -> Self {
        let detail = error.to_string();
        match error {
            RegenerateError::Unknown => Self::not_found(detail),
            RegenerateError::NotTheLast | RegenerateError::BeingAnswered => Self::conflict(detail),
            RegenerateError::Store(error) => error.into(),
        }
    }
}

impl From<CoreBlockTooLong> for Problem {
    fn from(error: CoreBlockTooLong) -> Self {
        Self::unprocessable(error.to_string())
    }
}
