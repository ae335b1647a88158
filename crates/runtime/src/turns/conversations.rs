//! Waiting and running turns of each conversation, in memory only: messages in a row (bursts), and stored turns that
//! are resumed.
//!
//! A conversation is one (persona, user). It has one turn at a time.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use memory::identifiers::TurnId;
use memory::{Scope, UserId};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::turns::turn_event::TurnEvent;

/// Maximum messages of one conversation that wait for their turn. A person does not write as many during one reply; a
/// program in a loop does.
pub(crate) const WAITING_LINES_MAX: usize = 256;
/// Messages in a row after which they are answered without further delay: somebody who never pauses gets a reply too.
pub(crate) const BURST_LINES_MAX: usize = 50;
/// Characters of messages in a row after which they are answered without further delay, because a prompt has room for
/// few more.
pub(crate) const BURST_CHARACTERS_MAX: usize = 20_000;
/// Maximum delay while the user is typing. Typing signals can get lost, and somebody may fall asleep while typing.
const BURST_WAIT_MAX: SignedDuration = SignedDuration::from_secs(60);

/// The place of a conversation. A private message is never answered where others can read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ConversationPlace {
    pub(crate) channel_id: String,
    /// The conversation on the channel's platform, if that has several.
    pub(crate) conversation: Option<String>,
}

/// A turn that is ready to be answered.
pub(crate) struct ReadyTurn {
    pub(crate) turn_id: TurnId,
    pub(crate) scope: Scope,
    pub(crate) channel_id: String,
    pub(crate) subscribers: Vec<mpsc::UnboundedSender<TurnEvent>>,
    /// True if the messages are older: the turn is repeated, or was interrupted.
    pub(crate) is_resumed: bool,
}

impl ReadyTurn {
    /// Notifies the channels that wait for this turn. A channel that stopped listening is ignored.
    pub(crate) fn notify_channel(&self, event: TurnEvent) {
        for subscriber in &self.subscribers {
            let _: Result<(), mpsc::error::SendError<TurnEvent>> = subscriber.send(event.clone());
        }
    }
}

/// A burst (messages in a row) with one more message.
pub(crate) struct GrownBurst {
    /// Number of the burst's timer. Timers with other numbers are outdated.
    pub(crate) generation: u64,
    /// True if the burst is answered without further delay.
    pub(crate) is_ripe: bool,
}

/// A waiting burst whose user started or stopped typing.
pub(crate) struct WaitingBurst {
    pub(crate) place: ConversationPlace,
    pub(crate) generation: u64,
    /// True if it has waited for so long that typing does not delay it any more.
    pub(crate) is_due: bool,
}

/// The conversation has no room for another message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConversationFull;

/// All conversations with waiting or running turns.
#[derive(Default)]
pub(crate) struct Conversations {
    /// One lock for all conversations: it is held only briefly, and a new conversation needs the whole map.
    queues: Mutex<ConversationQueues>,
}

#[derive(Default)]
struct ConversationQueues {
    of_scope: HashMap<Scope, ScopeQueue>,
    bursts_begun: u64,
}

#[derive(Default)]
struct ScopeQueue {
    bursts: HashMap<ConversationPlace, Burst>,
    /// Stored turns to resume, oldest first, before any burst.
    resumed: VecDeque<ReadyTurn>,
    running: bool,
    /// Pending turns that a task will resume or mark as failed.
    held: usize,
    /// Messages reserved or waiting, in all places.
    waiting: usize,
}

/// Messages of one conversation that get one reply.
struct Burst {
    turn_id: TurnId,
    /// Position in the order of the places.
    began: u64,
    began_at: Timestamp,
    lines: usize,
    characters: usize,
    /// Number of captures in progress: the burst is not answered before they are durable.
    in_flight: usize,
    /// Rises with each message, so that older timers have no effect.
    generation: u64,
    /// True if the delay is over; the burst is answered as soon as no turn runs.
    ripe: bool,
    subscribers: Vec<mpsc::UnboundedSender<TurnEvent>>,
}

