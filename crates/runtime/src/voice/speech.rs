//! The persona's voice: the providers of speech and transcription, pauses after failures, and stored sound.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::{MessageId, TurnId};
use memory::ledger::ModelCall;
use memory::messages::{Message, Role};
use memory::ports::StoreError;
use mind::CallObserver;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use voice::{
    LengthTrust, Listener, Recording, SentenceFeed, Sound, SoundError, Speaker, SpeechRequest, VoiceError,
};

use crate::runtime::{Runtime, RuntimeInner};
use crate::voice::files::VoiceFiles;
use crate::voice::notes::HEARD_AT_ONCE;

/// Failures in a row after which nothing is spoken for a while.
const FAILURES_MAX: u32 = 3;
/// Pause of a voice provider after a failure.
const REST: Duration = Duration::from_secs(300);
/// Longest sound of one message, in seconds; what follows stays text.
pub(crate) const MESSAGE_SECONDS_MAX: f64 = 600.0;
/// Longest recording, in seconds.
const RECORDING_SECONDS_MAX: u64 = 600;
/// Bytes of sentences of replies under way that are kept for those who listen.
const LIVE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Voice providers, as configured.
#[derive(Clone, Default)]
pub struct VoiceSettings {
    /// The provider of speech; none if replies are text only.
    pub speaker: Option<Arc<dyn Speaker>>,
    /// The provider of transcription; none if there is none.
    pub listener: Option<Arc<dyn Listener>>,
    /// The voice of sentences for which no other is set; empty for the provider's default.
    pub voice: String,
    /// The voice of Chinese sentences; empty for [`VoiceSettings::voice`].
    pub chinese_voice: String,
    /// The voice of English sentences; empty for [`VoiceSettings::voice`].
    pub english_voice: String,
    /// True if recordings are kept with their messages.
    pub keep_recordings: bool,
}

/// The dependencies of the voice service.
pub struct VoiceParts {
    /// The folder of sound files.
    pub folder: PathBuf,
    /// Records the costs of calls.
    pub ledger: Arc<dyn CallObserver>,
    /// The settings at the start.
    pub settings: VoiceSettings,
}

