//! Taking back what rested on words that are gone.

use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::forget::{LossReason, ThoughtPolicy, Verdict, Withdrawal};
use memory::identifiers::{EntityId, NodeId, SessionId};
use memory::ports::Corpus;
use rusqlite::{Connection, OptionalExtension, Result, params};
use uuid::Uuid;

use crate::engine::writer::UnitOfWork;
use crate::forgetting::support::{self, Lost, SessionTerms, StoredSupport, SupportOutcome};
use crate::hub::{self, HubForgetting};
use crate::index::vectors;
use crate::rows::{self, column, microseconds};
use crate::{graph, scopes, traces};

/// A message whose words are gone.
pub(crate) struct ChangedMessage {
    /// Its number.
    pub(crate) message: i64,
    /// Index terms that it had before it was given those that it has now; none if it goes altogether.
    pub(crate) terms_before: Option<String>,
}

/// Takes the quotes of these messages from every node, and withdraws or rewrites what nothing else supports, by the
/// rule of [`memory::forget::Support`]; and whatever hangs on that. The messages themselves stay. `again` is the
/// session that becomes memory again.
pub(crate) fn evidence_of(
    unit: &mut UnitOfWork<'_>,
    unsaid: &[ChangedMessage],
    again: Option<SessionId>,
    thoughts: ThoughtPolicy,
    at: Timestamp,
) -> Result<Withdrawal> {
    let connection = unit.connection;
    let decided = decide(connection, unsaid, again)?;
    for ChangedMessage { message, .. } in unsaid {
        connection.prepare_cached("DELETE FROM node_evidence WHERE message_seq = ?1")?.execute([message])?;
        // What it was said to fulfil is expected again.
        connection
            .prepare_cached("DELETE FROM settled_expectations WHERE message_seq = ?1")?
            .execute([message])?;
        withdraw_mentions(connection, *message)?;
        withdraw_proposals(connection, *message)?;
    }
    let mut withdrawn = Withdrawal::default();
    for (node, decision) in decided {
        match &decision.outcome.standing {
            Verdict::Remove => withdraw_node(unit, node, thoughts, at, &mut withdrawn)?,
            standing => keep_node(unit, node, &decision, standing, at, &mut withdrawn)?,
        }
    }
    withdrawn.leave_out_gone();
    Ok(withdrawn)
}

/// What becomes of a node that the messages may have left words in.
struct Decision {
    resting: StoredSupport,
    outcome: SupportOutcome,
    loses_quote: bool,
    loses_all_quotes: bool,
}

fn decide(
    connection: &Connection,
    unsaid: &[ChangedMessage],
    again: Option<SessionId>,
) -> Result<Vec<(i64, Decision)>> {
    let messages: Vec<i64> = unsaid.iter().map(|unsaid| unsaid.message).collect();
    let terms_before = |message: i64| {
        unsaid.iter().find(|unsaid| unsaid.message == message).and_then(|unsaid| unsaid.terms_before.clone())
    };
    let goes = |message: i64| messages.contains(&message) && terms_before(message).is_none();
    let mut sessions: BTreeSet<[u8; 16]> = BTreeSet::new();
    let mut talks: Vec<SessionTerms> = Vec::new();
    for message in &messages {
        let session: [u8; 16] = connection
            .prepare_cached("SELECT session_id FROM recall_messages WHERE seq = ?1")?
            .query_row([message], |row| row.get(0))?;
        if sessions.insert(session) {
            talks.push(SessionTerms::read(connection, session, goes)?);
        }
        let talk = talks.iter_mut().find(|talk| talk.id == session);
        talk.into_iter().for_each(|talk| talk.gone.extend(terms_before(*message)));
    }
    let lost = Lost {
        loss: LossReason::Edited,
        talks: &talks,
        messages: &|message| messages.contains(&message),
        terms_before: &terms_before,
        mentions: &BTreeSet::new(),
        again: &|session| again.is_some_and(|again| again.0.into_bytes() == session),
    };
    let mut decided = Vec::new();
    for node in support::made_from(connection, &sessions, &messages, lost.mentions)? {
        let resting = StoredSupport::read(connection, node)?;
        let outcome = resting.outcome(connection, &lost)?;
        let mut quotes = resting.quotes.iter().map(|quote| messages.contains(&quote.message));
        let loses_quote = quotes.clone().any(|is_lost| is_lost);
        let loses_all_quotes = loses_quote && quotes.all(|is_lost| is_lost);
        decided.push((node, Decision { resting, outcome, loses_quote, loses_all_quotes }));
    }
    Ok(decided)
}

