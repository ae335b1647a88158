//! Progress of a turn, for the channel that waits for its reply.

use memory::ledger::TokenUsage;
use memory::messages::Message;

/// Progress of one turn, for the channel that waits for its reply.
#[derive(Clone, Debug)]
pub enum TurnEvent {
    Started,
    /// A piece of the reply.
    Delta(String),
    /// The reply is durable.
    Done {
        message: Box<Message>,
        usage: TokenUsage,
        model: String,
        /// True if the model was cut off.
        incomplete: bool,
    },
    /// No reply will come.
    Failed {
        /// Why, for a person.
        reason: String,
        /// True if the reply may be requested again.
        retryable: bool,
    },
    /// No reply will come, because what was to be answered is gone.
    Withdrawn {
        /// Why, for a person.
        reason: String,
    },
}
