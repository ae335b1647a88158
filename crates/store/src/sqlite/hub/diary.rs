//! Events that no diary tells yet.

use hub::port::DiaryEvent;
use memory::identifiers::{NodeId, SessionId};
use rusqlite::{Connection, Result};

use super::super::rows;

pub(super) fn events(connection: &Connection, limit: u32) -> Result<Vec<DiaryEvent>> {
    connection
        .prepare_cached(
            "SELECT c.persona_id, c.user_id, n.id, s.id, s.first_message_at, n.description
             FROM concept_nodes n
             JOIN sessions s ON s.id = n.source_session_id AND s.status = 'closed'
             JOIN scopes c ON c.number = n.scope
             WHERE n.type = 'event' AND n.deleted_at IS NULL
                 AND NOT EXISTS (SELECT 1 FROM hub_lines l WHERE l.node_id = n.id)
             ORDER BY s.first_message_at, n.seq LIMIT ?1",
        )?
        .query_map([limit], |row| {
            Ok(DiaryEvent {
                scope: rows::scope(row, 0)?,
                node: NodeId(rows::uuid(row, 2)?),
                session: SessionId(rows::uuid(row, 3)?),
                at: rows::time(row, 4)?,
                description: row.get(5)?,
            })
        })?
        .collect()
}
