//! Outlines of messages: their lengths and times, without their texts.

use jiff::Timestamp;
use memory::ports::MessageOutline;

use crate::engine::sql::{Connection, OptionalExtension, Result, params};
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

/// Query for the first message within a time span, and the last.
pub(crate) const ENDS_OF_SPAN: [&str; 2] = [
    "SELECT seq FROM recall_messages WHERE scope = ?1 AND created_at BETWEEN ?2 AND ?3
     ORDER BY created_at, seq LIMIT 1",
    "SELECT seq FROM recall_messages WHERE scope = ?1 AND created_at BETWEEN ?2 AND ?3
     ORDER BY created_at DESC, seq DESC LIMIT 1",
];

/// Numbers of the first and the last message within a time span. Imported messages have later numbers than their
/// times suggest, so some messages of the span may be outside of this range.
pub(crate) fn message_span(
    connection: &Connection,
    scope: i64,
    start: Timestamp,
    end: Timestamp,
) -> Result<Option<(i64, i64)>> {
    let end_of = |statement: &str| {
        let within = params![scope, microseconds(start), microseconds(end)];
        connection.prepare_cached(statement)?.query_row(within, |row| row.get::<i64>(0)).optional()
    };
    let ends = end_of(ENDS_OF_SPAN[0])?.zip(end_of(ENDS_OF_SPAN[1])?);
    Ok(ends.map(|(first, last)| (first.min(last), first.max(last))))
}
