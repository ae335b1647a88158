//! The voice of a persona: its switch, provider, samples and clone.

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use runtime::VoiceSampleInfo;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::Admin;
use crate::chat::voice::WAV;
use crate::extract::{self, ScopeParam, run_detached};
use crate::ports::configuration::VoiceProgram;
use crate::problem::Problem;
use crate::state::App;
use crate::upload;

/// The path of uploaded samples.
pub(crate) const SAMPLES_PATH: &str = "/api/admin/voice/samples";
/// Maximum bytes of a sample. Nine minutes of speech fit, as WAV with one channel at 48 kHz.
pub(crate) const SAMPLE_SIZE_MAX: usize = 50 * 1024 * 1024;
/// Minimum number of samples for a clone.
const SAMPLES_MIN: usize = 1;
/// Maximum length of a voice's name, in characters.
const NAME_LENGTH_MAX: usize = 128;
/// Maximum length of a preview's text, in characters. A preview costs as much as a reply of its length.
const PREVIEW_LENGTH_MAX: usize = 500;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct VoiceRequest {
    enabled: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct VoiceResponse {
    ok: bool,
    voice_enabled: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct VoiceStatus {
    /// True if replies of the persona are spoken.
    voice_enabled: bool,
    /// The provider of speech; null if voice is off.
    tts_provider: Option<String>,
    tts_model: Option<String>,
    /// The default voice for sentences.
    voice: String,
    chinese_voice: String,
    english_voice: String,
    /// The persona's own voice, if one was activated.
    voice_id: Option<String>,
    can_clone: bool,
    /// The provider of transcription; null if there is none.
    stt_provider: Option<String>,
    stt_model: Option<String>,
    keep_recordings: bool,
    /// Time until which no reply is spoken, after repeated failures.
    rests_until: Option<Timestamp>,
    /// Installed local programs that can be used at once.
    programs: Vec<VoiceProgram>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct VoiceProgramRequest {
    /// A name from `programs`.
    program: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct VoiceSampleAccepted {
    sample_id: String,
    duration_seconds: f64,
    size_bytes: usize,
    accepted: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct VoiceSampleBody {
    sample_id: String,
    filename: String,
    size_bytes: usize,
    duration_seconds: f64,
    created_at: Timestamp,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct VoiceSampleList {
    samples: Vec<VoiceSampleBody>,
    count: usize,
    minimum_required: usize,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct VoiceSampleDeleted {
    deleted: bool,
    sample_id: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct VoiceCloneRequest {
    display_name: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct VoiceCloneResponse {
    voice_id: String,
    display_name: String,
    preview_text: String,
    /// Always null: use `POST /api/admin/voice/preview`.
    preview_audio_url: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct VoicePreviewRequest {
    /// Empty for the configured voice.
    voice_id: String,
    text: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct VoiceActivateRequest {
    voice_id: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct VoiceActivateResponse {
    activated: bool,
    voice_id: String,
}

/// Handler of `POST /api/admin/persona/voice-toggle`: stores the setting and publishes it.
pub(crate) async fn toggle(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    extract::Json(request): extract::Json<VoiceRequest>,
) -> Result<Json<VoiceResponse>, Problem> {
    run_detached(async move { Ok(app.runtime().personas().enable_voice(&scope, request.enabled).await?) })
        .await?;
    Ok(Json(VoiceResponse { ok: true, voice_enabled: request.enabled }))
}

pub(crate) async fn show(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
) -> Result<Json<VoiceStatus>, Problem> {
    let appearance = app.runtime().store().persona_appearance(&scope.persona).await?;
    let settings = app.runtime().voice().settings().unwrap_or_default();
    let (speaker, listener) = (settings.speaker.as_deref(), settings.listener.as_deref());
    Ok(Json(VoiceStatus {
        voice_enabled: appearance.voice_enabled,
        tts_provider: speaker.map(|speaker| speaker.provider().to_owned()),
        tts_model: speaker.map(|speaker| speaker.model().to_owned()),
        voice: settings.voice.clone(),
        chinese_voice: settings.chinese_voice.clone(),
        english_voice: settings.english_voice.clone(),
        voice_id: appearance.voice_id,
        can_clone: speaker.is_some_and(runtime::Speaker::can_clone),
        stt_provider: listener.map(|listener| listener.provider().to_owned()),
        stt_model: listener.map(|listener| listener.model().to_owned()),
        keep_recordings: settings.keep_recordings,
        rests_until: app.runtime().voice().rests_until(),
        programs: app.parts.configuration.voice_programs().await,
    }))
}

/// Handler of `POST /api/admin/voice/use`: switches speech or transcription to an installed program.
pub(crate) async fn use_program(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    extract::Json(request): extract::Json<VoiceProgramRequest>,
) -> Result<Json<VoiceResponse>, Problem> {
    run_detached(async move {
        let programs = app.parts.configuration.voice_programs().await;
        let program = programs.iter().find(|program| program.name == request.program);
        let program = program.ok_or_else(|| Problem::not_found("program: not installed on this machine"))?;
        app.parts.configuration.use_voice_program(&program.name).await?;
        if program.speaks {
            app.runtime().personas().enable_voice(&scope, true).await?;
        }
        let voice_enabled = app.runtime().store().persona_appearance(&scope.persona).await?.voice_enabled;
        Ok(Json(VoiceResponse { ok: true, voice_enabled }))
    })
    .await
}

/// Handler of `POST /api/admin/voice/samples`: a form with a WAV file as `file`.
pub(crate) async fn add_sample(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    request: Request,
) -> Result<Json<VoiceSampleAccepted>, Problem> {
    let (name, wav) = upload::file_of(request, &app, SAMPLE_SIZE_MAX).await?;
    let sample =
        run_detached(async move { Ok(app.runtime().voice().add_sample(&scope.persona, &name, &wav).await?) })
            .await?;
    Ok(Json(VoiceSampleAccepted {
        sample_id: sample.sample_id,
        duration_seconds: sample.duration_seconds,
        size_bytes: sample.size_bytes,
        accepted: true,
    }))
}

pub(crate) async fn samples(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
) -> Result<Json<VoiceSampleList>, Problem> {
    let samples: Vec<VoiceSampleBody> = app
        .runtime()
        .voice()
        .list_samples(&scope.persona)
        .await?
        .into_iter()
        .map(VoiceSampleBody::from)
        .collect();
    Ok(Json(VoiceSampleList { count: samples.len(), samples, minimum_required: SAMPLES_MIN }))
}

pub(crate) async fn remove_sample(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    Path(sample_id): Path<String>,
) -> Result<Json<VoiceSampleDeleted>, Problem> {
    if !app.runtime().voice().remove_sample(&scope.persona, &sample_id).await? {
        return Err(Problem::not_found("sample_id not found"));
    }
    Ok(Json(VoiceSampleDeleted { deleted: true, sample_id }))
}

pub(crate) async fn clone_voice(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    extract::Json(request): extract::Json<VoiceCloneRequest>,
) -> Result<Json<VoiceCloneResponse>, Problem> {
    let name = checked_text("display_name", &request.display_name, NAME_LENGTH_MAX)?;
    let voice_id = app.runtime().voice().clone_from_samples(&scope.persona, &name).await?;
    let preview_text = "Hello, this is how I sound. 你好，这是我的声音。".to_owned();
    Ok(Json(VoiceCloneResponse { voice_id, display_name: name, preview_text, preview_audio_url: None }))
}

pub(crate) async fn preview(
    State(app): State<App>,
    Admin(_): Admin,
    extract::Json(request): extract::Json<VoicePreviewRequest>,
) -> Result<Response, Problem> {
    let text = checked_text("text", &request.text, PREVIEW_LENGTH_MAX)?;
    if request.voice_id.chars().count() > NAME_LENGTH_MAX {
        return Err(Problem::unprocessable(format!("voice_id: at most {NAME_LENGTH_MAX} characters")));
    }
    let sound = app.runtime().voice().preview(&request.voice_id, &text).await?;
    Ok(([(CONTENT_TYPE, WAV)], sound.to_wav()).into_response())
}

pub(crate) async fn activate(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    extract::Json(request): extract::Json<VoiceActivateRequest>,
) -> Result<Json<VoiceActivateResponse>, Problem> {
    let voice_id = checked_text("voice_id", &request.voice_id, NAME_LENGTH_MAX)?;
    let chosen = voice_id.clone();
    run_detached(async move { Ok(app.runtime().voice().choose_voice(&scope, &chosen).await?) }).await?;
    Ok(Json(VoiceActivateResponse { activated: true, voice_id }))
}

fn checked_text(field: &str, text: &str, length_max: usize) -> Result<String, Problem> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > length_max {
        return Err(Problem::unprocessable(format!("{field}: must have 1 to {length_max} characters")));
    }
    Ok(text.to_owned())
}

impl From<VoiceSampleInfo> for VoiceSampleBody {
    fn from(sample: VoiceSampleInfo) -> Self {
        let VoiceSampleInfo { sample_id, filename, size_bytes, duration_seconds, created_at } = sample;
        Self { sample_id, filename, size_bytes, duration_seconds, created_at }
    }
}
