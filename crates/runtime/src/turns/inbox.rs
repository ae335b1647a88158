//! Accepts incoming messages: reserves queue space, stores each message, and groups a burst into one turn.

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use jiff::{SignedDuration, Timestamp};
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
use crate::turns::turn::{self, TurnEvent};
use crate::voice::notes::{Interrupted, VoiceNote};

/// Lines of one (persona, user) that may wait for their turn.
pub(crate) const WAITING_LINES_MAX: usize = 256;
/// Lines at which a burst is answered without further waiting.
pub(crate) const BURST_LINES_MAX: usize = 50;
/// Characters at which a burst is answered without further waiting.
pub(crate) const BURST_CHARACTERS_MAX: usize = 20_000;
/// Maximum delay of a burst while the user is typing.
const BURST_WAIT_MAX: SignedDuration = SignedDuration::from_secs(60);
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

/// A conversation on a channel. A private message is never answered where others read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    channel_id: String,
    /// The conversation on the channel's platform, where it has several.
    conversation: Option<String>,
}

/// Waiting work of one (persona, user): bursts by place, stored turns, and the turn that runs.
#[derive(Default)]
pub(crate) struct ScopeQueue {
    bursts: HashMap<Place, Burst>,
    /// Stored turns that are resumed, oldest first; they go before the bursts.
    resumed: VecDeque<ReadyTurn>,
    running: bool,
    /// Pending turns that can't be resumed yet.
    held: usize,
    /// Lines reserved or waiting, over all places.
    waiting: usize,
}

/// Messages of one conversation that get one reply.
struct Burst {
    turn_id: TurnId,
    /// Order among the places.
    began: u64,
    began_at: Timestamp,
    lines: usize,
    characters: usize,
    /// Captures under way: the burst is not answered before they are durable.
    in_flight: usize,
    /// Grows with each line; an older timer has lost its say.
    generation: u64,
    /// Its waiting is over; it is answered as soon as no turn runs.
    ripe: bool,
    subscribers: Vec<mpsc::UnboundedSender<TurnEvent>>,
}

/// A burst that is ready to be answered.
pub(crate) struct ReadyTurn {
    pub(crate) turn_id: TurnId,
    pub(crate) scope: Scope,
    pub(crate) channel_id: String,
    pub(crate) subscribers: Vec<mpsc::UnboundedSender<TurnEvent>>,
    /// Its messages are of an earlier time: it is answered again, or was interrupted.
    pub(crate) is_resumed: bool,
}

/// Marks a conversation that has a pending turn to be resumed later, for as long as it lives: the turn counts as known.
pub(crate) struct HeldTurn {
    runtime: Arc<RuntimeInner>,
    scope: Scope,
}

