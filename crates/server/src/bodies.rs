//! Limits for request bodies on every path: their size, their speed, and the memory of all of them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody as _};
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, EXPECT};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use jiff::Timestamp;

use crate::admin::imports::runs;
use crate::admin::persona::{avatar, voice};
use crate::auth::Principal;
use crate::chat::voice as chat_voice;
use crate::extract::too_large;
use crate::legacy::import_pipeline;
use crate::mcp;
use crate::problem::Problem;
use crate::state::App;
use crate::upload;

/// Time for a body in addition to that of its bytes at [`RATE_MIN`]; also the maximum pause between two parts.
const BODY_TIME_MIN: Duration = Duration::from_secs(30);
/// Minimum bytes per second: the slowest uplinks that people have. It bounds how long a body can hold its memory.
const RATE_MIN: u64 = 64 * 1024;
/// Maximum bytes of all bodies held at once: the longest MCP message, and as much again for others.
const BODY_BYTES_MAX: usize = 2 * mcp::MESSAGE_BYTES_MAX;
/// Part of this memory that only the owner's token may use: named tokens together can't keep the owner out.
const OWNER_BODY_BYTES: usize = 32 * 1024 * 1024;
/// Bytes of each body that are not counted, so that a message always finds room. The limit of connections bounds
/// their sum.
const UNCOUNTED_BYTES: usize = 16 * 1024;
/// `Retry-After` when memory is full, in seconds. Most bodies have been processed by then.
const ROOM_RETRY_SECONDS: u64 = 5;
/// Maximum bytes of a refused body that are still read, so that its sender sees the answer.
const REFUSED_BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Time for which a refused body is still read. Many clients read the answer only after they have sent everything.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(2);

/// Bytes that a body holds until its request is answered.
struct ReservedBytes {
    app: App,
    /// Maximum bytes of all bodies together, up to which this one may grow.
    limit: usize,
    bytes: AtomicUsize,
    refusal: OnceLock<Refusal>,
}

/// Why a body was not read to its end.
#[derive(Clone, Copy, Debug)]
enum Refusal {
    TooSlow,
    NoRoom,
}

