//! The statements for queries about nodes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use memory::identifiers::{EntityId, NodeId};
use memory::nodes::{Node, NodeKind, Subject};
use memory::ports::{
    EvidencedNode, FillingEdge, IndexedNode, LINKS_WEIGHED_MAX, NodeOrigin, NodeOutline, NodeQuery,
};

use super::node_pages;
use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::entities::entity_queries::parts;
use crate::rows::{self, StoredEnum, microseconds, node_columns};

/// Live, current nodes by number; settled expectations are excluded. One statement for all, because starting it for
/// each would double the cost. Settled expectations are only looked up if there are expectations.
pub(crate) fn nodes_by_number(connection: &Connection, scope: i64, seqs: &[i64]) -> Result<Vec<IndexedNode>> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        node_columns!(),
        ", n.terms, v.readability
         FROM json_each(?1) j CROSS JOIN concept_nodes n ON n.seq = j.value
             LEFT JOIN node_vectors v INDEXED BY node_vectors_readability
                 ON v.seq = n.seq AND v.embedding_model = n.embedding_model
         WHERE n.scope = ?2 AND n.deleted_at IS NULL AND n.superseded_by IS NULL"
    ))?;
    let indexed = |row: &Row<'_>| {
        Ok(IndexedNode {
            node: rows::read_node(row)?,
            terms: row.get(rows::FIRST_COLUMN_AFTER_NODE)?,
            readability: row.get(rows::FIRST_COLUMN_AFTER_NODE + 1)?,
        })
    };
    let found = statement.query_map(params![rows::to_json(&seqs)?, scope], indexed)?;
    let mut found: Vec<IndexedNode> = found.collect::<Result<_>>()?;
    if found.iter().any(|found| found.node.kind == NodeKind::Expectation) {
        let mut settled = connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM settled_expectations WHERE node_seq = ?1)")?;
        let mut history = BTreeSet::new();
        for found in found.iter().filter(|found| found.node.kind == NodeKind::Expectation) {
            if settled.query_row([found.node.seq], |row| row.get(0))? {
                history.insert(found.node.seq);
            }
        }
        found.retain(|found| !history.contains(&found.node.seq));
    }
    Ok(found)
}

/// A node that is neither forgotten nor withdrawn.
pub(crate) fn live_node(connection: &Connection, id: NodeId) -> Result<Option<Node>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            node_columns!(),
            " FROM concept_nodes n WHERE n.id = ?1 AND n.deleted_at IS NULL"
        ))?
        .query_row([id.0.into_bytes()], rows::read_node)
        .optional()
}

/// A live node with its evidence.
pub(crate) fn by_id(connection: &Connection, id: NodeId) -> Result<Option<EvidencedNode>> {
    let Some(node) = live_node(connection, id)? else { return Ok(None) };
    let mut origins = BTreeMap::new();
    node_pages::add_evidence_and_filling(connection, &[node.seq], &mut origins)?;
    let NodeOrigin { evidence, filling, .. } = origins.remove(&node.seq).unwrap_or_default();
    Ok(Some(EvidencedNode { node, evidence, filling }))
}

/// Live nodes of the kinds, newest first, including replaced ones.
pub(crate) fn before_number(
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
        for node in statement.query_map(params![scope, kind.as_str(), before, limit], rows::read_node)? {
            nodes.push(node?);
        }
    }
    Ok(newest_first(nodes, limit))
}

/// Live events since a time, oldest first, including replaced ones.
pub(crate) fn events_since(
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
    let newest_first = statement.query_map(params![scope, microseconds(since), limit], rows::read_node)?;
    let mut events: Vec<Node> = newest_first.collect::<Result<_>>()?;
    events.reverse();
    Ok(events)
}

/// Query for the newest live, current nodes of a kind about a subject, first the pinned ones and then all. Kind and
/// subject are written into the statement, so that a server's planner knows the number of rows: it finds the newest
/// of many by number, and those of few by kind. Only expectations are checked for being settled, because the check
/// would slow down the other kinds too.
fn select_pinned_then_all(columns: &str, kind: NodeKind, subject: Subject) -> [String; 2] {
    let pending = match kind {
        NodeKind::Expectation => {
            " AND NOT EXISTS (SELECT 1 FROM settled_expectations x WHERE x.node_seq = n.seq)"
        }
        _ => "",
    };
    let (kind, subject) = (kind.as_str(), subject.as_str());
    ["AND n.pinned = 1", ""].map(|pinned| {
        format!(
            "SELECT {columns} FROM concept_nodes n
             WHERE n.scope = ?1 AND n.type = '{kind}' AND n.subject = '{subject}' AND n.deleted_at IS NULL
                 AND n.superseded_by IS NULL {pinned}{pending}
             ORDER BY n.seq DESC LIMIT ?2"
        )
    })
}