impl Drop for HeldTurn {
    fn drop(&mut self) {
        let mut conversations = self.runtime.conversations();
        let Some(conversation) = conversations.get_mut(&self.scope) else { return };
        conversation.held = conversation.held.saturating_sub(1);
        if conversation.is_quiet() {
            conversations.remove(&self.scope);
        }
    }
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
        let mut conversations = self.conversations();
        let conversation = conversations.entry(scope.clone()).or_default();
        if conversation.waiting >= WAITING_LINES_MAX {
            return Err(AcceptError::Full { retry_after: RETRY_AFTER });
        }
        conversation.waiting += 1;
        let burst = conversation.bursts.entry(place.clone()).or_insert_with(|| Burst {
            turn_id: TurnId(self.ids().next(now)),
            began: self.next_number(),
            began_at: now,
            lines: 0,
            characters: 0,
            in_flight: 0,
            generation: 0,
            ripe: false,
            subscribers: Vec::new(),
        });
        burst.in_flight += 1;
        Ok(burst.turn_id)
    }

    /// Gives back the room of a line that could not be captured.
    fn release(self: &Arc<Self>, scope: &Scope, place: &Place, turn_id: TurnId) {
        {
            let mut conversations = self.conversations();
            let Some(conversation) = conversations.get_mut(scope) else { return };
            conversation.waiting = conversation.waiting.saturating_sub(1);
            if let Some(burst) = conversation.bursts.get_mut(place)
                && burst.turn_id == turn_id
            {
                burst.in_flight = burst.in_flight.saturating_sub(1);
                if burst.lines == 0 && burst.in_flight == 0 {
                    conversation.bursts.remove(place);
                }
            }
            if conversation.is_quiet() {
                conversations.remove(scope);
            }
        }
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
        let (generation, ripe) = {
            let mut conversations = self.conversations();
            let Some(conversation) = conversations.get_mut(&incoming.scope) else { return };
            let Some(burst) = conversation.bursts.get_mut(&place) else { return };
            if burst.turn_id != turn_id {
                return;
            }
            burst.in_flight = burst.in_flight.saturating_sub(1);
            burst.lines += 1;
            burst.characters += incoming.content.chars().count();
            burst.generation += 1;
            burst.subscribers.extend(subscriber);
            burst.ripe |= burst.lines >= BURST_LINES_MAX || burst.characters >= BURST_CHARACTERS_MAX;
            (burst.generation, burst.ripe)
        };
        if ripe {
            self.start_next_turn(&incoming.scope);
            return;
        }
        self.wait_for_more(incoming.scope, place, generation);
    }

    /// The person writes on, or nothing more comes: what waits on the channel waits again, or is answered. Says whether
    /// anything waits.
    pub(crate) fn note_typing(self: &Arc<Self>, scope: &Scope, channel_id: &str, is_typing: bool) -> bool {
        let now = self.clock().now();
        let mut waiting = Vec::new();
        if let Some(conversation) = self.conversations().get_mut(scope) {
            let bursts = conversation.bursts.iter_mut();
            for (place, burst) in
                bursts.filter(|(place, burst)| place.channel_id == channel_id && !burst.ripe)
            {
                let is_due = now.duration_since(burst.began_at) >= BURST_WAIT_MAX;
                burst.ripe = !is_typing;
                // A burst that has waited long enough keeps the timer that runs.
                burst.generation += u64::from(is_typing && !is_due);
                waiting.push((place.clone(), burst.generation, is_due));
            }
        }
        for (place, generation, _) in waiting.iter().filter(|(.., is_due)| is_typing && !is_due) {
            self.wait_for_more(scope.clone(), place.clone(), *generation);
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
            runtime.mark_ready(&scope, &place, generation);
            runtime.start_next_turn(&scope);
        });
    }

    fn mark_ready(&self, scope: &Scope, place: &Place, generation: u64) {
        let mut conversations = self.conversations();
        let burst = conversations.get_mut(scope).and_then(|c| c.bursts.get_mut(place));
        if let Some(burst) = burst.filter(|burst| burst.generation == generation) {
            burst.ripe = true;
        }
    }

    /// Marks the conversation as one with a turn that is resumed later.
    pub(crate) fn hold_turn(self: &Arc<Self>, scope: &Scope) -> HeldTurn {
        self.conversations().entry(scope.clone()).or_default().held += 1;
        HeldTurn { runtime: self.clone(), scope: scope.clone() }
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
        self.conversations().entry(scope.clone()).or_default().resumed.push_back(ready);
        self.start_next_turn(&scope);
    }

    /// Starts the next turn of the conversation that is ready, unless a turn runs: one turn at a time per (persona, user).
    pub(crate) fn start_next_turn(self: &Arc<Self>, scope: &Scope) {
        let Some(ready) = self.take_ripe(scope) else { return };
        let runtime = self.clone();
        let scope = scope.clone();
        self.tasks.spawn(async move {
            let mut next = Some(ready);
            while let Some(ready) = next {
                // Whatever a defect breaks, the next turn is not kept waiting.
                if AssertUnwindSafe(turn::run(&runtime, ready)).catch_unwind().await.is_err() {
                    tracing::error!("a turn broke off by a defect; it is taken up at the next start");
                }
                runtime.turn_is_over(&scope);
                next = runtime.take_ripe(&scope);
            }
        });
    }

    fn take_ripe(&self, scope: &Scope) -> Option<ReadyTurn> {
        let mut conversations = self.conversations();
        let conversation = conversations.get_mut(scope)?;
        if self.stopping.is_cancelled() {
            // The lines are durable and their turn is pending: the next start takes it up. Nobody is to wait for it here.
            conversation.bursts.values_mut().for_each(|burst| burst.subscribers.clear());
            return None;
        }
        if conversation.running {
            return None;
        }
        if let Some(ready) = conversation.resumed.pop_front() {
            conversation.running = true;
            return Some(ready);
        }
        let ripe = conversation.bursts.iter().filter(|(_, burst)| burst.ripe && burst.in_flight == 0);
        let Some((place, _)) = ripe.min_by_key(|(_, burst)| burst.began) else {
            if conversation.is_quiet() {
                conversations.remove(scope);
            }
            return None;
        };
        let place = place.clone();
        let burst = conversation.bursts.remove(&place)?;
        conversation.running = true;
        conversation.waiting = conversation.waiting.saturating_sub(burst.lines);
        Some(ReadyTurn {
            turn_id: burst.turn_id,
            scope: scope.clone(),
            channel_id: place.channel_id,
            subscribers: burst.subscribers,
            is_resumed: false,
        })
    }

    fn turn_is_over(&self, scope: &Scope) {
        if let Some(conversation) = self.conversations().get_mut(scope) {
            conversation.running = false;
        }
    }
}

impl ScopeQueue {
    /// Lines that were taken and not answered yet.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// True if nothing waits and no turn runs.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.running
            && self.held == 0
            && self.bursts.is_empty()
            && self.resumed.is_empty()
            && self.waiting == 0
    }
}

fn defect() -> CaptureError {
    StoreError::Failed("a defect of EchoVessel stopped it".to_owned()).into()
}
