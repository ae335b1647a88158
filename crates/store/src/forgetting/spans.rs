//! Places of words that a person had forgotten in messages that stay.

use memory::forget::ForgottenSpan;
use memory::identifiers::{MessageId, SessionId};

use super::removal::RemovalSet;
use crate::engine::sql::{Connection, Result, Row, params};
use crate::rows;

/// Marks what the nodes that go rested on in messages that stay.
pub(super) fn mark(connection: &Connection, going: &RemovalSet) -> Result<()> {
    let mut resting = connection
        .prepare_cached("SELECT message_seq, span_start, span_end FROM node_evidence WHERE node_seq = ?1")?;
    for node in going.nodes.keys() {
        let spans: Vec<(i64, u32, u32)> = resting
            .query_map([node], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<_>>()?;
        for (message, start, end) in spans {
            if !going.messages.contains_key(&message) {
                keep(connection, message, start, end)?;
            }
        }
    }
    Ok(())
}

/// All of a session.
pub(super) fn spans_of_session(connection: &Connection, session: SessionId) -> Result<Vec<ForgottenSpan>> {
    connection
        .prepare_cached(
            "SELECT m.id, s.span_start, s.span_end
             FROM recall_messages m JOIN forgotten_spans s ON s.message_seq = m.seq
             WHERE m.session_id = ?1 ORDER BY s.message_seq, s.span_start, s.span_end",
        )?
        .query_map([session.0.into_bytes()], span)?
        .collect()
}

/// Has the places of a message that was given new words follow those that still stand there.
pub(crate) fn follow_edit(connection: &Connection, message: i64, before: &str, after: &str) -> Result<()> {
    let spans: Vec<ForgottenSpan> = connection
        .prepare_cached(
            "SELECT m.id, s.span_start, s.span_end
             FROM forgotten_spans s JOIN recall_messages m ON m.seq = s.message_seq WHERE s.message_seq = ?1",
        )?
        .query_map([message], span)?
        .collect::<Result<_>>()?;
    connection.prepare_cached("DELETE FROM forgotten_spans WHERE message_seq = ?1")?.execute([message])?;
    for moved in spans.iter().filter_map(|span| span.moved(before, after)) {
        keep(connection, message, moved.start, moved.end)?;
    }
    Ok(())
}

fn keep(connection: &Connection, message: i64, start: u32, end: u32) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO forgotten_spans (message_seq, span_start, span_end) VALUES (?1, ?2, ?3)
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![message, start, end])?;
    Ok(())
}

fn span(row: &Row<'_>) -> Result<ForgottenSpan> {
    Ok(ForgottenSpan { message_id: MessageId(rows::uuid(row, 0)?), start: row.get(1)?, end: row.get(2)? })
}