const OUTLINE_COLUMNS: &str =
    "n.seq, n.pinned, n.emotional_impact, n.event_time_start, n.event_time_end, n.created_at";

/// The newest live, current nodes about the subjects; of expectations, the pending ones. Pinned ones come first.
pub(crate) fn nodes_about(connection: &Connection, scope: i64, wanted: &NodeQuery) -> Result<Vec<Node>> {
    let wanted = std::slice::from_ref(wanted);
    let place = |node: &Node| (node.pinned, node.seq);
    let mut found = newest_rows_about(connection, scope, wanted, node_columns!(), rows::read_node, place)?;
    Ok(found.pop().unwrap_or_default())
}

/// Condition of a partial index. It must match the index's condition exactly to use it. The index is named in the
/// statement, because the planner prefers another one with more columns.
macro_rules! identity_events {
    ($order:literal) => {
        concat!(
            "SELECT seq FROM concept_nodes INDEXED BY concept_nodes_identity
             WHERE scope = ?1 AND type = 'event' AND subject = 'user' AND deleted_at IS NULL AND superseded_by IS NULL
               AND instr(relational_tags, '\"identity-bearing\"') > 0
             ORDER BY seq ",
            $order,
            " LIMIT ?2"
        )
    };
}

/// Query for the newest events about who the user is, then the oldest.
pub(crate) const IDENTITY_EVENTS: [&str; 2] = [identity_events!("DESC"), identity_events!("ASC")];

/// The newest and the oldest live, current events about who the user is, each once.
pub(crate) fn identity_events(connection: &Connection, scope: i64, limit: u32) -> Result<Vec<i64>> {
    let mut found = BTreeSet::new();
    for statement in IDENTITY_EVENTS {
        for seq in
            connection.prepare_cached(statement)?.query_map([scope, i64::from(limit)], |row| row.get(0))?
        {
            found.insert(seq?);
        }
    }
    Ok(found.into_iter().collect())
}

/// The result of [`nodes_about`] for each, as outlines.
pub(crate) fn outlines(
    connection: &Connection,
    scope: i64,
    wanted: &[NodeQuery],
) -> Result<Vec<Vec<NodeOutline>>> {
    newest_rows_about(connection, scope, wanted, OUTLINE_COLUMNS, read_outline, |outline| {
        (outline.pinned, outline.seq)
    })
}

