//! Speech of replies, and transcription of recordings.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Request, State};
use axum::http::header::{ACCEPT_RANGES, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, RANGE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use memory::identifiers::{MessageId, TurnId};
use memory::messages::{Message, Role};
use runtime::SpeechError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::Principal;
use crate::extract::run_detached;
use crate::problem::Problem;
use crate::state::App;
use crate::upload;

/// The path of uploaded recordings.
pub(crate) const TRANSCRIBE_PATH: &str = "/api/chat/transcribe";
/// Maximum bytes of a recording: ten minutes of 16-bit sound at 16,000 Hz are 19 MB.
pub(crate) const RECORDING_SIZE_MAX: usize = 24 * 1024 * 1024;
/// Content type of all sound.
pub(crate) const WAV: &str = "audio/wav";

#[derive(Serialize, JsonSchema)]
pub(crate) struct SpokenMessageResponse {
    message_id: MessageId,
    url: String,
    duration_seconds: f64,
    /// True if the sound existed before.
    cached: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct TranscriptResponse {
    /// The transcript; empty if nothing was understood.
    text: String,
    duration_seconds: f64,
    /// The id for `POST /api/chat/send`; null unless recordings are stored.
    recording_id: Option<String>,
}

/// Handler of `GET /api/chat/voice/{message_id}.mp3`: the sound of a message, whole or a range of it. The extension
/// is that of the legacy API; the content type is right.
pub(crate) async fn sound(
    State(app): State<App>,
    principal: Principal,
    Path(file): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let message = find_message_or_reply(&app, &principal, &file).await?;
    let sound = app.runtime().voice().sound_of(&message).await?;
    let sound =
        sound.ok_or_else(|| Problem::not_found("this message has no sound; POST to this path creates it"))?;
    Ok(respond_with_range(sound.into(), &headers))
}

/// Handler of `POST /api/chat/voice/{message_id}`: speaks a reply that was not spoken yet.
pub(crate) async fn speak(
    State(app): State<App>,
    principal: Principal,
    Path(file): Path<String>,
) -> Result<Json<SpokenMessageResponse>, Problem> {
    let message = find_message_or_reply(&app, &principal, &file).await?;
    let spoken =
        run_detached(async move { Ok(app.runtime().voice().speak_message(&message).await?) }).await?;
    Ok(Json(SpokenMessageResponse {
        message_id: spoken.message_id,
        url: format!("/api/chat/voice/{}.mp3", spoken.message_id),
        duration_seconds: spoken.duration_seconds,
        cached: spoken.cached,
    }))
}

/// The message with this id, or the reply of the turn with this id: events use the turn's id as `message_id`.
async fn find_message_or_reply(app: &App, principal: &Principal, file: &str) -> Result<Message, Problem> {
    let id = file.strip_suffix(".mp3").unwrap_or(file).parse::<MessageId>();
    let id = id.map_err(|_| Problem::not_found("id not found"))?;
    let store = app.runtime().store();
    let message = match store.message(id).await? {
        Some(message) => Some(message),
        None => store.turn_messages(TurnId(id.0)).await?.into_iter().rfind(|one| one.role == Role::Persona),
    };
    message
        .filter(|message| principal.may_see(&message.scope))
        .ok_or_else(|| Problem::not_found("message not found"))
}

/// Handler of `GET /api/chat/voice/live/{turn_id}/{index}`: a sentence of a reply that is being written.
pub(crate) async fn sentence(
    State(app): State<App>,
    principal: Principal,
    Path((turn, index)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let found = turn.parse::<TurnId>().ok().zip(index.parse().ok());
    let found = found.and_then(|(turn, index)| app.runtime().voice().cached_sentence(turn, index));
    let found = found.filter(|(scope, _)| principal.may_see(scope));
    let (_, wav) = found.ok_or_else(|| Problem::not_found("this sentence is no longer available"))?;
    Ok(([(CONTENT_TYPE, WAV)], Bytes::copy_from_slice(&wav)).into_response())
}

/// Handler of `POST /api/chat/transcribe`: a form with a WAV file as `file`.
pub(crate) async fn transcribe(
    State(app): State<App>,
    _: Principal,
    request: Request,
) -> Result<Json<TranscriptResponse>, Problem> {
    let (_, wav) = upload::file_of(request, &app, RECORDING_SIZE_MAX).await?;
    let heard = app.runtime().voice().transcribe(wav.to_vec()).await?;
    Ok(Json(TranscriptResponse {
        text: heard.text,
        duration_seconds: heard.duration_seconds,
        recording_id: heard.recording_id,
    }))
}

/// Answers with the requested bytes: a player that seeks requests one range.
fn respond_with_range(sound: Bytes, headers: &HeaderMap) -> Response {
    let length = sound.len();
    let fixed = [(CONTENT_TYPE, WAV), (ACCEPT_RANGES, "bytes"), (CACHE_CONTROL, "no-store")];
    let asked = headers.get(RANGE).and_then(|range| range.to_str().ok()?.strip_prefix("bytes="));
    let Some(asked) = asked.filter(|asked| !asked.contains(',')) else {
        return (fixed, sound).into_response();
    };
    match range_of(asked, length) {
        Some((first, last)) => {
            let about = [
                (CONTENT_RANGE, format!("bytes {first}-{last}/{length}")),
                (CONTENT_LENGTH, (last + 1 - first).to_string()),
            ];
            (StatusCode::PARTIAL_CONTENT, fixed, about, sound.slice(first..=last)).into_response()
        }
        None => {
            let refused = Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "the range is outside the sound");
            ([(CONTENT_RANGE, format!("bytes */{length}"))], refused).into_response()
        }
    }
}

/// First and last byte of the range `a-b`, `a-` or `-n`.
fn range_of(asked: &str, length: usize) -> Option<(usize, usize)> {
    let (from, to) = asked.split_once('-')?;
    let (first, last) = match (from.trim(), to.trim()) {
        ("", count) => (length.saturating_sub(count.parse().ok()?), length.checked_sub(1)?),
        (first, "") => (first.parse().ok()?, length.checked_sub(1)?),
        (first, last) => (first.parse().ok()?, last.parse::<usize>().ok()?.min(length.checked_sub(1)?)),
    };
    (first <= last && first < length).then_some((first, last))
}

impl From<SpeechError> for Problem {
    fn from(error: SpeechError) -> Self {
        let detail = error.to_string();
        match error {
            SpeechError::Off(_) => Self::unavailable(detail).with_code("voice_off"),
            SpeechError::Refused(_) => Self::bad_request(detail),
            SpeechError::Provider(_) => {
                Self::new(StatusCode::BAD_GATEWAY, format!("{detail}; text works as before"))
            }
            SpeechError::Storage(_) => {
                tracing::error!("{detail}");
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
            }
            SpeechError::Store(error) => error.into(),
        }
    }
}
