//! The providers of speech and transcription, and their pauses after failures.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::{MessageId, TurnId};
use memory::ledger::ModelCall;
use memory::ports::StoreError;
use mind::CallObserver;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use voice::{Listener, Sound, Speaker, SpeechRequest, VoiceError};

use crate::core::RuntimeCore;
use crate::voice::files::VoiceFiles;

/// Consecutive failures after which nothing is spoken for a while. A provider that fails three times is unavailable
/// or out of credit; the text of the reply is there anyway.
const FAILURES_MAX: u32 = 3;
/// Pause of a voice provider after a failure. Most outages and rate limits are over by then.
const FAILURE_PAUSE: Duration = Duration::from_secs(300);
/// Maximum length of one message's sound, in seconds; the rest stays text. Cost depends on the length, and nobody
/// listens longer to one message.
pub(crate) const MESSAGE_SECONDS_MAX: f64 = 600.0;
/// Recordings of channels that are fetched and transcribed at the same time. Transcribing may take a processor for
/// seconds, and turns need it too.
const TRANSCRIPTIONS_AT_ONCE: usize = 2;
/// Maximum length of a recording, in seconds. The text of ten minutes fits into one message.
pub(crate) const RECORDING_SECONDS_MAX: u64 = 600;
/// Maximum bytes of sentences of running replies that are held for listeners. A sentence has about 200 KB, so some
/// eighty fit.
const CACHED_SENTENCES_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Voice providers, as configured.
#[derive(Clone, Default)]
pub struct VoiceSettings {
    /// The provider of speech; `None` if replies are text only.
    pub speaker: Option<Arc<dyn Speaker>>,
    /// The provider of transcription, if any.
    pub listener: Option<Arc<dyn Listener>>,
    /// The default voice for sentences; empty for the provider's default.
    pub voice: String,
    /// The voice of Chinese sentences; empty for [`VoiceSettings::voice`].
    pub chinese_voice: String,
    /// The voice of English sentences; empty for [`VoiceSettings::voice`].
    pub english_voice: String,
    /// True if recordings are stored with their messages.
    pub keep_recordings: bool,
}

/// The dependencies of the voice service.
pub struct VoiceParts {
    /// The folder of sound files.
    pub folder: PathBuf,
    /// Records the cost of calls.
    pub ledger: Arc<dyn CallObserver>,
    /// The settings at the start.
    pub settings: VoiceSettings,
}

