//! Sends events to all subscribers in order, without waiting for any.
//!
//! The last [`BACKLOG_MAX`] events are stored. A subscriber reads from its own position; one that falls behind only
//! loses its own events, is told so, and may reconnect with the id of the last event that it received.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use memory::{PersonaId, Scope};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::events::server_event::WireEvent;

/// Events stored for subscribers that reconnect. A page that slept for a minute during a long reply continues where
/// it was; one that missed more reloads the conversation.
pub(crate) const BACKLOG_MAX: usize = 4_096;

/// The next item for a subscriber.
#[derive(Clone, Debug, PartialEq)]
pub enum Delivery {
    /// An event with its id, as `<run>-<number>`.
    Event(String, Arc<WireEvent>),
    /// Events were lost; the subscriber has to reload what it shows.
    Lagged,
}

/// Distributes the events of the program to all subscribers.
#[derive(Clone)]
pub struct Broadcast {
    shared: Arc<SharedState>,
}

struct SharedState {
    run: String,
    /// Locked only to add or copy entries; subscribers are woken by `newest` after it is unlocked.
    backlog: Mutex<Backlog>,
    newest: watch::Sender<u64>,
}

struct Backlog {
    /// Number of the first stored event.
    first: u64,
    /// Events by number; `None` for withdrawn ones.
    kept: VecDeque<Option<Arc<WireEvent>>>,
}

impl Broadcast {
    /// Creates a broadcast. `run` identifies this run of the program: ids of another run are not valid positions in
    /// this one.
    pub fn new(run: impl Into<String>) -> Self {
        let backlog = Mutex::new(Backlog { first: 1, kept: VecDeque::new() });
        Self { shared: Arc::new(SharedState { run: run.into(), backlog, newest: watch::Sender::new(0) }) }
    }

    /// Sends an event to all subscribers. Never waits, never fails.
    pub fn publish(&self, wire_event: WireEvent) {
        let newest = {
            let mut backlog = self.shared.backlog.lock();
            backlog.kept.push_back(Some(Arc::new(wire_event)));
            if backlog.kept.len() > BACKLOG_MAX {
                backlog.kept.pop_front();
                backlog.first += 1;
            }
            backlog.first + backlog.kept.len() as u64 - 1
        };
        // Subscribers read the backlog in order, so the order of two concurrent notifications does not matter.
        self.shared.newest.send_if_modified(|seen| {
            let later = newest > *seen;
            *seen = newest.max(*seen);
            later
        });
    }

    /// Withdraws all stored events of a scope, as part of forgetting. Subscribers that have not read them are told
    /// that events were lost.
    pub fn withdraw(&self, scope: &Scope) {
        self.withdraw_where(|wire_event| wire_event.scope == *scope);
    }

    /// Withdraws all stored events of a persona, and returns their scopes.
    pub fn withdraw_persona(&self, persona: &PersonaId) -> BTreeSet<Scope> {
        self.withdraw_where(|wire_event| wire_event.scope.persona == *persona)
    }

    fn withdraw_where(&self, withdrawn: impl Fn(&WireEvent) -> bool) -> BTreeSet<Scope> {
        let mut scopes = BTreeSet::new();
        for kept in &mut self.shared.backlog.lock().kept {
            if let Some(wire_event) = kept.take_if(|wire_event| withdrawn(wire_event)) {
                scopes.insert(wire_event.scope.clone());
            }
        }
        scopes
    }

    /// Subscribes to future events.
    pub fn subscribe(&self) -> Subscription {
        let mut newest = self.shared.newest.subscribe();
        let next = {
            let backlog = self.shared.backlog.lock();
            backlog.first + backlog.kept.len() as u64
        };
        newest.mark_unchanged();
        Subscription { shared: self.shared.clone(), newest, next, lost: false }
    }

    /// Subscribes to the events after the one with this id. If the id is of another run, or later events were
    /// dropped, [`Delivery::Lagged`] comes first.
    pub fn subscribe_after(&self, last_event_id: &str) -> Subscription {
        let mut subscription = self.subscribe();
        let number = last_event_id.rsplit_once('-').filter(|(run, _)| *run == self.shared.run);
        match number.and_then(|(_, number)| number.parse::<u64>().ok()) {
            Some(seen) if seen < subscription.next => subscription.next = seen + 1,
            _ => subscription.lost = true,
        }
        subscription
    }
}

pub struct Subscription {
    shared: Arc<SharedState>,
    newest: watch::Receiver<u64>,
    next: u64,
    lost: bool,
}

impl Subscription {
    /// Waits for the next delivery; `None` if the broadcast was dropped.
    pub async fn next(&mut self) -> Option<Delivery> {
        loop {
            if let Some(delivery) = self.ready() {
                return Some(delivery);
            }
            self.newest.changed().await.ok()?;
        }
    }

