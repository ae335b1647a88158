//! Spans of forgotten text in messages that stay.

use memory::forget::{ForgottenSpan, sentences_repeating};
use memory::identifiers::{MessageId, SessionId};

use super::removal::RemovalSet;
use crate::engine::sql::{Connection, Result, Row, params};
use crate::rows;

/// Records the evidence of removed nodes in messages that stay.
pub(super) fn mark_spans(connection: &Connection, going: &RemovalSet) -> Result<()> {
    let mut resting = connection
        .prepare_cached("SELECT message_seq, span_start, span_end FROM node_evidence WHERE node_seq = ?1")?;
    for node in going.nodes.keys() {
        let spans: Vec<(i64, u32, u32)> = resting
            .query_map([node], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<_>>()?;
        for (message, start, end) in spans {
            if !going.messages.contains_key(&message) {
                insert_span(connection, message, start, end, going.silences)?;
                if going.silences {
                    silence_replies(connection, message, start, end)?;
                }
            }
        }
    }
    Ok(())
}

/// Silences sentences of the replies to a message that repeat the silenced text.
fn silence_replies(connection: &Connection, message: i64, start: u32, end: u32) -> Result<()> {
    let mut replies = connection.prepare_cached(
        "SELECT said.content, reply.seq, reply.content
         FROM recall_messages said JOIN recall_messages reply ON reply.turn_id = said.turn_id AND reply.role <> said.role
         WHERE said.seq = ?1",
    )?;
    let replies: Vec<(String, i64, String)> = replies
        .query_map([message], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_>>()?;
    for (said, reply, content) in replies {
        let words: String =
            said.chars().skip(start as usize).take(end.saturating_sub(start) as usize).collect();
        for (start, end) in sentences_repeating(&words, &content) {
            insert_span(connection, reply, start, end, true)?;
        }
    }
    Ok(())
}

/// Silenced spans of these messages, in the order of the messages.
pub(super) fn silenced_spans(
    connection: &Connection,
    scope: i64,
    seqs: &[i64],
) -> Result<Vec<ForgottenSpan>> {
    let mut found: Vec<(ForgottenSpan, i64)> = connection
        .prepare_cached(
            "SELECT m.id, s.span_start, s.span_end, s.message_seq
             FROM json_each(?1) j CROSS JOIN forgotten_spans s ON s.message_seq = j.value
                 CROSS JOIN recall_messages m ON m.seq = s.message_seq
             WHERE m.scope = ?2 AND s.silenced = 1 ORDER BY s.span_start, s.span_end",
        )?
        .query_map(params![rows::to_json(&seqs)?, scope], |row| Ok((read_span(row)?, row.get(3)?)))?
        .collect::<Result<_>>()?;
    found.sort_by_key(|(_, seq)| seqs.iter().position(|wanted| wanted == seq));
    Ok(found.into_iter().map(|(span, _)| span).collect())
}

/// All forgotten spans of a session.
pub(super) fn spans_of_session(connection: &Connection, session: SessionId) -> Result<Vec<ForgottenSpan>> {
    connection
        .prepare_cached(
            "SELECT m.id, s.span_start, s.span_end
             FROM recall_messages m JOIN forgotten_spans s ON s.message_seq = m.seq
             WHERE m.session_id = ?1 ORDER BY s.message_seq, s.span_start, s.span_end",
        )?
        .query_map([session.0.into_bytes()], read_span)?
        .collect()
}

/// Moves the spans of an edited message to the same text, if it is still there.
pub(crate) fn follow_edit(connection: &Connection, message: i64, before: &str, after: &str) -> Result<()> {
    let spans: Vec<(ForgottenSpan, bool)> = connection
        .prepare_cached(
            "SELECT m.id, s.span_start, s.span_end, s.silenced
             FROM forgotten_spans s JOIN recall_messages m ON m.seq = s.message_seq WHERE s.message_seq = ?1",
        )?
        .query_map([message], |row| Ok((read_span(row)?, row.get(3)?)))?
        .collect::<Result<_>>()?;
    connection.prepare_cached("DELETE FROM forgotten_spans WHERE message_seq = ?1")?.execute([message])?;
    for (span, is_silenced) in spans {
        if let Some(moved) = span.relocate_after_edit(before, after) {
            insert_span(connection, message, moved.start, moved.end, is_silenced)?;
        }
    }
    Ok(())
}

fn insert_span(connection: &Connection, message: i64, start: u32, end: u32, is_silenced: bool) -> Result<()> {
    // Silenced text stays silenced when another memory with the same text is forgotten.
    connection
        .prepare_cached(
            "INSERT INTO forgotten_spans (message_seq, span_start, span_end, silenced) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (message_seq, span_start, span_end)
             DO UPDATE SET silenced = 1 WHERE excluded.silenced = 1",
        )?
        .execute(params![message, start, end, is_silenced])?;
    Ok(())
}

fn read_span(row: &Row<'_>) -> Result<ForgottenSpan> {
    Ok(ForgottenSpan {
        message_id: MessageId(rows::read_uuid(row, 0)?),
        start: row.get(1)?,
        end: row.get(2)?,
    })
}
