//! Removes rows with their words, vectors, counters and links. Forgotten rows are deleted and leave a tombstone; a
//! node that lost its support by an edit is marked.

use std::collections::BTreeSet;

use memory::forget::ForgetSummary;
use memory::identifiers::{EntityId, NodeId, RejectedId, SessionId};
use memory::ports::Corpus;

use super::names::ForgottenNames;
use super::removal::{RemovalSet, RowKey, uuid_of_key};
use super::spans;
use crate::engine::sql::{Connection, Result, Row, params};
use crate::engine::writer::UnitOfWork;
use crate::entities::entity_vectors;
use crate::forgetting::support;
use crate::index::vectors;
use crate::rows::column;
use crate::scopes;

/// Removes messages and nodes, with everything that belongs to them.
pub(super) fn remove_rows(
    unit: &mut UnitOfWork<'_>,
    going: &RemovalSet,
    at: i64,
    taken: &mut ForgetSummary,
) -> Result<()> {
    let connection = unit.connection;
    taken.sessions = going.sessions().into_iter().map(|id| SessionId(uuid_of_key(id))).collect();
    taken.revived = nodes_current_again(connection, going)?;
    count_parts(connection, going, taken)?;
    if going.is_preview {
        return preview_rows(connection, going, taken);
    }
    mark_lost_support(connection, going, taken)?;
    if going.is_forgotten() {
        spans::mark_spans(connection, going)?;
    } else {
        remove_support(connection, going)?;
    }
    drop_mentions(connection, going, taken)?;
    for (seq, message) in &going.messages {
        unit.unindex_words(Corpus::Messages, *seq, going.scope, &message.terms);
        connection.prepare_cached("DELETE FROM recall_messages WHERE seq = ?1")?.execute([seq])?;
        taken.messages.insert(message.id);
        note_forgotten(connection, going, "message", message.id.0.into_bytes(), at)?;
    }
    let mut live = 0;
    for (seq, node) in &going.nodes {
        unit.unindex_words(Corpus::Nodes, *seq, going.scope, &node.terms);
        live += usize::from(if going.is_forgotten() {
            connection
                .prepare_cached("DELETE FROM concept_nodes WHERE seq = ?1 RETURNING deleted_at IS NULL")?
                .query_row([seq], |row| row.get::<bool>(0))?
        } else {
            erase_node_content(connection, *seq, node.id, at)?;
            true
        });
        taken.add_node(node.kind, node.id);
        note_forgotten(connection, going, "node", node.id.0.into_bytes(), at)?;
    }
    for id in &going.rejected {
        connection.prepare_cached("DELETE FROM rejected_memories WHERE id = ?1")?.execute([id])?;
        taken.rejected.insert(RejectedId(uuid_of_key(*id)));
        note_forgotten(connection, going, "rejected", *id, at)?;
    }
    scopes::subtract_counts(connection, going.scope, going.messages.len(), live)
}

/// Removes what the lost messages support directly: quotes, fulfilled expectations, mentions, refused memories.
fn remove_support(connection: &Connection, going: &RemovalSet) -> Result<()> {
    for (seq, id) in going.messages_removed_as_evidence() {
        for statement in [
            "DELETE FROM node_evidence WHERE message_seq = ?1",
            "DELETE FROM settled_expectations WHERE message_seq = ?1",
            "DELETE FROM mention_evidence WHERE message_seq = ?1",
        ] {
            connection.prepare_cached(statement)?.execute([seq])?;
        }
        let quoting = "session_id = (SELECT session_id FROM recall_messages WHERE seq = ?1)
             AND EXISTS (SELECT 1 FROM json_each(evidence) e WHERE e.value ->> 'message_id' = ?2)";
        // A settled one stays as a record without text, because an approval still supports its node.
        for statement in [
            format!("DELETE FROM rejected_memories WHERE settled_at IS NULL AND {quoting}"),
            format!("UPDATE rejected_memories SET evidence = '[]', description = '' WHERE {quoting}"),
        ] {
            connection.prepare_cached(&statement)?.execute(params![seq, id.0.to_string()])?;
        }
    }
    Ok(())
}

