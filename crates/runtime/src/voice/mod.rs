//! Speech and transcription, with their files.

pub(crate) mod reply_speech;
pub(crate) mod speech;
pub(crate) mod files;
pub(crate) mod samples;

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use memory::identifiers::{MessageId, TurnId};
use memory::messages::{Message, Role};
use memory::ports::StoreError;
use memory::{PersonaId, Scope};
use tokio::task::spawn_blocking;
use voice::{LengthTrust, Recording, SentenceFeed, Sound, SoundError, SpeechRequest};

use crate::channels::Outbound;
use crate::core::RuntimeCore;
use crate::events::bodies::VoiceReady;
use speech::{
    MESSAGE_SECONDS_MAX, RECORDING_SECONDS_MAX, Speech, SpeechError, SpokenMessage, Transcript, VoiceParts,
    VoiceSettings,
};

/// Speaks messages, transcribes recordings, and stores their sound until the messages are deleted.
pub struct Voice {
    core: Arc<RuntimeCore>,
    outbound: Outbound,
    /// `None` if voice is off.
    speech: Option<Speech>,
}

impl Voice {
    pub(crate) fn new(core: Arc<RuntimeCore>, outbound: Outbound, parts: Option<VoiceParts>) -> Arc<Self> {
        Arc::new(Self { core, outbound, speech: parts.map(Speech::new) })
    }

    /// Applies other providers and voices. Running speech ends as it began.
    pub fn change_settings(&self, settings: VoiceSettings) {
        if let Some(speech) = &self.speech {
            speech.change_settings(settings);
        }
    }

    /// The current settings; `None` if voice is off.
    pub fn settings(&self) -> Option<Arc<VoiceSettings>> {
        self.speech.as_ref().map(Speech::settings)
    }

    /// Time until which no reply is spoken, after repeated failures; `None` if speech works.
    pub fn rests_until(&self) -> Option<Timestamp> {
        self.speech.as_ref()?.rests_until(self.core.clock().now())
    }

    pub(crate) fn speech(&self) -> Result<&Speech, SpeechError> {
        self.speech.as_ref().ok_or(SpeechError::Off("voice is off; enable it in Settings, Voice"))
    }

    /// A sentence of a reply that is being spoken, with its scope; `None` if it was dropped.
    pub fn cached_sentence(&self, turn: TurnId, index: u32) -> Option<(Scope, Arc<Vec<u8>>)> {
        self.speech.as_ref()?.cached_sentence(turn, index)
    }

    /// The sound of a message as a WAV file, if it is stored.
    pub async fn sound_of(&self, message: &Message) -> Result<Option<Vec<u8>>, SpeechError> {
        Ok(self.speech()?.files.read_sound(message).await?)
    }

    /// Speaks a stored reply, unless that was done already.
    pub async fn speak_message(&self, message: &Message) -> Result<SpokenMessage, SpeechError> {
        let (core, speech) = (&self.core, self.speech()?);
        if message.role != Role::Persona {
            return Err(SpeechError::Refused("only replies can be spoken".to_owned()));
        }
        let own = core.store().persona_appearance(&message.scope.persona).await?.voice_id;
        let key = speech.voice_key(own.as_deref());
        let spoken = |wav: &[u8], cached| SpokenMessage {
            message_id: message.id,
            duration_seconds: voice::wav_duration(wav, LengthTrust::Exact).unwrap_or_default(),
            cached,
        };
        if let Some(wav) = speech.files.load_speech(message, &key).await? {
            return Ok(spoken(&wav, true));
        }
        let epoch = core.forget_epochs.for_scope(&message.scope);
        let mut feed = SentenceFeed::default();
        let mut sentences = feed.push(&message.content);
        sentences.extend(feed.finish());
        let mut sound = Sound::new(Vec::new(), 0);
        for sentence in sentences {
            if sound.seconds() < MESSAGE_SECONDS_MAX {
                sound.append(&speech.speak(core, &sentence, own.as_deref(), message.turn_id).await?);
            }
        }
        if sound.samples().is_empty() {
            return Err(SpeechError::Refused("this message contains nothing to speak".to_owned()));
        }
        let wav = sound.to_wav();
        let _nothing_is_forgotten = core.forget_epochs.block_forgetting().await;
        if core.forget_epochs.for_scope(&message.scope) != epoch {
            return Err(SpeechError::Refused("something was erased meanwhile; try again".to_owned()));
        }
        speech.files.store_spoken(message, &key, &wav).await?;
        Ok(spoken(&wav, false))
    }

    /// Speaks any text, to try a voice. Nothing is stored.
    pub async fn preview(&self, voice_id: &str, text: &str) -> Result<Sound, SpeechError> {
        let settings = self.speech()?.settings();
        let speaker = settings.speaker.as_ref().ok_or(SpeechError::Off("no voice provider is configured"))?;
        let request = SpeechRequest { text: text.to_owned(), voice: voice_id.to_owned() };
        let began = self.core.clock().now();
        let spoken = speaker.speak(&request).await;
        let cost = if spoken.is_ok() { speaker.estimated_cost(text) } else { Some(0.0) };
        let names = [speaker.provider(), speaker.model()];
        self.speech()?.count_call(&self.core, "speech", names, (began, None), spoken.as_ref().err(), cost);
        Ok(spoken?)
    }

