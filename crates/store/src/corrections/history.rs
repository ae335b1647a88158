//! All versions of a memory, including those of nodes that it replaced or that replaced it.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::corrections::{Author, NodeVersion, VersionKind};
use memory::identifiers::NodeId;
use memory::nodes::{Evidence, Node};

use super::undo;
use crate::engine::sql::{Connection, Result, Row, params};
use crate::nodes::node_queries;
use crate::rows::{self, node_columns};

/// Maximum nodes of one chain of replacements. No memory is corrected so often; the bound ends a circle in a damaged
/// home.
const NODES_OF_LINE_MAX: usize = 200;

/// A correction of a node, as stored.
struct StoredCorrection {
    at: Timestamp,
    undone_at: Option<Timestamp>,
    text: Option<String>,
}

/// The versions of a live node and of those that it replaced or was replaced by, newest first.
pub(crate) fn read_versions(
    connection: &Connection,
    id: NodeId,
    limit: u32,
) -> Result<Option<Vec<NodeVersion>>> {
    let Some(asked) = node_queries::live_node(connection, id)? else { return Ok(None) };
    let mut versions: Vec<(i64, NodeVersion)> = Vec::new();
    for node in replacement_line(connection, asked)? {
        let seq = node.seq;
        versions.extend(versions_of(connection, node)?.into_iter().map(|version| (seq, version)));
    }
    // The sort is stable, and each node's versions come newest first, so that of two changes at one time the later
    // stays first.
    versions.sort_by_key(|(seq, version)| (Reverse(version.at), Reverse(*seq)));
    versions.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(Some(versions.into_iter().map(|(_, version)| version).collect()))
}

/// The node, those that replaced it, and those that it replaced.
fn replacement_line(connection: &Connection, asked: Node) -> Result<Vec<Node>> {
    let mut seen = BTreeSet::from([asked.seq]);
    let mut found = vec![asked];
    let mut newer = connection.prepare_cached(concat!(
        "SELECT ",
        node_columns!(),
        " FROM concept_nodes n WHERE n.id = ?1 AND n.deleted_at IS NULL"
    ))?;
    let mut older = connection.prepare_cached(concat!(
        "SELECT ",
        node_columns!(),
        " FROM concept_nodes n WHERE n.superseded_by = ?1 AND n.deleted_at IS NULL ORDER BY n.seq"
    ))?;
    let mut at = 0;
    while let Some(node) = found.get(at).cloned() {
        let mut next: Vec<Node> =
            older.query_map([node.id.0.into_bytes()], rows::read_node)?.collect::<Result<_>>()?;
        if let Some(by) = node.superseded_by {
            next.extend(newer.query_map([by.0.into_bytes()], rows::read_node)?.collect::<Result<Vec<_>>>()?);
        }
        for node in next {
            if found.len() < NODES_OF_LINE_MAX && seen.insert(node.seq) {
                found.push(node);
            }
        }
        at += 1;
    }
    Ok(found)
}

