//! The two traits, and what is exchanged through them.

use async_trait::async_trait;

use crate::sound::Sound;
use crate::sound_error::SoundError;

/// One sentence to speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpeechRequest {
    /// The words, without markup.
    pub text: String,
    /// The voice as the provider names it; empty for the provider's default.
    pub voice: String,
}

/// A recording to understand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// A WAV file that was checked by [`Sound::read`].
    pub wav: Vec<u8>,
    /// The recording's length in seconds.
    pub seconds: u64,
}

/// A sample of a voice that is to be cloned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VoiceSample {
    /// The name of the file.
    pub file_name: String,
    pub wav: Vec<u8>,
}

#[async_trait]
pub trait Speaker: Send + Sync {
    /// The provider's word in the configuration, as `command`.
    fn provider(&self) -> &'static str;
    /// The model, or the program, that speaks.
    fn model(&self) -> &str;
    /// The host that words are sent to; none for a local program.
    fn host(&self) -> Option<&str> {
        None
    }
    /// Speaks one sentence. Dropping the future stops the work.
    ///
    /// # Errors
    /// When nothing was spoken; the message is for people and holds neither the words nor a secret.
    async fn speak(&self, request: &SpeechRequest) -> Result<Sound, VoiceError>;
    /// True if [`Speaker::clone_voice`] can work.
    fn can_clone(&self) -> bool {
        false
    }
    /// Makes a voice of samples and returns the provider's name for it.
    ///
    /// # Errors
    /// When the provider can't clone or refuses the samples.
    async fn clone_voice(&self, _name: &str, _samples: &[VoiceSample]) -> Result<String, VoiceError> {
        Err(VoiceError::Unsupported("this voice provider can't clone a voice; fishaudio can".to_owned()))
    }
    /// Estimated cost of speaking a text, in US dollars; `None` if the price is unknown.
    fn estimated_cost(&self, text: &str) -> Option<f64>;
}

#[async_trait]
pub trait Listener: Send + Sync {
    /// The provider's word in the configuration, as `openai`.
    fn provider(&self) -> &'static str;
    /// The model, or the program, that listens.
    fn model(&self) -> &str;
    /// The host that recordings are sent to; none for a local program.
    fn host(&self) -> Option<&str> {
        None
    }
    /// Writes down what a recording says; empty when nothing was understood. Dropping the future stops the work.
    ///
    /// # Errors
    /// When nothing was understood; the message is for people and holds no secret.
    async fn transcribe(&self, recording: &Recording) -> Result<String, VoiceError>;
    /// Estimated cost of transcribing this many seconds, in US dollars; `None` if the price is unknown.
    fn estimated_cost(&self, seconds: u64) -> Option<f64>;
}

/// Why nothing was spoken or understood. The messages are for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VoiceError {
    /// A later try may succeed.
    #[error("{0}")]
    Passing(String),
    /// The provider asks for a pause, or its quota is used up.
    #[error("{0}")]
    Quota(String),
    /// The call took longer than allowed.
    #[error("{0} gave no answer within {1} s")]
    TimedOut(String, u64),
    /// The owner has to act: a key, a command, a setting.
    #[error("{0}")]
    Settings(String),
    /// The answer is not sound that can be played.
    #[error("the answer of {0} can't be played: {1}")]
    NotSound(String, SoundError),
    /// The provider has no such ability.
    #[error("{0}")]
    Unsupported(String),
}

/// The language of a sentence: `zh` or `en`; `None` where no letter is to be read.
pub fn language_code(sentence: &str) -> Option<&'static str> {
    text::Language::from_text(sentence).map(|language| language.choose("zh", "en"))
}
