//! Progress of a turn, for the channel that waits for its reply.

use memory::ledger::TokenUsage;
use memory::messages::Message;

/// Progress of one turn, for the channel that waits for its reply.
#[derive(Clone, Debug)]
pub enum TurnEvent {
    Started,
    /// A piece of the reply's text.
    Delta(String),
    /// The reply is stored.
    Done {
        message: Box<Message>,
        usage: TokenUsage,
        model: String,
        /// True if the model was interrupted.
        incomplete: bool,
    },
    /// No reply will come.
    Failed {
        /// The reason, for a person.
        reason: String,
        /// True if the reply may be requested again.
        retryable: bool,
    },
    /// No reply will come, because its messages were deleted.
    Withdrawn {
        /// The reason, for a person.
        reason: String,
    },
}
