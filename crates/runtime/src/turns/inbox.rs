//! Accepts incoming messages: reserves queue space, stores each message, and groups a burst into one turn.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use memory::Scope;
use memory::capture::{self, CaptureError, MessageInput};
use memory::identifiers::{MessageId, TurnId};
use memory::messages::Role;
use memory::ports::{ChannelWrite, StoreError};
use tokio::sync::mpsc;

use crate::channels::{ChannelReceipt, ExternalMessage, VoiceNote};
use crate::events::bodies::UserAppended;
use crate::proactive::quiet::{is_wish_for_quiet, mute_for_a_day};
use crate::turns::Turns;
use crate::turns::conversations::{ConversationFull, ConversationPlace, ReadyTurn};
use crate::turns::turn;
use crate::turns::turn_event::TurnEvent;
use crate::turns::voice_messages::TranscriptionInterrupted;

/// Time after which a client may try again when the inbox is full. A reply takes seconds, and each frees room for
/// messages.
const FULL_INBOX_RETRY_AFTER: Duration = Duration::from_secs(5);

/// A message as received from a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncomingMessage {
    pub scope: Scope,
    /// The channel of the message and of the reply.
    pub channel_id: String,
    pub content: String,
    /// The client's id of the message.
    pub external_ref: Option<String>,
}

/// Data about a message from a channel to another platform.
struct ChannelDelivery {
    channel_write: ChannelWrite,
    /// The recording to transcribe before the reply.
    voice_note: Option<VoiceNote>,
}

/// A message that was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedMessage {
    pub message_id: MessageId,
    /// The turn that will answer it.
    pub turn_id: TurnId,
}

/// Why a message was rejected. A rejected message is never stored.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// Too many messages are waiting.
    #[error(
        "too many messages are waiting for a reply. This message was not saved; try again in a few \
        seconds"
    )]
    Full {
        /// Time after which the client may try again.
        retry_after: Duration,
    },
    /// The program is stopping.
    #[error("EchoVessel is stopping; the message was not saved, try again after the restart")]
    Stopping,
    /// The message can't be stored.
    #[error(transparent)]
    Capture(#[from] CaptureError),
}

impl Turns {
    /// Accepts a message of the user; returns once it is durable. It is answered after a short delay, together with
    /// others that follow.
    pub async fn accept(self: &Arc<Self>, incoming: IncomingMessage) -> Result<AcceptedMessage, AcceptError> {
        self.accept_message(incoming, None, None).await
    }