/// Why speech, transcription or cloning failed.
#[derive(Debug, thiserror::Error)]
pub enum SpeechError {
    /// Voice is off, or the provider does not support this.
    #[error("{0}")]
    Off(&'static str),
    /// The recording is unusable.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Provider(#[from] VoiceError),
    /// Sound files can't be read or written.
    #[error("the sound file could not be read or written: {0}; messages and memory are not affected")]
    Storage(#[from] std::io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A message with sound.
#[derive(Clone, Debug, PartialEq)]
pub struct SpokenMessage {
    pub message_id: MessageId,
    pub duration_seconds: f64,
    /// True if the sound existed before.
    pub cached: bool,
}

/// The transcript of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Transcript {
    /// The text; empty if nothing was understood.
    pub text: String,
    /// The length of the recording.
    pub duration_seconds: f64,
    /// Id of the recording, for the message that will be sent; `None` if recordings are not stored.
    pub recording_id: Option<String>,
}

/// The providers of speech and transcription, with the stored sound.
pub(crate) struct Speech {
    pub(crate) files: VoiceFiles,
    /// Permits for concurrent transcriptions.
    pub(crate) hearing: Semaphore,
    settings: ArcSwap<VoiceSettings>,
    ledger: Arc<dyn CallObserver>,
    /// Shared by all turns, so that only one of them waits for a failing provider.
    rest: Mutex<PauseState>,
    /// Sentences of running turns, for players that request them. Forgetting removes them.
    live: Mutex<VecDeque<CachedSentence>>,
}

#[derive(Default)]
struct PauseState {
    failures: u32,
    until: Option<Timestamp>,
}

struct CachedSentence {
    scope: Scope,
    turn: TurnId,
    index: u32,
    wav: Arc<Vec<u8>>,
}

impl Speech {
    pub(crate) fn new(parts: VoiceParts) -> Self {
        Self {
            files: VoiceFiles::new(parts.folder),
            hearing: Semaphore::new(TRANSCRIPTIONS_AT_ONCE),
            settings: ArcSwap::from_pointee(parts.settings),
            ledger: parts.ledger,
            rest: Mutex::default(),
            live: Mutex::default(),
        }
    }

    pub(crate) fn settings(&self) -> Arc<VoiceSettings> {
        self.settings.load_full()
    }

    /// Applies other providers and voices. Running speech ends as it began.
    pub(crate) fn change_settings(&self, settings: VoiceSettings) {
        self.settings.store(Arc::new(settings));
        *self.rest.lock() = PauseState::default();
    }

    /// Time until which no reply is spoken, after repeated failures; `None` if speech works.
    pub(crate) fn rests_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.rest.lock().until.filter(|until| *until > now)
    }

    /// A sentence of a reply that is being spoken, with its scope; `None` if it was dropped.
    pub(crate) fn cached_sentence(&self, turn: TurnId, index: u32) -> Option<(Scope, Arc<Vec<u8>>)> {
        let live = self.live.lock();
        let found = live.iter().find(|sentence| sentence.turn == turn && sentence.index == index);
        found.map(|sentence| (sentence.scope.clone(), sentence.wav.clone()))
    }

    /// Adds a spoken sentence to the cache for listeners; the oldest ones are dropped when it is full.
    pub(crate) fn cache_sentence(&self, scope: &Scope, turn: TurnId, index: u32, wav: Vec<u8>) {
        let mut live = self.live.lock();
        live.push_back(CachedSentence { scope: scope.clone(), turn, index, wav: Arc::new(wav) });
        let mut bytes: usize = live.iter().map(|sentence| sentence.wav.len()).sum();
        while bytes > CACHED_SENTENCES_BYTES_MAX {
            bytes -= live.pop_front().map_or(bytes, |sentence| sentence.wav.len());
        }
    }

    pub(crate) fn drop_cached_sentences(&self, is_forgotten: impl Fn(&Scope) -> bool) {
        self.live.lock().retain(|sentence| !is_forgotten(&sentence.scope));
    }

    /// Speaks one sentence in the voice for its language, and counts it.
    pub(crate) async fn speak(
        &self,
        core: &RuntimeCore,
        sentence: &str,
        own_voice: Option<&str>,
        turn: Option<TurnId>,
    ) -> Result<Sound, VoiceError> {
        let settings = self.settings();
        let Some(speaker) = &settings.speaker else {
            return Err(VoiceError::Settings("no voice provider is configured".to_owned()));
        };
        let now = core.clock().now();
        if let Some(until) = self.rests_until(now) {
            return Err(VoiceError::Passing(format!(
                "the voice is paused until {until} after repeated failures"
            )));
        }
        let request =
            SpeechRequest { text: sentence.to_owned(), voice: settings.voice_for(sentence, own_voice) };
        let spoken = speaker.speak(&request).await;
        let cost = if spoken.is_ok() { speaker.estimated_cost(sentence) } else { Some(0.0) };
        let names = [speaker.provider(), speaker.model()];
        self.count_call(core, "speech", names, (now, turn), spoken.as_ref().err(), cost);
        self.note_result(core, spoken.is_ok());
        spoken
    }

    fn note_result(&self, core: &RuntimeCore, worked: bool) {
        let mut rest = self.rest.lock();
        rest.failures = if worked { 0 } else { rest.failures + 1 };
        if rest.failures >= FAILURES_MAX {
            rest.failures = 0;
            rest.until = core.clock().now().checked_add(FAILURE_PAUSE).ok();
            tracing::warn!("the voice failed {FAILURES_MAX} times in a row and is paused for five minutes");
        }
    }

    pub(crate) fn count_call(
        &self,
        core: &RuntimeCore,
        task: &str,
        [provider, model]: [&str; 2],
        (began, turn_id): (Timestamp, Option<TurnId>),
        error: Option<&VoiceError>,
        cost_usd: Option<f64>,
    ) {
        let took = core.clock().now().duration_since(began);
        self.ledger.observe(ModelCall {
            at: began,
            task: task.to_owned(),
            tier: "voice".to_owned(),
            provider: provider.to_owned(),
            model: model.to_owned(),
            input_tokens: 0,
            output_tokens: 0,
            cached_tokens: 0,
            latency_ms: u64::try_from(took.as_millis()).unwrap_or_default(),
            outcome: if error.is_none() { "ok" } else { "failed" }.to_owned(),
            turn_id,
            session_id: None,
            prompt_hash: String::new(),
            cost_usd,
        });
    }

    /// Identifies the voices that a text is spoken with: it changes when the sound would.
    pub(crate) fn voice_key(&self, own_voice: Option<&str>) -> String {
        let settings = self.settings();
        let speaker =
            settings.speaker.as_ref().map(|speaker| [speaker.provider(), speaker.model()].join(" "));
        let VoiceSettings { voice, chinese_voice, english_voice, .. } = &*settings;
        format!("{speaker:?} {own_voice:?} {voice:?} {chinese_voice:?} {english_voice:?}")
    }
}

impl VoiceSettings {
    /// The voice set for the sentence's language, else the persona's own, else the default.
    fn voice_for(&self, sentence: &str, own_voice: Option<&str>) -> String {
        let language = voice::language_code(sentence);
        let set = if language == Some("zh") { &self.chinese_voice } else { &self.english_voice };
        if !set.is_empty() && language.is_some() {
            return set.clone();
        }
        own_voice.unwrap_or(&self.voice).to_owned()
    }
}
