//! Local programs: text on standard input and WAV on standard output, or a WAV file and text. No shell.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use memory::ports::Clock;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::provider::{Listener, Recording, Speaker, SpeechRequest, VoiceError};
use crate::sound::Sound;

/// Placeholder in a command for the voice of the sentence.
pub const VOICE_PLACEHOLDER: &str = "{voice}";

/// Limits for running a program.
struct RunLimits {
    time_max: Duration,
    bytes_max: u64,
    /// True if an empty output is valid.
    may_be_empty: bool,
}

const SPEAKING_LIMITS: RunLimits =
    RunLimits { time_max: Duration::from_secs(30), bytes_max: 32 * 1024 * 1024, may_be_empty: false };
/// Limits for transcribing one recording, which may contain no speech.
const LISTENING_LIMITS: RunLimits =
    RunLimits { time_max: Duration::from_secs(300), bytes_max: 256 * 1024, may_be_empty: true };
/// Maximum bytes to keep of a program's error output. The last lines show why it ended; it may have written without
/// end.
const COMPLAINT_BYTES_MAX: u64 = 2_048;
/// Maximum characters of a program's error output that a message repeats: enough for the reason.
const COMPLAINT_LENGTH_MAX: usize = 200;

/// Speaks with a local program.
pub struct CommandSpeaker {
    command: Vec<String>,
    clock: Arc<dyn Clock>,
}

/// Transcribes with a local program: the path of a WAV file is its last argument.
pub struct CommandListener {
    command: Vec<String>,
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    files: AtomicU64,
}

impl CommandSpeaker {
    /// Creates a speaker that runs `command` for each sentence, with the voice in place of [`VOICE_PLACEHOLDER`].
    pub fn new(command: Vec<String>, clock: Arc<dyn Clock>) -> Self {
        Self { command, clock }
    }
}

impl CommandListener {
    /// Creates a listener that runs `command` for each recording, whose file is in `folder` meanwhile.
    pub fn new(command: Vec<String>, folder: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self { command, folder, clock, files: AtomicU64::new(0) }
    }
}

#[async_trait]
impl Speaker for CommandSpeaker {
    fn provider(&self) -> &'static str {
        "command"
    }

    fn model(&self) -> &str {
        program_name(&self.command)
    }

    async fn speak(&self, request: &SpeechRequest) -> Result<Sound, VoiceError> {
        let command: Vec<String> =
            self.command.iter().map(|part| part.replace(VOICE_PLACEHOLDER, &request.voice)).collect();
        // A voice that looks like an option must not become one.
        if request.voice.starts_with('-') {
            return Err(VoiceError::Settings("the name of a voice can't begin with a hyphen".to_owned()));
        }
        let text = format!("{}\n", request.text.replace(['\n', '\r', '\0'], " "));
        let input = text.into_bytes();
        let bytes = run(&command, input, &SPEAKING_LIMITS, &*self.clock).await?;
        Sound::read_speech(&bytes, &request.text)
            .map_err(|error| VoiceError::NotSound(self.model().to_owned(), error))
    }

    fn estimated_cost(&self, _: &str) -> Option<f64> {
        Some(0.0)
    }
}

#[async_trait]
impl Listener for CommandListener {
    fn provider(&self) -> &'static str {
        "command"
    }

    fn model(&self) -> &str {
        program_name(&self.command)
    }

    async fn transcribe(&self, recording: &Recording) -> Result<String, VoiceError> {
        // Relaxed: the number only has to be unique.
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("listening-{}-{number}.wav", std::process::id()));
        let file = TemporaryFile(path);
        let write = || {
            std::fs::create_dir_all(&self.folder)?;
            File::create_new(&file.0)?.write_all(&recording.wav)
        };
        write().map_err(|error| VoiceError::Passing(format!("the recording can't be written: {error}")))?;
        let mut command = self.command.clone();
        command.push(file.0.to_string_lossy().into_owned());
        let bytes = run(&command, Vec::new(), &LISTENING_LIMITS, &*self.clock).await?;
        Ok(String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<_>>().join(" "))
    }

    fn estimated_cost(&self, _: u64) -> Option<f64> {
        Some(0.0)
    }
}

/// Deleted when the value is dropped.
struct TemporaryFile(PathBuf);

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn program_name(command: &[String]) -> &str {
    let program = command.first().map_or("", String::as_str);
    program.rsplit(['/', '\\']).next().unwrap_or(program)
}

/// A running program; dropping it ends the program.
///
/// Shared with the thread that waits for its end.
struct RunningProgram(Arc<Mutex<Child>>);

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let _ = self.0.lock().kill();
    }
}

