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

use crate::events::server_event::ServerEvent;
use crate::proactive::is_wish_for_quiet;
use crate::runtime::{Runtime, RuntimeInner};
use crate::turns::channels::Arrival;
use crate::turns::conversations::{ConversationFull, Place, ReadyTurn};
use crate::turns::turn;
use crate::turns::turn_event::TurnEvent;
use crate::voice::files::VoiceNote;
use crate::voice::notes::Interrupted;

/// Time after which a client may try again when the inbox is full.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// A line as a channel brings it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncomingMessage {
    pub scope: Scope,
    /// The channel that delivered it and gets the reply.
    pub channel_id: String,
    pub content: String,
    /// The client's own name for the line.
    pub external_ref: Option<String>,
}

/// A line that is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedMessage {
    pub message_id: MessageId,
    /// The turn that will answer it.
    pub turn_id: TurnId,
}

/// Why a line was not taken. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// Too much waits already.
    #[error("too many messages wait for an answer; nothing was written, try again in a few seconds")]
    Full {
        /// Time after which the client may try again.
        retry_after: Duration,
    },
    /// The program is going down.
    #[error("EchoVessel is stopping; nothing was written, try again when it is back")]
    Stopping,
    /// The line can't be captured.
    #[error(transparent)]
    Capture(#[from] CaptureError),
}

impl Runtime {
    /// Tells whether the user writes on in a channel: what waits there waits for it, or is answered at once. Says whether
    /// anything waits.
    pub fn note_typing(&self, scope: &Scope, channel_id: &str, is_typing: bool) -> bool {
        self.runtime.note_typing(scope, channel_id, is_typing)
    }
}

impl RuntimeInner {
    /// Takes a line: reserves room, makes it durable, and answers its burst after the debounce. Returns when the line
    /// is durable. `watcher` hears of its turn.
    pub(crate) async fn accept(
        self: &Arc<Self>,
        incoming: IncomingMessage,
        arrival: Option<Arrival>,
        subscriber: Option<mpsc::UnboundedSender<TurnEvent>>,
    ) -> Result<AcceptedMessage, AcceptError> {
        if self.stopping.is_cancelled() {
            return Err(AcceptError::Stopping);
        }
        capture::check(&incoming.content)?;
        let place = self.place_of(&incoming);
        let turn_id = self.reserve(&incoming.scope, &place)?;
        // In a task of its own: a caller who goes away must not leave a burst that waits for its line permanently.
        let runtime = self.clone();
        let taking = self
            .tasks
            .spawn(async move { runtime.take(incoming, place, arrival, turn_id, subscriber).await });
        taking.await.unwrap_or_else(|_| Err(defect().into()))
    }