/// Deletes a node's content and leaves a tombstone. Nodes that it had replaced become current again.
fn erase_node_content(connection: &Connection, seq: i64, id: NodeId, at: i64) -> Result<()> {
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

/// Counts what [`remove_rows`] would remove, without deleting.
fn preview_rows(connection: &Connection, going: &RemovalSet, taken: &mut ForgetSummary) -> Result<()> {
    taken.orphaned.extend(nodes_with_lost_support(connection, going)?);
    taken.counts.mentions += going.mentions.len() as u64;
    taken.messages.extend(going.messages.values().map(|message| message.id));
    for node in going.nodes.values() {
        taken.add_node(node.kind, node.id);
    }
    taken.rejected.extend(going.rejected.iter().map(|id| RejectedId(uuid_of_key(*id))));
    Ok(())
}

/// Remaining nodes that lose some of the nodes that they depend on.
fn nodes_with_lost_support(connection: &Connection, going: &RemovalSet) -> Result<BTreeSet<NodeId>> {
    let mut ids = BTreeSet::new();
    for (seq, ..) in going.unsupported.iter().filter(|(_, kind, _)| *kind == "node") {
        let own = column::<RowKey>(connection, "SELECT id FROM concept_nodes WHERE seq = ?1", seq)?;
        ids.extend(own.into_iter().map(|id| NodeId(uuid_of_key(id))));
    }
    Ok(ids)
}

/// Stores the spans of forgotten evidence.
fn note_forgotten(
    connection: &Connection,
    going: &RemovalSet,
    kind: &str,
    id: RowKey,
    at: i64,
) -> Result<()> {
    if going.is_forgotten() { insert_tombstone(connection, going.scope, kind, id, at) } else { Ok(()) }
}

/// Stores the reduced texts of rewritten nodes. Their vectors are removed, and computed again.
pub(super) fn rewrite(
    unit: &mut UnitOfWork<'_>,
    going: &RemovalSet,
    taken: &mut ForgetSummary,
) -> Result<()> {
    for (seq, rewritten) in &going.rewritten {
        let before = rewritten.terms_before.as_str();
        taken.counts.vectors += support::reduce_text(unit, going.scope, *seq, before, &rewritten.after)?;
        taken.rewritten.insert(rewritten.id);
    }
    recount_mentions(unit.connection, going)
}

/// Removes names and entities. After forgetting, former names and descriptions are removed in the whole scope,
/// because undoing a change would restore them and their source is unknown.
pub(super) fn remove_names(
    connection: &Connection,
    going: &RemovalSet,
    names: &ForgottenNames,
    at: i64,
    taken: &mut ForgetSummary,
) -> Result<()> {
    if going.is_forgotten() {
        connection
            .prepare_cached(
                "DELETE FROM entity_changes WHERE scope = ?1 AND change IN ('rename', 'describe')",
            )?
            .execute([going.scope])?;
    }
    for id in &names.entities {
        let aliases: u64 = connection
            .prepare_cached("SELECT count(*) FROM entity_aliases WHERE entity_id = ?1")?
            .query_row([id], |row| row.get(0))?;
        taken.counts.names += aliases;
        // Entities that may have been the same as this one are certain now.
        connection
            .prepare_cached(
                "UPDATE entities SET merge_target = NULL, merge_status = 'confirmed' WHERE merge_target = ?1",
            )?
            .execute([id])?;
        // Entities merged into it that are still mentioned by their own names stay.
        connection
            .prepare_cached(
                "UPDATE entities SET merged_into = (SELECT merged_into FROM entities WHERE id = ?1)
                 WHERE merged_into = ?1",
            )?
            .execute([id])?;
        connection.prepare_cached("DELETE FROM entities WHERE id = ?1")?.execute([id])?;
        taken.entities.insert(EntityId(uuid_of_key(*id)));
        note_forgotten(connection, going, "entity", *id, at)?;
    }
    for number in &names.aliases {
        let gone =
            connection.prepare_cached("DELETE FROM entity_aliases WHERE number = ?1")?.execute([number])?;
        taken.counts.names += gone as u64;
    }
    for (id, name) in &names.renamed {
        connection
            .prepare_cached("UPDATE entities SET canonical_name = ?2 WHERE id = ?1")?
            .execute(params![id, name])?;
        entity_vectors::clear(connection, EntityId(uuid_of_key(*id)))?;
    }
    for id in &names.undescribed {
        connection
            .prepare_cached("UPDATE entities SET description = NULL, described_at = NULL WHERE id = ?1")?
            .execute([id])?;
        entity_vectors::clear(connection, EntityId(uuid_of_key(*id)))?;
        taken.counts.descriptions += 1;
    }
    Ok(())
}

/// Recounts the sessions' messages and events, and returns running consolidations of the scope to the queue: results
/// computed from the former state can't be committed any more.
pub(super) fn requeue_and_recount_sessions(connection: &Connection, going: &RemovalSet) -> Result<()> {
    let from_nodes = going.nodes.values().filter_map(|node| node.session);
    let sessions: BTreeSet<RowKey> = going.sessions().into_iter().chain(from_nodes).collect();
    for session in sessions {
        connection
            .prepare_cached(
                "UPDATE sessions SET
                     message_count = (SELECT count(*) FROM recall_messages WHERE session_id = ?1),
                     total_tokens = (SELECT coalesce(sum(token_count), 0) FROM recall_messages WHERE session_id = ?1),
                     extracted_events = (SELECT count(*) FROM concept_nodes
                                         WHERE source_session_id = ?1 AND type = 'event')
                 WHERE id = ?1",
            )?
            .execute([session])?;
    }
    connection
        .prepare_cached(
            "UPDATE sessions SET status = 'closing' WHERE scope = ?1 AND status = 'consolidating'",
        )?
        .execute([going.scope])?;
    Ok(())
}

/// Stores a tombstone: the id of a removed row.
pub(super) fn insert_tombstone(
    connection: &Connection,
    scope: i64,
    kind: &str,
    id: RowKey,
    at: i64,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO tombstones (kind, id, forgotten_at, scope) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![kind, id, at, scope])?;
    Ok(())
}