/// A node that stays, as it is or saying less.
fn keep_node(
    unit: &mut UnitOfWork<'_>,
    node: i64,
    decision: &Decision,
    standing: &Verdict,
    at: Timestamp,
    withdrawn: &mut Withdrawal,
) -> Result<()> {
    let connection = unit.connection;
    let scope: Option<i64> = connection
        .prepare_cached("SELECT scope FROM concept_nodes WHERE seq = ?1 AND deleted_at IS NULL")?
        .query_row([node], |row| row.get(0))
        .optional()?;
    let Some(scope) = scope else { return Ok(()) };
    let id = Uuid::from_bytes(decision.resting.id);
    let mentions_lost = &decision.outcome.mentions_lost;
    for number in mentions_lost {
        connection.prepare_cached("DELETE FROM mention_merges WHERE number = ?1")?.execute([number])?;
    }
    if !mentions_lost.is_empty() {
        support::recount_mentions(connection, node)?;
    }
    if decision.loses_all_quotes {
        // What it said before a person wrote its text rested on what is gone.
        connection
            .prepare_cached(
                "UPDATE node_changes SET description = NULL WHERE node_seq = ?1 AND kind = 'correction'",
            )?
            .execute([node])?;
    }
    if let Verdict::Rewrite(text) = standing {
        support::reduce(unit, scope, node, &decision.resting.terms, text)?;
        forget_in_hub(connection, scope, id, at)?;
        forget_in_receipts(connection, scope, id)?;
        traces::clear(connection, scope)?;
        withdrawn.rewritten.push((NodeId(id), node));
    }
    if decision.loses_quote || matches!(standing, Verdict::Rewrite(_)) {
        withdrawn.kept.push(NodeId(id));
    }
    Ok(())
}

/// What the hub tells of a node: lines of documents, and edges of the graph that rest on it.
fn forget_in_hub(connection: &Connection, scope: i64, id: Uuid, at: Timestamp) -> Result<()> {
    let nodes = BTreeSet::from([id.into_bytes()]);
    let documents = HubForgetting { nodes: &nodes, text: None, at: microseconds(at) };
    hub::forget(connection, &scopes::of_number(connection, scope)?, &documents)?;
    graph::withdraw(connection, scope, &id.to_string(), microseconds(at))?;
    Ok(())
}

