//! Port for turns.

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;

use crate::identifiers::TurnId;
use crate::messages::{Message, Turn};
use crate::ports::StoreError;
use crate::scope::Scope;
use crate::sessions::Session;

/// Failed work that a person can retry.
#[derive(Clone, Debug, PartialEq)]
pub enum FailedWork {
    /// A session whose consolidation failed.
    Session(Session),
    /// A turn without a reply.
    Turn(Turn),
}

impl FailedWork {
    /// The unique position in the list: the time of the last message, and the id.
    #[must_use]
    pub fn list_position(&self) -> (Timestamp, Uuid) {
        match self {
            Self::Session(session) => (session.last_message_at, session.id.0),
            Self::Turn(turn) => (turn.last_message_at, turn.id.0),
        }
    }
}

/// Storage of turns: pending, answered and failed ones.
#[async_trait]
pub trait TurnStore: Send + Sync {
    /// Marks a pending turn as failed.
    async fn fail_turn(&self, id: TurnId, reason: &str) -> Result<(), StoreError>;
    /// Makes a failed turn pending again.
    async fn reopen_turn(&self, id: TurnId) -> Result<Option<Turn>, StoreError>;
    /// Makes an answered turn pending again. Its reply stays until the next one replaces it.
    async fn reopen_answered_turn(&self, id: TurnId) -> Result<Option<Turn>, StoreError>;
    /// Turns without a reply or a failure, oldest first.
    async fn pending_turns(&self) -> Result<Vec<Turn>, StoreError>;
    /// Failed sessions and turns, newest first, at most `limit`; with `before`, only those after that position.
    /// `None` as scope means all scopes.
    async fn failed_work(
        &self,
        scope: Option<&Scope>,
        before: Option<(Timestamp, Uuid)>,
        limit: u32,
    ) -> Result<Vec<FailedWork>, StoreError>;
    async fn turn(&self, id: TurnId) -> Result<Option<Turn>, StoreError>;
    /// Messages of a turn, oldest first.
    async fn turn_messages(&self, id: TurnId) -> Result<Vec<Message>, StoreError>;
    /// The client's id of the last message of a turn that has one.
    async fn turn_external_ref(&self, id: TurnId) -> Result<Option<String>, StoreError>;
}
