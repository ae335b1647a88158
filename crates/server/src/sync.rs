//! The path that peers ask: pages of changes as JSON in gzip, both ways.

use std::io::{Read as _, Write as _};

use ::sync::{ExchangeRequest, ExchangeResponse, PAGE_BYTES_MAX, SyncError};
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::auth::Principal;
use crate::extract::{run_detached, too_large};
use crate::problem::Problem;
use crate::state::App;

/// The path.
pub(crate) const PATH: &str = "/api/sync/exchange";
/// What both bodies are.
pub(crate) const MEDIA: &str = "application/gzip";

/// `POST /api/sync/exchange`
pub(crate) async fn exchange(
    State(app): State<App>,
    principal: Principal,
    request: Request,
) -> Result<Response, Problem> {
    let Some(peer) = principal.peer().map(str::to_owned) else {
        return Err(Problem::forbidden("only a token with the scope peer:NAME exchanges changes"));
    };
    let body = to_bytes(request.into_body(), PAGE_BYTES_MAX).await.map_err(|_| too_large(PAGE_BYTES_MAX))?;
    let request = unpack(&body)?;
    let runtime = app.runtime().clone();
    let answer = run_detached(async move {
        runtime.answer_peer(&peer, request).await.map_err(|error| match error {
            SyncError::Store(error) => Problem::from(error),
            SyncError::Page(_) | SyncError::DisputedAgain => Problem::unprocessable(error.to_string()),
        })
    })
    .await?;
    Ok(([(CONTENT_TYPE, MEDIA)], pack(&answer)?).into_response())
}

/// Reads a request. A body that unpacks to more than a page may hold is refused before it is unpacked any further.
fn unpack(body: &[u8]) -> Result<ExchangeRequest, Problem> {
    let mut text = Vec::new();
    let limit = PAGE_BYTES_MAX as u64 + 1;
    GzDecoder::new(body)
        .take(limit)
        .read_to_end(&mut text)
        .map_err(|_| Problem::unprocessable("body: not gzip; nothing was kept"))?;
    if text.len() as u64 >= limit {
        return Err(too_large(PAGE_BYTES_MAX));
    }
    serde_json::from_slice(&text)
        .map_err(|error| Problem::unprocessable(format!("body: not an exchange between peers ({error})")))
}

fn pack(answer: &ExchangeResponse) -> Result<Vec<u8>, Problem> {
    let text = serde_json::to_vec(answer).map_err(|error| Problem::internal(&error))?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&text).and_then(|()| packed.finish()).map_err(|error| Problem::internal(&error))
}
