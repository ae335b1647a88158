//! The tools over streamable HTTP. Every request stands for itself: there is no session that a restart could lose.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::MESSAGE_BYTES_MAX;
use super::desk::Desk;
use super::handler::Handler;
use crate::state::App;

/// The service of one server.
pub(crate) struct Service(StreamableHttpService<Handler, NeverSessionManager>);

impl Service {
    pub(crate) fn new(desk: Desk, stop: CancellationToken) -> Self {
        let desk = Arc::new(desk);
        // Host and Origin are checked before a request comes here.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(MESSAGE_BYTES_MAX)
            .with_cancellation_token(stop);
        let handler = move || Ok(Handler::over_http(desk.clone()));
        Self(StreamableHttpService::new(handler, Arc::new(NeverSessionManager::default()), config))
    }
}

/// `POST /mcp`
pub(crate) async fn answer(State(app): State<App>, request: Request) -> Response {
    app.mcp.0.handle(request).await.map(Body::new)
}