    /// Like [`Self::accept`], and subscribes to the turn that answers it, for channels that reply at once.
    pub async fn accept_and_subscribe(
        self: &Arc<Self>,
        incoming: IncomingMessage,
    ) -> Result<(AcceptedMessage, mpsc::UnboundedReceiver<TurnEvent>), AcceptError> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let accepted = self.accept_message(incoming, None, Some(sender)).await?;
        Ok((accepted, receiver))
    }

    /// Like [`Self::accept_and_subscribe`] for a message of a channel to another platform: the message and the
    /// channel's new position are written in one transaction.
    ///
    /// # Errors
    ///
    /// [`AcceptError`]; nothing was written.
    pub async fn accept_from_channel(
        self: &Arc<Self>,
        channel_id: &str,
        scope: Scope,
        content: String,
        external: &ExternalMessage,
        receipt: ChannelReceipt,
    ) -> Result<(AcceptedMessage, mpsc::UnboundedReceiver<TurnEvent>), AcceptError> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let reached_in = receipt.is_direct.then(|| external.conversation.clone());
        let channel_write = ChannelWrite::Received { reached_in, position: receipt.position };
        let recording = receipt.recording.filter(|_| self.voice.can_transcribe());
        let voice_note =
            recording.map(|recording| VoiceNote { channel_id: channel_id.to_owned(), recording });
        let incoming = IncomingMessage {
            scope,
            channel_id: channel_id.to_owned(),
            content,
            external_ref: Some(external.to_string()),
        };
        let arrival = ChannelDelivery { channel_write, voice_note };
        let accepted = self.accept_message(incoming, Some(arrival), Some(sender)).await?;
        Ok((accepted, receiver))
    }

    /// Accepts a message: reserves room, stores it, and starts its delay. Returns once it is durable. `watcher`
    /// receives the events of its turn.
    async fn accept_message(
        self: &Arc<Self>,
        incoming: IncomingMessage,
        arrival: Option<ChannelDelivery>,
        subscriber: Option<mpsc::UnboundedSender<TurnEvent>>,
    ) -> Result<AcceptedMessage, AcceptError> {
        if self.core.stopping.is_cancelled() {
            return Err(AcceptError::Stopping);
        }
        capture::check(&incoming.content)?;
        let place = self.place_of(&incoming);
        let turn_id = self.reserve(&incoming.scope, &place)?;
        // In a task of its own: a caller that disconnects must not leave a burst that waits forever for its message.
        let turns = self.clone();
        let taking = self
            .core
            .tasks
            .spawn(async move { turns.store_line(incoming, place, arrival, turn_id, subscriber).await });
        taking.await.unwrap_or_else(|_| Err(defect_error().into()))
    }

    /// Stores the message, publishes its event and adds it to its burst; if that fails, releases the reserved room.
    async fn store_line(
        self: &Arc<Self>,
        incoming: IncomingMessage,
        place: ConversationPlace,
        arrival: Option<ChannelDelivery>,
        turn_id: TurnId,
        subscriber: Option<mpsc::UnboundedSender<TurnEvent>>,
    ) -> Result<AcceptedMessage, AcceptError> {
        let (channel_write, voice_note) =
            arrival.map_or((None, None), |arrival| (Some(arrival.channel_write), arrival.voice_note));
        let id = MessageId(self.core.ids().next(self.core.clock().now()));
        let line = MessageInput {
            id: Some(id),
            scope: incoming.scope.clone(),
            channel_id: incoming.channel_id.clone(),
            turn_id: Some(turn_id),
            role: Role::User,
            content: incoming.content.clone(),
            incomplete: false,
            external_ref: incoming.external_ref.clone(),
            channel_write,
        };
        let writing = async {
            // Stored before the message: otherwise a crash between the two would lose the origin of its recording.
            if let (Some(note), Ok(speech)) = (&voice_note, self.voice.speech()) {
                let unwritten =
                    |error| StoreError::Failed(format!("a voice message can't be queued: {error}"));
                speech.files.store_voice_note(id, note).await.map_err(unwritten)?;
            }
            self.messages.record(line, None, None).await
        };
        let captured = AssertUnwindSafe(writing).catch_unwind().await;
        let message = match captured.unwrap_or_else(|_| Err(defect_error())) {
            Ok(captured) => captured.message,
            Err(error) => {
                self.release(&incoming.scope, &place, turn_id);
                return Err(error.into());
            }
        };
        self.core.publish(
            &incoming.scope,
            UserAppended {
                message_id: message.id,
                turn_id,
                source_channel_id: incoming.channel_id.clone(),
                content: incoming.content.clone(),
                received_at: message.created_at,
                external_ref: incoming.external_ref.clone(),
            },
        );
        if is_wish_for_quiet(&incoming.content) {
            mute_for_a_day(&self.core, &incoming.scope.user).await;
        }
        match voice_note {
            None => self.start_debounce(incoming, place, turn_id, subscriber),
            // Until then the burst counts it as in progress.
            Some(note) => self
                .start_debounce_after_transcription(note, message.id, incoming, place, turn_id, subscriber),
        }
        Ok(AcceptedMessage { message_id: message.id, turn_id })
    }

    fn place_of(&self, incoming: &IncomingMessage) -> ConversationPlace {
        let delivery = self.outbound.delivery_of(&incoming.channel_id, incoming.external_ref.as_deref());
        let conversation = match delivery {
            Some(ChannelWrite::Deliver { conversation }) => Some(conversation),
            _ => None,
        };
        ConversationPlace { channel_id: incoming.channel_id.clone(), conversation }
    }

    fn reserve(&self, scope: &Scope, place: &ConversationPlace) -> Result<TurnId, AcceptError> {
        let now = self.core.clock().now();
        let reserved = self.conversations.reserve(scope, place, now, || TurnId(self.core.ids().next(now)));
        reserved.map_err(|ConversationFull| AcceptError::Full { retry_after: FULL_INBOX_RETRY_AFTER })
    }

    /// Releases the room of a message that could not be stored.
    fn release(self: &Arc<Self>, scope: &Scope, place: &ConversationPlace, turn_id: TurnId) {
        self.conversations.release_reservation(scope, place, turn_id);
        // The burst's timer may have fired while the failed capture was in progress.
        self.start_next_turn(scope);
    }

    fn start_debounce_after_transcription(
        self: &Arc<Self>,
        note: VoiceNote,
        id: MessageId,
        incoming: IncomingMessage,
        place: ConversationPlace,
        turn_id: TurnId,
        subscriber: Option<mpsc::UnboundedSender<TurnEvent>>,
    ) {
        let turns = self.clone();
        self.core.tasks.spawn(async move {
            match AssertUnwindSafe(turns.transcribe_message(id, &note)).catch_unwind().await {
                // The next start transcribes it again, and answers then.
                Ok(Err(TranscriptionInterrupted)) => return,
                Ok(Ok(())) => {}
                Err(_) => tracing::error!("transcribing a voice message panicked"),
            }
            turns.start_debounce(incoming, place, turn_id, subscriber);
        });
    }

    /// Adds the stored message to its burst and restarts the delay.
    fn start_debounce(
        self: &Arc<Self>,
        incoming: IncomingMessage,
        place: ConversationPlace,
        turn_id: TurnId,
        subscriber: Option<mpsc::UnboundedSender<TurnEvent>>,
    ) {
        let (scope, characters) = (incoming.scope, incoming.content.chars().count());
        let grown = self.conversations.add_line(&scope, &place, turn_id, characters, subscriber);
        match grown {
            None => {}
            Some(burst) if burst.is_ripe => self.start_next_turn(&scope),
            Some(burst) => self.answer_after_debounce(scope, place, burst.generation),
        }
    }

    /// Notes if the user is typing on a channel: waiting messages wait longer, or are answered at once. True if any
    /// wait.
    pub fn note_typing(self: &Arc<Self>, scope: &Scope, channel_id: &str, is_typing: bool) -> bool {
        let waiting = self.conversations.note_typing(scope, channel_id, is_typing, self.core.clock().now());
        for burst in waiting.iter().filter(|burst| is_typing && !burst.is_due) {
            self.answer_after_debounce(scope.clone(), burst.place.clone(), burst.generation);
        }
        if !is_typing {
            self.start_next_turn(scope);
        }
        !waiting.is_empty()
    }

    /// Answers the burst after the delay, unless it has grown.
    fn answer_after_debounce(self: &Arc<Self>, scope: Scope, place: ConversationPlace, generation: u64) {
        let debounce = self.core.settings().debounce.get(&place.channel_id).copied().unwrap_or_default();
        let turns = self.clone();
        self.core.tasks.spawn(async move {
            if !debounce.is_zero() {
                tokio::select! {
                    () = turns.core.clock().sleep(debounce) => {}
                    () = turns.core.stopping.cancelled() => {}
                }
            }
            turns.conversations.mark_ripe(&scope, &place, generation);
            turns.start_next_turn(&scope);
        });
    }

    /// Queues a stored turn again, after a crash or when a person requests it.
    pub(crate) fn resume(self: &Arc<Self>, scope: Scope, channel_id: String, turn_id: TurnId) {
        let ready = ReadyTurn {
            turn_id,
            scope: scope.clone(),
            channel_id,
            subscribers: Vec::new(),
            is_resumed: true,
        };
        self.conversations.resume(ready);
        self.start_next_turn(&scope);
    }

    /// Starts the next turn of the conversation, unless one is running: one at a time per (persona, user).
    pub(crate) fn start_next_turn(self: &Arc<Self>, scope: &Scope) {
        let Some(ready) = self.take_ready_turn(scope) else { return };
        let turns = self.clone();
        let scope = scope.clone();
        self.core.tasks.spawn(async move {
            let mut next = Some(ready);
            while let Some(ready) = next {
                // A defect in one turn must not block the next one.
                if AssertUnwindSafe(turn::run_turn(&turns, ready)).catch_unwind().await.is_err() {
                    tracing::error!("a turn panicked; it resumes at the next start");
                }
                turns.conversations.finish_turn(&scope);
                next = turns.take_ready_turn(&scope);
            }
        });
    }

    fn take_ready_turn(&self, scope: &Scope) -> Option<ReadyTurn> {
        if self.core.stopping.is_cancelled() {
            // The messages are durable and their turn is pending: the next start answers it.
            self.conversations.drop_subscribers(scope);
            return None;
        }
        self.conversations.take_ready(scope)
    }
}

fn defect_error() -> CaptureError {
    StoreError::Failed("it was stopped by an internal error".to_owned()).into()
}
