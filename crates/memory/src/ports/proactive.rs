//! Port for proactive messages.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::identifiers::DecisionId;
use crate::ledger::ReplyReceipt;
use crate::ports::{CapturedMessage, NewMessage, StoreError};
use crate::proactive::{ListedDecision, ProactiveDecision, ProactiveQuery, ProactiveView, TriggerUse};
use crate::scope::{Scope, UserId};
use crate::sessions::SessionPolicy;

/// Storage of decisions about proactive messages.
#[async_trait]
pub trait ProactiveStore: Send + Sync {
    /// The scopes that have messages.
    async fn proactive_scopes(&self) -> Result<Vec<Scope>, StoreError>;
    /// Reads everything of a scope that the gates and triggers need.
    async fn proactive_view(&self, scope: &Scope, query: ProactiveQuery)
    -> Result<ProactiveView, StoreError>;
    /// Earlier uses of these triggers; unused ones are left out.
    async fn trigger_uses_by_key(
        &self,
        scope: &Scope,
        keys: &[String],
    ) -> Result<Vec<TriggerUse>, StoreError>;
    /// The newest complete decision about a scope.
    async fn last_decision(&self, scope: &Scope) -> Result<Option<ProactiveDecision>, StoreError>;
    /// Stores a decision, or the outcome of one that was begun. A decision without an outcome is in progress: it is
    /// stored before a model is asked, so that a crash leaves a trace.
    async fn store_decision(&self, decision: ProactiveDecision) -> Result<(), StoreError>;
    /// Stores the message of a decision with its receipt and settles the decision as sent, in one transaction.
    async fn send_proactive(
        &self,
        decision: ProactiveDecision,
        message: NewMessage,
        policy: SessionPolicy,
        receipt: ReplyReceipt,
    ) -> Result<CapturedMessage, StoreError>;
    /// Marks decisions as failed that a crash interrupted; returns their number.
    async fn fail_unfinished_decisions(&self, detail: &str) -> Result<u32, StoreError>;
    /// Deletes decisions from before a time that sent nothing and used no trigger; returns their number.
    async fn drop_decisions(&self, before: Timestamp) -> Result<u32, StoreError>;
    /// Complete decisions, newest first; with a user, only theirs; with `before`, only those after it in this order.
    async fn decisions(
        &self,
        user: Option<&UserId>,
        before: Option<(Timestamp, DecisionId)>,
        limit: u32,
    ) -> Result<Vec<ListedDecision>, StoreError>;
    /// The decisions that sent these messages, by the messages' numbers; messages without one are left out.
    async fn decisions_behind(&self, messages: &[i64]) -> Result<BTreeMap<i64, DecisionId>, StoreError>;
    /// Stops proactive messages to a user until this time; `None` allows them again. False if there is no such user.
    async fn mute(&self, user: &UserId, until: Option<Timestamp>) -> Result<bool, StoreError>;
    /// Time until which a user gets no proactive messages; `None` if they are allowed.
    async fn muted_until(&self, user: &UserId) -> Result<Option<Timestamp>, StoreError>;
    /// The channels on which the user wrote recently, the latest first.
    async fn recent_channels(&self, scope: &Scope) -> Result<Vec<String>, StoreError>;
}
