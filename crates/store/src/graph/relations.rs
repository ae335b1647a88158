//! Sessions from which the graph's facts have to be extracted, and the results.

use hub::graph::{GraphWrite, GraphWritten, KnownEntity, UnreadEvent, UnreadSession};
use memory::entities::EntityKind;
use memory::identifiers::{EntityId, NodeId, SessionId};
use uuid::Uuid;

use super::{scopes, write};
use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use crate::rows::{self, microseconds, read_uuid};

/// Query from the few waiting events to their sessions, never the other way round.
const UNREAD_SESSIONS: &str = "
    SELECT s.id FROM graph_unread u CROSS JOIN concept_nodes n ON n.seq = u.node_seq
    CROSS JOIN sessions s ON s.id = n.source_session_id
    WHERE s.status IN ('closed', 'failed')
    GROUP BY s.id ORDER BY min(n.seq)";
const UNREAD_EVENTS: &str = "
    SELECT n.seq, n.id, n.description FROM concept_nodes n CROSS JOIN graph_unread u ON u.node_seq = n.seq
    WHERE n.source_session_id = ?1 ORDER BY n.seq";
/// The oldest sessions with unread events, without the given ones.
pub(super) fn unread_sessions(
    connection: &Connection,
    passed_over: &[SessionId],
    limit: u32,
) -> Result<Vec<UnreadSession>> {
    let mut statement = connection.prepare_cached(UNREAD_SESSIONS)?;
    let mut sessions = statement.query([])?;
    let mut found = Vec::new();
    while found.len() < limit as usize
        && let Some(row) = &sessions.next()?
    {
        let session = SessionId(read_uuid(row, 0)?);
        if !passed_over.contains(&session) {
            found.extend(session_as_unread(connection, session)?);
        }
    }
    Ok(found)
}

fn session_as_unread(connection: &Connection, session: SessionId) -> Result<Option<UnreadSession>> {
    let head = connection
        .prepare_cached(
            "SELECT c.persona_id, c.user_id, p.display_name, u.display_name
             FROM sessions s JOIN scopes c ON c.number = s.scope
             LEFT JOIN personas p ON p.id = c.persona_id LEFT JOIN users u ON u.id = c.user_id
             WHERE s.id = ?1",
        )?
        .query_row([session.0.into_bytes()], |row| {
            Ok((rows::scope(row, 0)?, row.get::<Option<String>>(2)?, row.get::<Option<String>>(3)?))
        })
        .optional()?;
    let Some((scope, persona, user)) = head else { return Ok(None) };
    let unread: Vec<(i64, NodeId, String)> = connection
        .prepare_cached(UNREAD_EVENTS)?
        .query_map([session.0.into_bytes()], |row| {
            Ok((row.get(0)?, NodeId(read_uuid(row, 1)?), row.get(2)?))
        })?
        .collect::<Result<_>>()?;
    let (mut events, mut entities) = (Vec::with_capacity(unread.len()), Vec::new());
    for (seq, node, description) in unread {
        let quotes = connection
            .prepare_cached(
                "SELECT quote FROM node_evidence WHERE node_seq = ?1 ORDER BY message_seq, span_start",
            )?
            .query_map([seq], |row| row.get(0))?
            .collect::<Result<_>>()?;
        events.push(UnreadEvent { node, description, quotes });
        for entity in entities_of(connection, seq)? {
            if !entities.contains(&entity) {
                entities.push(entity);
            }
        }
    }
    let persona = persona.unwrap_or_default();
    Ok(Some(UnreadSession { scope, session, persona, user, events, entities }))
}

fn entities_of(connection: &Connection, node: i64) -> Result<Vec<KnownEntity>> {
    let found: Vec<Uuid> = connection
        .prepare_cached(
            "SELECT e.id FROM concept_node_entities l JOIN entities e ON e.id = l.entity_id
             WHERE l.node_seq = ?1 ORDER BY e.created_at, e.id",
        )?
        .query_map([node], |row| read_uuid(row, 0))?
        .collect::<Result<_>>()?;
    found.into_iter().filter_map(|id| known_entity(connection, id).transpose()).collect()
}

pub(super) fn known_entity(connection: &Connection, id: Uuid) -> Result<Option<KnownEntity>> {
    let found: Option<(String, String)> = connection
        .prepare_cached("SELECT canonical_name, kind FROM entities WHERE id = ?1")?
        .query_row([id.into_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((name, kind)) = found else { return Ok(None) };
    let aliases = connection
        .prepare_cached(
            "SELECT name FROM entity_aliases WHERE entity_id = ?1 AND name <> ?2 ORDER BY number",
        )?
        .query_map(params![id.into_bytes(), name], |row| row.get(0))?
        .collect::<Result<_>>()?;
    Ok(Some(KnownEntity { id: EntityId(id), name, aliases, kind: EntityKind::parse(&kind) }))
}

/// Writes extracted facts, unless their source has changed.
pub(super) fn commit(
    connection: &Connection,
    session: &UnreadSession,
    asked: &GraphWrite,
) -> Result<Option<GraphWritten>> {
    let present = session_as_unread(connection, session.session)?;
    if !present
        .is_some_and(|present| present.events == session.events && present.entities == session.entities)
    {
        return Ok(None);
    }
    let scope = scopes::number_or_new(connection, &session.scope)?;
    let at = microseconds(asked.at);
    let written = write::write(connection, scope, asked)?;
    let mut holds_again = connection
        .prepare_cached("UPDATE graph_edges SET valid_until = NULL WHERE id = ?1 AND valid_until <= ?2")?;
    for edge in &written.edges {
        holds_again.execute(params![edge.value.id.into_bytes(), at])?;
    }
    for event in &session.events {
        connection
            .prepare_cached(
                "DELETE FROM graph_unread WHERE node_seq = (SELECT seq FROM concept_nodes WHERE id = ?1)",
            )?
            .execute([event.node.0.into_bytes()])?;
    }
    Ok(Some(written))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::plans::empty_database;
    use crate::engine::plans::explain_plan;

    #[test]
    fn extraction_costs_grow_with_new_memories_only() {
        let connection = empty_database();
        let sessions = explain_plan(&connection, UNREAD_SESSIONS);
        assert!(sessions.starts_with("SCAN u; SEARCH n USING INTEGER PRIMARY KEY"), "{sessions}");
        let events = explain_plan(&connection, UNREAD_EVENTS);
        assert!(events.contains("concept_nodes_of_session (source_session_id=?)"), "{events}");
        assert_eq!([sessions, events].concat().matches("SCAN").count(), 1, "only what waits is walked over");
    }
}
