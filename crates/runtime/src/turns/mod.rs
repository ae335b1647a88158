//! Turns: a message is stored and answered.

pub(crate) mod conversations;
pub(crate) mod inbox;
pub(crate) mod voice_messages;
pub(crate) mod turn;
pub(crate) mod turn_error;
pub(crate) mod turn_event;
pub(crate) mod own_line;
pub(crate) mod receipt;
pub(crate) mod after_turn;
pub(crate) mod turn_trace;
pub(crate) mod recovery;
pub(crate) mod requests;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use memory::identifiers::TurnId;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::changes::Changes;
use crate::channels::Outbound;
use crate::core::RuntimeCore;
use crate::messages::Messages;
use crate::recall::Recall;
use crate::voice::Voice;
use conversations::Conversations;

/// Accepts messages and answers them, one turn at a time for each persona and user.
pub struct Turns {
    core: Arc<RuntimeCore>,
    messages: Arc<Messages>,
    recall: Arc<Recall>,
    changes: Arc<Changes>,
    voice: Arc<Voice>,
    outbound: Outbound,
    conversations: Arc<Conversations>,
    /// Turns that a person can stop: running ones, and those that should not start.
    stops: Mutex<HashMap<TurnId, CancellationToken>>,
}

/// The services that a turn needs.
pub(crate) struct TurnParts {
    pub(crate) messages: Arc<Messages>,
    pub(crate) recall: Arc<Recall>,
    pub(crate) changes: Arc<Changes>,
    pub(crate) voice: Arc<Voice>,
    pub(crate) outbound: Outbound,
}

impl Turns {
    pub(crate) fn new(core: Arc<RuntimeCore>, parts: TurnParts) -> Arc<Self> {
        let TurnParts { messages, recall, changes, voice, outbound } = parts;
        let (conversations, stops) = (Arc::default(), Mutex::default());
        Arc::new(Self { core, messages, recall, changes, voice, outbound, conversations, stops })
    }

    /// Waiting bursts and turns of all users.
    pub(crate) fn conversations(&self) -> &Arc<Conversations> {
        &self.conversations
    }

    /// Number of messages that wait for their turn, and of running turns.
    pub fn count_turns(&self) -> (usize, usize) {
        let running = self.core.turns_running.load(Ordering::Relaxed);
        (self.conversations.waiting_lines(), usize::try_from(running).unwrap_or(usize::MAX))
    }

    /// The token by which a person cancels a turn.
    fn stop_token(&self, turn: TurnId) -> CancellationToken {
        self.stops.lock().entry(turn).or_default().clone()
    }

    fn remove_stop_token(&self, turn: TurnId) {
        self.stops.lock().remove(&turn);
    }
}