    /// Stores the line, publishes its event and adds it to its burst; if that fails, frees its reserved place.
    async fn take(
        self: &Arc<Self>,
        incoming: IncomingMessage,
        place: Place,
        arrival: Option<Arrival>,
        turn_id: TurnId,
        subscriber: Option<mpsc::UnboundedSender<TurnEvent>>,
    ) -> Result<AcceptedMessage, AcceptError> {
        let (channel_write, voice_note) =
            arrival.map_or((None, None), |arrival| (Some(arrival.channel_write), arrival.voice_note));
        let id = MessageId(self.ids().next(self.clock().now()));
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
            // Before the message: a crash between the two must not lose where its words are.
            if let (Some(note), Some(voice)) = (&voice_note, self.voice.as_ref()) {
                let unwritten =
                    |error| StoreError::Failed(format!("a voice message can't be noted: {error}"));
                voice.files.keep_note(id, note).await.map_err(unwritten)?;
            }
            self.record(line, None).await
        };
        let captured = AssertUnwindSafe(writing).catch_unwind().await;
        let message = match captured.unwrap_or_else(|_| Err(defect())) {
            Ok(captured) => captured.message,
            Err(error) => {
                self.release(&incoming.scope, &place, turn_id);
                return Err(error.into());
            }
        };
        self.publish(
            &incoming.scope,
            ServerEvent::UserAppended {
                message_id: message.id,
                turn_id,
                channel_id: incoming.channel_id.clone(),
                content: incoming.content.clone(),
                received_at: message.created_at,
                external_ref: incoming.external_ref.clone(),
            },
        );
        if is_wish_for_quiet(&incoming.content) {
            self.mute_for_a_day(&incoming.scope.user).await;
        }
        match voice_note {
            None => self.start_debounce(incoming, place, turn_id, subscriber),
            // Until then its burst counts it as under way.
            Some(note) => {
                self.start_debounce_when_heard(note, message.id, incoming, place, turn_id, subscriber)
            }
        }
        Ok(AcceptedMessage { message_id: message.id, turn_id })
    }

    fn place_of(&self, incoming: &IncomingMessage) -> Place {
        let delivery = self.delivery_of(&incoming.channel_id, incoming.external_ref.as_deref());
        let conversation = match delivery {
            Some(ChannelWrite::Deliver { conversation }) => Some(conversation),
            _ => None,
        };
        Place { channel_id: incoming.channel_id.clone(), conversation }
    }

    fn reserve(&self, scope: &Scope, place: &Place) -> Result<TurnId, AcceptError> {
        let now = self.clock().now();
        let reserved = self.conversations.reserve(scope, place, now, || TurnId(self.ids().next(now)));
        reserved.map_err(|ConversationFull| AcceptError::Full { retry_after: RETRY_AFTER })
    }

    /// Gives back the room of a line that could not be captured.
    fn release(self: &Arc<Self>, scope: &Scope, place: &Place, turn_id: TurnId) {
        self.conversations.release(scope, place, turn_id);
        // The burst's timer may have gone by while the failed capture was under way.
        self.start_next_turn(scope);
    }

    fn start_debounce_when_heard(
        self: &Arc<Self>,
        note: VoiceNote,
        id: MessageId,
        incoming: IncomingMessage,
        place: Place,
        turn_id: TurnId,
        subscriber: Option<mpsc::UnboundedSender<TurnEvent>>,
    ) {
        let runtime = self.clone();
        self.tasks.spawn(async move {
            match AssertUnwindSafe(runtime.hear(id, &note)).catch_unwind().await {
                // The next start listens again, and answers then.
                Ok(Err(Interrupted)) => return,
                Ok(Ok(())) => {}
                Err(_) => tracing::error!("a defect broke off listening to a voice message"),
            }
            runtime.start_debounce(incoming, place, turn_id, subscriber);
        });
    }

    /// Counts the durable line and starts its burst's wait again.
    fn start_debounce(
        self: &Arc<Self>,
        incoming: IncomingMessage,
        place: Place,
        turn_id: TurnId,
        subscriber: Option<mpsc::UnboundedSender<TurnEvent>>,
    ) {
        let (scope, characters) = (incoming.scope, incoming.content.chars().count());
        let grown = self.conversations.add_line(&scope, &place, turn_id, characters, subscriber);
        match grown {
            None => {}
            Some(burst) if burst.is_ripe => self.start_next_turn(&scope),
            Some(burst) => self.wait_for_more(scope, place, burst.generation),
        }
    }

    /// The person writes on, or nothing more comes: what waits on the channel waits again, or is answered. Says whether
    /// anything waits.
    pub(crate) fn note_typing(self: &Arc<Self>, scope: &Scope, channel_id: &str, is_typing: bool) -> bool {
        let waiting = self.conversations.note_typing(scope, channel_id, is_typing, self.clock().now());
        for burst in waiting.iter().filter(|burst| is_typing && !burst.is_due) {
            self.wait_for_more(scope.clone(), burst.place.clone(), burst.generation);
        }
        if !is_typing {
            self.start_next_turn(scope);
        }
        !waiting.is_empty()
    }

    /// Answers the burst after the debounce, unless it has grown by then.
    fn wait_for_more(self: &Arc<Self>, scope: Scope, place: Place, generation: u64) {
        let debounce = self.debounce(&place.channel_id);
        let runtime = self.clone();
        self.tasks.spawn(async move {
            if !debounce.is_zero() {
                tokio::select! {
                    () = runtime.clock().sleep(debounce) => {}
                    () = runtime.stopping.cancelled() => {}
                }
            }
            runtime.conversations.mark_ripe(&scope, &place, generation);
            runtime.start_next_turn(&scope);
        });
    }

    /// Puts a stored turn back to be answered, as after a crash or when a person asks again.
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

    /// Starts the next turn of the conversation that is ready, unless a turn runs: one turn at a time per (persona, user).
    pub(crate) fn start_next_turn(self: &Arc<Self>, scope: &Scope) {
        let Some(ready) = self.take_ready(scope) else { return };
        let runtime = self.clone();
        let scope = scope.clone();
        self.tasks.spawn(async move {
            let mut next = Some(ready);
            while let Some(ready) = next {
                // Whatever a defect breaks, the next turn is not kept waiting.
                if AssertUnwindSafe(turn::run(&runtime, ready)).catch_unwind().await.is_err() {
                    tracing::error!("a turn broke off by a defect; it is taken up at the next start");
                }
                runtime.conversations.finish_turn(&scope);
                next = runtime.take_ready(&scope);
            }
        });
    }

    fn take_ready(&self, scope: &Scope) -> Option<ReadyTurn> {
        if self.stopping.is_cancelled() {
            // The lines are durable and their turn is pending: the next start answers it.
            self.conversations.drop_subscribers(scope);
            return None;
        }
        self.conversations.take_ready(scope)
    }
}

fn defect() -> CaptureError {
    StoreError::Failed("a defect of EchoVessel stopped it".to_owned()).into()
}
