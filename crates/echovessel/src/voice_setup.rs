//! Who speaks and hears by the configuration, and the local programs that could.

use std::sync::Arc;

use memory::ports::Clock;
use runtime::{LISTENING_FOLDER, Listener, Speaker, VoiceError, VoiceSettings};
use secrecy::SecretString;
use serde_json::{Value as Json, json};
use server::VoiceProgram;
use voice::{
    CommandListener, CommandSpeaker, EndpointSettings, FishSpeaker, InstalledProgram, OpenAiListener,
    OpenAiSpeaker, installed_programs,
};

use crate::config::{Config, Voice};
use crate::home::Home;

/// The variables that are used where the configuration names none.
const OPENAI_KEY: &str = "OPENAI_API_KEY";
const FISH_KEY: &str = "FISH_API_KEY";

/// Who speaks and hears by the configuration; nobody while voice is off.
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
        speaker: speaker(section, clock)?,
        listener: listener(section, home, clock)?,
        voice: section.tts_voice.clone(),
        chinese_voice: section.tts_voices.zh.clone(),
        english_voice: section.tts_voices.en.clone(),
        keep_recordings: section.keep_recordings,
    })
}

fn speaker(section: &Voice, clock: &Arc<dyn Clock>) -> Result<Option<Arc<dyn Speaker>>, VoiceError> {
    let endpoint = |own_key: &str| EndpointSettings {
        base_url: section.tts_base_url.clone(),
        model: section.tts_model.clone(),
        api_key: api_key(&section.tts_api_key_env, own_key, &section.tts_base_url),
        clock: clock.clone(),
    };
    Ok(match section.tts_provider.as_str() {
        "command" => Some(Arc::new(CommandSpeaker::new(section.tts_command.clone(), clock.clone()))),
        "openai" => Some(Arc::new(OpenAiSpeaker::new(&endpoint(OPENAI_KEY))?)),
        "fishaudio" => Some(Arc::new(FishSpeaker::new(&endpoint(FISH_KEY))?)),
        _ => None,
    })
}

fn listener(
    section: &Voice,
    home: &Home,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Arc<dyn Listener>>, VoiceError> {
    Ok(match section.stt_provider.as_str() {
        "command" => {
            let folder = home.voice().join(LISTENING_FOLDER);
            Some(Arc::new(CommandListener::new(section.stt_command.clone(), folder, clock.clone())))
        }
        "openai" => Some(Arc::new(OpenAiListener::new(&EndpointSettings {
            base_url: section.stt_base_url.clone(),
            model: section.stt_model.clone(),
            api_key: api_key(&section.stt_api_key_env, OPENAI_KEY, &section.stt_base_url),
            clock: clock.clone(),
        })?)),
        _ => None,
    })
}

/// The key in the variable that was named. One that nobody named goes to its own provider only.
fn api_key(variable: &str, own_key: &str, base_url: &str) -> Option<SecretString> {
    let is_default = [OPENAI_KEY, FISH_KEY].contains(&variable);
    if is_default && !base_url.is_empty() {
        return None;
    }
    let variable = if is_default { own_key } else { variable };
    std::env::var(variable).ok().filter(|key| !key.is_empty()).map(SecretString::from)
}

fn installed(home: &Home) -> Vec<InstalledProgram> {
    installed_programs(&std::env::var_os("PATH").unwrap_or_default(), &home.voice().join("models"))
}

/// The programs that the page offers.
pub(crate) fn programs(home: &Home) -> Vec<VoiceProgram> {
    let shown = |program: InstalledProgram| VoiceProgram {
        name: program.name.to_owned(),
        speaks: program.speaks,
        voices: program.voices,
    };
    installed(home).into_iter().map(shown).collect()
}

/// What the configuration becomes when this program is used; none where it is not installed.
pub(crate) fn changes_for(home: &Home, name: &str) -> Option<Json> {
    let program = installed(home).into_iter().find(|program| program.name == name)?;
    Some(if program.speaks {
        json!({"voice": {"enabled": true, "tts_provider": "command", "tts_command": program.command,
            "tts_voice": program.voice, "tts_voices": {"zh": program.chinese_voice, "en": ""}}})
    } else {
        json!({"voice": {"enabled": true, "stt_provider": "command", "stt_command": program.command}})
    })
}
