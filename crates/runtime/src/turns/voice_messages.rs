//! Voice messages of channels, which are transcribed before their turn is answered.
//!
//! A recording stays on its platform. Its origin is stored before the message, so that a crash between the two loses
//! nothing: the next start transcribes it.

use std::sync::Arc;
use std::time::Duration;

use memory::capture::CaptureError;
use memory::identifiers::MessageId;
use memory::messages::{Message, Turn};
use memory::ports::{Backoff, StoreError};
use voice::VoiceError;

use crate::channels::{FetchError, VoiceNote};
use crate::turns::Turns;
use crate::voice::speech::{SpeechError, Transcript};

/// The text of a voice message until it is transcribed.
pub const VOICE_MESSAGE: &str = "[voice message]";
/// Text of a voice message that could not be understood.
const NOT_UNDERSTOOD: &str = "[voice message, not transcribed]";
/// Attempts to transcribe a recording. The pauses of 2, 4 and 8 seconds between them cover a provider's restart;
/// after a longer outage the message stays without a transcript.
const ATTEMPTS: u32 = 4;
const BACKOFF: Backoff = Backoff { first: Duration::from_secs(2), longest: Duration::from_secs(30) };

/// Voice messages of pending turns that are not transcribed.
pub(crate) struct UnheardMessages {
    /// Turns without such voice messages.
    pub(crate) ready: Vec<Turn>,
    /// Voice messages of other turns.
    pub(crate) other_notes: Vec<(MessageId, VoiceNote)>,
}

/// The program stopped before a recording was transcribed; the next start continues.
pub(crate) struct TranscriptionInterrupted;

impl Turns {
    /// Replaces the placeholder of a voice message by its transcript.
    async fn write_transcript(&self, id: MessageId, heard: Option<&Transcript>) -> Result<(), SpeechError> {
        let Some(message) = self.core.store().message(id).await? else { return Ok(()) };
        // A person may have replaced the text meanwhile; that text stays.
        if !message.content.contains(VOICE_MESSAGE) {
            return Ok(());
        }
        let words = heard.map_or(NOT_UNDERSTOOD, |heard| heard.text.as_str());
        let content = message.content.replacen(VOICE_MESSAGE, words, 1);
        self.changes.edit_message(id, &content).await.map_err(|error| match error {
            CaptureError::Store(error) => SpeechError::Store(error),
            error => SpeechError::Refused(error.to_string()),
        })?;
        if let Some(recording) = heard.and_then(|heard| heard.recording_id.as_ref()) {
            self.voice.attach_recording(recording, id).await?;
        }
        Ok(())
    }

    /// Transcribes a voice message and stores the transcript as its text, or a notice if it was not understood.
    pub(crate) async fn transcribe_message(
        self: &Arc<Self>,
        id: MessageId,
        note: &VoiceNote,
    ) -> Result<(), TranscriptionInterrupted> {
        let heard = tokio::select! {
            heard = self.transcript_of(note) => heard,
            () = self.core.stopping.cancelled() => return Err(TranscriptionInterrupted),
        };
        let heard = heard.inspect_err(|reason| {
            tracing::warn!(message = %id, channel = note.channel_id, "a voice message was not transcribed: \
                {reason}");
        });
        let heard = heard.ok();
        // If storage refuses now, it may accept the transcript later without another transcription.
        while let Err(error) = self.write_transcript(id, heard.as_ref()).await {
            tracing::error!(message = %id, "the transcript of a voice message was not saved: {error}");
            if !matches!(error, SpeechError::Store(_)) {
                break;
            }
            tokio::select! {
                () = self.core.clock().sleep(BACKOFF.longest) => {}
                () = self.core.stopping.cancelled() => return Err(TranscriptionInterrupted),
            }
        }
        if let Ok(speech) = self.voice.speech()
            && let Err(error) = speech.files.forget_note(id).await
        {
            tracing::warn!(message = %id, "a voice message is transcribed again at the next start: {error}");
        }
        Ok(())
    }

    async fn transcript_of(&self, note: &VoiceNote) -> Result<Transcript, String> {
        let channels = self.outbound.channels().ok_or("its channel is off")?;
        let speech = self.voice.speech().map_err(|error| error.to_string())?;
        let _place = speech.hearing.acquire().await.map_err(|error| error.to_string())?;
        for attempt in 0.. {
            let heard = match channels.fetch_recording(note).await {
                Ok(recording) => self
                    .voice
                    .transcribe(recording)
                    .await
                    .map_err(|error| (is_transient_failure(&error), error.to_string())),
                Err(error) => Err((matches!(error, FetchError::Passing(_)), error.to_string())),
            };
            match heard {
                Ok(heard) if heard.text.trim().is_empty() => {
                    return Err("no speech was recognized in it".to_owned());
                }
                Ok(heard) => return Ok(heard),
                Err((true, _)) if attempt + 1 < ATTEMPTS => {
                    self.core.clock().sleep(BACKOFF.wait_after_failures(attempt)).await;
                }
                Err((_, reason)) => return Err(reason),
            }
        }
        Err("too many attempts failed".to_owned())
    }

    /// Transcribes the voice messages of pending turns that no task is transcribing, then resumes those turns.
    pub(crate) async fn transcribe_pending_messages(
        self: &Arc<Self>,
        turns: Vec<Turn>,
    ) -> Result<UnheardMessages, StoreError> {
        let Ok(speech) = self.voice.speech() else {
            return Ok(UnheardMessages { ready: turns, other_notes: Vec::new() });
        };
        let notes = speech.files.read_voice_notes().await;
        let mut notes =
            notes.map_err(|error| StoreError::Failed(format!("voice messages can't be read: {error}")))?;
        let mut ready = Vec::new();
        for turn in turns {
            let mut of_turn: Vec<(MessageId, VoiceNote)> = Vec::new();
            if !notes.is_empty() {
                let messages = self.core.store().turn_messages(turn.id).await?;
                let known = |message: Message| notes.remove_entry(&message.id);
                of_turn = messages.into_iter().filter_map(known).collect();
            }
            if of_turn.is_empty() {
                ready.push(turn)
            } else {
                self.transcribe_before_turn(Some(turn), of_turn)
            }
        }
        Ok(UnheardMessages { ready, other_notes: notes.into_iter().collect() })
    }

    /// Transcribes voice messages in the background, then resumes their turn.
    pub(crate) fn transcribe_before_turn(
        self: &Arc<Self>,
        turn: Option<Turn>,
        notes: Vec<(MessageId, VoiceNote)>,
    ) {
        let turns = self.clone();
        let held = turn.as_ref().map(|turn| self.conversations.mark_turn_pending(&turn.scope));
        self.core.tasks.spawn(async move {
            for (id, note) in notes {
                if let Err(TranscriptionInterrupted) = turns.transcribe_message(id, &note).await {
                    return;
                }
            }
            if let Some(turn) = turn
                && let Err(error) = turns.recover_turn(turn).await
            {
                tracing::error!("a turn is waiting to be recovered: {error}");
            }
            drop(held);
        });
    }
}

fn is_transient_failure(error: &SpeechError) -> bool {
    use VoiceError::{Passing, Quota, TimedOut};
    matches!(error, SpeechError::Provider(Passing(_) | Quota(_) | TimedOut(..)) | SpeechError::Storage(_))
}
