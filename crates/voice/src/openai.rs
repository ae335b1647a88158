//! Any endpoint with OpenAI's audio API.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::multipart::Form;
use serde_json::{Value, json};

use crate::endpoint::{Endpoint, EndpointSettings, wav_part};
use crate::provider::{Listener, Recording, Speaker, SpeechRequest, VoiceError};
use crate::sound::Sound;

const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";
const SPEECH_MODEL: &str = "gpt-4o-mini-tts";
const SPEECH_VOICE: &str = "alloy";
const TRANSCRIPTION_MODEL: &str = "whisper-1";
/// Estimated US dollars per character of OpenAI's own speech.
const SPEECH_PRICE: f64 = 15.0 / 1_000_000.0;
/// Estimated US dollars per second of OpenAI's own transcription.
const TRANSCRIPTION_PRICE: f64 = 0.006 / 60.0;
/// Time limit for speaking one reply. It takes seconds; a person waits for it.
const SPEAK_TIME_MAX: Duration = Duration::from_secs(30);
/// Time limit for transcribing. A recording of some minutes is uploaded and transcribed meanwhile.
const LISTEN_TIME_MAX: Duration = Duration::from_secs(120);
/// Maximum bytes of a sound: half an hour as MP3 with 128 kbit/s.
const SOUND_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Maximum bytes of a transcript: hours of speech.
const TRANSCRIPT_BYTES_MAX: usize = 256 * 1024;

pub struct OpenAiSpeaker {
    endpoint: Endpoint,
    model: String,
    is_own_base: bool,
}

pub struct OpenAiListener {
    endpoint: Endpoint,
    model: String,
    is_own_base: bool,
}

impl OpenAiSpeaker {
    /// Creates a speaker for this address.
    ///
    /// # Errors
    ///
    /// When the address is invalid.
    pub fn new(settings: &EndpointSettings) -> Result<Self, VoiceError> {
        let model = if settings.model.is_empty() { SPEECH_MODEL } else { settings.model.as_str() };
        let (endpoint, model) = (Endpoint::new(settings, DEFAULT_BASE_URL)?, model.to_owned());
        Ok(Self { endpoint, model, is_own_base: settings.base_url.is_empty() })
    }
}

impl OpenAiListener {
    /// Creates a listener for this address.
    ///
    /// # Errors
    ///
    /// When the address is invalid.
    pub fn new(settings: &EndpointSettings) -> Result<Self, VoiceError> {
        let model = if settings.model.is_empty() { TRANSCRIPTION_MODEL } else { settings.model.as_str() };
        let (endpoint, model) = (Endpoint::new(settings, DEFAULT_BASE_URL)?, model.to_owned());
        Ok(Self { endpoint, model, is_own_base: settings.base_url.is_empty() })
    }
}

#[async_trait]
impl Speaker for OpenAiSpeaker {
    fn provider(&self) -> &'static str {
        "openai"
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn host(&self) -> Option<&str> {
        Some(self.endpoint.name())
    }

    async fn speak(&self, request: &SpeechRequest) -> Result<Sound, VoiceError> {
        let voice = if request.voice.is_empty() { SPEECH_VOICE } else { request.voice.as_str() };
        let body =
            json!({"model": self.model, "voice": voice, "input": request.text, "response_format": "wav"});
        let sent = self.endpoint.post("/audio/speech").json(&body);
        let answer = self.endpoint.fetch(sent, SOUND_BYTES_MAX, SPEAK_TIME_MAX).await?;
        read_sound(&self.endpoint, &answer.content_type, &answer.body, &request.text)
    }

    fn estimated_cost(&self, text: &str) -> Option<f64> {
        self.is_own_base.then(|| text.chars().count() as f64 * SPEECH_PRICE)
    }
}

/// The sound of an answer, which has to be WAV.
pub(crate) fn read_sound(
    endpoint: &Endpoint,
    content_type: &str,
    body: &[u8],
    text: &str,
) -> Result<Sound, VoiceError> {
    Sound::read_speech(body, text).map_err(|error| {
        let kind = if content_type.is_empty() { "no type" } else { content_type };
        VoiceError::NotSound(format!("{} ({kind})", endpoint.name()), error)
    })
}

#[async_trait]
impl Listener for OpenAiListener {
    fn provider(&self) -> &'static str {
        "openai"
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn host(&self) -> Option<&str> {
        Some(self.endpoint.name())
    }

    async fn transcribe(&self, recording: &Recording) -> Result<String, VoiceError> {
        let form = Form::new()
            .text("model", self.model.clone())
            .text("response_format", "json")
            .part("file", wav_part("recording.wav", recording.wav.clone()));
        let sent = self.endpoint.post("/audio/transcriptions").multipart(form);
        let answer = self.endpoint.fetch(sent, TRANSCRIPT_BYTES_MAX, LISTEN_TIME_MAX).await?;
        let parsed: Option<Value> = serde_json::from_slice(&answer.body).ok();
        let text = parsed.as_ref().and_then(|parsed| parsed["text"].as_str());
        text.map(|text| text.trim().to_owned()).ok_or_else(|| {
            VoiceError::Passing(format!("the answer of {} is not a transcript", self.endpoint.name()))
        })
    }

    fn estimated_cost(&self, seconds: u64) -> Option<f64> {
        self.is_own_base.then_some(seconds as f64 * TRANSCRIPTION_PRICE)
    }
}