impl Conversations {
    /// Reserves room for a message and returns the turn of its burst; `new_turn` creates the id if the message begins
    /// a burst.
    pub(crate) fn reserve(
        &self,
        scope: &Scope,
        place: &ConversationPlace,
        now: Timestamp,
        new_turn: impl FnOnce() -> TurnId,
    ) -> Result<TurnId, ConversationFull> {
        let mut queues = self.queues.lock();
        let began = queues.bursts_begun;
        queues.bursts_begun += 1;
        let queue = queues.of_scope.entry(scope.clone()).or_default();
        if queue.waiting >= WAITING_LINES_MAX {
            return Err(ConversationFull);
        }
        queue.waiting += 1;
        let burst = queue.bursts.entry(place.clone()).or_insert_with(|| Burst {
            turn_id: new_turn(),
            began,
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

    /// Releases the room that was reserved for a message that could not be captured.
    pub(crate) fn release_reservation(&self, scope: &Scope, place: &ConversationPlace, turn_id: TurnId) {
        let mut queues = self.queues.lock();
        let Some(queue) = queues.of_scope.get_mut(scope) else { return };
        queue.waiting = queue.waiting.saturating_sub(1);
        if let Some(burst) = queue.bursts.get_mut(place)
            && burst.turn_id == turn_id
        {
            burst.in_flight = burst.in_flight.saturating_sub(1);
            if burst.lines == 0 && burst.in_flight == 0 {
                queue.bursts.remove(place);
            }
        }
        queues.remove_if_quiet(scope);
    }

    /// Adds a stored message to its burst; `None` if the burst no longer exists.
    pub(crate) fn add_line(
        &self,
        scope: &Scope,
        place: &ConversationPlace,
        turn_id: TurnId,
        characters: usize,
        subscriber: Option<mpsc::UnboundedSender<TurnEvent>>,
    ) -> Option<GrownBurst> {
        let mut queues = self.queues.lock();
        let burst = queues.of_scope.get_mut(scope)?.bursts.get_mut(place)?;
        if burst.turn_id != turn_id {
            return None;
        }
        burst.in_flight = burst.in_flight.saturating_sub(1);
        burst.lines += 1;
        burst.characters += characters;
        burst.generation += 1;
        burst.subscribers.extend(subscriber);
        burst.ripe |= burst.lines >= BURST_LINES_MAX || burst.characters >= BURST_CHARACTERS_MAX;
        Some(GrownBurst { generation: burst.generation, is_ripe: burst.ripe })
    }

    /// Notes if the user is typing, and returns the channel's waiting burst. Without typing it is ripe.
    pub(crate) fn note_typing(
        &self,
        scope: &Scope,
        channel_id: &str,
        is_typing: bool,
        now: Timestamp,
    ) -> Vec<WaitingBurst> {
        let mut queues = self.queues.lock();
        let Some(queue) = queues.of_scope.get_mut(scope) else { return Vec::new() };
        let mut waiting = Vec::new();
        let in_channel =
            queue.bursts.iter_mut().filter(|(place, burst)| place.channel_id == channel_id && !burst.ripe);
        for (place, burst) in in_channel {
            let is_due = now.duration_since(burst.began_at) >= BURST_WAIT_MAX;
            burst.ripe = !is_typing;
            // A burst that has waited long enough keeps its running timer.
            burst.generation += u64::from(is_typing && !is_due);
            waiting.push(WaitingBurst { place: place.clone(), generation: burst.generation, is_due });
        }
        waiting
    }

    /// Ends the delay of a burst, unless it has grown since the timer with this generation began.
    pub(crate) fn mark_ripe(&self, scope: &Scope, place: &ConversationPlace, generation: u64) {
        let mut queues = self.queues.lock();
        let burst = queues.of_scope.get_mut(scope).and_then(|queue| queue.bursts.get_mut(place));
        if let Some(burst) = burst.filter(|burst| burst.generation == generation) {
            burst.ripe = true;
        }
    }

    /// Queues a stored turn before the bursts.
    pub(crate) fn resume(&self, turn: ReadyTurn) {
        self.queues.lock().of_scope.entry(turn.scope.clone()).or_default().resumed.push_back(turn);
    }

    /// Takes the next turn, unless one is running. It runs until [`Self::finish_turn`].
    pub(crate) fn take_ready(&self, scope: &Scope) -> Option<ReadyTurn> {
        let mut queues = self.queues.lock();
        let queue = queues.of_scope.get_mut(scope)?;
        if queue.running {
            return None;
        }
        let ready = queue.next_ready(scope);
        queue.running = ready.is_some();
        queues.remove_if_quiet(scope);
        ready
    }

    /// Drops all subscribers of the conversation's bursts: the program stops, and the next start answers them.
    pub(crate) fn drop_subscribers(&self, scope: &Scope) {
        if let Some(queue) = self.queues.lock().of_scope.get_mut(scope) {
            queue.bursts.values_mut().for_each(|burst| burst.subscribers.clear());
        }
    }

    pub(crate) fn finish_turn(&self, scope: &Scope) {
        if let Some(queue) = self.queues.lock().of_scope.get_mut(scope) {
            queue.running = false;
        }
    }

    /// Marks that the conversation has a pending turn that a task will resume or mark as failed, for as long as the
    /// result exists.
    pub(crate) fn mark_turn_pending(self: &Arc<Self>, scope: &Scope) -> SuspendedTurn {
        self.queues.lock().of_scope.entry(scope.clone()).or_default().held += 1;
        SuspendedTurn { conversations: self.clone(), scope: scope.clone() }
    }

    /// Number of accepted messages that are not answered yet.
    pub(crate) fn waiting_lines(&self) -> usize {
        self.queues.lock().of_scope.values().map(|queue| queue.waiting).sum()
    }

    /// True if a turn waits or runs in the conversation, or will be resumed.
    pub(crate) fn is_active(&self, scope: &Scope) -> bool {
        self.queues.lock().of_scope.contains_key(scope)
    }

    /// True if that is the case for any conversation of the user.
    pub(crate) fn is_user_active(&self, user: &UserId) -> bool {
        self.queues.lock().of_scope.iter().any(|(scope, queue)| scope.user == *user && !queue.is_quiet())
    }
}

/// A pending turn that a task will resume or mark as failed.
pub(crate) struct SuspendedTurn {
    conversations: Arc<Conversations>,
    scope: Scope,
}

impl Drop for SuspendedTurn {
    fn drop(&mut self) {
        let mut queues = self.conversations.queues.lock();
        if let Some(queue) = queues.of_scope.get_mut(&self.scope) {
            queue.held = queue.held.saturating_sub(1);
        }
        queues.remove_if_quiet(&self.scope);
    }
}

impl ConversationQueues {
    fn remove_if_quiet(&mut self, scope: &Scope) {
        if self.of_scope.get(scope).is_some_and(ScopeQueue::is_quiet) {
            self.of_scope.remove(scope);
        }
    }
}

impl ScopeQueue {
    fn next_ready(&mut self, scope: &Scope) -> Option<ReadyTurn> {
        if let Some(ready) = self.resumed.pop_front() {
            return Some(ready);
        }
        let ripe = self.bursts.iter().filter(|(_, burst)| burst.ripe && burst.in_flight == 0);
        let place = ripe.min_by_key(|(_, burst)| burst.began).map(|(place, _)| place.clone())?;
        let burst = self.bursts.remove(&place)?;
        self.waiting = self.waiting.saturating_sub(burst.lines);
        Some(ReadyTurn {
            turn_id: burst.turn_id,
            scope: scope.clone(),
            channel_id: place.channel_id,
            subscribers: burst.subscribers,
            is_resumed: false,
        })
    }

    /// True if nothing waits and no turn is running.
    fn is_quiet(&self) -> bool {
        !self.running
            && self.held == 0
            && self.bursts.is_empty()
            && self.resumed.is_empty()
            && self.waiting == 0
    }
}

#[cfg(test)]
mod tests {
    use memory::PersonaId;
    use uuid::Uuid;

    use super::*;

    fn scope(user: &str) -> Scope {
        Scope::new(PersonaId::new("luna").unwrap(), UserId::new(user).unwrap())
    }

    fn place(channel: &str) -> ConversationPlace {
        ConversationPlace { channel_id: channel.to_owned(), conversation: None }
    }

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// Reserves room for a message and stores it. Returns the generation of its timer, and the turn.
    fn say(all: &Conversations, scope: &Scope, channel: &str, turn: u128) -> (u64, TurnId) {
        let new_turn = || TurnId(Uuid::from_u128(turn));
        let id = all.reserve(scope, &place(channel), second(0), new_turn).unwrap();
        (all.add_line(scope, &place(channel), id, 5, None).unwrap().generation, id)
    }

    fn next_turn(all: &Conversations, scope: &Scope) -> Option<u128> {
        all.take_ready(scope).map(|ready| ready.turn_id.0.as_u128())
    }

    #[test]
    fn lines_of_one_place_are_one_turn_and_end_with_their_last_timer() {
        let (all, ann) = (Conversations::default(), scope("ann"));
        let (first, turn) = say(&all, &ann, "web", 1);
        let (last, same) = say(&all, &ann, "web", 2);
        assert_eq!(turn, same);
        let (elsewhere, other) = say(&all, &ann, "telegram", 3);
        assert_ne!(turn, other);
        all.mark_ripe(&ann, &place("web"), first);
        assert_eq!(next_turn(&all, &ann), None, "a line came after the first timer began");
        all.mark_ripe(&ann, &place("telegram"), elsewhere);
        all.mark_ripe(&ann, &place("web"), last);
        assert_eq!(next_turn(&all, &ann), Some(1), "the place that began first");
        assert_eq!(next_turn(&all, &ann), None, "one turn at a time");
        all.finish_turn(&ann);
        assert_eq!(next_turn(&all, &ann), Some(3));
        assert!(all.is_user_active(&ann.user));
        all.finish_turn(&ann);
        assert_eq!((next_turn(&all, &ann), all.is_active(&ann), all.waiting_lines()), (None, false, 0));
    }

    #[test]
    fn a_burst_waits_for_captures_under_way_and_for_those_alone() {
        let (all, ann) = (Conversations::default(), scope("ann"));
        let (_, turn) = say(&all, &ann, "web", 1);
        all.reserve(&ann, &place("web"), second(0), || unreachable!()).unwrap();
        assert_eq!(all.note_typing(&ann, "web", false, second(1)).len(), 1);
        assert_eq!(next_turn(&all, &ann), None);
        all.release_reservation(&ann, &place("web"), turn);
        assert_eq!(next_turn(&all, &ann), Some(1));
    }

    #[test]
    fn a_conversation_without_room_refuses_a_line_and_others_go_on() {
        let (all, ann) = (Conversations::default(), scope("ann"));
        let turn = TurnId(Uuid::from_u128(1));
        for _ in 0..WAITING_LINES_MAX {
            all.reserve(&ann, &place("web"), second(0), || turn).unwrap();
        }
        assert_eq!(all.reserve(&ann, &place("telegram"), second(0), || turn), Err(ConversationFull));
        say(&all, &scope("bob"), "web", 2);
        for _ in 0..WAITING_LINES_MAX {
            all.release_reservation(&ann, &place("web"), turn);
        }
        assert!(!all.is_active(&ann));
    }

    #[test]
    fn typing_delays_a_burst_for_a_minute_at_most() {
        let (all, ann) = (Conversations::default(), scope("ann"));
        let (generation, _) = say(&all, &ann, "web", 1);
        let waiting = all.note_typing(&ann, "web", true, second(30)).pop().unwrap();
        assert!(!waiting.is_due && waiting.generation > generation, "its timer begins again");
        let due = all.note_typing(&ann, "web", true, second(60)).pop().unwrap();
        assert!(due.is_due && due.generation == waiting.generation, "the timer that runs stays");
        assert!(all.note_typing(&ann, "telegram", true, second(60)).is_empty());
    }

    #[test]
    fn a_resumed_turn_goes_first_and_a_held_one_counts_as_active() {
        let (all, ann) = (Arc::new(Conversations::default()), scope("ann"));
        let held = all.mark_turn_pending(&ann);
        assert!(all.is_active(&ann) && all.is_user_active(&ann.user));
        let (generation, _) = say(&all, &ann, "web", 1);
        all.mark_ripe(&ann, &place("web"), generation);
        all.resume(ReadyTurn {
            turn_id: TurnId(Uuid::from_u128(2)),
            scope: ann.clone(),
            channel_id: "web".to_owned(),
            subscribers: Vec::new(),
            is_resumed: true,
        });
        for turn in [2, 1] {
            assert_eq!(next_turn(&all, &ann), Some(turn));
            all.finish_turn(&ann);
        }
        assert_eq!(next_turn(&all, &ann), None);
        assert!(all.is_active(&ann));
        drop(held);
        assert!(!all.is_active(&ann));
    }
}
