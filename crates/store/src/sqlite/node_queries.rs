//! The statements behind the questions about nodes.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::identifiers::{EntityId, NodeId};
use memory::nodes::{Node, NodeKind, Subject};
use memory::ports::{Evidential, FillingEdge, IndexedNode};
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use super::rows::{self, Word, microseconds, node_columns};

/// Live, current nodes by number. An expectation that is settled is history.
pub(super) fn numbered(connection: &Connection, scope: i64, seqs: &[i64]) -> Result<Vec<IndexedNode>> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        node_columns!(),
        ", n.terms, v.readability
         FROM concept_nodes n LEFT JOIN node_vectors v ON v.seq = n.seq AND v.embedding_model = n.embedding_model
         WHERE n.seq = ?1 AND n.scope = ?2 AND n.deleted_at IS NULL AND n.superseded_by IS NULL
           AND (n.type <> 'expectation' OR NOT EXISTS
                (SELECT 1 FROM settled_expectations x WHERE x.node_seq = n.seq))"
    ))?;
    let indexed = |row: &Row<'_>| {
        Ok(IndexedNode {
            node: rows::node(row)?,
            terms: row.get(rows::AFTER_NODE)?,
            readability: row.get(rows::AFTER_NODE + 1)?,
        })
    };
    let mut found = Vec::with_capacity(seqs.len());
    for seq in seqs {
        found.extend(statement.query_row(params![seq, scope], indexed).optional()?);
    }
    Ok(found)
}

/// A live node with what it rests on.
pub(super) fn by_id(connection: &Connection, id: NodeId) -> Result<Option<Evidential>> {
    let found = connection
        .prepare_cached(concat!(
            "SELECT ",
            node_columns!(),
            " FROM concept_nodes n WHERE n.id = ?1 AND n.deleted_at IS NULL"
        ))?
        .query_row([id.0.into_bytes()], rows::node)
        .optional()?;
    let Some(node) = found else { return Ok(None) };
    let evidence = connection
        .prepare_cached(
            "SELECT e.quote, e.span_start, e.span_end, m.id
             FROM node_evidence e JOIN recall_messages m ON m.seq = e.message_seq
             WHERE e.node_seq = ?1 AND m.deleted_at IS NULL ORDER BY e.message_seq, e.span_start",
        )?
        .query_map([node.seq], rows::evidence)?
        .collect::<Result<_>>()?;
    let filling = connection
        .prepare_cached(
            "SELECT n.id FROM concept_node_filling f JOIN concept_nodes n ON n.seq = f.event_seq
             WHERE f.thought_seq = ?1 AND f.orphaned = 0 AND n.deleted_at IS NULL ORDER BY f.event_seq",
        )?
        .query_map([node.seq], |row| rows::uuid(row, 0).map(NodeId))?
        .collect::<Result<_>>()?;
    Ok(Some(Evidential { node, evidence, filling }))
}

/// Live nodes of the kinds, superseded ones too, newest first.
pub(super) fn before_number(
    connection: &Connection,
    scope: i64,
    kinds: &BTreeSet<NodeKind>,
    before: Option<i64>,
    limit: u32,
) -> Result<Vec<Node>> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ", node_columns!(), " FROM concept_nodes n
         WHERE n.scope = ?1 AND n.type = ?2 AND n.seq < ?3 AND n.deleted_at IS NULL ORDER BY n.seq DESC LIMIT ?4"
    ))?;
    let mut nodes = Vec::new();
    for kind in kinds {
        let before = before.unwrap_or(i64::MAX);
        for node in statement.query_map(params![scope, kind.word(), before, limit], rows::node)? {
            nodes.push(node?);
        }
    }
    Ok(newest(nodes, limit))
}

/// Live events since a moment, superseded ones too, oldest first.
pub(super) fn events_since(
    connection: &Connection,
    scope: i64,
    since: Timestamp,
    limit: u32,
) -> Result<Vec<Node>> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        node_columns!(),
        " FROM concept_nodes n
         WHERE n.scope = ?1 AND n.created_at >= ?2 AND n.type = 'event' AND n.deleted_at IS NULL
         ORDER BY n.created_at DESC, n.seq DESC LIMIT ?3"
    ))?;
    let newest_first = statement.query_map(params![scope, microseconds(since), limit], rows::node)?;
    let mut events: Vec<Node> = newest_first.collect::<Result<_>>()?;
    events.reverse();
    Ok(events)
}

/// The newest live, current nodes about the subjects; of expectations, those that are pending. Pinned ones take their
/// places before others do.
pub(super) fn about(
    connection: &Connection,
    scope: i64,
    kind: NodeKind,
    subjects: &BTreeSet<Subject>,
    limit: u32,
) -> Result<Vec<Node>> {
    let mut pinned = connection.prepare_cached(concat!(
        "SELECT ",
        node_columns!(),
        " FROM concept_nodes n
         WHERE n.scope = ?1 AND n.type = ?2 AND n.subject = ?3 AND n.pinned = 1
           AND n.deleted_at IS NULL AND n.superseded_by IS NULL
           AND (?2 <> 'expectation' OR NOT EXISTS
                (SELECT 1 FROM settled_expectations x WHERE x.node_seq = n.seq))
         ORDER BY n.seq DESC LIMIT ?4"
    ))?;
    let mut all = connection.prepare_cached(concat!(
        "SELECT ", node_columns!(), " FROM concept_nodes n
         WHERE n.scope = ?1 AND n.type = ?2 AND n.subject = ?3 AND n.deleted_at IS NULL AND n.superseded_by IS NULL
           AND (?2 <> 'expectation' OR NOT EXISTS
                (SELECT 1 FROM settled_expectations x WHERE x.node_seq = n.seq))
         ORDER BY n.seq DESC LIMIT ?4"
    ))?;
    let mut nodes = Vec::new();
    for subject in subjects {
        let key = params![scope, kind.word(), subject.word(), limit];
        for node in pinned.query_map(key, rows::node)?.chain(all.query_map(key, rows::node)?) {
            nodes.push(node?);
        }
    }
    nodes.sort_by_key(|node| (Reverse(node.pinned), Reverse(node.seq)));
    nodes.dedup_by_key(|node| node.seq);
    nodes.truncate(count(limit));
    Ok(newest(nodes, limit))
}

