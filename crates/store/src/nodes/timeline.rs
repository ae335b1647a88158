//! The memory timeline: nodes, entities, closed sessions and moods, merged newest first.

use std::cmp::Reverse;

use jiff::Timestamp;
use memory::ports::TimelineItem;

use crate::engine::sql::{Connection, Result, Row, params};
use crate::entities::entity_queries;
use crate::people::moods;
use crate::rows::{self, microseconds, node_columns, saved_memories_channel, session_columns};

type Entry = (Timestamp, TimelineItem);

pub(crate) fn timeline(
    connection: &Connection,
    scope: i64,
    before: Option<Timestamp>,
    limit: u32,
) -> Result<Vec<Entry>> {
    let end = before.map_or(i64::MAX, microseconds);
    let mut entries = node_entries(connection, scope, end, limit)?;
    entries.extend(named_entities(connection, scope, end, limit)?);
    let described = entity_queries::entities_before(connection, scope, end, limit)?;
    entries.extend(
        described.into_iter().map(|(at, entity)| (at, TimelineItem::EntityDescribed(Box::new(entity)))),
    );
    entries.extend(closed_sessions(connection, scope, end, limit)?);
    let moods =
        moods::list_mood_shifts(connection, scope, Timestamp::MIN, before.map(|at| (at, i64::MIN)), limit)?;
    entries.extend(moods.into_iter().map(|shift| (shift.mood.updated_at, TimelineItem::Mood(shift))));
    entries.sort_by_key(|entry| Reverse(entry.0));
    entries.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(entries)
}

fn node_entries(connection: &Connection, scope: i64, end: i64, limit: u32) -> Result<Vec<Entry>> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        node_columns!(),
        " FROM concept_nodes n
         WHERE n.scope = ?1 AND n.created_at < ?2 AND n.deleted_at IS NULL
         ORDER BY n.created_at DESC, n.seq DESC LIMIT ?3"
    ))?;
    let entry = |node: memory::nodes::Node| (node.created_at, TimelineItem::Node(Box::new(node)));
    statement.query_map(params![scope, end, limit], |row| rows::read_node(row).map(entry))?.collect()
}

/// Entities of certain identity.
fn named_entities(connection: &Connection, scope: i64, end: i64, limit: u32) -> Result<Vec<Entry>> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        entity_queries::entity_columns!(),
        " FROM entities e
         WHERE e.scope = ?1 AND e.created_at < ?2 AND e.merge_status <> 'uncertain' AND e.merged_into IS NULL
         ORDER BY e.created_at DESC, e.id DESC LIMIT ?3"
    ))?;
    let entry =
        |entity: memory::entities::Entity| (entity.created_at, TimelineItem::Entity(Box::new(entity)));
    let read = |row: &Row<'_>| entity_queries::read(connection, row).map(entry);
    statement.query_map(params![scope, end, limit], read)?.collect()
}

fn closed_sessions(connection: &Connection, scope: i64, end: i64, limit: u32) -> Result<Vec<Entry>> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        session_columns!(),
        ", (SELECT count(*) FROM concept_nodes n
             WHERE n.source_session_id = c.id AND n.type = 'thought' AND n.deleted_at IS NULL)
         FROM sessions c JOIN scopes s ON s.number = c.scope
         WHERE c.scope = ?1 AND c.status = 'closed' AND c.closed_at < ?2 AND c.channel_id <> ",
        saved_memories_channel!(),
        " ORDER BY c.closed_at DESC, c.id DESC LIMIT ?3"
    ))?;
    let read = |row: &Row<'_>| {
        let session = rows::session(row)?;
        let (events, thoughts) = (session.extracted_events, row.get(rows::COLUMNS_AFTER_SESSION)?);
        let at = session.closed_at.unwrap_or(session.last_message_at);
        Ok((at, TimelineItem::SessionClosed { session: Box::new(session), events, thoughts }))
    };
    statement.query_map(params![scope, end, limit], read)?.collect()
}
