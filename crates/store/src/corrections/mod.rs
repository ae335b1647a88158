//! What a person puts right.

pub(crate) mod changes_by_word;
pub(crate) mod history;
pub(crate) mod undo;
mod replaced;

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::Scope;
use memory::corrections::{
    Approval, Correction, NodeVersion, PendingRejection, Replaced, ReplacedQuery, UndoneChange,
};
use memory::forget::{ThoughtPolicy, Withdrawal};
use memory::identifiers::{EntityId, MessageId, NodeId, RejectedId};
use memory::nodes::{NewNode, Node, RelationalTag};
use memory::ports::{CommitOutcome, Corpus, CorrectionStore, MessageEdit, MessageEditResult, StoreError};
use memory::text::index_terms;

use crate::engine::SqliteStore;
use crate::engine::failure::Failure;
use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use crate::engine::writer::UnitOfWork;
use crate::forgetting::{message_edits, withdraw};
use crate::index::vectors;
use crate::rows::{self, microseconds, node_columns, to_json};
use crate::sessions::{commits, reconciliation};
use crate::{entities, graph, hub};

#[async_trait]
impl CorrectionStore for SqliteStore {
    async fn scope_of_node(&self, id: NodeId) -> Result<Option<Scope>, StoreError> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT s.persona_id, s.user_id FROM concept_nodes n JOIN scopes s ON s.number = n.scope
                 WHERE n.id = ?1 AND n.deleted_at IS NULL",
            )?;
            Ok(statement.query_row([id.0.into_bytes()], |row| rows::scope(row, 0)).optional()?)
        })
        .await
    }

    async fn correct_node(&self, correction: Correction) -> Result<Option<Node>, StoreError> {
        self.write(move |unit| correct(unit, &correction)).await
    }

    async fn pin_node(&self, id: NodeId, pinned: bool) -> Result<Option<Node>, StoreError> {
        self.write(move |unit| {
            unit.connection
                .prepare_cached("UPDATE concept_nodes SET pinned = ?2 WHERE id = ?1 AND deleted_at IS NULL")?
                .execute(params![id.0.into_bytes(), pinned])?;
            Ok(live_node(unit.connection, id)?)
        })
        .await
    }

    async fn node_history(&self, id: NodeId, limit: u32) -> Result<Option<Vec<NodeVersion>>, StoreError> {
        self.read(move |connection| Ok(history::of(connection, id, limit)?)).await
    }

    async fn undo_last_change(&self, id: NodeId, at: Timestamp) -> Result<Option<UndoneChange>, StoreError> {
        self.write(move |unit| undo::undo_last(unit, id, at)).await
    }

    async fn replaced(&self, scope: &Scope, about: &ReplacedQuery) -> Result<Replaced, StoreError> {
        let (about, by_word) = (about.clone(), Arc::clone(&self.changes_by_word));
        self.read_scope(scope, move |connection, scope| {
            Ok(replaced::replaced(connection, scope, &about, &by_word)?)
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
            let outcome = commits::settle_rejected(unit, *id, Some((node, model)), *at)?;
            if outcome == CommitOutcome::Committed {
                link_all(unit.connection, node.id, entities)?;
            }
            Ok(outcome)
        })
        .await
    }

    async fn settle_rejected(
        &self,
        id: RejectedId,
        approved: Option<NewNode>,
        at: Timestamp,
    ) -> Result<CommitOutcome, StoreError> {
        self.write(move |unit| {
            commits::settle_rejected(unit, id, approved.as_ref().map(|node| (node, None)), at)
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

pub(crate) fn live_node(connection: &Connection, id: NodeId) -> Result<Option<Node>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            node_columns!(),
            " FROM concept_nodes n WHERE n.id = ?1 AND n.deleted_at IS NULL"
        ))?
        .query_row([id.0.into_bytes()], rows::node)
        .optional()
}

fn correct(unit: &mut UnitOfWork<'_>, correction: &Correction) -> Result<Option<Node>, Failure> {
    let connection = unit.connection;
    let Some(node) = live_node(connection, correction.node_id)? else { return Ok(None) };
    reconciliation::remove_of_node(connection, node.seq)?;
    connection
        .prepare_cached(
            "INSERT INTO node_changes (node_seq, kind, author, created_at, description, relational_tags, entities)
             VALUES (?1, 'correction', 'person', ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            node.seq,
            microseconds(correction.at),
            node.description,
            tags(&node.relational_tags)?,
            to_json(&linked(connection, node.seq)?)?,
        ])?;
    let at = microseconds(correction.at);
    rewrite(unit, node.seq, &correction.text, &correction.terms, &correction.relational_tags, at)?;
    link_all(connection, correction.node_id, &correction.entities)?;
    if let Some((fingerprint, embedding)) = &correction.embedding {
        let model = vectors::model_or_new(connection, fingerprint)?;
        vectors::put(connection, Corpus::Nodes, node.seq, model, embedding)?;
    }
    Ok(live_node(connection, correction.node_id)?)
}