struct Outcome {
    output: Vec<u8>,
    complaint: String,
    status: io::Result<ExitStatus>,
}

/// Environment variables that a child process gets, by name or prefix. The daemon's environment contains keys and
/// tokens, which no program needs for speech or for showing a page.
const CHILD_VARIABLES: [&str; 32] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "TMPDIR",
    "DISPLAY",
    "XAUTHORITY",
    "BROWSER",
    "DESKTOP_SESSION",
    "XDG_*",
    "WAYLAND_*",
    "DBUS_SESSION_*",
    "KDE_*",
    "GNOME_*",
    "PULSE_*",
    "PIPEWIRE_*",
    "ALSA_*",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "CUDA_*",
    "HIP_*",
    "ESPEAK_*",
    "PIPER_*",
];

/// The environment of programs that this one starts.
pub fn child_environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_child_variable)).collect()
}

fn is_child_variable(name: &str) -> bool {
    CHILD_VARIABLES.iter().any(|known| match known.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *known,
    })
}

/// Runs a program and returns its standard output. It is ended at its time limit, when its output is too long, and
/// when the future is dropped.
async fn run(
    command: &[String],
    input: Vec<u8>,
    limits: &RunLimits,
    clock: &dyn Clock,
) -> Result<Vec<u8>, VoiceError> {
    let bytes_max = limits.bytes_max;
    let name = program_name(command).to_owned();
    let (program, arguments) =
        command.split_first().ok_or_else(|| VoiceError::Settings("the command is empty".to_owned()))?;
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(child_environment())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            VoiceError::Settings(format!("{name} can't be started: {error}; is it installed?"))
        })?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let running = RunningProgram(Arc::new(Mutex::new(child)));
    let (sender, ended) = oneshot::channel();
    let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(VoiceError::Passing(format!("{name} has no pipes")));
    };
    // A program may read nothing before it has written, so each pipe has its own thread.
    std::thread::spawn(move || stdin.write_all(&input));
    let complaint = std::thread::spawn(move || read_up_to(stderr, COMPLAINT_BYTES_MAX));
    let child = running.0.clone();
    std::thread::spawn(move || {
        let output = read_up_to(stdout, bytes_max + 1);
        let is_long = output.len() as u64 > bytes_max;
        let mut child = child.lock();
        // Nothing more is read from it. The status of a program that has ended does not change.
        let _ = child.kill();
        let status = child.wait();
        drop(child);
        let complaint = if is_long { Vec::new() } else { complaint.join().unwrap_or_default() };
        let complaint = String::from_utf8_lossy(&complaint).into_owned();
        sender.send(Outcome { output, complaint, status })
    });
    let outcome = tokio::select! {
        outcome = ended => outcome.map_err(|_| VoiceError::Passing(format!("{name} ended unexpectedly")))?,
        () = clock.sleep(limits.time_max) => {
            return Err(VoiceError::TimedOut(name, limits.time_max.as_secs()));
        }
    };
    drop(running);
    check_outcome(outcome, &name, limits)
}

fn check_outcome(outcome: Outcome, name: &str, limits: &RunLimits) -> Result<Vec<u8>, VoiceError> {
    let bytes_max = limits.bytes_max;
    if outcome.output.len() as u64 > bytes_max {
        return Err(VoiceError::Passing(format!("{name} wrote more than {bytes_max} bytes and was stopped")));
    }
    let code = outcome.status.as_ref().ok().and_then(ExitStatus::code);
    if code.is_some_and(|code| code != 0) || outcome.output.is_empty() && !limits.may_be_empty {
        let complaint: String = outcome.complaint.trim().chars().take(COMPLAINT_LENGTH_MAX).collect();
        let code = code.map_or(String::new(), |code| format!(" (exit code {code})"));
        return Err(VoiceError::Passing(format!("{name} failed{code}: {complaint}")));
    }
    Ok(outcome.output)
}

/// Reads until the end or the limit; an error counts as the end.
fn read_up_to(pipe: impl Read, bytes_max: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = pipe.take(bytes_max).read_to_end(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_gets_no_secret() {
        for secret in [
            "ECHOVESSEL_TOKEN",
            "OPENAI_API_KEY",
            "PGPASSWORD",
            "AWS_SECRET_ACCESS_KEY",
            "MY_PATH",
            "LD_PRELOAD",
        ] {
            assert!(!is_child_variable(secret), "{secret}");
        }
        for needed in ["PATH", "HOME", "LC_ALL", "XDG_RUNTIME_DIR", "WAYLAND_DISPLAY"] {
            assert!(is_child_variable(needed), "{needed}");
        }
    }
}
