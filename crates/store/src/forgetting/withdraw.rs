//! Withdrawal by an edit, another reply or lost evidence, instead of deletion.

use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::forget::{ForgetSummary, LossReason, ThoughtPolicy, Withdrawal};
use memory::identifiers::{MessageId, NodeId, SessionId};

use super::follow;
use super::removal::{ChangedMessage, RemovalSet, uuid_of_key};
use crate::engine::failure::Failure;
use crate::engine::sql::{Connection, OptionalExtension, Result};
use crate::engine::writer::UnitOfWork;
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

/// Removes memories that only the set's messages supported.
pub(super) fn withdraw(
    unit: &mut UnitOfWork<'_>,
    mut going: RemovalSet,
    at: Timestamp,
) -> Result<Withdrawal, Failure> {
    let connection = unit.connection;
    follow::add_dependents(connection, &mut going)?;
    let mut taken = ForgetSummary::default();
    let scope = scopes::scope_by_number(connection, going.scope)?;
    super::remove(unit, &scope, &going, microseconds(at), &mut taken)?;
    let lost_quotes = going.unsupported.iter().filter(|(_, kind, _)| *kind == "message");
    let kept: BTreeSet<i64> =
        lost_quotes.map(|(seq, ..)| *seq).chain(going.rewritten.keys().copied()).collect();
    let mut kept_ids = Vec::with_capacity(kept.len());
    for seq in kept {
        let id = column::<[u8; 16]>(connection, "SELECT id FROM concept_nodes WHERE seq = ?1", seq)?;
        kept_ids.extend(id.into_iter().map(|id| NodeId(uuid_of_key(id))));
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

/// Queues an ended session for extraction; a worker that has claimed it loses the claim. Its summary and mood are
/// removed, because both come from the former texts. True if the session had ended.
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
