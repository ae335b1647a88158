//! Providers of speech and transcription from the configuration, and local programs that could be used.

use std::sync::Arc;

use memory::ports::Clock;
use runtime::{LISTENING_FOLDER, Listener, Speaker, VoiceError, VoiceSettings};
use secrecy::SecretString;
use serde_json::{Value as Json, json};
use server::VoiceProgram;
use voice::{
    CommandListener, CommandSpeaker, EndpointSettings, FishSpeaker, InstalledProgram, OpenAiListener,
    OpenAiSpeaker, find_program, installed_programs,
};

use crate::config::{Config, SpeechProvider, TranscriptProvider, Voice};
use crate::home::Home;

/// Variables to use if the configuration names none.
const OPENAI_KEY: &str = "OPENAI_API_KEY";
const FISH_KEY: &str = "FISH_API_KEY";

/// Voice providers of the configuration; `None` while voice is off.
pub(crate) fn voice_settings(
    config: &Config,
    home: &Home,
    clock: &Arc<dyn Clock>,
) -> Result<VoiceSettings, VoiceError> {
    let section = &config.voice;
    if !section.enabled {
        return Ok(VoiceSettings::default());
    }
    Ok(VoiceSettings {
        speaker: connect_speaker(section, clock)?,
        listener: connect_listener(section, home, clock)?,
        voice: section.tts_voice.clone(),
        chinese_voice: section.tts_voices.zh.clone(),
        english_voice: section.tts_voices.en.clone(),
        keep_recordings: section.keep_recordings,
    })
}

/// The hosts that texts and recordings are sent to, for the start line: `api.fish.audio for speech`.
pub(crate) fn voice_hosts(settings: &VoiceSettings) -> Vec<String> {
    let speaks = settings.speaker.as_ref().and_then(|speaker| speaker.host()).map(|host| (host, "speech"));
    let hears =
        settings.listener.as_ref().and_then(|listener| listener.host()).map(|host| (host, "transcription"));
    speaks.into_iter().chain(hears).map(|(host, purpose)| format!("{host} for {purpose}")).collect()
}

fn connect_speaker(section: &Voice, clock: &Arc<dyn Clock>) -> Result<Option<Arc<dyn Speaker>>, VoiceError> {
    let endpoint = |own_key: &str| {
        let key = ApiKey { setting: "voice.tts_api_key_env", variable: &section.tts_api_key_env, own_key };
        Ok::<_, VoiceError>(EndpointSettings {
            base_url: section.tts_base_url.clone(),
            model: section.tts_model.clone(),
            api_key: key.read(&section.tts_base_url)?,
            clock: clock.clone(),
        })
    };
    Ok(match section.tts_provider {
        SpeechProvider::Command => {
            check_program("voice.tts_command", &section.tts_command)?;
            Some(Arc::new(CommandSpeaker::new(section.tts_command.clone(), clock.clone())))
        }
        SpeechProvider::OpenAi => Some(Arc::new(OpenAiSpeaker::new(&endpoint(OPENAI_KEY)?)?)),
        SpeechProvider::FishAudio => Some(Arc::new(FishSpeaker::new(&endpoint(FISH_KEY)?)?)),
        SpeechProvider::None => None,
    })
}

fn connect_listener(
    section: &Voice,
    home: &Home,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Arc<dyn Listener>>, VoiceError> {
    Ok(match section.stt_provider {
        TranscriptProvider::Command => {
            check_program("voice.stt_command", &section.stt_command)?;
            let folder = home.voice().join(LISTENING_FOLDER);
            Some(Arc::new(CommandListener::new(section.stt_command.clone(), folder, clock.clone())))
        }
        TranscriptProvider::OpenAi => {
            let (setting, variable) = ("voice.stt_api_key_env", &section.stt_api_key_env);
            let key = ApiKey { setting, variable, own_key: OPENAI_KEY };
            Some(Arc::new(OpenAiListener::new(&EndpointSettings {
                base_url: section.stt_base_url.clone(),
                model: section.stt_model.clone(),
                api_key: key.read(&section.stt_base_url)?,
                clock: clock.clone(),
            })?))
        }
        TranscriptProvider::None => None,
    })
}

/// Folders of programs if `PATH` is not set.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Checks that a program exists: a missing one is an error at start, not at the first reply.
fn check_program(setting: &str, command: &[String]) -> Result<(), VoiceError> {
    let program = command.first().map_or("", String::as_str);
    match find_program(program, &std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into())) {
        Some(_) => Ok(()),
        None => Err(VoiceError::Settings(format!(
            "{setting}: the program `{program}` is not installed; install it, write its whole path, or set voice.enabled \
             to false"
        ))),
    }
}

/// The source of a provider's key.
struct ApiKey<'a> {
    /// The setting that names the environment variable.
    setting: &'a str,
    variable: &'a str,
    /// The environment variable that the provider documents.
    own_key: &'a str,
}

impl ApiKey<'_> {
    /// Reads the key. A variable that no setting names is sent only to its own provider, which needs it.
    fn read(&self, base_url: &str) -> Result<Option<SecretString>, VoiceError> {
        let is_default = [OPENAI_KEY, FISH_KEY].contains(&self.variable);
        if is_default && !base_url.is_empty() {
            return Ok(None);
        }
        let variable = if is_default { self.own_key } else { self.variable };
        if variable.is_empty() && !base_url.is_empty() {
            return Ok(None);
        }
        match std::env::var(variable).ok().filter(|key| !key.trim().is_empty()) {
            Some(key) => Ok(Some(SecretString::from(key))),
            None => Err(VoiceError::Settings(format!(
                "{}: the environment variable {variable} holds no key; set it, name another variable, or set \
                 voice.enabled to false",
                self.setting
            ))),
        }
    }
}

fn installed_programs_of_home(home: &Home) -> Vec<InstalledProgram> {
    installed_programs(&std::env::var_os("PATH").unwrap_or_default(), &home.voice().join("models"))
}

/// The voice programs that the web UI offers.
pub(crate) fn voice_programs(home: &Home) -> Vec<VoiceProgram> {
    let shown = |program: InstalledProgram| VoiceProgram {
        name: program.name.to_owned(),
        speaks: program.speaks,
        voices: program.voices,
    };
    installed_programs_of_home(home).into_iter().map(shown).collect()
}

/// Changes to the configuration for using this program; empty if it is not installed.
pub(crate) fn config_changes(home: &Home, name: &str) -> Option<Json> {
    let program = installed_programs_of_home(home).into_iter().find(|program| program.name == name)?;
    Some(if program.speaks {
        json!({"voice": {"enabled": true, "tts_provider": "command", "tts_command": program.command,
            "tts_voice": program.voice, "tts_voices": {"zh": program.chinese_voice, "en": ""}}})
    } else {
        json!({"voice": {"enabled": true, "stt_provider": "command", "stt_command": program.command}})
    })
}
