//! The tools over streamable HTTP. Requests are independent: there is no session that a restart could lose.

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequest as _, Request, State};
use axum::http::StatusCode;
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::de::IgnoredAny;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::MESSAGE_BYTES_MAX;
use super::context::ToolContext;
use super::handler::Handler;
use crate::extract::{is_json, too_large};
use crate::problem::Problem;
use crate::state::App;

/// The path of the MCP endpoint.
pub(crate) const PATH: &str = "/mcp";
/// JSON-RPC code: the text is not valid JSON.
const PARSE_ERROR: i64 = -32_700;
/// JSON-RPC code: the JSON is not a message.
const INVALID_REQUEST: i64 = -32_600;
/// Maximum bytes of a refusal to read. Refusals are a sentence or two.
const REFUSAL_BYTES_MAX: usize = 4_096;

/// The MCP service of a server.
pub(crate) struct Service(StreamableHttpService<Handler, NeverSessionManager>);

impl Service {
    pub(crate) fn new(context: ToolContext, stop: CancellationToken) -> Self {
        let context = Arc::new(context);
        // Host and Origin are checked before a request gets here.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(MESSAGE_BYTES_MAX)
            .with_cancellation_token(stop);
        let handler = move || Ok(Handler::over_http(context.clone()));
        Self(StreamableHttpService::new(handler, Arc::new(NeverSessionManager::default()), config))
    }
}

pub(crate) async fn answer(State(app): State<App>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let mut whole = Request::new(body);
    // The limit of this path applies.
    *whole.extensions_mut() = head.extensions.clone();
    let bytes = match Bytes::from_request(whole, &app).await.map_err(|error| error.into_response().status()) {
        Ok(bytes) => bytes,
        Err(StatusCode::PAYLOAD_TOO_LARGE) => return too_large(MESSAGE_BYTES_MAX).into_response(),
        Err(_) => {
            return json_rpc_refusal(
                StatusCode::BAD_REQUEST,
                PARSE_ERROR,
                "the message could not be read to its end",
            );
        }
    };
    let is_json = head.headers.get(CONTENT_TYPE).is_some_and(|kind| kind.to_str().is_ok_and(is_json));
    let request = Request::from_parts(head, Body::from(bytes.clone()));
    let response = app.mcp.0.handle(request).await.map(Body::new);
    let status = response.status();
    if !status.is_client_error() || is_json_response(&response) {
        return response;
    }
    if status == StatusCode::UNSUPPORTED_MEDIA_TYPE && is_json {
        return match serde_json::from_slice::<IgnoredAny>(&bytes) {
            Err(error) => {
                json_rpc_refusal(StatusCode::BAD_REQUEST, PARSE_ERROR, &format!("invalid JSON: {error}"))
            }
            Ok(_) => json_rpc_refusal(
                StatusCode::BAD_REQUEST,
                INVALID_REQUEST,
                "valid JSON, but not a message of the protocol",
            ),
        };
    }
    to_problem(response).await
}

fn is_json_response(response: &Response) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.to_str().is_ok_and(is_json))
}

/// A JSON-RPC error without a request id, because no request could be read.
fn json_rpc_refusal(status: StatusCode, code: i64, message: &str) -> Response {
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}});
    (status, Json(error)).into_response()
}

/// Converts a plain-text refusal to the problem format of all other paths.
async fn to_problem(response: Response) -> Response {
    let (head, body) = response.into_parts();
    let said = to_bytes(body, REFUSAL_BYTES_MAX).await.unwrap_or_default();
    let detail = match head.status {
        StatusCode::METHOD_NOT_ALLOWED => "/mcp accepts only POST; there are no sessions".to_owned(),
        _ => String::from_utf8_lossy(&said).into_owned(),
    };
    let mut problem = Problem::new(head.status, detail).into_response();
    if let Some(methods) = head.headers.get(ALLOW) {
        problem.headers_mut().insert(ALLOW, methods.clone());
    }
    problem
}
