//! Finds local programs for speech and transcription on this machine.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::command::VOICE_PLACEHOLDER;

/// Maximum voice files of piper to list. It bounds the choice in the settings.
const PIPER_VOICES_MAX: usize = 200;

/// A program that the provider `command` can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledProgram {
    /// The program's name, such as `espeak-ng`.
    pub name: &'static str,
    /// True for a program that speaks, false for one that transcribes.
    pub speaks: bool,
    /// The argument list for the configuration.
    pub command: Vec<String>,
    /// The default voice; empty if none is needed.
    pub voice: String,
    /// The voice of Chinese sentences; empty if there is none.
    pub chinese_voice: String,
    /// The voices to choose from.
    pub voices: Vec<String>,
}

/// The programs in these folders (of `PATH`) that are ready for use. Models of piper and whisper.cpp are searched in
/// `models`.
pub fn installed_programs(path: &OsStr, models: &Path) -> Vec<InstalledProgram> {
    let find = |names: &[&str]| {
        let file = names.iter().find_map(|name| find_program(name, path))?;
        Some(file.to_string_lossy().into_owned())
    };
    let espeak = find(&["espeak-ng"]).map(espeak_program);
    let piper = find(&["piper"]).and_then(|program| piper_program(program, models));
    let whisper = find(&["whisper-cli", "whisper-cpp"]).and_then(|program| whisper_program(program, models));
    [piper, espeak, whisper].into_iter().flatten().collect()
}

/// The file of a program: the name itself if it has a folder, else the first one with this name in the folders of
/// `PATH`.
pub fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    let named = PathBuf::from(name);
    let folders = std::env::split_paths(path).map(|folder| folder.join(name));
    let has_folder = named.components().count() > 1;
    let mut candidates = has_folder.then_some(named).into_iter().chain(folders.filter(|_| !has_folder));
    candidates.find(|file| file.is_file())
}

fn espeak_program(program: String) -> InstalledProgram {
    let voices = ["en-us", "en-gb", "cmn", "de", "es", "fr", "it", "pt-br", "ru", "pl", "ko", "hi"];
    InstalledProgram {
        name: "espeak-ng",
        speaks: true,
        command: [program.as_str(), "--stdout", "-v", VOICE_PLACEHOLDER].map(str::to_owned).into(),
        voice: "en-us".to_owned(),
        chinese_voice: "cmn".to_owned(),
        voices: voices.map(str::to_owned).into(),
    }
}

/// Piper, unless it has no voice and so can't speak.
fn piper_program(program: String, models: &Path) -> Option<InstalledProgram> {
    let mut voices = files_with_extension(models, "onnx");
    voices.truncate(PIPER_VOICES_MAX);
    let is_chinese = |voice: &&String| file_name(voice).starts_with("zh");
    let chinese_voice = voices.iter().find(is_chinese).cloned().unwrap_or_default();
    let voice = voices.iter().find(|voice| !is_chinese(voice)).or(voices.first())?.clone();
    let command = [&program, "--model", VOICE_PLACEHOLDER, "--output_file", "-"].map(str::to_owned).into();
    Some(InstalledProgram { name: "piper", speaks: true, command, voice, chinese_voice, voices })
}

fn whisper_program(program: String, models: &Path) -> Option<InstalledProgram> {
    let model =
        files_with_extension(models, "bin").into_iter().find(|file| file_name(file).starts_with("ggml"))?;
    let command =
        [program.as_str(), "-m", &model, "-l", "auto", "-nt", "-np", "-f"].map(str::to_owned).into();
    Some(InstalledProgram {
        name: "whisper.cpp",
        speaks: false,
        command,
        voice: String::new(),
        chinese_voice: String::new(),
        voices: Vec::new(),
    })
}

fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(OsStr::to_str).unwrap_or_default()
}

fn files_with_extension(folder: &Path, extension: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let fitting = entries.filter(|path| path.extension().is_some_and(|found| found == extension));
    let mut found: Vec<String> = fitting.map(|path| path.to_string_lossy().into_owned()).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_offered_when_they_can_work() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| std::fs::write(folder.path().join(name), "").unwrap();
        let found = || installed_programs(folder.path().as_os_str(), folder.path());
        assert_eq!(found(), []);
        ["espeak-ng", "piper", "whisper-cli"].into_iter().for_each(place);
        assert_eq!(found().iter().map(|one| one.name).collect::<Vec<_>>(), ["espeak-ng"]);
        ["en_US-amy.onnx", "zh_CN-huayan.onnx", "ggml-base.bin"].into_iter().for_each(place);
        let found = found();
        assert_eq!(
            found.iter().map(|one| one.name).collect::<Vec<_>>(),
            ["piper", "espeak-ng", "whisper.cpp"]
        );
        assert!(
            found[0].voice.ends_with("en_US-amy.onnx")
                && found[0].chinese_voice.ends_with("zh_CN-huayan.onnx")
        );
        assert!(found[2].command.iter().any(|one| one.ends_with("ggml-base.bin")) && !found[2].speaks);
    }
}
