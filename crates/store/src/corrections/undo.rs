//! Undoes the last change of a node.

use jiff::Timestamp;
use memory::corrections::{ChangeKind, UndoneChange};
use memory::identifiers::{MessageId, NodeId, SessionId};
use memory::nodes::{Evidence, NewNode, Node, Proposal};
use memory::text::index_terms;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::correct;
use crate::engine::failure::Failure;
use crate::engine::sql::{self, Connection, OptionalExtension, Row, params};
use crate::engine::writer::UnitOfWork;
use crate::nodes::new_nodes::{self, CommitOrigin};
use crate::nodes::node_queries;
use crate::rows::{self, microseconds, node_columns, to_json};

/// A repetition that was merged into an older memory: its fields except for text and evidence.
#[derive(Serialize, Deserialize)]
pub(crate) struct MergedMention {
    pub(crate) emotional_impact: i8,
    #[serde(flatten)]
    pub(crate) proposal: Proposal,
}

impl MergedMention {
    pub(crate) fn from_node(node: &NewNode) -> Self {
        let proposal = Proposal {
            kind: node.kind,
            subject: node.subject,
            emotion_tags: node.emotion_tags.clone(),
            relational_tags: node.relational_tags.clone(),
            event_time: node.event_time,
            source: None,
        };
        Self { emotional_impact: node.emotional_impact, proposal }
    }
}

/// The last change that involves the node and was not undone.
struct Change {
    number: i64,
    node: i64,
    kind: String,
    newer: Option<i64>,
    merge: Option<i64>,
    /// The description to restore, if any.
    description: Option<String>,
}

pub(crate) fn undo_last(
    unit: &mut UnitOfWork<'_>,
    id: NodeId,
    at: Timestamp,
) -> Result<Option<UndoneChange>, Failure> {
    let connection = unit.connection;
    let Some(asked) = node_queries::live_node(connection, id)? else { return Ok(None) };
    let Some(change) = last_change(connection, asked.seq)? else { return Ok(None) };
    let (kind, restored) = match change.kind.as_str() {
        "correction" => {
            if change.description.is_none() {
                return Ok(None);
            }
            correct::restore_text(unit, change.number, asked.seq, at)?;
            (ChangeKind::Correction, None)
        }
        "supersession" => {
            let older = separate_mentions(connection, &change, at)?;
            (ChangeKind::Supersession, older)
        }
        _ => (ChangeKind::MentionMerge, split(unit, &asked, &change)?),
    };
    let node = node_queries::live_node(connection, id)?;
    Ok(node.map(|node| UndoneChange { kind, node, restored }))
}

fn last_change(connection: &Connection, node: i64) -> sql::Result<Option<Change>> {
    connection
        .prepare_cached(
            "SELECT number, node_seq, kind, newer_seq, merge_number, description FROM node_changes
             WHERE undone_at IS NULL AND (node_seq = ?1 OR newer_seq = ?1) ORDER BY number DESC LIMIT 1",
        )?
        .query_row([node], |row| {
            Ok(Change {
                number: row.get(0)?,
                node: row.get(1)?,
                kind: row.get(2)?,
                newer: row.get(3)?,
                merge: row.get(4)?,
                description: row.get(5)?,
            })
        })
        .optional()
}

/// Makes both nodes current again; returns the older one.
fn separate_mentions(connection: &Connection, change: &Change, at: Timestamp) -> sql::Result<Option<Node>> {
    connection
        .prepare_cached(
            "UPDATE concept_nodes SET superseded_by = NULL
             WHERE seq = ?1 AND superseded_by = (SELECT id FROM concept_nodes WHERE seq = ?2)",
        )?
        .execute(params![change.node, change.newer])?;
    // The older node gets its stored text back.
    connection
        .prepare_cached(
            "UPDATE concept_nodes SET superseded_by = (SELECT id FROM concept_nodes WHERE seq = ?1)
             WHERE superseded_by IS NULL AND seq = (SELECT rest_seq FROM node_changes WHERE number = ?2)",
        )?
        .execute([change.node, change.number])?;
    connection
        .prepare_cached("UPDATE node_changes SET undone_at = ?2 WHERE number = ?1")?
        .execute(params![change.number, microseconds(at)])?;
    node_by_number(connection, change.node)
}

