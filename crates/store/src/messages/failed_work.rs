//! The list of failed work: sessions and turns together, newest first.

use std::cmp::Reverse;

use jiff::Timestamp;
use memory::Scope;
use memory::ports::FailedWork;
use uuid::Uuid;

use crate::engine::sql::{Connection, Result, params};
use crate::rows::{self, microseconds, saved_memories_channel, session_columns, turn_columns};
use crate::scopes;

/// Reads at most `limit` of each kind, however much has failed.
pub(super) fn failed_page(
    connection: &Connection,
    scope: Option<&Scope>,
    before: Option<(Timestamp, Uuid)>,
    limit: u32,
) -> Result<Vec<FailedWork>> {
    let scope = match scope {
        None => None,
        Some(scope) => match scopes::number(connection, scope)? {
            None => return Ok(Vec::new()),
            number => number,
        },
    };
    let (at, id) = before.map_or((i64::MAX, [u8::MAX; 16]), |(at, id)| (microseconds(at), id.into_bytes()));
    let mut sessions = connection.prepare_cached(concat!(
        "SELECT ",
        session_columns!(),
        " FROM sessions c JOIN scopes s ON s.number = c.scope
         WHERE c.status = 'failed' AND c.channel_id <> ",
        saved_memories_channel!(),
        " AND (c.last_message_at, c.id) < (?1, ?2) AND c.scope = COALESCE(?4, c.scope)
         ORDER BY c.last_message_at DESC, c.id DESC LIMIT ?3"
    ))?;
    let mut turns = connection.prepare_cached(concat!(
        "SELECT ",
        turn_columns!(),
        " FROM turns t JOIN scopes s ON s.number = t.scope
         WHERE t.status = 'failed' AND (t.last_message_at, t.id) < (?1, ?2) AND t.scope = COALESCE(?4, t.scope)
         ORDER BY t.last_message_at DESC, t.id DESC LIMIT ?3"
    ))?;
    let place = params![at, id, limit, scope];
    let mut found: Vec<FailedWork> = Vec::new();
    for session in sessions.query_map(place, rows::session)? {
        found.push(FailedWork::Session(session?));
    }
    for turn in turns.query_map(place, rows::turn)? {
        found.push(FailedWork::Turn(turn?));
    }
    found.sort_by_key(|work| Reverse(work.list_position()));
    found.truncate(limit as usize);
    Ok(found)
}