fn newest_rows_about<T>(
    connection: &Connection,
    scope: i64,
    wanted: &[NodeQuery],
    columns: &str,
    read: fn(&Row<'_>) -> Result<T>,
    place: fn(&T) -> (bool, i64),
) -> Result<Vec<Vec<T>>> {
    let mut queries = Vec::new();
    let mut counts = Vec::with_capacity(wanted.len());
    for wanted in wanted {
        let before = queries.len();
        let subjects: BTreeSet<Subject> = wanted.subjects.iter().copied().collect();
        for subject in subjects {
            let statements = select_pinned_then_all(columns, wanted.kind, subject);
            queries.extend(statements.map(|statement| (statement, (scope, wanted.limit))));
        }
        counts.push(queries.len() - before);
    }
    let queries = queries.iter().map(|(statement, asked)| (statement.as_str(), *asked));
    let mut rows = connection.query_all(queries, read)?.into_iter();
    let about = |(wanted, queries): (&NodeQuery, usize)| {
        let mut found: Vec<T> = rows.by_ref().take(queries).flatten().collect();
        found.sort_by_key(|found| Reverse(place(found)));
        found.dedup_by_key(|found| place(found));
        found.truncate(count(wanted.limit));
        found.sort_by_key(|found| Reverse(place(found).1));
        found
    };
    Ok(wanted.iter().zip(counts).map(about).collect())
}

fn read_outline(row: &Row<'_>) -> Result<NodeOutline> {
    Ok(NodeOutline {
        seq: row.get(0)?,
        pinned: row.get(1)?,
        emotional_impact: row.get(2)?,
        event_time: rows::event_time(row, 3)?,
        created_at: rows::time(row, 5)?,
    })
}

/// Numbers of live, current nodes linked to any of the entities or their parts, newest first. Each entity has an
/// equal share of `limit`: half for its newest nodes, half for those of the highest impact among its newest
/// [`LINKS_WEIGHED_MAX`].
pub(crate) fn numbers_linked_to_entities(
    connection: &Connection,
    scope: i64,
    entities: &[EntityId],
    limit: u32,
) -> Result<Vec<i64>> {
    let mut statement = connection.prepare_cached(concat!(
        parts!(),
        " SELECT DISTINCT n.seq, abs(n.emotional_impact)
         FROM parts p JOIN concept_node_entities l ON l.entity_id = p.id
             CROSS JOIN concept_nodes n ON n.seq = l.node_seq
         WHERE n.scope = ?2 AND n.deleted_at IS NULL AND n.superseded_by IS NULL
         ORDER BY n.seq DESC LIMIT ?3"
    ))?;
    let share = (count(limit) / entities.len().max(1)).max(1);
    let half = share.div_ceil(2);
    let mut seqs = BTreeSet::new();
    for entity in entities {
        let key = params![entity.0.into_bytes(), scope, limit.max(LINKS_WEIGHED_MAX)];
        let linked = statement.query_map(key, |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut linked: Vec<(i64, i64)> = linked.collect::<Result<_>>()?;
        let weighty = linked.split_off(linked.len().min(half));
        seqs.extend(linked.into_iter().map(|(seq, _)| seq));
        let mut weighty: Vec<(Reverse<i64>, Reverse<i64>)> =
            weighty.into_iter().map(|(seq, weight)| (Reverse(weight), Reverse(seq))).collect();
        weighty.sort_unstable();
        seqs.extend(weighty.into_iter().take(share - half).map(|(_, Reverse(seq))| seq));
    }
    Ok(seqs.into_iter().rev().take(count(limit)).collect())
}

/// Numbers of live, current nodes whose time overlaps with the span: first those that begin in it, the latest first,
/// then those that began before it.
pub(crate) fn nodes_within(
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

/// Edges between live nodes that include any of the nodes.
pub(crate) fn filling_edges(
    connection: &Connection,
    scope: i64,
    seqs: &[i64],
    limit: u32,
) -> Result<Vec<FillingEdge>> {
    let mut edges = edges_of_all(connection, scope, seqs, limit)?;
    edges.sort_unstable_by_key(|edge| (edge.thought_seq, edge.event_seq));
    edges.dedup();
    match edges.len() > count(limit) {
        true => edges_of_each(connection, scope, seqs, limit),
        false => Ok(edges),
    }
}

/// The edges of all these nodes, found from either end in two statements. May return somewhat more than `limit`.
fn edges_of_all(connection: &Connection, scope: i64, seqs: &[i64], limit: u32) -> Result<Vec<FillingEdge>> {
    let mut downwards = connection.prepare_cached(
        "SELECT f.thought_seq, f.event_seq, f.created_at
         FROM json_each(?1) j CROSS JOIN concept_node_filling f ON f.thought_seq = j.value
             CROSS JOIN concept_nodes t ON t.seq = f.thought_seq CROSS JOIN concept_nodes e ON e.seq = f.event_seq
         WHERE f.orphaned = 0 AND t.scope = ?2 AND t.deleted_at IS NULL AND e.deleted_at IS NULL LIMIT ?3",
    )?;
    let mut upwards = connection.prepare_cached(
        "SELECT f.thought_seq, f.event_seq, f.created_at
         FROM json_each(?1) j CROSS JOIN concept_node_filling f ON f.event_seq = j.value
             CROSS JOIN concept_nodes e ON e.seq = f.event_seq CROSS JOIN concept_nodes t ON t.seq = f.thought_seq
         WHERE f.orphaned = 0 AND e.scope = ?2 AND e.deleted_at IS NULL AND t.deleted_at IS NULL LIMIT ?3",
    )?;
    let key = params![rows::to_json(&seqs)?, scope, i64::from(limit) + 1];
    downwards.query_map(key, read_edge)?.chain(upwards.query_map(key, read_edge)?).collect()
}

/// The edges node by node, the newest of each first, until there are enough.
fn edges_of_each(connection: &Connection, scope: i64, seqs: &[i64], limit: u32) -> Result<Vec<FillingEdge>> {
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
    let (mut edges, mut seen) = (Vec::new(), BTreeSet::new());
    for seq in seqs {
        let key = params![seq, scope, limit];
        for edge in downwards.query_map(key, read_edge)?.chain(upwards.query_map(key, read_edge)?) {
            let edge = edge?;
            if edges.len() < count(limit) && seen.insert((edge.thought_seq, edge.event_seq)) {
                edges.push(edge);
            }
        }
    }
    Ok(edges)
}

fn read_edge(row: &Row<'_>) -> Result<FillingEdge> {
    Ok(FillingEdge { thought_seq: row.get(0)?, event_seq: row.get(1)?, created_at: rows::time(row, 2)? })
}

fn newest_first(mut nodes: Vec<Node>, limit: u32) -> Vec<Node> {
    nodes.sort_by_key(|node| Reverse(node.seq));
    nodes.truncate(count(limit));
    nodes
}

fn count(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}
