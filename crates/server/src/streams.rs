//! Streams: how many each token may have open, and their end with the token.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;

use crate::admin::program::model;
use crate::auth::Principal;
use crate::chat::events;
use crate::legacy::import_pipeline;
use crate::openai::completions;
use crate::problem::Problem;
use crate::state::App;

/// Paths that answer with a stream, always or sometimes.
const PATHS: [&str; 4] = [events::PATH, import_pipeline::EVENTS_PATH, completions::PATH, model::TRY_PATH];

/// Permit of one stream, held until it ends.
struct StreamSlot {
    app: App,
    name: String,
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.app.streams.close(&self.name);
    }
}

/// Refuses a stream if the token has its maximum, and ends one whose token is revoked or expired.
pub(crate) async fn limit_stream(State(app): State<App>, request: Request, next: Next) -> Response {
    let principal = request.extensions().get::<Principal>().filter(|_| PATHS.contains(&request.uri().path()));
    let Some(principal) = principal.cloned() else { return next.run(request).await };
    if !app.streams.open(&principal) {
        app.runtime().metrics().count_refusal("streams");
        let detail =
            "this token has reached its limit of open streams; nothing was changed, close another first";
        return Problem::too_many_streams(detail).into_response();
    }
    let slot = StreamSlot { app: app.clone(), name: principal.name.clone() };
    let response = next.run(request).await;
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
        return response;
    }
    let ended = Box::pin(async move {
        let clock = app.runtime().clock();
        let left = principal.expires_at.map(|end| Duration::try_from(end.duration_since(clock.now())));
        tokio::select! {
            () = app.named.wait_for_revocation(&principal) => {}
            () = clock.sleep(left.and_then(Result::ok).unwrap_or_default()), if left.is_some() => {}
        }
    });
    response.map(|body| {
        let chunks = body.into_data_stream().take_until(ended);
        Body::from_stream(chunks.map(move |chunk| {
            let _held_until_the_end = &slot;
            chunk
        }))
    })
}