/// Why nothing was spoken, understood or cloned.
#[derive(Debug, thiserror::Error)]
pub enum SpeechError {
    /// The owner has not switched it on, or it can't do this.
    #[error("{0}")]
    Off(&'static str),
    /// The recording is unusable.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Provider(#[from] VoiceError),
    /// Sound can't be read or written.
    #[error("the sound could not be read or written: {0}; messages and memory are safe")]
    Storage(#[from] std::io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A message that can be heard.
#[derive(Clone, Debug, PartialEq)]
pub struct SpokenMessage {
    pub message_id: MessageId,
    pub duration_seconds: f64,
    /// True if it was there already.
    pub cached: bool,
}

/// The transcript of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Transcript {
    /// The words; empty when none were understood.
    pub text: String,
    /// The length of the recording.
    pub duration_seconds: f64,
    /// Names the recording for the message that will be sent; none where recordings are not kept.
    pub recording_id: Option<String>,
}

pub(crate) struct Voice {
    pub(crate) files: VoiceFiles,
    /// Places for voice messages that are being understood.
    pub(crate) hearing: Semaphore,
    settings: ArcSwap<VoiceSettings>,
    ledger: Arc<dyn CallObserver>,
    rest: Mutex<RestState>,
    live: Mutex<VecDeque<LiveSentence>>,
}

#[derive(Default)]
struct RestState {
    failures: u32,
    until: Option<Timestamp>,
}

struct LiveSentence {
    scope: Scope,
    turn: TurnId,
    index: u32,
    wav: Arc<Vec<u8>>,
}

impl Voice {
    pub(crate) fn new(parts: VoiceParts) -> Self {
        Self {
            files: VoiceFiles::new(parts.folder),
            hearing: Semaphore::new(HEARD_AT_ONCE),
            settings: ArcSwap::from_pointee(parts.settings),
            ledger: parts.ledger,
            rest: Mutex::default(),
            live: Mutex::default(),
        }
    }

    pub(crate) fn settings(&self) -> Arc<VoiceSettings> {
        self.settings.load_full()
    }

    fn rest(&self) -> MutexGuard<'_, RestState> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self) -> MutexGuard<'_, VecDeque<LiveSentence>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a spoken sentence to the cache for listeners; the oldest ones are dropped when it is full.
    pub(crate) fn keep_live(&self, scope: &Scope, turn: TurnId, index: u32, wav: Vec<u8>) {
        let mut live = self.live();
        live.push_back(LiveSentence { scope: scope.clone(), turn, index, wav: Arc::new(wav) });
        let mut bytes: usize = live.iter().map(|sentence| sentence.wav.len()).sum();
        while bytes > LIVE_BYTES_MAX {
            bytes -= live.pop_front().map_or(bytes, |sentence| sentence.wav.len());
        }
    }

    pub(crate) fn forget_live(&self, is_forgotten: impl Fn(&Scope) -> bool) {
        self.live().retain(|sentence| !is_forgotten(&sentence.scope));
    }

    /// Speaks one sentence in the voice for its language, and counts it.
    pub(crate) async fn speak(
        &self,
        runtime: &RuntimeInner,
        sentence: &str,
        own_voice: Option<&str>,
        turn: Option<TurnId>,
    ) -> Result<Sound, VoiceError> {
        let settings = self.settings();
        let Some(speaker) = &settings.speaker else {
            return Err(VoiceError::Settings("no voice provider is configured".to_owned()));
        };
        let now = runtime.clock().now();
        if let Some(until) = self.rest().until.filter(|until| *until > now) {
            return Err(VoiceError::Passing(format!(
                "the voice rests until {until} after repeated failures"
            )));
        }
        let request =
            SpeechRequest { text: sentence.to_owned(), voice: settings.voice_for(sentence, own_voice) };
        let spoken = speaker.speak(&request).await;
        let cost = if spoken.is_ok() { speaker.estimated_cost(sentence) } else { Some(0.0) };
        let names = [speaker.provider(), speaker.model()];
        self.count(runtime, "speech", names, (now, turn), spoken.as_ref().err(), cost);
        self.settle(runtime, spoken.is_ok());
        spoken
    }

    fn settle(&self, runtime: &RuntimeInner, worked: bool) {
        let mut rest = self.rest();
        rest.failures = if worked { 0 } else { rest.failures + 1 };
        if rest.failures >= FAILURES_MAX {
            rest.failures = 0;
            rest.until = runtime.clock().now().checked_add(REST).ok();
            tracing::warn!("the voice failed {FAILURES_MAX} times in a row and rests for five minutes");
        }
    }

    fn count(
        &self,
        runtime: &RuntimeInner,
        task: &str,
        [provider, model]: [&str; 2],
        (began, turn_id): (Timestamp, Option<TurnId>),
        error: Option<&VoiceError>,
        cost_usd: Option<f64>,
    ) {
        let took = runtime.clock().now().duration_since(began);
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

    /// A name for the voices that a text is spoken with: it changes when the sound would.
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

impl Runtime {
    /// Puts other providers and voices in force. What is being said ends as it began.
    pub fn change_voice(&self, settings: VoiceSettings) {
        if let Ok(voice) = self.voice() {
            voice.settings.store(Arc::new(settings));
            *voice.rest() = RestState::default();
        }
    }

    /// The present settings; none without a voice.
    pub fn voice_settings(&self) -> Option<Arc<VoiceSettings>> {
        self.voice().ok().map(Voice::settings)
    }

    /// Time until which no reply is spoken, after repeated failures; none if speech works.
    pub fn voice_rests_until(&self) -> Option<Timestamp> {
        let now = self.runtime.clock().now();
        self.voice().ok()?.rest().until.filter(|until| *until > now)
    }

    pub(crate) fn voice(&self) -> Result<&Voice, SpeechError> {
        self.runtime.voice.as_ref().ok_or(SpeechError::Off("voice is off; enable it in Settings, Voice"))
    }

    /// A sentence of a reply, with the scope that it is in; none when it is not there any more.
    pub fn live_sentence(&self, turn: TurnId, index: u32) -> Option<(Scope, Arc<Vec<u8>>)> {
        let live = self.voice().ok()?.live();
        let found = live.iter().find(|sentence| sentence.turn == turn && sentence.index == index);
        found.map(|sentence| (sentence.scope.clone(), sentence.wav.clone()))
    }

    /// The sound of a message as a WAV file, if it is there.
    pub async fn sound_of(&self, message: &Message) -> Result<Option<Vec<u8>>, SpeechError> {
        Ok(self.voice()?.files.sound_of(message).await?)
    }

    /// Speaks a stored reply, unless it was spoken already.
    pub async fn speak_message(&self, message: &Message) -> Result<SpokenMessage, SpeechError> {
        let (runtime, voice) = (&self.runtime, self.voice()?);
        if message.role != Role::Persona {
            return Err(SpeechError::Refused("only replies can be spoken".to_owned()));
        }
        let own = runtime.store().appearance(&message.scope.persona).await?.voice_id;
        let key = voice.voice_key(own.as_deref());
        let spoken = |wav: &[u8], cached| SpokenMessage {
            message_id: message.id,
            duration_seconds: voice::wav_duration(wav, LengthTrust::Exact).unwrap_or_default(),
            cached,
        };
        if let Some(wav) = voice.files.load_speech(message, &key).await? {
            return Ok(spoken(&wav, true));
        }
        let epoch = runtime.forget_epochs.of(&message.scope);
        let mut feed = SentenceFeed::default();
        let mut sentences = feed.push(&message.content);
        sentences.extend(feed.finish());
        let mut sound = Sound::new(Vec::new(), 0);
        for sentence in sentences {
            if sound.seconds() < MESSAGE_SECONDS_MAX {
                sound.append(&voice.speak(runtime, &sentence, own.as_deref(), message.turn_id).await?);
            }
        }
        if sound.samples().is_empty() {
            return Err(SpeechError::Refused("there is nothing to say in this message".to_owned()));
        }
        let wav = sound.to_wav();
        let _nothing_is_forgotten = runtime.forget_epochs.block_forgetting().await;
        if runtime.forget_epochs.of(&message.scope) != epoch {
            return Err(SpeechError::Refused("something was forgotten meanwhile; try again".to_owned()));
        }
        voice.files.keep_spoken(message, &key, &wav).await?;
        Ok(spoken(&wav, false))
    }

    /// Speaks any text, as a trial of a voice. Nothing is kept.
    pub async fn preview_voice(&self, voice_id: &str, text: &str) -> Result<Sound, SpeechError> {
        let settings = self.voice()?.settings();
        let speaker = settings.speaker.as_ref().ok_or(SpeechError::Off("no voice provider is configured"))?;
        let request = SpeechRequest { text: text.to_owned(), voice: voice_id.to_owned() };
        let began = self.runtime.clock().now();
        let spoken = speaker.speak(&request).await;
        let cost = if spoken.is_ok() { speaker.estimated_cost(text) } else { Some(0.0) };
        let names = [speaker.provider(), speaker.model()];
        self.voice()?.count(&self.runtime, "speech", names, (began, None), spoken.as_ref().err(), cost);
        Ok(spoken?)
    }

    /// Writes down what a WAV or Ogg Opus file says.
    pub async fn transcribe(&self, file: Vec<u8>) -> Result<Transcript, SpeechError> {
        let voice = self.voice()?;
        let settings = voice.settings();
        let listener = settings.listener.as_ref().ok_or(SpeechError::Off(
            "nothing is configured that understands speech; set voice.stt_provider",
        ))?;
        // Not between two turns of others: ten minutes of Opus take a second. A codec that panics ends only this.
        let sound =
            spawn_blocking(move || Sound::read(&file, LengthTrust::Exact, RECORDING_SECONDS_MAX)).await;
        let sound = sound
            .unwrap_or(Err(SoundError::Damaged("it can't be decoded")))
            .map_err(|error| SpeechError::Refused(format!("the recording can't be used: {error}")))?;
        let quality = sound.quality();
        if quality.silent_share >= 1.0 {
            return Err(SpeechError::Refused("the recording is silent; check the microphone".to_owned()));
        }
        let recording = Recording { wav: sound.to_wav(), seconds: quality.seconds.ceil() as u64 };
        let began = self.runtime.clock().now();
        let heard = listener.transcribe(&recording).await;
        let cost = if heard.is_ok() { listener.estimated_cost(recording.seconds) } else { Some(0.0) };
        let names = [listener.provider(), listener.model()];
        voice.count(&self.runtime, "transcription", names, (began, None), heard.as_ref().err(), cost);
        let text = heard?;
        let mut recording_id = None;
        if settings.keep_recordings {
            let id = self.runtime.ids().next(began).to_string();
            voice.files.keep_pending(&id, &recording.wav).await?;
            recording_id = Some(id);
        }
        Ok(Transcript { text, duration_seconds: quality.seconds, recording_id })
    }

    /// The recording belongs to this message from now on, and is deleted with it; false if it is unknown.
    pub async fn attach_recording(
        &self,
        recording_id: &str,
        message: MessageId,
    ) -> Result<bool, SpeechError> {
        Ok(self.voice()?.files.attach(recording_id, message).await?)
    }
}

impl RuntimeInner {
    /// Deletes the sound of messages that are gone. What can't be deleted now is found at the next start.
    pub(crate) async fn forget_sound(&self, scope: &Scope, messages: &BTreeSet<MessageId>) {
        let Some(voice) = self.voice.as_ref() else { return };
        voice.forget_live(|other| other == scope);
        if let Err(error) = voice.files.forget(messages).await {
            tracing::error!(
                "sound of deleted messages could not be deleted; the next start does it: {error}"
            );
        }
    }

    /// Deletes a persona's samples, and the sound of messages that are gone.
    pub(crate) async fn forget_sound_of(&self, persona: &memory::PersonaId) {
        let Some(voice) = self.voice.as_ref() else { return };
        voice.forget_live(|scope| scope.persona == *persona);
        if let Err(error) = voice.files.forget_samples(persona).await {
            tracing::error!("samples of a voice could not be deleted: {error}");
        }
        self.clean_sound().await;
    }

    /// Deletes what the last run left: unfinished files, unsent recordings, sound of messages that are gone.
    pub(crate) async fn clean_sound_at_start(&self) {
        let Some(voice) = self.voice.as_ref() else { return };
        if let Err(error) = voice.files.clean().await {
            tracing::warn!("unfinished sound could not be deleted: {error}");
        }
        self.clean_sound().await;
    }

    /// Deletes sound whose message is gone: a crash may have come between the two.
    pub(crate) async fn clean_sound(&self) {
        let Some(voice) = self.voice.as_ref() else { return };
        let clean = async {
            let mut gone = BTreeSet::new();
            for id in voice.files.messages().await? {
                if self.store().message(id).await?.is_none() {
                    gone.insert(id);
                }
            }
            voice.files.forget(&gone).await?;
            Ok::<(), SpeechError>(())
        };
        if let Err(error) = clean.await {
            tracing::warn!("sound of deleted messages could not be looked for: {error}");
        }
    }
}
