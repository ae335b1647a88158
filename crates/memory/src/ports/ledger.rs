//! Port for costs of calls and receipts of replies.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::identifiers::{SessionId, TurnId};
use crate::ledger::{CallSum, ModelCall, ReplyReceipt};
use crate::ports::StoreError;
use crate::scope::Scope;

/// Storage for costs of calls and receipts of replies.
#[async_trait]
pub trait LedgerStore: Send + Sync {
    /// Adds a call to the ledger.
    async fn record_call(&self, call: ModelCall) -> Result<(), StoreError>;
    /// Calls with their numbers, newest first; with `before`, only those with smaller numbers.
    async fn recent_calls(
        &self,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<(i64, ModelCall)>, StoreError>;
    /// The calls for a session, oldest first.
    async fn calls_of_session(&self, session: SessionId) -> Result<Vec<ModelCall>, StoreError>;
    /// Sums of the calls since a time, by task and quarter of an hour, oldest first.
    async fn call_sums_since(&self, since: Timestamp) -> Result<Vec<CallSum>, StoreError>;
    /// US dollars spent since a time, as far as prices are known.
    async fn spent_since(&self, since: Timestamp) -> Result<f64, StoreError>;
    /// The receipt of a turn's reply.
    async fn receipt(&self, turn: TurnId) -> Result<Option<ReplyReceipt>, StoreError>;
    /// The scope of a receipt. The receipt of a proactive message has the id of its decision instead of a turn.
    async fn scope_of_receipt(&self, turn: TurnId) -> Result<Option<Scope>, StoreError>;
}
