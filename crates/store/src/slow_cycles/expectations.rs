//! Outcomes of expectations.

use jiff::Timestamp;
use memory::identifiers::{MessageId, NodeId};
use memory::ports::ExpectationEnd;

use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use crate::nodes::new_nodes;
use crate::rows::{self, StoredEnum, microseconds};

/// Settles pending expectations permanently.
pub(crate) fn settle(
    connection: &Connection,
    scope: i64,
    ids: &[NodeId],
    settled: &ExpectationEnd,
) -> Result<Vec<NodeId>> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO settled_expectations (node_seq, outcome, message_seq, settled_at)
         SELECT n.seq, ?2, (SELECT seq FROM recall_messages WHERE id = ?3 AND scope = ?5), ?4
         FROM concept_nodes n WHERE n.seq = ?1 AND n.type = 'expectation'
         ON CONFLICT DO NOTHING",
    )?;
    let by = settled.by.map(|message| message.0.into_bytes());
    let mut done = Vec::new();
    for id in ids {
        let Some(seq) = new_nodes::number(connection, scope, *id)? else { continue };
        let row = params![seq, settled.outcome.as_str(), by, microseconds(settled.at), scope];
        if statement.execute(row)? > 0 {
            done.push(*id);
        }
    }
    Ok(done)
}

/// Settles every pending expectation whose time has passed.
pub(crate) fn expire_expectations(connection: &Connection, now: Timestamp) -> Result<u32> {
    let expired = connection
        .prepare_cached(
            "INSERT INTO settled_expectations (node_seq, outcome, settled_at)
             SELECT n.seq, 'expired', ?1 FROM concept_nodes n
             WHERE n.type = 'expectation' AND n.event_time_start IS NOT NULL AND n.deleted_at IS NULL
               AND n.event_time_start < ?1 AND coalesce(n.event_time_end, n.event_time_start) < ?1
               AND NOT EXISTS (SELECT 1 FROM settled_expectations x WHERE x.node_seq = n.seq)",
        )?
        .execute([microseconds(now)])?;
    Ok(u32::try_from(expired).unwrap_or(u32::MAX))
}

pub(crate) fn expectation_end(connection: &Connection, id: NodeId) -> Result<Option<ExpectationEnd>> {
    connection
        .prepare_cached(
            "SELECT x.outcome, m.id, x.settled_at
             FROM settled_expectations x JOIN concept_nodes n ON n.seq = x.node_seq
                 LEFT JOIN recall_messages m ON m.seq = x.message_seq
             WHERE n.id = ?1",
        )?
        .query_row([id.0.into_bytes()], |row| {
            Ok(ExpectationEnd {
                outcome: rows::read_enum(row, 0)?,
                by: rows::optional_uuid(row, 1)?.map(MessageId),
                at: rows::time(row, 2)?,
            })
        })
        .optional()
}
