//! Turns, as the inbox and the turn runner ask for them.

use async_trait::async_trait;

use crate::identifiers::TurnId;
use crate::messages::{Message, Turn};
use crate::ports::StoreError;

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
    /// Turns that got no reply and wait for a person, newest first.
    async fn failed_turns(&self, limit: u32) -> Result<Vec<Turn>, StoreError>;
    async fn turn(&self, id: TurnId) -> Result<Option<Turn>, StoreError>;
    /// Messages of a turn, oldest first.
    async fn turn_messages(&self, id: TurnId) -> Result<Vec<Message>, StoreError>;
    /// The client's own name for the last line of a turn that has one.
    async fn turn_external_ref(&self, id: TurnId) -> Result<Option<String>, StoreError>;
}
