//! Pages of nodes, and the evidence of nodes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use memory::identifiers::{NodeId, TurnId};
use memory::nodes::Node;
use memory::ports::{NodeOrigin, NodePageQuery};

use crate::engine::sql::{Connection, Result, ToSql, params};
use crate::rows::{self, StoredEnum, node_columns};

/// Times of the evidence of nodes.
pub(crate) fn said_at(connection: &Connection, seqs: &[i64]) -> Result<BTreeMap<i64, Timestamp>> {
    let mut statement = connection.prepare_cached(
        "SELECT n.seq, COALESCE(
             (SELECT MAX(m.created_at) FROM node_evidence e JOIN recall_messages m ON m.seq = e.message_seq
              WHERE e.node_seq = n.seq),
             (SELECT s.last_message_at FROM sessions s
              WHERE s.id = n.source_session_id AND s.channel_id LIKE 'import-%'),
             n.created_at)
         FROM json_each(?1) j CROSS JOIN concept_nodes n ON n.seq = j.value",
    )?;
    let times =
        statement.query_map(params![rows::to_json(&seqs)?], |row| Ok((row.get(0)?, rows::time(row, 1)?)))?;
    times.collect()
}

/// Evidence, cited events and times of nodes, by the nodes' numbers.
pub(crate) fn node_origins(connection: &Connection, seqs: &[i64]) -> Result<BTreeMap<i64, NodeOrigin>> {
    let mut origins: BTreeMap<i64, NodeOrigin> = BTreeMap::new();
    add_evidence_and_filling(connection, seqs, &mut origins)?;
    for (seq, said_at) in said_at(connection, seqs)? {
        origins.entry(seq).or_default().said_at = Some(said_at);
    }
    let mut imported = connection.prepare_cached(
        "SELECT n.seq FROM json_each(?1) j CROSS JOIN concept_nodes n ON n.seq = j.value
             CROSS JOIN sessions s ON s.id = n.source_session_id
         WHERE s.channel_id LIKE 'import-%'",
    )?;
    for seq in imported.query_map(params![rows::to_json(&seqs)?], |row| row.get(0))? {
        origins.entry(seq?).or_default().is_imported = true;
    }
    Ok(origins)
}

/// Adds evidence and cited events of nodes to their origins.
pub(super) fn add_evidence_and_filling(
    connection: &Connection,
    seqs: &[i64],
    origins: &mut BTreeMap<i64, NodeOrigin>,
) -> Result<()> {
    let seqs = rows::to_json(&seqs)?;
    let mut evidence = connection.prepare_cached(
        "SELECT e.quote, e.span_start, e.span_end, m.id, e.node_seq, m.turn_id
         FROM json_each(?1) j CROSS JOIN node_evidence e ON e.node_seq = j.value
             CROSS JOIN recall_messages m ON m.seq = e.message_seq
         WHERE m.deleted_at IS NULL ORDER BY e.node_seq, e.message_seq, e.span_start",
    )?;
    let quoted = evidence.query_map(params![seqs], |row| {
        Ok((row.get(4)?, rows::evidence(row)?, rows::optional_uuid(row, 5)?.map(TurnId)))
    })?;
    for quoted in quoted {
        let (seq, evidence, turn) = quoted?;
        let origin = origins.entry(seq).or_default();
        if origin.evidence.is_empty() {
            origin.turn = turn;
        }
        origin.evidence.push(evidence);
    }
    let mut filling = connection.prepare_cached(
        "SELECT f.thought_seq, n.id
         FROM json_each(?1) j CROSS JOIN concept_node_filling f ON f.thought_seq = j.value
             CROSS JOIN concept_nodes n ON n.seq = f.event_seq
         WHERE f.orphaned = 0 AND n.deleted_at IS NULL ORDER BY f.thought_seq, f.event_seq",
    )?;
    for cited in
        filling.query_map(params![seqs], |row| Ok((row.get(0)?, NodeId(rows::read_uuid(row, 1)?))))?
    {
        let (seq, id) = cited?;
        origins.entry(seq).or_default().filling.push(id);
    }
    Ok(())
}

/// Query for live nodes of a kind, with an additional condition.
macro_rules! of_kind {
    ($columns:expr, $beside:expr) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM concept_nodes n WHERE n.scope = ?1 AND n.type = ?2 AND n.deleted_at IS NULL",
            $beside
        )
    };
}

/// A page of live nodes, newest first, including replaced ones; and their total number. Without a subject they are
/// counted in the index, without reading the rows.
pub(crate) fn node_page(
    connection: &Connection,
    scope: i64,
    query: &NodePageQuery,
) -> Result<(Vec<Node>, u64)> {
    let NodePageQuery { kind, subject, below, skip, limit } = *query;
    let (kind, below) = (kind.as_str(), below.unwrap_or(i64::MAX));
    let read = |statement, parameters: &[&dyn ToSql]| -> Result<Vec<Node>> {
        connection.prepare_cached(statement)?.query_map(parameters, rows::read_node)?.collect()
    };
    let count = |statement, parameters: &[&dyn ToSql]| -> Result<u64> {
        connection.prepare_cached(statement)?.query_row(parameters, |row| row.get(0))
    };
    let Some(subject) = subject.map(StoredEnum::as_str) else {
        let page = of_kind!(node_columns!(), " AND n.seq < ?3 ORDER BY n.seq DESC LIMIT ?4 OFFSET ?5");
        let nodes = read(page, params![scope, kind, below, limit, skip])?;
        return Ok((nodes, count(of_kind!("count(*)", ""), params![scope, kind])?));
    };
    let page = of_kind!(
        node_columns!(),
        " AND n.seq < ?3 AND n.subject = ?6 ORDER BY n.seq DESC LIMIT ?4 OFFSET ?5"
    );
    let nodes = read(page, params![scope, kind, below, limit, skip, subject])?;
    Ok((nodes, count(of_kind!("count(*)", " AND n.subject = ?3"), params![scope, kind, subject])?))
}