    /// The id of the last event before the next one, for [`Broadcast::subscribe_after`].
    pub fn last_event_id(&self) -> String {
        format!("{}-{}", self.shared.run, self.next - 1)
    }

    fn ready(&mut self) -> Option<Delivery> {
        if std::mem::take(&mut self.lost) {
            return Some(Delivery::Lagged);
        }
        let backlog = self.shared.backlog.lock();
        if self.next < backlog.first {
            self.next = backlog.first;
            return Some(Delivery::Lagged);
        }
        let place = usize::try_from(self.next - backlog.first).ok()?;
        let Some(wire_event) = backlog.kept.get(place)?.clone() else {
            let withdrawn = backlog.kept.iter().skip(place).take_while(|kept| kept.is_none()).count();
            self.next += withdrawn as u64;
            return Some(Delivery::Lagged);
        };
        let id = format!("{}-{}", self.shared.run, self.next);
        self.next += 1;
        Some(Delivery::Event(id, wire_event))
    }
}

impl SharedState {}

#[cfg(test)]
mod tests {
    use super::*;
    use memory::UserId;
    use serde_json::json;

    fn event_numbered(number: u64) -> WireEvent {
        let scope = Scope::new(PersonaId::new("p").unwrap(), UserId::new("u").unwrap());
        WireEvent { scope, name: "chat.message.token", data: json!({ "n": number }) }
    }

    async fn number(subscription: &mut Subscription) -> Option<u64> {
        match subscription.next().await {
            Some(Delivery::Event(_, wire_event)) => wire_event.data["n"].as_u64(),
            _ => None,
        }
    }

    #[tokio::test]
    async fn a_subscriber_gets_later_events_in_order() {
        let broadcast = Broadcast::new("a");
        broadcast.publish(event_numbered(1));
        let mut subscriber = broadcast.subscribe();
        broadcast.publish(event_numbered(2));
        broadcast.publish(event_numbered(3));
        assert_eq!(number(&mut subscriber).await, Some(2));
        assert_eq!(number(&mut subscriber).await, Some(3));
    }

    #[tokio::test]
    async fn a_returning_subscriber_continues_at_its_position() {
        let broadcast = Broadcast::new("a");
        let mut subscriber = broadcast.subscribe();
        broadcast.publish(event_numbered(1));
        let Some(Delivery::Event(id, _)) = subscriber.next().await else { panic!("an event was due") };
        drop(subscriber);
        broadcast.publish(event_numbered(2));
        let mut back = broadcast.subscribe_after(&id);
        assert_eq!(number(&mut back).await, Some(2));
    }

    #[tokio::test]
    async fn a_subscriber_without_events_has_a_position_too() {
        let broadcast = Broadcast::new("a");
        let place = broadcast.subscribe().last_event_id();
        broadcast.publish(event_numbered(1));
        assert_eq!(number(&mut broadcast.subscribe_after(&place)).await, Some(1));
    }

    #[tokio::test]
    async fn a_slow_subscriber_loses_its_own_backlog_and_gets_an_event() {
        let broadcast = Broadcast::new("a");
        let mut slow = broadcast.subscribe();
        for n in 0..=BACKLOG_MAX as u64 {
            broadcast.publish(event_numbered(n));
        }
        assert_eq!(slow.next().await, Some(Delivery::Lagged));
        assert_eq!(number(&mut slow).await, Some(1));
    }

    #[tokio::test]
    async fn withdrawn_memories_are_not_announced() {
        let broadcast = Broadcast::new("a");
        let mut subscriber = broadcast.subscribe();
        let place = subscriber.last_event_id();
        let other = Scope::new(PersonaId::new("p").unwrap(), UserId::new("other").unwrap());
        broadcast.publish(event_numbered(1));
        broadcast.publish(event_numbered(2));
        broadcast.publish(WireEvent { scope: other, ..event_numbered(3) });
        broadcast.withdraw(&event_numbered(0).scope);
        for mut reader in [subscriber, broadcast.subscribe_after(&place)] {
            assert_eq!(reader.next().await, Some(Delivery::Lagged));
            assert_eq!(number(&mut reader).await, Some(3));
        }
        subscriber = broadcast.subscribe();
        broadcast.publish(event_numbered(4));
        assert_eq!(number(&mut subscriber).await, Some(4), "one that had read them loses nothing");
    }

    #[tokio::test]
    async fn an_id_of_another_run_is_not_a_place_in_this_one() {
        let broadcast = Broadcast::new("b");
        broadcast.publish(event_numbered(1));
        assert_eq!(broadcast.subscribe_after("a-1").next().await, Some(Delivery::Lagged));
        assert_eq!(broadcast.subscribe_after("nonsense").next().await, Some(Delivery::Lagged));
    }
}
