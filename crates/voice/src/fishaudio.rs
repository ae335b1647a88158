//! Fish Audio: speech, and voice cloning.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::multipart::Form;
use serde_json::{Value, json};

use crate::endpoint::{Endpoint, EndpointSettings, wav_part};
use crate::openai::read_sound;
use crate::provider::{Speaker, SpeechRequest, VoiceError, VoiceSample};
use crate::sound::Sound;

const DEFAULT_BASE_URL: &str = "https://api.fish.audio";
const MODEL: &str = "s1";
/// Estimated US dollars per byte of text at Fish Audio.
const PRICE: f64 = 15.0 / 1_000_000.0;
/// Time limit for speaking one reply. It takes seconds; a person waits for it.
const SPEAK_TIME_MAX: Duration = Duration::from_secs(30);
/// Time limit for cloning. Minutes of recordings are uploaded and learned from meanwhile.
const CLONE_TIME_MAX: Duration = Duration::from_secs(300);
/// Maximum bytes of a sound: half an hour as MP3 with 128 kbit/s.
const SOUND_BYTES_MAX: usize = 32 * 1024 * 1024;
const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// Speaks with Fish Audio.
pub struct FishSpeaker {
    endpoint: Endpoint,
    model: String,
    is_own_base: bool,
}

impl FishSpeaker {
    /// Creates a speaker for this address.
    ///
    /// # Errors
    ///
    /// When the address is invalid.
    pub fn new(settings: &EndpointSettings) -> Result<Self, VoiceError> {
        let model = if settings.model.is_empty() { MODEL } else { settings.model.as_str() };
        let (endpoint, model) = (Endpoint::new(settings, DEFAULT_BASE_URL)?, model.to_owned());
        Ok(Self { endpoint, model, is_own_base: settings.base_url.is_empty() })
    }
}

#[async_trait]
impl Speaker for FishSpeaker {
    fn provider(&self) -> &'static str {
        "fishaudio"
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn host(&self) -> Option<&str> {
        Some(self.endpoint.name())
    }

    async fn speak(&self, request: &SpeechRequest) -> Result<Sound, VoiceError> {
        let mut body = json!({"text": request.text, "format": "wav"});
        if !request.voice.is_empty() {
            body["reference_id"] = json!(request.voice);
        }
        let sent = self.endpoint.post("/v1/tts").header("model", &self.model).json(&body);
        let answer = self.endpoint.fetch(sent, SOUND_BYTES_MAX, SPEAK_TIME_MAX).await?;
        read_sound(&self.endpoint, &answer.content_type, &answer.body, &request.text)
    }

    fn can_clone(&self) -> bool {
        true
    }

    async fn clone_voice(&self, name: &str, samples: &[VoiceSample]) -> Result<String, VoiceError> {
        let form = Form::new()
            .text("type", "tts")
            .text("visibility", "private")
            .text("train_mode", "fast")
            .text("title", name.to_owned());
        let form = samples
            .iter()
            .fold(form, |form, sample| form.part("voices", wav_part(&sample.file_name, sample.wav.clone())));
        let sent = self.endpoint.post("/model").multipart(form);
        let answer = self.endpoint.fetch(sent, ANSWER_BYTES_MAX, CLONE_TIME_MAX).await?;
        let parsed: Option<Value> = serde_json::from_slice(&answer.body).ok();
        let id = parsed.as_ref().and_then(|parsed| parsed["_id"].as_str()).filter(|id| !id.is_empty());
        id.map(str::to_owned).ok_or_else(|| {
            VoiceError::Passing(format!("the answer of {} names no voice", self.endpoint.name()))
        })
    }

    fn estimated_cost(&self, text: &str) -> Option<f64> {
        self.is_own_base.then_some(text.len() as f64 * PRICE)
    }
}