/// Makes the repetition a node of its own again, with its own quotes and the same entities; removes them and the
/// mention from the older one.
fn split(unit: &mut UnitOfWork<'_>, older: &Node, change: &Change) -> Result<Option<Node>, Failure> {
    let connection = unit.connection;
    let Some(merge) = change.merge else { return Ok(None) };
    let (scope, session, said_at, description, merged_id, merged) = connection
        .prepare_cached(
            "SELECT n.scope, g.session_id, g.created_at, g.description, g.merged_id, g.merged
             FROM mention_merges g JOIN concept_nodes n ON n.seq = g.node_seq WHERE g.number = ?1",
        )?
        .query_row([merge], |row| {
            let merged: Option<String> = row.get(5)?;
            let session = SessionId(rows::read_uuid(row, 1)?);
            let description: String = row.get(3)?;
            let id: Option<[u8; 16]> = row.get(4)?;
            Ok((row.get::<i64>(0)?, session, rows::time(row, 2)?, description, id, merged))
        })?;
    let merged: MergedMention = match merged {
        Some(text) => serde_json::from_str(&text).map_err(|error| Failure::Refused(error.to_string()))?,
        None => MergedMention::from_node(&NewNode::from_node(older)),
    };
    let evidence = quotes_of_merge(connection, merge)?;
    connection
        .prepare_cached(
            "DELETE FROM node_evidence WHERE node_seq = ?1 AND (message_seq, span_start, span_end) IN
                 (SELECT message_seq, span_start, span_end FROM mention_evidence WHERE merge_number = ?2)",
        )?
        .execute(params![older.seq, merge])?;
    connection
        .prepare_cached("UPDATE concept_nodes SET mention_count = max(mention_count - 1, 1) WHERE seq = ?1")?
        .execute([older.seq])?;
    connection.prepare_cached("DELETE FROM mention_merges WHERE number = ?1")?.execute([merge])?;
    let node = NewNode {
        id: NodeId(merged_id.map_or_else(|| Uuid::from_bytes(derive_id(older.id, merge)), Uuid::from_bytes)),
        kind: merged.proposal.kind,
        terms: index_terms(&description),
        description,
        emotional_impact: merged.emotional_impact,
        emotion_tags: merged.proposal.emotion_tags,
        relational_tags: merged.proposal.relational_tags,
        subject: merged.proposal.subject,
        event_time: merged.proposal.event_time,
        evidence,
        filling: Vec::new(),
        embedding: None,
    };
    let origin = CommitOrigin { scope, session_id: Some(session), at: said_at, model: None };
    let Some(seq) = new_nodes::insert_evidenced(unit, &origin, &node)? else { return Ok(None) };
    connection
        .prepare_cached(
            "INSERT INTO concept_node_entities (entity_id, node_seq)
             SELECT entity_id, ?2 FROM concept_node_entities WHERE node_seq = ?1",
        )?
        .execute(params![older.seq, seq])?;
    Ok(node_by_number(connection, seq)?)
}

/// The id of a repetition that was merged before ids were stored: the same each time.
fn derive_id(older: NodeId, merge: i64) -> [u8; 16] {
    let mut bytes = older.0.into_bytes();
    for (byte, part) in bytes[8..].iter_mut().zip(merge.to_be_bytes()) {
        *byte ^= part;
    }
    bytes
}

/// The quotes of a repetition, from the messages.
pub(crate) fn quotes_of_merge(connection: &Connection, merge: i64) -> sql::Result<Vec<Evidence>> {
    let evidence = |row: &Row<'_>| {
        Ok(Evidence {
            quote: row.get(0)?,
            start: row.get(1)?,
            end: row.get(2)?,
            message_id: MessageId(rows::read_uuid(row, 3)?),
        })
    };
    connection
        .prepare_cached(
            "SELECT substr(m.content, e.span_start + 1, e.span_end - e.span_start), e.span_start, e.span_end, m.id
             FROM mention_evidence e JOIN recall_messages m ON m.seq = e.message_seq
             WHERE e.merge_number = ?1 AND m.deleted_at IS NULL ORDER BY e.message_seq, e.span_start",
        )?
        .query_map([merge], evidence)?
        .collect()
}

fn node_by_number(connection: &Connection, seq: i64) -> sql::Result<Option<Node>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            node_columns!(),
            " FROM concept_nodes n WHERE n.seq = ?1 AND n.deleted_at IS NULL"
        ))?
        .query_row([seq], rows::read_node)
        .optional()
}

/// The fields of a repetition that a merge stores, as JSON.
pub(crate) fn merged_json(node: &NewNode) -> sql::Result<String> {
    to_json(&MergedMention::from_node(node))
}
