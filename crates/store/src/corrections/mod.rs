//! Corrections by people.

pub(crate) mod changes_by_word;
pub(crate) mod history;
pub(crate) mod undo;
mod correct;
mod replaced;

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::Scope;
use memory::corrections::{
    Approval, Correction, NodeVersion, PendingRejection, ReplacedQuery, ReplacedValues, UndoneChange,
};
use memory::forget::{ThoughtPolicy, Withdrawal};
use memory::identifiers::{MessageId, NodeId, RejectedId};
use memory::nodes::{NewNode, Node};
use memory::ports::{CommitOutcome, CorrectionStore, MessageEdit, MessageEditResult, StoreError};

use crate::engine::sql::{OptionalExtension, params};
use crate::forgetting::{message_edits, withdraw};
use crate::home_store::HomeStore;
use crate::index::vectors;
use crate::nodes::node_queries;
use crate::rows;
use crate::sessions::commits;

#[async_trait]
impl CorrectionStore for HomeStore {
    async fn scope_of_node(&self, id: NodeId) -> Result<Option<Scope>, StoreError> {
        self.read_statement(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT s.persona_id, s.user_id FROM concept_nodes n JOIN scopes s ON s.number = n.scope
                 WHERE n.id = ?1 AND n.deleted_at IS NULL",
            )?;
            Ok(statement.query_row([id.0.into_bytes()], |row| rows::scope(row, 0)).optional()?)
        })
        .await
    }

    async fn correct_node(&self, correction: Correction) -> Result<Option<Node>, StoreError> {
        self.write(move |unit| correct::correct(unit, &correction)).await
    }

    async fn pin_node(&self, id: NodeId, pinned: bool) -> Result<Option<Node>, StoreError> {
        self.write(move |unit| {
            unit.connection
                .prepare_cached("UPDATE concept_nodes SET pinned = ?2 WHERE id = ?1 AND deleted_at IS NULL")?
                .execute(params![id.0.into_bytes(), pinned])?;
            Ok(node_queries::live_node(unit.connection, id)?)
        })
        .await
    }

    async fn node_history(&self, id: NodeId, limit: u32) -> Result<Option<Vec<NodeVersion>>, StoreError> {
        self.read(move |connection| Ok(history::read_versions(connection, id, limit)?)).await
    }

    async fn undo_last_change(&self, id: NodeId, at: Timestamp) -> Result<Option<UndoneChange>, StoreError> {
        self.write(move |unit| undo::undo_last(unit, id, at)).await
    }

    async fn replaced_values(
        &self,
        scope: &Scope,
        about: &ReplacedQuery,
    ) -> Result<ReplacedValues, StoreError> {
        let (about, by_word) = (about.clone(), Arc::clone(&self.changes_by_word));
        self.read_scope(scope, move |connection, scope| {
            Ok(replaced::find_replaced(connection, scope, &about, &by_word)?)
        })
        .await
    }

    async fn rejected_memory(&self, id: RejectedId) -> Result<Option<PendingRejection>, StoreError> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT r.id, r.session_id, r.description, r.emotional_impact, r.evidence, r.reason, r.created_at,
                     r.proposal, r.settled_at IS NOT NULL, s.persona_id, s.user_id
                 FROM rejected_memories r JOIN scopes s ON s.number = r.scope WHERE r.id = ?1",
            )?;
            let pending = statement.query_row([id.0.into_bytes()], |row| {
                let memory = rows::rejected_memory(row)?;
                Ok(PendingRejection { memory, settled: row.get(8)?, scope: rows::scope(row, 9)? })
            });
            Ok(pending.optional()?)
        })
        .await
    }

    async fn approve_rejected(&self, approval: Approval) -> Result<CommitOutcome, StoreError> {
        self.write(move |unit| {
            let Approval { id, node, fingerprint, entities, at } = &approval;
            let model = fingerprint
                .as_deref()
                .map(|name| vectors::model_or_new(unit.connection, name))
                .transpose()?;
            let outcome = commits::decide_rejected(unit, *id, Some((node, model)), *at)?;
            if outcome == CommitOutcome::Committed {
                correct::link_entities(unit.connection, node.id, entities)?;
            }
            Ok(outcome)
        })
        .await
    }

    async fn decide_rejected(
        &self,
        id: RejectedId,
        approved: Option<NewNode>,
        at: Timestamp,
    ) -> Result<CommitOutcome, StoreError> {
        self.write(move |unit| {
            commits::decide_rejected(unit, id, approved.as_ref().map(|node| (node, None)), at)
        })
        .await
    }

    async fn edit_message(&self, edit: MessageEdit) -> Result<Option<MessageEditResult>, StoreError> {
        self.write(move |unit| message_edits::edit(unit, &edit)).await
    }

    async fn withdraw_evidence(
        &self,
        ids: &[MessageId],
        thoughts: ThoughtPolicy,
        at: Timestamp,
    ) -> Result<Withdrawal, StoreError> {
        let ids = ids.to_vec();
        self.write(move |unit| withdraw::withdraw_evidence(unit, &ids, thoughts, at)).await
    }
}
