//! Port for reading messages.

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::identifiers::{MessageId, SessionId};
use crate::messages::{Message, MessageVersion};
use crate::ports::StoreError;
use crate::scope::Scope;

/// Reads messages (L2) for histories, prompts and extraction.
#[async_trait]
pub trait MessageStore: Send + Sync {
    /// The newest messages of the scope, across sessions and channels, newest first; with `before`, only rows with
    /// smaller numbers.
    async fn messages_before(
        &self,
        scope: &Scope,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Message>, StoreError>;
    /// Messages of a session, oldest first.
    async fn session_messages(&self, id: SessionId) -> Result<Vec<Message>, StoreError>;
    /// Other texts of a session's messages, the oldest first.
    async fn message_versions(
        &self,
        session: SessionId,
    ) -> Result<BTreeMap<MessageId, Vec<MessageVersion>>, StoreError>;
    async fn message(&self, id: MessageId) -> Result<Option<Message>, StoreError>;
}
