//! Turns, as the inbox and the turn runner ask for them.

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;

use crate::identifiers::TurnId;
use crate::messages::{Message, Turn};
use crate::ports::StoreError;
use crate::scope::Scope;
use crate::sessions::Session;

/// Work that failed and waits for a person to try it again.
#[derive(Clone, Debug, PartialEq)]
pub enum FailedWork {
    /// A session that was not consolidated.
    Session(Session),
    /// A burst without a reply.
    Turn(Turn),
}

impl FailedWork {
    /// The position in the list, which is unique: the time of the last message, and the id.
    #[must_use]
    pub fn list_position(&self) -> (Timestamp, Uuid) {
        match self {
            Self::Session(session) => (session.last_message_at, session.id.0),
            Self::Turn(turn) => (turn.last_message_at, turn.id.0),
        }
    }
}

/// Turns: what waits for a reply, what got one, what failed.
#[async_trait]
pub trait TurnStore: Send + Sync {
    /// Marks a pending turn as failed.
    async fn fail_turn(&self, id: TurnId, reason: &str) -> Result<(), StoreError>;
    /// Makes a failed turn pending again.
    async fn reopen_turn(&self, id: TurnId) -> Result<Option<Turn>, StoreError>;
    /// Makes an answered turn pending again. Its reply stays until the next one takes its place.
    async fn reopen_answered_turn(&self, id: TurnId) -> Result<Option<Turn>, StoreError>;
    /// Turns that never got a reply nor a failure, oldest first.
    async fn pending_turns(&self) -> Result<Vec<Turn>, StoreError>;
    /// Sessions and turns that wait for a person, newest first, at most `limit`; with `before`, only those behind that place.
    /// `None` as scope means all.
    async fn failed_work(
        &self,
        scope: Option<&Scope>,
        before: Option<(Timestamp, Uuid)>,
        limit: u32,
    ) -> Result<Vec<FailedWork>, StoreError>;
    async fn turn(&self, id: TurnId) -> Result<Option<Turn>, StoreError>;
    /// Messages of a turn, oldest first.
    async fn turn_messages(&self, id: TurnId) -> Result<Vec<Message>, StoreError>;
    /// The client's own name for the last line of a turn that has one.
    async fn turn_external_ref(&self, id: TurnId) -> Result<Option<String>, StoreError>;
}