/// Puts the text back that a correction took the place of, and keeps the correction's instead of it.
pub(crate) fn take_back(
    unit: &mut UnitOfWork<'_>,
    change: i64,
    node: i64,
    at: Timestamp,
) -> Result<(), Failure> {
    let connection = unit.connection;
    let (text, old_tags, old_links): (String, Vec<String>, Vec<EntityId>) = connection
        .prepare_cached("SELECT description, relational_tags, entities FROM node_changes WHERE number = ?1")?
        .query_row([change], |row| Ok((row.get(0)?, rows::json(row, 1)?, rows::json(row, 2)?)))?;
    let links = linked(connection, node)?;
    connection
        .prepare_cached(
            "UPDATE node_changes SET undone_at = ?2, entities = ?3,
                 (description, relational_tags) = (SELECT description, relational_tags FROM concept_nodes WHERE seq = ?4)
             WHERE number = ?1",
        )?
        .execute(params![change, microseconds(at), to_json(&links)?, node])?;
    let old_tags: Vec<RelationalTag> = old_tags.iter().filter_map(|tag| RelationalTag::parse(tag)).collect();
    rewrite(unit, node, &text, &index_terms(&text), &old_tags, microseconds(at))?;
    let id = connection
        .prepare_cached("SELECT id FROM concept_nodes WHERE seq = ?1")?
        .query_row([node], |row| rows::uuid(row, 0).map(NodeId))?;
    link_all(connection, id, &old_links)?;
    Ok(())
}

/// Gives a node another text: words follow; the vector, the links to entities and what the graph knows from it go.
fn rewrite(
    unit: &mut UnitOfWork<'_>,
    node: i64,
    text: &str,
    terms: &str,
    relational_tags: &[RelationalTag],
    at: i64,
) -> Result<(), Failure> {
    let connection = unit.connection;
    let (scope, old_terms, id): (i64, String, uuid::Uuid) = connection
        .prepare_cached("SELECT scope, terms, id FROM concept_nodes WHERE seq = ?1")?
        .query_row([node], |row| Ok((row.get(0)?, row.get(1)?, rows::uuid(row, 2)?)))?;
    // What was drawn from the old text is drawn again from this one.
    graph::withdraw(connection, scope, &id.to_string(), at)?;
    unit.unindex_words(Corpus::Nodes, node, scope, &old_terms);
    unit.index_words(Corpus::Nodes, node, scope, terms);
    vectors::remove(connection, Corpus::Nodes, node)?;
    connection
        .prepare_cached(
            "UPDATE concept_nodes SET description = ?2, terms = ?3, relational_tags = ?4 WHERE seq = ?1",
        )?
        .execute(params![node, text, terms, tags(relational_tags)?])?;
    connection.prepare_cached("DELETE FROM concept_node_entities WHERE node_seq = ?1")?.execute([node])?;
    hub::outdate(connection, node)?;
    Ok(())
}

fn tags(tags: &[RelationalTag]) -> Result<String> {
    to_json(&tags.iter().copied().map(RelationalTag::as_str).collect::<Vec<_>>())
}

fn linked(connection: &Connection, node: i64) -> Result<Vec<EntityId>> {
    connection
        .prepare_cached("SELECT entity_id FROM concept_node_entities WHERE node_seq = ?1 ORDER BY entity_id")?
        .query_map([node], |row| rows::uuid(row, 0).map(EntityId))?
        .collect()
}

/// Links a node to those of the entities that are still there.
fn link_all(connection: &Connection, node: NodeId, links: &[EntityId]) -> Result<()> {
    let scope: i64 = connection
        .prepare_cached("SELECT scope FROM concept_nodes WHERE id = ?1")?
        .query_row([node.0.into_bytes()], |row| row.get(0))?;
    for entity in links {
        entities::link(connection, scope, node, *entity)?;
    }
    Ok(())
}