/// Remaining nodes that a removed one had replaced.
fn nodes_current_again(connection: &Connection, going: &RemovalSet) -> Result<BTreeSet<NodeId>> {
    let mut revived = BTreeSet::new();
    for node in going.nodes.values() {
        let replaced = "SELECT seq FROM concept_nodes WHERE superseded_by = ?1";
        for seq in column::<i64>(connection, replaced, node.id.0.into_bytes())? {
            if !going.nodes.contains_key(&seq) {
                let id = "SELECT id FROM concept_nodes WHERE seq = ?1";
                revived.extend(
                    column::<RowKey>(connection, id, seq)?.into_iter().map(|id| NodeId(uuid_of_key(id))),
                );
            }
        }
    }
    Ok(revived)
}

/// Counts the parts that are removed with the rows.
fn count_parts(connection: &Connection, going: &RemovalSet, taken: &mut ForgetSummary) -> Result<()> {
    let mut quotes = BTreeSet::new();
    let quote = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    let count = |statement: &str, seq: &i64| -> Result<u64> {
        connection.prepare_cached(statement)?.query_row([seq], |row| row.get(0))
    };
    let quoting: [(&str, Vec<i64>); 2] = [
        ("message_seq", going.messages.keys().copied().collect()),
        ("node_seq", going.nodes.keys().copied().collect()),
    ];
    for (column, seqs) in quoting {
        let mut statement = connection.prepare_cached(&format!(
            "SELECT node_seq, message_seq, span_start, span_end FROM node_evidence WHERE {column} = ?1"
        ))?;
        for seq in seqs {
            for found in statement.query_map([seq], quote)? {
                let found: (i64, i64, i64, i64) = found?;
                quotes.insert(found);
            }
        }
    }
    taken.counts.quotes += quotes.len() as u64;
    let mut edges = BTreeSet::new();
    for seq in going.messages.keys() {
        taken.counts.vectors += count("SELECT count(*) FROM message_vectors WHERE seq = ?1", seq)?;
    }
    for seq in going.nodes.keys() {
        taken.counts.vectors += count("SELECT count(*) FROM node_vectors WHERE seq = ?1", seq)?;
        taken.counts.links += count("SELECT count(*) FROM concept_node_entities WHERE node_seq = ?1", seq)?;
        let mut touching = connection.prepare_cached(
            "SELECT thought_seq, event_seq FROM concept_node_filling WHERE thought_seq = ?1 OR event_seq = ?1",
        )?;
        for edge in touching.query_map([seq], |row| Ok((row.get(0)?, row.get(1)?)))? {
            let edge: (i64, i64) = edge?;
            edges.insert(edge);
        }
    }
    taken.counts.links += edges.len() as u64;
    Ok(())
}

/// Records the lost support of remaining nodes.
fn mark_lost_support(connection: &Connection, going: &RemovalSet, taken: &mut ForgetSummary) -> Result<()> {
    for (seq, kind, id) in &going.unsupported {
        connection
            .prepare_cached(
                "INSERT INTO forgotten_support (node_seq, kind, id) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            )?
            .execute(params![seq, kind, id])?;
    }
    taken.orphaned.extend(nodes_with_lost_support(connection, going)?);
    Ok(())
}

/// Removes mentions without remaining evidence. Those of removed nodes are removed with these.
fn drop_mentions(connection: &Connection, going: &RemovalSet, taken: &mut ForgetSummary) -> Result<()> {
    for number in &going.mentions {
        let gone =
            connection.prepare_cached("DELETE FROM mention_merges WHERE number = ?1")?.execute([number])?;
        taken.counts.mentions += gone as u64;
    }
    Ok(())
}

/// Recounts the mentions of nodes that lost evidence. If no quote is left, a person's correction is the only source:
/// the text before it came from erased messages.
fn recount_mentions(connection: &Connection, going: &RemovalSet) -> Result<()> {
    for seq in going.said_less.iter().filter(|seq| !going.nodes.contains_key(seq)) {
        support::recount_mentions(connection, *seq)?;
        connection
            .prepare_cached(
                "UPDATE node_changes SET description = NULL WHERE node_seq = ?1 AND kind = 'correction'
                     AND NOT EXISTS (SELECT 1 FROM node_evidence e WHERE e.node_seq = ?1)",
            )?
            .execute([seq])?;
    }
    Ok(())
}