/// The texts of a node, the newest first.
fn versions_of(connection: &Connection, node: Node) -> Result<Vec<NodeVersion>> {
    let written = if is_approved(connection, node.seq)? {
        (VersionKind::Approval, Author::Person)
    } else {
        (VersionKind::Written, Author::Extraction)
    };
    let replaced_at = replaced_at(connection, node.seq)?;
    let all = corrections_of(connection, node.seq)?;
    let mut versions = Vec::new();
    let version = |text: Option<String>, at, replaced_at, change: VersionKind, by, undone| NodeVersion {
        node_id: node.id,
        text,
        change,
        by,
        at,
        replaced_at,
        superseded_by: None,
        undone,
        evidence: Vec::new(),
    };
    let standing: Vec<&StoredCorrection> = all.iter().filter(|change| change.undone_at.is_none()).collect();
    for (place, change) in standing.iter().enumerate() {
        // The text of a correction is in the next one, which replaced it, or is the node's present text.
        let next = standing.get(place + 1);
        let text = next.map_or_else(|| Some(node.description.clone()), |next| next.text.clone());
        let until = next.map(|next| next.at).or(replaced_at);
        versions.push(version(text, change.at, until, VersionKind::Correction, Author::Person, false));
    }
    for change in all.iter().filter(|change| change.undone_at.is_some()) {
        let text = change.text.clone();
        versions.push(version(
            text,
            change.at,
            change.undone_at,
            VersionKind::Correction,
            Author::Person,
            true,
        ));
    }
    let first = standing.first();
    let text = first.map_or_else(|| Some(node.description.clone()), |change| change.text.clone());
    let until = first.map(|change| change.at).or(replaced_at);
    let mut original = version(text, node.created_at, until, written.0, written.1, false);
    original.evidence = original_evidence(connection, node.seq)?;
    versions.insert(0, original);
    versions.extend(merged_mentions(connection, &node)?);
    for version in &mut versions {
        if version.replaced_at == replaced_at && replaced_at.is_some() {
            version.superseded_by = node.superseded_by;
        }
    }
    versions.reverse();
    Ok(versions)
}

fn is_approved(connection: &Connection, node: i64) -> Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM rejected_memories WHERE approved_node = ?1)")?
        .query_row([node], |row| row.get(0))
}

/// Time at which another node replaced it.
fn replaced_at(connection: &Connection, node: i64) -> Result<Option<Timestamp>> {
    connection
        .prepare_cached(
            "SELECT max(created_at) FROM node_changes
             WHERE node_seq = ?1 AND kind = 'supersession' AND undone_at IS NULL",
        )?
        .query_row([node], |row| rows::optional_time(row, 0))
}

fn corrections_of(connection: &Connection, node: i64) -> Result<Vec<StoredCorrection>> {
    connection
        .prepare_cached(
            "SELECT created_at, undone_at, description FROM node_changes
             WHERE node_seq = ?1 AND kind = 'correction' ORDER BY number",
        )?
        .query_map([node], |row| {
            Ok(StoredCorrection {
                at: rows::time(row, 0)?,
                undone_at: rows::optional_time(row, 1)?,
                text: row.get(2)?,
            })
        })?
        .collect()
}

/// The quotes that the node was written from, without those of repetitions.
fn original_evidence(connection: &Connection, node: i64) -> Result<Vec<Evidence>> {
    connection
        .prepare_cached(
            "SELECT e.quote, e.span_start, e.span_end, m.id
             FROM node_evidence e JOIN recall_messages m ON m.seq = e.message_seq
             WHERE e.node_seq = ?1 AND m.deleted_at IS NULL
               AND NOT EXISTS (SELECT 1 FROM mention_evidence r JOIN mention_merges g ON g.number = r.merge_number
                               WHERE g.node_seq = ?1 AND r.message_seq = e.message_seq
                                 AND r.span_start = e.span_start AND r.span_end = e.span_end)
             ORDER BY e.message_seq, e.span_start",
        )?
        .query_map([node], rows::evidence)?
        .collect()
}

fn merged_mentions(connection: &Connection, node: &Node) -> Result<Vec<NodeVersion>> {
    let merges: Vec<(i64, String, Timestamp)> = connection
        .prepare_cached(
            "SELECT number, description, created_at FROM mention_merges WHERE node_seq = ?1 ORDER BY number",
        )?
        .query_map(params![node.seq], |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, rows::time(row, 2)?)))?
        .collect::<Result<_>>()?;
    let mention = |(number, description, at)| {
        Ok(NodeVersion {
            node_id: node.id,
            text: Some(description),
            change: VersionKind::MentionMerge,
            by: Author::Extraction,
            at,
            replaced_at: None,
            superseded_by: None,
            undone: false,
            evidence: undo::quotes_of_merge(connection, number)?,
        })
    };
    merges.into_iter().map(mention).collect()
}
