//! The ports to speech and transcription, with their types.

use async_trait::async_trait;

use crate::sound::Sound;
use crate::sound_error::SoundError;

/// One sentence to speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpeechRequest {
    /// The text, without markup.
    pub text: String,
    /// The voice as the provider names it; empty for the provider's default.
    pub voice: String,
}

/// A recording to transcribe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// A WAV file that was checked by [`Sound::read`].
    pub wav: Vec<u8>,
    /// The recording's length in seconds.
    pub seconds: u64,
}

/// A sample of a voice to be cloned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VoiceSample {
    /// The name of the file.
    pub file_name: String,
    pub wav: Vec<u8>,
}

#[async_trait]
pub trait Speaker: Send + Sync {
    /// The provider's name in the configuration, such as `command`.
    fn provider(&self) -> &'static str;
    /// The model, or the program, that speaks.
    fn model(&self) -> &str;
    /// The host that texts are sent to; `None` for a local program.
    fn host(&self) -> Option<&str> {
        None
    }
    /// Speaks one sentence. Dropping the future stops the work.
    ///
    /// # Errors
    ///
    /// When nothing was spoken; the error text is for people and contains neither the sentence nor a secret.
    async fn speak(&self, request: &SpeechRequest) -> Result<Sound, VoiceError>;
    /// True if [`Speaker::clone_voice`] is supported.
    fn can_clone(&self) -> bool {
        false
    }
    /// Clones a voice from samples and returns the provider's name for it.
    ///
    /// # Errors
    ///
    /// When the provider can't clone or refuses the samples.
    async fn clone_voice(&self, _name: &str, _samples: &[VoiceSample]) -> Result<String, VoiceError> {
        Err(VoiceError::Unsupported("this voice provider can't clone a voice; fishaudio can".to_owned()))
    }
    /// Estimated cost of speaking a text, in US dollars; `None` if the price is unknown.
    fn estimated_cost(&self, text: &str) -> Option<f64>;
}

#[async_trait]
pub trait Listener: Send + Sync {
    /// The provider's name in the configuration, such as `openai`.
    fn provider(&self) -> &'static str;
    /// The model, or the program, that transcribes.
    fn model(&self) -> &str;
    /// The host that recordings are sent to; `None` for a local program.
    fn host(&self) -> Option<&str> {
        None
    }
    /// Transcribes a recording; empty if nothing was understood. Dropping the future stops the work.
    ///
    /// # Errors
    ///
    /// When transcription failed; the error text is for people and contains no secret.
    async fn transcribe(&self, recording: &Recording) -> Result<String, VoiceError>;
    /// Estimated cost of transcribing this many seconds, in US dollars; `None` if the price is unknown.
    fn estimated_cost(&self, seconds: u64) -> Option<f64>;
}

/// Why speech or transcription failed. The texts are for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VoiceError {
    /// A later attempt may succeed.
    #[error("{0}")]
    Passing(String),
    /// The provider asks for a pause, or its quota is exhausted.
    #[error("{0}")]
    Quota(String),
    /// The call took longer than allowed.
    #[error("{0} did not respond within {1} s")]
    TimedOut(String, u64),
    /// The owner has to change a key, a command or a setting.
    #[error("{0}")]
    Settings(String),
    /// The answer is not playable sound.
    #[error("the answer of {0} can't be played: {1}")]
    NotSound(String, SoundError),
    /// The provider does not support this.
    #[error("{0}")]
    Unsupported(String),
}

/// The language of a sentence: `zh` or `en`; `None` without letters.
pub fn language_code(sentence: &str) -> Option<&'static str> {
    text::Language::from_text(sentence).map(|language| language.choose("zh", "en"))
}
