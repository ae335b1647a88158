use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use testkit::SimulatedClock;
use voice::{
    CommandListener, CommandSpeaker, LengthTrust, Listener as _, Recording, Sound, Speaker as _,
    SpeechRequest, VoiceError, estimated_duration,
};

fn clock() -> SimulatedClock {
    SimulatedClock::new(Timestamp::UNIX_EPOCH)
}

fn speaker(command: &[&str], clock: &SimulatedClock) -> CommandSpeaker {
    let command = command.iter().map(|part| (*part).to_owned()).collect();
    CommandSpeaker::new(command, Arc::new(clock.clone()))
}

fn espeak() -> CommandSpeaker {
    speaker(&["espeak-ng", "--stdout", "-v", "{voice}"], &clock())
}

fn request(text: &str, voice: &str) -> SpeechRequest {
    SpeechRequest { text: text.to_owned(), voice: voice.to_owned() }
}

#[tokio::test]
async fn a_local_program_speaks_both_languages_for_as_long_as_estimated() {
    for (voice, text) in [
        ("en-us", "I remember that you moved to a small town by the sea last spring."),
        ("en-us", "How was your first day at the new school, and did the children like you?"),
        ("cmn", "我记得你去年春天搬到了海边的一个小城。"),
    ] {
        let sound = espeak().speak(&request(text, voice)).await.unwrap();
        let (estimate, quality) = (estimated_duration(text), sound.quality());
        assert_eq!(sound.sample_rate(), 22_050);
        let ratio = sound.seconds() / estimate;
        assert!((ratio - 1.0).abs() <= 0.2, "{text}: {} s, estimated {estimate} s", sound.seconds());
        assert!(quality.loudness_dbfs > -40.0 && quality.silent_share < 0.5, "{text}: {quality:?}");
        assert_eq!(Sound::read(&sound.to_wav(), LengthTrust::Exact, 60).unwrap(), sound);
    }
}

#[tokio::test]
async fn words_are_neither_options_nor_commands() {
    let text = "--help; $(touch hacked) `touch hacked` | cat";
    let sound = espeak().speak(&request(text, "en-us")).await.unwrap();
    assert!(sound.seconds() > 1.0);
    assert!(!Path::new("hacked").exists());
    assert!(matches!(espeak().speak(&request("hello", "--path=/etc")).await, Err(VoiceError::Settings(_))));
}

#[tokio::test]
async fn a_program_that_fails_says_why() {
    let error = async |command: &[&str]| {
        speaker(command, &clock()).speak(&request("hello", "")).await.unwrap_err().to_string()
    };
    assert!(error(&["no-such-program"]).await.contains("no-such-program can't be started"));
    assert!(error(&["sh", "-c", "echo no voice >&2; exit 3"]).await.contains("(exit code 3): no voice"));
    assert!(error(&["cat"]).await.contains("neither a WAV nor an Ogg Opus file"));
    assert!(error(&["true"]).await.contains("failed"));
    assert!(error(&["cat", "/dev/zero"]).await.contains("wrote more than"));
}

/// One second of silence.
fn silence() -> Vec<u8> {
    Sound::new(vec![0; 16_000], 16_000).to_wav()
}

#[tokio::test]
async fn a_program_that_speaks_silence_has_failed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("silence.wav");
    std::fs::write(&file, silence()).unwrap();
    let speaker = speaker(&["cat", file.to_str().unwrap()], &clock());
    let error = speaker.speak(&request("hello", "")).await.unwrap_err();
    assert!(matches!(error, VoiceError::NotSound(..)) && error.to_string().contains("silent"), "{error}");
}

#[tokio::test]
async fn a_program_that_hears_no_words_has_heard_none() {
    let folder = tempfile::tempdir().unwrap();
    let listener = |script: &str| {
        let command = ["sh", "-c", script, "sh"].map(str::to_owned).into();
        CommandListener::new(command, folder.path().to_owned(), Arc::new(clock()))
    };
    let recording = Recording { wav: silence(), seconds: 1 };
    for nothing in ["true", "echo", "echo 'loading the model' >&2"] {
        assert_eq!(listener(nothing).transcribe(&recording).await.unwrap(), "", "{nothing}");
    }
    assert!(listener("exit 3").transcribe(&recording).await.is_err());
}

#[test]
fn a_recording_whose_writer_did_not_know_its_length_is_read() {
    let whole = Sound::new(vec![900; 16_000], 16_000).to_wav();
    for length in [u32::MAX, 0x7fff_ffff, 0x7fff_ffff - 36, 0x7fff_f000, 0] {
        let mut open = whole.clone();
        open[4..8].copy_from_slice(&length.to_le_bytes());
        open[40..44].copy_from_slice(&length.to_le_bytes());
        assert!(
            (Sound::read(&open, LengthTrust::Exact, 60).unwrap().seconds() - 1.0).abs() < 0.001,
            "{length:x}"
        );
    }
}

#[tokio::test]
async fn a_program_that_hangs_is_ended_when_its_time_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let script = format!("echo $$ > {}; exec tail -f /dev/null", pid_file.display());
    let clock = clock();
    let speaker = speaker(&["sh", "-c", &script], &clock);
    let speaking = tokio::spawn(async move { speaker.speak(&request("hello", "")).await });
    clock.wait_for_sleepers(1).await;
    let pid = loop {
        match std::fs::read_to_string(&pid_file) {
            Ok(pid) if pid.ends_with('\n') => break pid.trim().to_owned(),
            _ => tokio::task::yield_now().await,
        }
    };
    clock.advance(Duration::from_secs(31)).await;
    assert!(matches!(speaking.await.unwrap(), Err(VoiceError::TimedOut(_, 30))));
    // The kernel was notified before the error was returned; the process ends in a moment, or the test times out.
    while Command::new("kill").args(["-0", &pid]).output().unwrap().status.success() {
        tokio::task::yield_now().await;
    }
}

// Debian's pocketsphinx includes a small English model; `make test` installs it where there is apt.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn spoken_text_is_recognised_by_another_program() {
    let recogniser = Command::new("pocketsphinx_continuous").output();
    assert!(recogniser.is_ok(), "install pocketsphinx and pocketsphinx-en-us: `make test` does");
    let sound = espeak().speak(&request("hello world. good morning.", "en-us")).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    // pocketsphinx reads 16,000 samples per second.
    let mut resampled = Sound::new(vec![0; 1_600], 16_000);
    resampled.append(&sound);
    let script = "pocketsphinx_continuous -logfn /dev/null -infile \"$1\"";
    let command = ["sh", "-c", script, "sh"].map(str::to_owned).into();
    let listener = CommandListener::new(command, folder.path().to_owned(), Arc::new(clock()));
    let recording = Recording { wav: resampled.to_wav(), seconds: 3 };
    let heard = listener.transcribe(&recording).await.unwrap();
    assert!(
        heard.contains("hello") || heard.contains("world") || heard.contains("morning"),
        "heard: {heard}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file is gone");
}
