//! Outlines of messages: their lengths and times, without their texts.

use jiff::Timestamp;
use memory::ports::{MessageOutline, SpanMessages};

use crate::engine::sql::{Connection, Result, params};
use crate::rows::{microseconds, time, to_json};

/// Outlines of live messages by number.
pub(crate) fn outlines_by_number(
    connection: &Connection,
    scope: i64,
    seqs: &[i64],
) -> Result<Vec<MessageOutline>> {
    connection
        .prepare_cached(
            "SELECT m.seq, m.token_count, m.created_at
             FROM json_each(?1) j CROSS JOIN recall_messages m ON m.seq = j.value
             WHERE m.scope = ?2 AND m.deleted_at IS NULL",
        )?
        .query_map(params![to_json(&seqs)?, scope], |row| {
            Ok(MessageOutline { seq: row.get(0)?, token_count: row.get(1)?, created_at: time(row, 2)? })
        })?
        .collect()
}

/// Query for the first messages within a time span.
pub(crate) const FIRST_OF_SPAN: &str =
    "SELECT seq FROM recall_messages WHERE scope = ?1 AND created_at BETWEEN ?2 AND ?3
     ORDER BY created_at, seq LIMIT ?4";
/// Query for the last messages within a time span.
pub(crate) const LAST_OF_SPAN: &str =
    "SELECT seq FROM recall_messages WHERE scope = ?1 AND created_at BETWEEN ?2 AND ?3
     ORDER BY created_at DESC, seq DESC LIMIT ?4";

/// The messages within a time span, all of them if there are at most `limit`.
pub(crate) fn messages_within(
    connection: &Connection,
    scope: i64,
    start: Timestamp,
    end: Timestamp,
    limit: u32,
) -> Result<SpanMessages> {
    let (start, end) = (microseconds(start), microseconds(end));
    let read = |statement: &str| -> Result<Vec<i64>> {
        let within = params![scope, start, end, i64::from(limit) + 1];
        connection.prepare_cached(statement)?.query_map(within, |row| row.get(0))?.collect()
    };
    let first = read(FIRST_OF_SPAN)?;
    if first.len() <= limit as usize {
        return Ok(SpanMessages::All(first));
    }
    let last = read(LAST_OF_SPAN)?;
    // Many rows at each end, because neighbours in time may come from the conversation and from imports.
    let ends = || first.iter().chain(&last);
    Ok(SpanMessages::Between(
        ends().min().copied().unwrap_or_default(),
        ends().max().copied().unwrap_or_default(),
    ))
}
