//! What an edit, another reply or withdrawn evidence does instead of deleting.

use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::forget::{ForgetSummary, LossReason, ThoughtPolicy, Withdrawal};
use memory::identifiers::{MessageId, NodeId, SessionId};
use memory::ports::Corpus;

use super::follow;
use super::removal::{ChangedMessage, RemovalSet, uuid};
use crate::engine::failure::Failure;
use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use crate::engine::writer::UnitOfWork;
use crate::index::vectors;
use crate::rows::{column, microseconds};
use crate::scopes;

/// Withdraws these messages as evidence; the messages stay.
pub(crate) fn withdraw_evidence(
    unit: &mut UnitOfWork<'_>,
    ids: &[MessageId],
    thoughts: ThoughtPolicy,
    at: Timestamp,
) -> Result<Withdrawal, Failure> {
    let mut going: Option<RemovalSet> = None;
    for id in ids {
        let found: Option<(i64, i64, [u8; 16])> = unit
            .connection
            .prepare_cached("SELECT scope, seq, session_id FROM recall_messages WHERE id = ?1")?
            .query_row([id.0.into_bytes()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let Some((scope, seq, session)) = found else { continue };
        let going = going.get_or_insert_with(|| RemovalSet::new(scope, LossReason::Edited, thoughts));
        going.changed.insert(seq, ChangedMessage { id: *id, session, terms_before: None });
    }
    going.map_or_else(|| Ok(Withdrawal::default()), |going| withdraw(unit, going, at))
}

/// Removes what the set's messages supported and nothing else supports.
pub(super) fn withdraw(
    unit: &mut UnitOfWork<'_>,
    mut going: RemovalSet,
    at: Timestamp,
) -> Result<Withdrawal, Failure> {
    let connection = unit.connection;
    follow::follow(connection, &mut going)?;
    let mut taken = ForgetSummary::default();
    let scope = scopes::of_number(connection, going.scope)?;
    super::remove(unit, &scope, &going, microseconds(at), &mut taken)?;
    let lost_quotes = going.unsupported.iter().filter(|(_, kind, _)| *kind == "message");
    let kept: BTreeSet<i64> =
        lost_quotes.map(|(seq, ..)| *seq).chain(going.rewritten.keys().copied()).collect();
    let mut kept_ids = Vec::with_capacity(kept.len());
    for seq in kept {
        let id = column::<[u8; 16]>(connection, "SELECT id FROM concept_nodes WHERE seq = ?1", seq)?;
        kept_ids.extend(id.into_iter().map(|id| NodeId(uuid(id))));
    }
    Ok(Withdrawal {
        nodes: going.nodes.iter().map(|(seq, node)| (node.id, *seq)).collect(),
        revived: taken.revived.into_iter().collect(),
        kept: kept_ids,
        rewritten: going.rewritten.iter().map(|(seq, node)| (node.id, *seq)).collect(),
        entities: taken.entities.into_iter().collect(),
        sessions: Vec::new(),
        messages: going.messages.iter().map(|(seq, message)| (message.id, *seq)).collect(),
    })
}

/// Removes what the lost messages support directly: quotes, fulfilled expectations, mentions, rejected memories.
pub(super) fn remove_support(connection: &Connection, going: &RemovalSet) -> Result<()> {
    for (seq, id) in going.lost_messages() {
        for statement in [
            "DELETE FROM node_evidence WHERE message_seq = ?1",
            "DELETE FROM settled_expectations WHERE message_seq = ?1",
            "DELETE FROM mention_evidence WHERE message_seq = ?1",
        ] {
            connection.prepare_cached(statement)?.execute([seq])?;
        }
        let quoting = "session_id = (SELECT session_id FROM recall_messages WHERE seq = ?1)
             AND EXISTS (SELECT 1 FROM json_each(evidence) e WHERE e.value ->> 'message_id' = ?2)";
        // A settled one stays as a record without words: an approval still supports its node.
        for statement in [
            format!("DELETE FROM rejected_memories WHERE settled_at IS NULL AND {quoting}"),
            format!("UPDATE rejected_memories SET evidence = '[]', description = '' WHERE {quoting}"),
        ] {
            connection.prepare_cached(&statement)?.execute(params![seq, id.0.to_string()])?;
        }
    }
    Ok(())
}

/// Leaves a node as a mark without content. Nodes that it had replaced are current again.
pub(super) fn mark_node(connection: &Connection, seq: i64, id: NodeId, at: i64) -> Result<()> {
    vectors::remove(connection, Corpus::Nodes, seq)?;
    for statement in [
        "DELETE FROM node_changes WHERE node_seq = ?1 OR newer_seq = ?1",
        "DELETE FROM mention_merges WHERE node_seq = ?1",
        "DELETE FROM node_evidence WHERE node_seq = ?1",
        "DELETE FROM concept_node_entities WHERE node_seq = ?1",
        "DELETE FROM concept_node_filling WHERE thought_seq = ?1 OR event_seq = ?1",
        "UPDATE rejected_memories SET approved_node = NULL WHERE approved_node = ?1",
        "DELETE FROM settled_expectations WHERE node_seq = ?1",
        "DELETE FROM slow_cycle_events WHERE node_seq = ?1",
        "DELETE FROM statement_pairs WHERE newer_seq = ?1 OR older_seq = ?1",
    ] {
        connection.prepare_cached(statement)?.execute([seq])?;
    }
    connection
        .prepare_cached("UPDATE concept_nodes SET superseded_by = NULL WHERE superseded_by = ?1")?
        .execute([id.0.into_bytes()])?;
    connection
        .prepare_cached(
            "UPDATE concept_nodes SET deleted_at = ?2, description = '', terms = '', emotion_tags = '[]',
                 relational_tags = '[]', emotional_impact = 0, event_time_start = NULL, event_time_end = NULL,
                 superseded_by = NULL, pinned = 0
             WHERE seq = ?1",
        )?
        .execute(params![seq, at])?;
    Ok(())
}

/// Queues an ended session for extraction; a worker that has claimed it loses it. Its summary and
/// its mood are removed, because both came from the old words. Returns whether the session had ended.
pub(super) fn extract_again(connection: &Connection, session: SessionId) -> Result<bool> {
    let key = session.0.into_bytes();
    connection
        .prepare_cached(
            "DELETE FROM mood_history
             WHERE session_id = ?1
                OR session_id IS NULL AND scope = (SELECT scope FROM sessions WHERE id = ?1 AND extracted = 1)",
        )?
        .execute([key])?;
    let changed = connection
        .prepare_cached(
            "UPDATE sessions SET status = 'closing', extracted = 0, reflected = 0, trivial = 0, summary = NULL,
                 attempts = 0, last_error = NULL, retry_at = NULL, closed_at = NULL
             WHERE id = ?1 AND status <> 'open'",
        )?
        .execute([key])?;
    Ok(changed > 0)
}