/// Makes a node a mark without content: its id stays, so that what rested on it can say that it is gone. Its text, its
/// words, its vector and all that hangs on it go.
pub(crate) fn withdraw_node(
    unit: &mut UnitOfWork<'_>,
    node: i64,
    thoughts: ThoughtPolicy,
    at: Timestamp,
    withdrawn: &mut Withdrawal,
) -> Result<()> {
    let connection = unit.connection;
    let live: Option<(i64, [u8; 16], String)> = connection
        .prepare_cached("SELECT scope, id, terms FROM concept_nodes WHERE seq = ?1 AND deleted_at IS NULL")?
        .query_row([node], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((scope, id, terms)) = live else { return Ok(()) };
    let id = Uuid::from_bytes(id);
    unit.unindex_words(Corpus::Nodes, node, scope, &terms);
    vectors::remove(connection, Corpus::Nodes, node)?;
    forget_in_hub(connection, scope, id, at)?;
    revive(connection, id, withdrawn)?;
    let entities: Vec<[u8; 16]> = connection
        .prepare_cached("SELECT entity_id FROM concept_node_entities WHERE node_seq = ?1")?
        .query_map([node], |row| row.get(0))?
        .collect::<Result<_>>()?;
    for statement in [
        "DELETE FROM node_changes WHERE node_seq = ?1 OR newer_seq = ?1",
        "DELETE FROM mention_merges WHERE node_seq = ?1",
        "DELETE FROM node_evidence WHERE node_seq = ?1",
        "DELETE FROM concept_node_entities WHERE node_seq = ?1",
        "DELETE FROM concept_node_filling WHERE thought_seq = ?1",
        "UPDATE concept_node_filling SET orphaned = 1 WHERE event_seq = ?1",
        "UPDATE rejected_memories SET approved_node = NULL WHERE approved_node = ?1",
        "DELETE FROM settled_expectations WHERE node_seq = ?1",
        "DELETE FROM slow_cycle_events WHERE node_seq = ?1",
    ] {
        connection.prepare_cached(statement)?.execute([node])?;
    }
    connection
        .prepare_cached(
            "UPDATE concept_nodes SET deleted_at = ?2, description = '', terms = '', emotion_tags = '[]',
                 relational_tags = '[]', emotional_impact = 0, event_time_start = NULL, event_time_end = NULL,
                 superseded_by = NULL, pinned = 0
             WHERE seq = ?1",
        )?
        .execute(params![node, microseconds(at)])?;
    scopes::uncount_node(connection, scope)?;
    forget_in_receipts(connection, scope, id)?;
    traces::clear(connection, scope)?;
    withdrawn.nodes.push((NodeId(id), node));
    for entity in entities {
        withdraw_entity(connection, entity, withdrawn)?;
    }
    follow(unit, node, thoughts, at, withdrawn)
}

/// What becomes of the thoughts that rest on a node that is gone.
fn follow(
    unit: &mut UnitOfWork<'_>,
    node: i64,
    thoughts: ThoughtPolicy,
    at: Timestamp,
    withdrawn: &mut Withdrawal,
) -> Result<()> {
    let connection = unit.connection;
    if thoughts == ThoughtPolicy::Orphan {
        return Ok(());
    }
    let resting: Vec<i64> =
        column(connection, "SELECT thought_seq FROM concept_node_filling WHERE event_seq = ?1", node)?;
    for thought in resting {
        let supported: bool = connection
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM concept_node_filling WHERE thought_seq = ?1 AND orphaned = 0)
                     OR EXISTS (SELECT 1 FROM node_changes
                                WHERE node_seq = ?1 AND kind = 'correction' AND undone_at IS NULL)",
            )?
            .query_row([thought], |row| row.get(0))?;
        if thoughts == ThoughtPolicy::Cascade || !supported {
            withdraw_node(unit, thought, thoughts, at, withdrawn)?;
        }
    }
    Ok(())
}

/// Memories that the node had replaced are current again.
fn revive(connection: &Connection, id: Uuid, withdrawn: &mut Withdrawal) -> Result<()> {
    let older: Vec<Uuid> = connection
        .prepare_cached(
            "UPDATE concept_nodes SET superseded_by = NULL
             WHERE superseded_by = ?1 AND deleted_at IS NULL RETURNING id",
        )?
        .query_map([id.into_bytes()], |row| rows::uuid(row, 0))?
        .collect::<Result<_>>()?;
    withdrawn.revived.extend(older.into_iter().map(NodeId));
    Ok(())
}

/// Repetitions that stood in the message are no mentions any more.
fn withdraw_mentions(connection: &Connection, message: i64) -> Result<()> {
    let merges: Vec<i64> = column(
        connection,
        "SELECT DISTINCT merge_number FROM mention_evidence WHERE message_seq = ?1",
        message,
    )?;
    connection.prepare_cached("DELETE FROM mention_evidence WHERE message_seq = ?1")?.execute([message])?;
    for merge in merges {
        let node: Option<i64> = connection
            .prepare_cached(
                "DELETE FROM mention_merges WHERE number = ?1
                     AND NOT EXISTS (SELECT 1 FROM mention_evidence WHERE merge_number = ?1)
                 RETURNING node_seq",
            )?
            .query_row([merge], |row| row.get(0))
            .optional()?;
        if let Some(node) = node {
            connection
                .prepare_cached(
                    "UPDATE concept_nodes SET mention_count = max(mention_count - 1, 1) WHERE seq = ?1",
                )?
                .execute([node])?;
        }
    }
    Ok(())
}