/// Numbers of live, current nodes linked to any of the entities, newest first.
pub(super) fn linked_to(
    connection: &Connection,
    scope: i64,
    entities: &[EntityId],
    limit: u32,
) -> Result<Vec<i64>> {
    let mut statement = connection.prepare_cached(
        "SELECT l.node_seq FROM concept_node_entities l CROSS JOIN concept_nodes n ON n.seq = l.node_seq
         WHERE l.entity_id = ?1 AND n.scope = ?2 AND n.deleted_at IS NULL AND n.superseded_by IS NULL
         ORDER BY l.node_seq DESC LIMIT ?3",
    )?;
    let mut seqs = BTreeSet::new();
    for entity in entities {
        for seq in statement.query_map(params![entity.0.into_bytes(), scope, limit], |row| row.get(0))? {
            seqs.insert(seq?);
        }
    }
    Ok(seqs.into_iter().rev().take(count(limit)).collect())
}

/// Numbers of live, current nodes whose time meets the span: first those that begin in it, the latest first, then
/// those that began before it and last into it.
pub(super) fn within(
    connection: &Connection,
    scope: i64,
    start: Timestamp,
    end: Timestamp,
    limit: u32,
) -> Result<Vec<i64>> {
    let (start, end) = (microseconds(start), microseconds(end));
    let mut beginning = connection.prepare_cached(
        "SELECT seq FROM concept_nodes
         WHERE scope = ?1 AND event_time_start BETWEEN ?2 AND ?3 AND deleted_at IS NULL AND superseded_by IS NULL
         ORDER BY event_time_start DESC, seq DESC LIMIT ?4",
    )?;
    let mut seqs: Vec<i64> =
        beginning.query_map(params![scope, start, end, limit], |row| row.get(0))?.collect::<Result<_>>()?;
    let room = count(limit).saturating_sub(seqs.len());
    let mut lasting = connection.prepare_cached(
        "SELECT seq FROM concept_nodes
         WHERE scope = ?1 AND event_time_end >= ?2 AND event_time_start < ?2
           AND deleted_at IS NULL AND superseded_by IS NULL
         ORDER BY event_time_end LIMIT ?3",
    )?;
    let room = i64::try_from(room).unwrap_or(i64::MAX);
    for seq in lasting.query_map(params![scope, start, room], |row| row.get(0))? {
        seqs.push(seq?);
    }
    Ok(seqs)
}

/// Edges between live nodes that touch any of the nodes.
pub(super) fn filling_edges(
    connection: &Connection,
    scope: i64,
    seqs: &[i64],
    limit: u32,
) -> Result<Vec<FillingEdge>> {
    let mut downwards = connection.prepare_cached(
        "SELECT f.thought_seq, f.event_seq, f.created_at FROM concept_node_filling f
             CROSS JOIN concept_nodes t ON t.seq = f.thought_seq CROSS JOIN concept_nodes e ON e.seq = f.event_seq
         WHERE f.thought_seq = ?1 AND f.orphaned = 0 AND t.scope = ?2 AND t.deleted_at IS NULL
           AND e.deleted_at IS NULL
         ORDER BY f.event_seq DESC LIMIT ?3",
    )?;
    let mut upwards = connection.prepare_cached(
        "SELECT f.thought_seq, f.event_seq, f.created_at FROM concept_node_filling f
             CROSS JOIN concept_nodes e ON e.seq = f.event_seq CROSS JOIN concept_nodes t ON t.seq = f.thought_seq
         WHERE f.event_seq = ?1 AND f.orphaned = 0 AND e.scope = ?2 AND e.deleted_at IS NULL
           AND t.deleted_at IS NULL
         ORDER BY f.thought_seq DESC LIMIT ?3",
    )?;
    let edge = |row: &Row<'_>| {
        Ok(FillingEdge { thought_seq: row.get(0)?, event_seq: row.get(1)?, created_at: rows::time(row, 2)? })
    };
    let (mut edges, mut seen) = (Vec::new(), BTreeSet::new());
    for seq in seqs {
        let key = params![seq, scope, limit];
        for edge in downwards.query_map(key, edge)?.chain(upwards.query_map(key, edge)?) {
            let edge = edge?;
            if edges.len() < count(limit) && seen.insert((edge.thought_seq, edge.event_seq)) {
                edges.push(edge);
            }
        }
    }
    Ok(edges)
}

fn newest(mut nodes: Vec<Node>, limit: u32) -> Vec<Node> {
    nodes.sort_by_key(|node| Reverse(node.seq));
    nodes.truncate(count(limit));
    nodes
}

fn count(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}