impl ReservedBytes {
    fn reserve_bytes(&self, bytes: usize) -> Result<(), Refusal> {
        if !self.app.held_bytes.try_add(bytes, self.limit) {
            return Err(Refusal::NoRoom);
        }
        // Relaxed: only this body adds to it, and the drop that reads it comes after.
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for ReservedBytes {
    fn drop(&mut self) {
        self.app.held_bytes.subtract(*self.bytes.get_mut());
    }
}

/// Refuses a body whose declared length is over the limit of its path, and limits all others while they are read.
pub(crate) async fn limit_body(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let limit = size_max(&app, request.uri().path());
    // A body without a declared length is cut off while it is read.
    DefaultBodyLimit::max(limit).apply(&mut request);
    let length =
        request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > limit as u64) {
        return refuse_large(&app, request, limit).await;
    }
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let is_owner = request.extensions().get::<Principal>().is_some_and(Principal::is_owner);
    let share = Arc::new(ReservedBytes {
        limit: BODY_BYTES_MAX - if is_owner { 0 } else { OWNER_BODY_BYTES },
        bytes: AtomicUsize::new(0),
        refusal: OnceLock::new(),
        app,
    });
    // An upload is written to disk as it arrives.
    let is_held = request.uri().path() != runs::PATH;
    let held = share.clone();
    let request = request.map(|body| IncomingBody::new(body, held, is_held).into_body());
    let response = next.run(request).await;
    match share.refusal.get() {
        None => response,
        Some(Refusal::TooSlow) => {
            let detail = "the body did not arrive in time; nothing was changed";
            Problem::new(StatusCode::REQUEST_TIMEOUT, detail).into_response()
        }
        Some(Refusal::NoRoom) => {
            share.app.runtime().metrics().count_refusal("memory");
            let detail = "too many large requests at once; nothing was changed, try again in a moment";
            Problem::unavailable(detail).with_retry_after(ROOM_RETRY_SECONDS).into_response()
        }
    }
}

/// Maximum body of a path, in bytes.
fn size_max(app: &App, path: &str) -> usize {
    let body_limit = app.parts.settings.load().body_limit;
    match path {
        mcp::http::PATH => mcp::MESSAGE_BYTES_MAX,
        avatar::PATH => body_limit.max(avatar::UPLOAD_SIZE_MAX),
        runs::PATH => runs::UPLOAD_SIZE_MAX,
        import_pipeline::UPLOAD_PATH | import_pipeline::TEXT_PATH => import_pipeline::BODY_SIZE_MAX,
        voice::SAMPLES_PATH => voice::SAMPLE_SIZE_MAX + upload::FORM_BYTES_MAX,
        chat_voice::TRANSCRIBE_PATH => chat_voice::RECORDING_SIZE_MAX + upload::FORM_BYTES_MAX,
        _ => body_limit,
    }
}

async fn refuse_large(app: &App, request: Request, limit: usize) -> Response {
    let waits_for_continue = request.headers().contains_key(EXPECT);
    if !waits_for_continue {
        tokio::select! {
            () = drain_body(request.into_body()) => {}
            () = app.runtime().clock().sleep(DRAIN_TIME_MAX) => {}
        }
    }
    too_large(limit).into_response()
}

/// Reads and discards a body. Otherwise a client that is still sending would see a broken connection rather than the
/// answer.
async fn drain_body(body: Body) {
    let mut chunks = body.into_data_stream();
    let mut left = REFUSED_BODY_BYTES_MAX;
    while let Some(Ok(chunk)) = chunks.next().await {
        left = left.saturating_sub(chunk.len());
        if left == 0 {
            return;
        }
    }
}

/// A body that is being received.
struct IncomingBody {
    chunks: BodyDataStream,
    share: Arc<ReservedBytes>,
    is_held: bool,
    started: Timestamp,
    received: usize,
}

impl IncomingBody {
    fn new(body: Body, share: Arc<ReservedBytes>, is_held: bool) -> Self {
        let started = share.app.now();
        Self { chunks: body.into_data_stream(), share, is_held, started, received: 0 }
    }

    fn into_body(self) -> Body {
        Body::from_stream(stream::unfold(Some(self), |incoming| async move {
            let mut incoming = incoming?;
            match incoming.next().await? {
                Ok(chunk) => Some((Ok(chunk), Some(incoming))),
                Err(error) => Some((Err(error), None)),
            }
        }))
    }

    async fn next(&mut self) -> Option<Result<Bytes, axum::Error>> {
        let wait = self.share.app.runtime().clock().sleep(self.time_left());
        let read = tokio::select! {
            biased;
            chunk = self.chunks.next() => chunk?.map(|chunk| self.count_chunk(chunk)),
            () = wait => Ok(Err(Refusal::TooSlow)),
        };
        Some(read.and_then(|taken| {
            taken.map_err(|refusal| {
                // A body ends with its first refusal.
                let _ = self.share.refusal.set(refusal);
                axum::Error::new(std::io::Error::other("the body was rejected"))
            })
        }))
    }

    fn count_chunk(&mut self, chunk: Bytes) -> Result<Bytes, Refusal> {
        let counted = |received: usize| received.saturating_sub(UNCOUNTED_BYTES);
        let before = counted(self.received);
        self.received += chunk.len();
        if self.is_held {
            self.share.reserve_bytes(counted(self.received) - before)?;
        }
        Ok(chunk)
    }

    /// Time limit for the next bytes.
    fn time_left(&self) -> Duration {
        let elapsed = self.share.app.now().duration_since(self.started);
        let elapsed = Duration::try_from(elapsed).unwrap_or_default();
        let allowed = BODY_TIME_MIN + Duration::from_secs(self.received as u64 / RATE_MIN);
        allowed.saturating_sub(elapsed).min(BODY_TIME_MIN)
    }
}
