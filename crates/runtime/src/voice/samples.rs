//! Samples of a voice to be cloned, and the persona's voice.

use std::path::Path;

use jiff::Timestamp;
use memory::{PersonaId, Scope};
use serde::{Deserialize, Serialize};
use voice::{LengthTrust, Sound, VoiceSample};

use crate::voice::Voice;
use crate::voice::files::list_matching_files;
use crate::voice::speech::SpeechError;

/// Minimum and maximum length of a sample, in seconds. Shorter ones hold too little of a voice, longer ones take long
/// to send.
const SECONDS: (u64, u64) = (3, 60);
/// Maximum samples of a persona. They are sent together when the voice is cloned.
const SAMPLES_MAX: usize = 20;
/// Maximum length of a stored file name, in characters.
const NAME_LENGTH_MAX: usize = 128;

/// A voice sample in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VoiceSampleInfo {
    /// `s-` and twelve hexadecimal digits.
    pub sample_id: String,
    /// The name of the uploaded file.
    pub filename: String,
    pub size_bytes: usize,
    pub duration_seconds: f64,
    /// Time at which the sample was uploaded.
    pub created_at: Timestamp,
}

impl Voice {
    /// Checks a WAV file and stores it as a sample of the persona's voice.
    pub async fn add_sample(
        &self,
        persona: &PersonaId,
        name: &str,
        wav: &[u8],
    ) -> Result<VoiceSampleInfo, SpeechError> {
        let speech = self.speech()?;
        let refused = |reason: String| SpeechError::Refused(format!("file: {reason}; nothing was saved"));
        let sound =
            Sound::read(wav, LengthTrust::Exact, SECONDS.1).map_err(|error| refused(error.to_string()))?;
        let quality = sound.quality();
        if let Some(problem) = quality.worst_problem(SECONDS.0, SECONDS.1) {
            return Err(refused(problem.to_string()));
        }
        if self.list_samples(persona).await?.len() >= SAMPLES_MAX {
            return Err(refused(format!(
                "the maximum of {SAMPLES_MAX} samples is reached; delete one first"
            )));
        }
        let created_at = self.core.clock().now();
        let digits = self.core.ids().next(created_at).simple().to_string();
        let tail: String = digits.chars().skip(20).collect();
        let info = VoiceSampleInfo {
            sample_id: format!("s-{tail}"),
            filename: name.chars().filter(|letter| !letter.is_control()).take(NAME_LENGTH_MAX).collect(),
            size_bytes: wav.len(),
            duration_seconds: quality.seconds,
            created_at,
        };
        let folder = speech.files.samples_folder(persona);
        speech.files.write(&folder.join(format!("{}.wav", info.sample_id)), &sound.to_wav()).await?;
        // The list consists of these files: a sample without one does not exist.
        let text = serde_json::to_vec(&info).unwrap_or_default();
        speech.files.write(&folder.join(format!("{}.json", info.sample_id)), &text).await?;
        Ok(info)
    }

    /// The samples of a persona, oldest first.
    pub async fn list_samples(&self, persona: &PersonaId) -> Result<Vec<VoiceSampleInfo>, SpeechError> {
        let folder = self.speech()?.files.samples_folder(persona);
        let mut samples = Vec::new();
        for path in list_matching_files(&folder, |name| name.ends_with(".json")).await? {
            let text = tokio::fs::read(path).await?;
            samples.extend(serde_json::from_slice::<VoiceSampleInfo>(&text).ok());
        }
        samples.sort_by(|one, other| {
            (one.created_at, &one.sample_id).cmp(&(other.created_at, &other.sample_id))
        });
        Ok(samples)
    }

    /// Deletes a sample; false if there was none.
    pub async fn remove_sample(&self, persona: &PersonaId, id: &str) -> Result<bool, SpeechError> {
        if !self.list_samples(persona).await?.iter().any(|sample| sample.sample_id == id) {
            return Ok(false);
        }
        let folder = self.speech()?.files.samples_folder(persona);
        tokio::fs::remove_file(folder.join(format!("{id}.json"))).await?;
        tokio::fs::remove_file(folder.join(format!("{id}.wav"))).await?;
        Ok(true)
    }

    /// Makes the provider clone a voice from all samples; returns its name for the voice.
    pub async fn clone_from_samples(&self, persona: &PersonaId, name: &str) -> Result<String, SpeechError> {
        let speech = self.speech()?;
        let settings = speech.settings();
        let speaker = settings.speaker.as_ref().ok_or(SpeechError::Off("no voice provider is configured"))?;
        let listed = self.list_samples(persona).await?;
        if listed.is_empty() {
            return Err(SpeechError::Refused("upload at least one sample of 3 to 60 s first".to_owned()));
        }
        let folder = speech.files.samples_folder(persona);
        let mut samples = Vec::with_capacity(listed.len());
        for sample in listed {
            samples.push(read(&folder, &sample).await?);
        }
        Ok(speaker.clone_voice(name, &samples).await?)
    }

    /// Sets the persona's voice.
    pub async fn choose_voice(&self, scope: &Scope, voice_id: &str) -> Result<(), SpeechError> {
        self.core.ensure_scope_exists(scope).await?;
        Ok(self.core.store().choose_voice(&scope.persona, voice_id).await?)
    }
}

async fn read(folder: &Path, sample: &VoiceSampleInfo) -> Result<VoiceSample, SpeechError> {
    let wav = tokio::fs::read(folder.join(format!("{}.wav", sample.sample_id))).await?;
    Ok(VoiceSample { file_name: format!("{}.wav", sample.sample_id), wav })
}
