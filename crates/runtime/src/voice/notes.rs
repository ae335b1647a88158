//! Voice messages of channels: transcribed before their turn is answered, and sent with a reply.
//!
//! A recording stays with its platform. Where to fetch it is written down before the message is, so that a crash between the two
//! loses no words: the next start listens again.

use std::sync::Arc;
use std::time::Duration;

use memory::capture::CaptureError;
use memory::identifiers::MessageId;
use memory::messages::{Message, Turn};
use memory::ports::{Backoff, StoreError};
use voice::{LengthTrust, Sound, VoiceError};

use crate::events::server_event::ServerEvent;
use crate::runtime::{Runtime, RuntimeInner};
use crate::voice::files::VoiceNote;
use crate::voice::speech::{MESSAGE_SECONDS_MAX, SpeechError, Transcript, Voice};

/// The text of a voice message until it is transcribed.
pub const VOICE_MESSAGE: &str = "[voice message]";
/// The same where it was listened to in vain.
const NOT_UNDERSTOOD: &str = "[voice message, not understood]";
/// Recordings that are fetched and understood side by side.
pub(crate) const HEARD_AT_ONCE: usize = 2;
/// Number of times a recording is tried to be understood.
const ATTEMPTS: u32 = 4;
const BACKOFF: Backoff = Backoff { first: Duration::from_secs(2), longest: Duration::from_secs(30) };

/// Why a recording was not fetched. The messages are for people and hold no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// A later try may succeed.
    #[error("{0}")]
    Passing(String),
    /// It will not be had.
    #[error("{0}")]
    Permanent(String),
}

/// Result of looking for the voice messages of pending turns.
pub(crate) struct UnheardNotes {
    /// Turns without a voice message that waits.
    pub(crate) ready: Vec<Turn>,
    /// Voice messages of no such turn.
    pub(crate) other_notes: Vec<(MessageId, VoiceNote)>,
}

/// The program stops before a recording was understood; the next start goes on.
pub(crate) struct Interrupted;

impl Runtime {
    /// True if a message of the persona is to be heard, where a channel can send voice messages.  # Errors When storage
    /// fails.
    pub async fn is_heard(&self, id: MessageId) -> Result<bool, StoreError> {
        if !self.runtime.speaks() {
            return Ok(false);
        }
        match self.runtime.store().message(id).await? {
            Some(message) => self.runtime.wants_sound(&message).await,
            None => Ok(false),
        }
    }

    /// A message of the persona as sound; none where it is gone.
    ///
    /// # Errors
    /// When it can't be spoken; its text is safe.
    pub async fn sound_for_channel(&self, id: MessageId) -> Result<Option<Sound>, SpeechError> {
        let Some(message) = self.runtime.store().message(id).await? else { return Ok(None) };
        self.speak_message(&message).await?;
        let wav = self.sound_of(&message).await?;
        let read = |wav: Vec<u8>| Sound::read(&wav, LengthTrust::Exact, 2 * MESSAGE_SECONDS_MAX as u64).ok();
        Ok(wav.and_then(read))
    }

    /// Puts the words of a voice message in the place of its name.
    async fn write_transcript(&self, id: MessageId, heard: Option<&Transcript>) -> Result<(), SpeechError> {
        let Some(message) = self.runtime.store().message(id).await? else { return Ok(()) };
        // A person may have replaced the text meanwhile; that text stays.
        if !message.content.contains(VOICE_MESSAGE) {
            return Ok(());
        }
        let words = heard.map_or(NOT_UNDERSTOOD, |heard| heard.text.as_str());
        let content = message.content.replacen(VOICE_MESSAGE, words, 1);
        self.edit_message(id, &content).await.map_err(|error| match error {
            CaptureError::Store(error) => SpeechError::Store(error),
            error => SpeechError::Refused(error.to_string()),
        })?;
        if let Some(recording) = heard.and_then(|heard| heard.recording_id.as_ref()) {
            self.attach_recording(recording, id).await?;
        }
        Ok(())
    }
}

impl RuntimeInner {
    fn speaks(&self) -> bool {
        self.voice.as_ref().is_some_and(|voice| voice.settings().speaker.is_some())
    }

    /// True if a message of the persona is to be heard.
    pub(crate) async fn wants_sound(&self, message: &Message) -> Result<bool, StoreError> {
        let is_proactive = message.turn_id.is_none();
        if !self.speaks() || (is_proactive && !self.settings().proactive.use_voice) {
            return Ok(false);
        }
        Ok(self.store().appearance(&message.scope.persona).await?.voice_enabled)
    }

    /// Speaks a message that is shown by its event stream, and tells that it can be heard. A channel beyond this program speaks
    /// for itself, when it delivers.
    pub(crate) fn speak_beside(self: &Arc<Self>, message: Message) {
        if self.channels.as_ref().is_some_and(|channels| channels.is_outbound(&message.channel_id)) {
            return;
        }
        let runtime = Runtime { runtime: self.clone() };
        self.tasks.spawn(async move {
            let inner = &runtime.runtime;
            let speaking = async {
                match inner.wants_sound(&message).await? {
                    true => runtime.speak_message(&message).await.map(Some),
                    false => Ok(None),
                }
            };
            let spoken = tokio::select! {
                spoken = speaking => spoken,
                () = inner.stopping.cancelled() => return,
            };
            match spoken {
                Ok(Some(spoken)) => inner.publish(
                    &message.scope,
                    ServerEvent::VoiceReady {
                        message_id: message.id,
                        turn_id: message.turn_id,
                        channel_id: message.channel_id.clone(),
                        duration_seconds: spoken.duration_seconds,
                    },
                ),
                Ok(None) => {}
                Err(error) => tracing::warn!(message = %message.id, "the message stays text: {error}"),
            }
        });
    }

