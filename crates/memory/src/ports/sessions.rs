//! Port for sessions.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::identifiers::SessionId;
use crate::ports::StoreError;
use crate::scope::Scope;
use crate::sessions::{CloseTrigger, Session, SessionStatus};

/// Selects sessions for a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionFilter {
    /// Scope of the sessions; `None` for all scopes.
    pub scope: Option<Scope>,
    /// Status of the sessions; `None` for any status.
    pub status: Option<SessionStatus>,
    /// Maximum number of sessions, newest first.
    pub limit: u32,
    /// Lists only sessions that began before this one.
    pub before: Option<SessionId>,
}

/// Sessions: how they end, and how they are listed.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Ends open sessions whose last message is older than `before` and that have no pending turn.
    async fn end_quiet_sessions(
        &self,
        before: Timestamp,
        trigger: CloseTrigger,
    ) -> Result<Vec<Session>, StoreError>;
    /// Ends an open session; `None` if it is not open.
    async fn end_session(&self, id: SessionId, trigger: CloseTrigger) -> Result<Option<Session>, StoreError>;
    /// Makes a `failed` session `closing` again and resets its attempts; `None` if it is not failed.
    async fn retry_session(&self, id: SessionId) -> Result<Option<Session>, StoreError>;
    async fn session(&self, id: SessionId) -> Result<Option<Session>, StoreError>;
    async fn sessions(&self, filter: SessionFilter) -> Result<Vec<Session>, StoreError>;
}
