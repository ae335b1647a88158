//! Events without a diary line, and lines whose events were corrected.

use hub::names::DocumentName;
use hub::ports::{DiaryEvent, DiaryLine, OutdatedLine};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use memory::identifiers::{NodeId, SessionId};
use memory::text::is_han;

use crate::engine::sql::{Connection, Result};
use crate::rows;

/// Query for events without a diary line. It starts at the list of these events, so that nothing else is read.
pub(crate) const EVENTS_WITHOUT_DIARY_LINE: &str =
    "SELECT c.persona_id, c.user_id, n.id, s.id, s.first_message_at, n.description
     FROM hub_untold u CROSS JOIN concept_nodes n ON n.seq = u.node_seq
     JOIN sessions s ON s.id = n.source_session_id AND s.status = 'closed'
     JOIN scopes c ON c.number = n.scope
     ORDER BY s.first_message_at, n.seq LIMIT ?1";

pub(super) fn events(connection: &Connection, limit: u32) -> Result<Vec<DiaryEvent>> {
    connection
        .prepare_cached(EVENTS_WITHOUT_DIARY_LINE)?
        .query_map([limit], |row| {
            Ok(DiaryEvent {
                scope: rows::scope(row, 0)?,
                node: NodeId(rows::read_uuid(row, 2)?),
                session: SessionId(rows::read_uuid(row, 3)?),
                at: rows::time(row, 4)?,
                description: row.get(5)?,
            })
        })?
        .collect()
}

pub(super) fn outdated_lines(connection: &Connection, limit: u32) -> Result<Vec<OutdatedLine>> {
    connection
        .prepare_cached(
            "SELECT d.persona_id, d.user_id, l.node_id, l.session_id, d.kind, d.stem, l.line, n.description,
                 (SELECT max(c.created_at) FROM node_changes c
                  WHERE c.node_seq = n.seq AND c.kind = 'supersession' AND n.superseded_by IS NOT NULL)
             FROM hub_lines l JOIN hub_documents d ON d.number = l.document
             JOIN concept_nodes n ON n.id = l.node_id AND n.deleted_at IS NULL
             WHERE l.outdated = 1 ORDER BY d.number, l.node_id LIMIT ?1",
        )?
        .query_map([limit], |row| {
            let document = DocumentName::parse(row.get_ref(4)?.as_str()?, row.get_ref(5)?.as_str()?)
                .map_err(|error| rows::unreadable_column(5, error))?;
            let (node, session) = (NodeId(rows::read_uuid(row, 2)?), SessionId(rows::read_uuid(row, 3)?));
            let line = DiaryLine { document, node, session, line: row.get(6)? };
            let replaced_at = rows::optional_time(row, 8)?;
            let description = with_end_day(row.get(7)?, replaced_at);
            Ok(OutdatedLine { scope: rows::scope(row, 0)?, line, description })
        })?
        .collect()
}

/// The line with the day until which its fact was true. The current fact has a line of its own: if that is forgotten,
/// this one must not contain it.
fn with_end_day(text: String, replaced_at: Option<Timestamp>) -> String {
    let Some(at) = replaced_at else { return text };
    let day = at.to_zoned(TimeZone::UTC).date();
    match text.contains(is_han) {
        true => format!("{}（自 {day} 起不再如此）", text.trim_end_matches('。')),
        false => format!("{} (no longer so since {day})", text.trim_end_matches('.')),
    }
}

/// Marks the diary lines of a node as outdated, because its text changed.
pub(crate) fn mark_outdated(connection: &Connection, node: i64) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE hub_lines SET outdated = 1 WHERE node_id = (SELECT id FROM concept_nodes WHERE seq = ?1)",
        )?
        .execute([node])?;
    Ok(())
}
