//! Rows that depend on a node.

use memory::Scope;
use memory::forget::{Dependent, Dependents, ForgetTarget};
use memory::identifiers::{NodeId, SessionId};

use super::removal::{RowKey, uuid_of_key};
use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::rows::{self, column};

/// Columns for [`read_dependent`]: `n` is `concept_nodes`.
macro_rules! dependent_columns {
    () => {
        "n.id, n.type, n.description, n.created_at, n.source_session_id"
    };
}

pub(super) fn scope_of(connection: &Connection, thing: ForgetTarget) -> Result<Option<Scope>> {
    let (table, id) = match thing {
        ForgetTarget::Message(id) => ("recall_messages", id.0),
        ForgetTarget::Node(id) => ("concept_nodes", id.0),
        ForgetTarget::Session(id) => ("sessions", id.0),
    };
    connection
        .prepare_cached(&format!(
            "SELECT s.persona_id, s.user_id FROM {table} t JOIN scopes s ON s.number = t.scope WHERE t.id = ?1"
        ))?
        .query_row([id.into_bytes()], |row| rows::scope(row, 0))
        .optional()
}

pub(super) fn dependents(connection: &Connection, id: NodeId) -> Result<Option<Dependents>> {
    let Some(scope) = scope_of(connection, ForgetTarget::Node(id))? else { return Ok(None) };
    let (seq, node): (i64, Dependent) = connection
        .prepare_cached(concat!(
            "SELECT ",
            dependent_columns!(),
            ", n.seq FROM concept_nodes n WHERE n.id = ?1"
        ))?
        .query_row([id.0.into_bytes()], |row| Ok((row.get(5)?, read_dependent(row)?)))?;
    let resting_on_it = list(
        connection,
        concat!(
            "SELECT ",
            dependent_columns!(),
            " FROM concept_node_filling f JOIN concept_nodes n ON n.seq = f.thought_seq
             WHERE f.event_seq = ?1 ORDER BY n.created_at DESC, n.seq DESC"
        ),
        seq,
    )?;
    let rests_on = list(
        connection,
        concat!(
            "SELECT ",
            dependent_columns!(),
            " FROM concept_node_filling f JOIN concept_nodes n ON n.seq = f.event_seq
             WHERE f.thought_seq = ?1 ORDER BY n.created_at DESC, n.seq DESC"
        ),
        seq,
    )?;
    let orphaned = "SELECT id FROM forgotten_support WHERE node_seq = ?1 AND kind = 'node'";
    let evidence = connection
        .prepare_cached(
            "SELECT e.quote, e.span_start, e.span_end, m.id
             FROM node_evidence e JOIN recall_messages m ON m.seq = e.message_seq
             WHERE e.node_seq = ?1 ORDER BY e.message_seq, e.span_start",
        )?
        .query_map([seq], rows::evidence)?
        .collect::<Result<_>>()?;
    let replaced: Vec<RowKey> = column(
        connection,
        "SELECT id FROM concept_nodes WHERE superseded_by = ?1 ORDER BY seq",
        id.0.into_bytes(),
    )?;
    Ok(Some(Dependents {
        scope,
        node,
        resting_on_it,
        rests_on,
        orphaned: node_ids(column(connection, orphaned, seq)?),
        evidence,
        replaced: node_ids(replaced),
    }))
}

fn list(connection: &Connection, statement: &str, seq: i64) -> Result<Vec<Dependent>> {
    connection.prepare_cached(statement)?.query_map(params![seq], read_dependent)?.collect()
}

fn read_dependent(row: &Row<'_>) -> Result<Dependent> {
    Ok(Dependent {
        id: NodeId(rows::read_uuid(row, 0)?),
        kind: rows::read_enum(row, 1)?,
        description: row.get(2)?,
        created_at: rows::time(row, 3)?,
        source_session_id: rows::optional_uuid(row, 4)?.map(SessionId),
    })
}

fn node_ids(keys: Vec<RowKey>) -> Vec<NodeId> {
    keys.into_iter().map(|key| NodeId(uuid_of_key(key))).collect()
}
