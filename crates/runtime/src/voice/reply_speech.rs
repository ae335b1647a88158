//! Speaks a reply while it is written: sentence by sentence, without delaying the turn.

use std::sync::Arc;

use memory::Scope;
use memory::identifiers::TurnId;
use memory::messages::Message;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};
use voice::{SentenceFeed, Sound};

use crate::events::bodies::{VoiceReady, VoiceSentence};
use crate::forget_epochs::ForgetEpoch;
use crate::turns::conversations::ReadyTurn;
use crate::voice::Voice;
use crate::voice::speech::{MESSAGE_SECONDS_MAX, Speech};

/// The channel whose replies are spoken by way of its event stream.
const CHANNEL: &str = "web";

/// Speaks a reply while it is written. Dropping it before [`ReplySpeech::finish`] discards the sound.
pub(crate) struct ReplySpeech {
    feed: SentenceFeed,
    sentences: mpsc::UnboundedSender<String>,
    finished: oneshot::Sender<Message>,
    unfinished: DropGuard,
}

struct SpeechTask {
    voice: Arc<Voice>,
    scope: Scope,
    turn_id: TurnId,
    channel_id: String,
    own_voice: Option<String>,
    epoch: ForgetEpoch,
}

/// Starts to speak the reply of a turn; `None` if the persona's replies are not spoken. The receiver gets the result,
/// for the trace.
pub(crate) async fn begin(
    voice: &Arc<Voice>,
    turn: &ReadyTurn,
) -> Option<(ReplySpeech, oneshot::Receiver<Value>)> {
    if turn.channel_id != CHANNEL || !voice.can_speak() {
        return None;
    }
    let core = &voice.core;
    let appearance = core.store().persona_appearance(&turn.scope.persona).await.ok()?;
    if !appearance.voice_enabled {
        return None;
    }
    let speaking = SpeechTask {
        voice: voice.clone(),
        scope: turn.scope.clone(),
        turn_id: turn.turn_id,
        channel_id: turn.channel_id.clone(),
        own_voice: appearance.voice_id,
        epoch: core.forget_epochs.for_scope(&turn.scope),
    };
    let (sentences, waiting) = mpsc::unbounded_channel();
    let (finished, message) = oneshot::channel();
    let (outcome, trace) = oneshot::channel();
    let unfinished = CancellationToken::new();
    let (dropped, stopping) = (unfinished.clone(), core.stopping.clone());
    core.tasks.spawn(async move {
        let spoken = tokio::select! {
            spoken = speaking.run(waiting, message) => spoken,
            () = dropped.cancelled() => json!({"outcome": "dropped"}),
            () = stopping.cancelled() => json!({"outcome": "dropped"}),
        };
        // Without traces, nobody waits for the result.
        let _: Result<(), Value> = outcome.send(spoken);
    });
    let feed = SentenceFeed::default();
    Some((ReplySpeech { feed, sentences, finished, unfinished: unfinished.drop_guard() }, trace))
}

impl ReplySpeech {
    /// Adds text of the reply.
    pub(crate) fn push_text(&mut self, delta: &str) {
        for sentence in self.feed.push(delta) {
            let _ = self.sentences.send(sentence);
        }
    }

    /// Ends the reply, which is stored and published.
    pub(crate) fn finish(mut self, message: &Message) {
        for sentence in self.feed.finish() {
            let _ = self.sentences.send(sentence);
        }
        let _ = self.finished.send(message.clone());
        self.unfinished.disarm();
    }
}

impl SpeechTask {
    async fn run(
        self,
        mut sentences: mpsc::UnboundedReceiver<String>,
        message: oneshot::Receiver<Message>,
    ) -> Value {
        let Some(speech) = self.voice.speech.as_ref() else { return Value::Null };
        let mut sound = Sound::new(Vec::new(), 0);
        let (mut spoken, mut error) = (0_u32, None);
        while let Some(sentence) = sentences.recv().await {
            if error.is_some() || sound.seconds() >= MESSAGE_SECONDS_MAX {
                continue;
            }
            let part = speech
                .speak(&self.voice.core, &sentence, self.own_voice.as_deref(), Some(self.turn_id))
                .await;
            match part {
                Ok(part) => {
                    self.publish_sentence(speech, spoken, &part).await;
                    sound.append(&part);
                    spoken += 1;
                }
                Err(failure) => {
                    tracing::warn!(turn = %self.turn_id, "the reply was not spoken: {failure}");
                    error = Some(failure.to_string());
                }
            }
        }
        let Ok(message) = message.await else { return json!({"outcome": "dropped"}) };
        if error.is_none() && spoken > 0 {
            error = self.store_sound(speech, &message, &sound).await;
        }
        let outcome = if error.is_some() { "text_only" } else { "spoken" };
        json!({"outcome": outcome, "sentences": spoken, "duration_seconds": sound.seconds(), "error": error})
    }

    async fn publish_sentence(&self, speech: &Speech, index: u32, part: &Sound) {
        let _nothing_is_forgotten = self.voice.core.forget_epochs.block_forgetting().await;
        if self.voice.core.forget_epochs.for_scope(&self.scope) != self.epoch {
            return;
        }
        speech.cache_sentence(&self.scope, self.turn_id, index, part.to_wav());
        let event = VoiceSentence::new(self.turn_id, self.channel_id.clone(), index, part.seconds());
        self.voice.core.publish(&self.scope, event);
    }

    /// Stores the sound and publishes that it is available. Returns the reason of a failure.
    async fn store_sound(&self, speech: &Speech, message: &Message, sound: &Sound) -> Option<String> {
        let key = speech.voice_key(self.own_voice.as_deref());
        let wav = sound.to_wav();
        let _nothing_is_forgotten = self.voice.core.forget_epochs.block_forgetting().await;
        if self.voice.core.forget_epochs.for_scope(&self.scope) != self.epoch {
            return Some("something was erased meanwhile".to_owned());
        }
        if let Err(error) = speech.files.store_spoken(message, &key, &wav).await {
            return Some(format!("the sound could not be written: {error}"));
        }
        self.voice.core.publish(&self.scope, VoiceReady::new(message, sound.seconds()));
        None
    }
}