/// Refused memories that quote the message: those that wait go, the quotes of the others go.
fn withdraw_proposals(connection: &Connection, message: i64) -> Result<()> {
    let quoting = "session_id = (SELECT session_id FROM recall_messages WHERE seq = ?1)
         AND EXISTS (SELECT 1 FROM json_each(evidence) e WHERE e.value ->> 'message_id' = ?2)";
    let id: Uuid = connection
        .prepare_cached("SELECT id FROM recall_messages WHERE seq = ?1")?
        .query_row([message], |row| rows::uuid(row, 0))?;
    for statement in [
        format!("DELETE FROM rejected_memories WHERE settled_at IS NULL AND {quoting}"),
        format!("UPDATE rejected_memories SET evidence = '[]', description = '' WHERE {quoting}"),
    ] {
        connection.prepare_cached(&statement)?.execute(params![message, id.to_string()])?;
    }
    Ok(())
}

/// A named thing that no memory is about any more goes, unless a person has written about it.
fn withdraw_entity(connection: &Connection, entity: [u8; 16], withdrawn: &mut Withdrawal) -> Result<()> {
    let gone = connection
        .prepare_cached(
            "DELETE FROM entities WHERE id = ?1 AND owner_override = 0
                 AND NOT EXISTS (SELECT 1 FROM concept_node_entities l WHERE l.entity_id = ?1)
                 AND NOT EXISTS (SELECT 1 FROM entities o WHERE o.merge_target = ?1)",
        )?
        .execute([entity])?;
    if gone > 0 {
        withdrawn.entities.push(EntityId(Uuid::from_bytes(entity)));
    }
    Ok(())
}

/// Takes the text of a memory or a message out of the receipts that name it.
pub(crate) fn forget_in_receipts(connection: &Connection, scope: i64, id: Uuid) -> Result<()> {
    let name = id.to_string();
    let receipts: Vec<([u8; 16], serde_json::Value)> = connection
        .prepare_cached(
            "SELECT turn_id, receipt FROM turn_traces WHERE scope = ?1 AND instr(receipt, ?2) > 0",
        )?
        .query_map(params![scope, name], |row| Ok((row.get(0)?, rows::json(row, 1)?)))?
        .collect::<Result<_>>()?;
    for (turn, mut receipt) in receipts {
        let used = receipt.get_mut("used").and_then(serde_json::Value::as_array_mut);
        for candidate in used.into_iter().flatten() {
            if candidate.get("id").and_then(serde_json::Value::as_str) == Some(name.as_str()) {
                candidate["text"] = serde_json::Value::from("");
            }
        }
        connection
            .prepare_cached("UPDATE turn_traces SET receipt = ?2 WHERE turn_id = ?1")?
            .execute(params![turn, receipt.to_string()])?;
    }
    Ok(())
}

/// Has a session become memory again, once, if it has ended: a worker that holds it loses it. Its summary and, where it
/// was the last that left one, the mood rested on the old words.
pub(crate) fn extract_again(connection: &Connection, session: SessionId) -> Result<bool> {
    let key = session.0.into_bytes();
    connection
        .prepare_cached(
            "DELETE FROM moods
             WHERE scope = (SELECT scope FROM sessions WHERE id = ?1 AND extracted = 1)
               AND NOT EXISTS (SELECT 1 FROM sessions l JOIN sessions s ON s.id = ?1
                               WHERE l.scope = s.scope AND l.extracted = 1
                                 AND l.last_message_at > s.last_message_at)",
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
