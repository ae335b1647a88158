//! What messages without a question ask of storage.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::identifiers::DecisionId;
use crate::ledger::ReplyReceipt;
use crate::ports::{CapturedMessage, NewMessage, StoreError};
use crate::proactive::{ListedDecision, ProactiveDecision, ProactiveQuery, ProactiveView, TriggerUse};
use crate::scope::{Scope, UserId};
use crate::sessions::SessionPolicy;

/// Decisions about messages that the persona sends without being asked.
#[async_trait]
pub trait ProactiveStore: Send + Sync {
    /// The scopes in which something was said.
    async fn proactive_scopes(&self) -> Result<Vec<Scope>, StoreError>;
    /// Reads everything of a scope that gates and triggers need.
    async fn proactive_view(&self, scope: &Scope, query: ProactiveQuery)
    -> Result<ProactiveView, StoreError>;
    /// Earlier uses of these triggers; those that were never tried are left out.
    async fn trigger_uses_by_key(
        &self,
        scope: &Scope,
        keys: &[String],
    ) -> Result<Vec<TriggerUse>, StoreError>;
    /// The newest decision about a scope that is not about being made.
    async fn last_decision(&self, scope: &Scope) -> Result<Option<ProactiveDecision>, StoreError>;
    /// Writes a decision, or how one that was begun ended. A decision without an outcome is being made: it is written
    /// before a model is asked, so that a crash leaves a trace.
    async fn keep_decision(&self, decision: ProactiveDecision) -> Result<(), StoreError>;
    /// Stores the message of a decision with its receipt and settles the decision as sent, in one transaction.
    async fn send_proactive(
        &self,
        decision: ProactiveDecision,
        message: NewMessage,
        policy: SessionPolicy,
        receipt: ReplyReceipt,
    ) -> Result<CapturedMessage, StoreError>;
    /// Settles as failed what a crash left undecided; says how many.
    async fn fail_unfinished_decisions(&self, detail: &str) -> Result<u32, StoreError>;
    /// Deletes decisions that sent nothing and used no trigger, made before a moment; says how many.
    async fn drop_decisions(&self, before: Timestamp) -> Result<u32, StoreError>;
    /// Decisions, newest first; of one user if one is named; with `before`, only those behind that one. Those that are
    /// being made are left out.
    async fn decisions(
        &self,
        user: Option<&UserId>,
        before: Option<(Timestamp, DecisionId)>,
        limit: u32,
    ) -> Result<Vec<ListedDecision>, StoreError>;
    /// The decisions that sent these messages, by the messages' numbers; only of messages that one has sent.
    async fn decisions_behind(&self, messages: &[i64]) -> Result<BTreeMap<i64, DecisionId>, StoreError>;
    /// Sends a user no proactive messages until this time; none ends that. False if there is no such user.
    async fn mute(&self, user: &UserId, until: Option<Timestamp>) -> Result<bool, StoreError>;
    /// Time until which a user gets no proactive messages; none if they are allowed.
    async fn muted_until(&self, user: &UserId) -> Result<Option<Timestamp>, StoreError>;
    /// The channels on which the user wrote lately, the latest first.
    async fn recent_channels(&self, scope: &Scope) -> Result<Vec<String>, StoreError>;
}