    /// Transcribes a WAV or Ogg Opus file.
    pub async fn transcribe(&self, file: Vec<u8>) -> Result<Transcript, SpeechError> {
        let speech = self.speech()?;
        let settings = speech.settings();
        let listener = settings
            .listener
            .as_ref()
            .ok_or(SpeechError::Off("no speech recognition is configured; set voice.stt_provider"))?;
        // On a blocking thread: ten minutes of Opus take a second. A panic in the codec only fails this call.
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
        let began = self.core.clock().now();
        let heard = listener.transcribe(&recording).await;
        let cost = if heard.is_ok() { listener.estimated_cost(recording.seconds) } else { Some(0.0) };
        let names = [listener.provider(), listener.model()];
        speech.count_call(&self.core, "transcription", names, (began, None), heard.as_ref().err(), cost);
        let text = heard?;
        let mut recording_id = None;
        if settings.keep_recordings {
            let id = self.core.ids().next(began).to_string();
            speech.files.store_pending_recording(&id, &recording.wav).await?;
            recording_id = Some(id);
        }
        Ok(Transcript { text, duration_seconds: quality.seconds, recording_id })
    }

    /// Assigns a recording to this message, with which it will be deleted; false if it is unknown.
    pub async fn attach_recording(
        &self,
        recording_id: &str,
        message: MessageId,
    ) -> Result<bool, SpeechError> {
        Ok(self.speech()?.files.attach_recording(recording_id, message).await?)
    }

    /// True if a message of the persona should be spoken, on a channel that can send voice messages.
    ///
    /// # Errors
    ///
    /// When storage fails.
    pub async fn should_be_sent_as_voice(&self, id: MessageId) -> Result<bool, StoreError> {
        if !self.can_speak() {
            return Ok(false);
        }
        match self.core.store().message(id).await? {
            Some(message) => self.should_be_spoken(&message).await,
            None => Ok(false),
        }
    }

    /// A message of the persona as sound; `None` if it was deleted.
    ///
    /// # Errors
    ///
    /// When it can't be spoken; its text is stored.
    pub async fn sound_for_channel(&self, id: MessageId) -> Result<Option<Sound>, SpeechError> {
        let Some(message) = self.core.store().message(id).await? else { return Ok(None) };
        self.speak_message(&message).await?;
        let wav = self.sound_of(&message).await?;
        let read = |wav: Vec<u8>| Sound::read(&wav, LengthTrust::Exact, 2 * MESSAGE_SECONDS_MAX as u64).ok();
        Ok(wav.and_then(read))
    }

    fn can_speak(&self) -> bool {
        self.speech.as_ref().is_some_and(|speech| speech.settings().speaker.is_some())
    }

    /// True if recordings can be transcribed.
    pub(crate) fn can_transcribe(&self) -> bool {
        self.speech.as_ref().is_some_and(|speech| speech.settings().listener.is_some())
    }

    /// True if a message of the persona should be spoken.
    async fn should_be_spoken(&self, message: &Message) -> Result<bool, StoreError> {
        let is_proactive = message.turn_id.is_none();
        if !self.can_speak() || (is_proactive && !self.core.settings().proactive.use_voice) {
            return Ok(false);
        }
        Ok(self.core.store().persona_appearance(&message.scope.persona).await?.voice_enabled)
    }

    /// Speaks a message that is shown by its event stream, and publishes when its sound is available. A channel to
    /// another platform speaks messages itself when it delivers them.
    pub(crate) fn speak_after_event(self: &Arc<Self>, message: Message) {
        if self.outbound.is_outbound(&message.channel_id) {
            return;
        }
        let voice = self.clone();
        self.core.tasks.spawn(async move {
            let core = &voice.core;
            let speaking = async {
                match voice.should_be_spoken(&message).await? {
                    true => voice.speak_message(&message).await.map(Some),
                    false => Ok(None),
                }
            };
            let spoken = tokio::select! {
                spoken = speaking => spoken,
                () = core.stopping.cancelled() => return,
            };
            match spoken {
                Ok(Some(spoken)) => {
                    core.publish(&message.scope, VoiceReady::new(&message, spoken.duration_seconds));
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(message = %message.id, "the message was not spoken: {error}"),
            }
        });
    }

    /// Deletes the sound of deleted messages. Failures are repeated at the next start.
    pub(crate) async fn forget_sound(&self, scope: &Scope, messages: &BTreeSet<MessageId>) {
        let Some(speech) = self.speech.as_ref() else { return };
        speech.drop_cached_sentences(|other| other == scope);
        if let Err(error) = speech.files.delete_for_messages(messages).await {
            tracing::error!(
                "sound files of deleted messages could not be deleted; the next start retries: {error}"
            );
        }
    }

    /// Deletes a persona's samples, and the sound of deleted messages.
    pub(crate) async fn forget_sound_of(&self, persona: &PersonaId) {
        let Some(speech) = self.speech.as_ref() else { return };
        speech.drop_cached_sentences(|scope| scope.persona == *persona);
        if let Err(error) = speech.files.forget_samples(persona).await {
            tracing::error!("samples of a voice could not be deleted: {error}");
        }
        self.clean_sound().await;
    }

    /// Deletes leftovers of the last run: partial files, unsent recordings, sound of deleted messages.
    pub(crate) async fn clean_at_start(&self) {
        let Some(speech) = self.speech.as_ref() else { return };
        if let Err(error) = speech.files.delete_leftovers().await {
            tracing::warn!("unfinished sound files could not be deleted: {error}");
        }
        self.clean_sound().await;
    }

    /// Deletes sound without a message, which a crash can leave.
    async fn clean_sound(&self) {
        let Some(speech) = self.speech.as_ref() else { return };
        let clean = async {
            let mut gone = BTreeSet::new();
            for id in speech.files.messages().await? {
                if self.core.store().message(id).await?.is_none() {
                    gone.insert(id);
                }
            }
            speech.files.delete_for_messages(&gone).await?;
            Ok::<(), SpeechError>(())
        };
        if let Err(error) = clean.await {
            tracing::warn!("sound files of deleted messages could not be listed: {error}");
        }
    }
}