    /// The voice, where somebody listens.
    pub(crate) fn listening_voice(&self) -> Option<&Voice> {
        self.voice.as_ref().filter(|voice| voice.settings().listener.is_some())
    }

    /// Understands a voice message and puts its words into the message. What is not understood is named so.
    pub(crate) async fn hear(self: &Arc<Self>, id: MessageId, note: &VoiceNote) -> Result<(), Interrupted> {
        let runtime = Runtime { runtime: self.clone() };
        let heard = tokio::select! {
            heard = self.transcript_of(&runtime, note) => heard,
            () = self.stopping.cancelled() => return Err(Interrupted),
        };
        let heard = heard.inspect_err(|reason| {
            tracing::warn!(message = %id, channel = note.channel_id, "a voice message was not understood: {reason}");
        });
        let heard = heard.ok();
        // Storage that refuses now may take the words later: they are not heard a second time.
        while let Err(error) = runtime.write_transcript(id, heard.as_ref()).await {
            tracing::error!(message = %id, "the words of a voice message were not written: {error}");
            if !matches!(error, SpeechError::Store(_)) {
                break;
            }
            tokio::select! {
                () = self.clock().sleep(BACKOFF.longest) => {}
                () = self.stopping.cancelled() => return Err(Interrupted),
            }
        }
        if let Some(voice) = self.voice.as_ref()
            && let Err(error) = voice.files.forget_note(id).await
        {
            tracing::warn!(message = %id, "a voice message that was heard is heard again at the next start: {error}");
        }
        Ok(())
    }

    async fn transcript_of(&self, runtime: &Runtime, note: &VoiceNote) -> Result<Transcript, String> {
        let channels = self.channels.as_ref().ok_or("its channel is off")?;
        let voice = runtime.voice().map_err(|error| error.to_string())?;
        let _place = voice.hearing.acquire().await.map_err(|error| error.to_string())?;
        for attempt in 0.. {
            let heard = match channels.fetch_recording(note).await {
                Ok(recording) => runtime
                    .transcribe(recording)
                    .await
                    .map_err(|error| (is_passing(&error), error.to_string())),
                Err(error) => Err((matches!(error, FetchError::Passing(_)), error.to_string())),
            };
            match heard {
                Ok(heard) if heard.text.trim().is_empty() => return Err("it has no words".to_owned()),
                Ok(heard) => return Ok(heard),
                Err((true, _)) if attempt + 1 < ATTEMPTS => {
                    self.clock().sleep(BACKOFF.wait_after(attempt)).await;
                }
                Err((_, reason)) => return Err(reason),
            }
        }
        Err("it was tried too often".to_owned())
    }

    /// Listens to the voice messages of pending turns that nobody hears, then resumes those turns.
    pub(crate) async fn hear_unfinished(
        self: &Arc<Self>,
        turns: Vec<Turn>,
    ) -> Result<UnheardNotes, StoreError> {
        let Some(voice) = self.voice.as_ref() else {
            return Ok(UnheardNotes { ready: turns, other_notes: Vec::new() });
        };
        let notes = voice.files.notes().await;
        let mut notes =
            notes.map_err(|error| StoreError::Failed(format!("voice messages can't be read: {error}")))?;
        let mut ready = Vec::new();
        for turn in turns {
            let mut of_turn: Vec<(MessageId, VoiceNote)> = Vec::new();
            if !notes.is_empty() {
                let messages = self.store().turn_messages(turn.id).await?;
                let known = |message: Message| notes.remove_entry(&message.id);
                of_turn = messages.into_iter().filter_map(known).collect();
            }
            if of_turn.is_empty() { ready.push(turn) } else { self.hear_before(Some(turn), of_turn) }
        }
        Ok(UnheardNotes { ready, other_notes: notes.into_iter().collect() })
    }

    /// Listens to voice messages in the background, then resumes the turn that waited for them.
    pub(crate) fn hear_before(self: &Arc<Self>, turn: Option<Turn>, notes: Vec<(MessageId, VoiceNote)>) {
        let runtime = self.clone();
        let held = turn.as_ref().map(|turn| self.conversations.hold_turn(&turn.scope));
        self.tasks.spawn(async move {
            for (id, note) in notes {
                if let Err(Interrupted) = runtime.hear(id, &note).await {
                    return;
                }
            }
            if let Some(turn) = turn
                && let Err(error) = runtime.recover_turn(turn).await
            {
                tracing::error!("a turn waits to be recovered: {error}");
            }
            drop(held);
        });
    }
}

fn is_passing(error: &SpeechError) -> bool {
    use VoiceError::{Passing, Quota, TimedOut};
    matches!(error, SpeechError::Provider(Passing(_) | Quota(_) | TimedOut(..)) | SpeechError::Storage(_))
}
