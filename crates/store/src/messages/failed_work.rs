//! The list of work that failed: sessions and turns together, newest first.

use std::cmp::Reverse;

use jiff::Timestamp;
use memory::Scope;
use memory::ports::FailedWork;
use uuid::Uuid;

use crate::engine::sql::{Connection, Result, params};
use crate::rows::{self, microseconds, saved_memories_channel, session_columns, turn_columns};
use crate::scopes;

/// Failed sessions behind a place. The two texts are the columns and the condition on the scope.
macro_rules! failed_sessions {
    ($of_scope:literal) => {
        concat!(
            "SELECT ",
            session_columns!(),
            " FROM sessions c JOIN scopes s ON s.number = c.scope
             WHERE c.status = 'failed' AND c.channel_id <> ",
            saved_memories_channel!(),
            " AND (c.last_message_at, c.id) < (?1, ?2) ",
            $of_scope,
            " ORDER BY c.last_message_at DESC, c.id DESC LIMIT ?3"
        )
    };
}

/// Failed turns behind a place.
macro_rules! failed_turns {
    ($of_scope:literal) => {
        concat!(
            "SELECT ",
            turn_columns!(),
            " FROM turns t JOIN scopes s ON s.number = t.scope
             WHERE t.status = 'failed' AND (t.last_message_at, t.id) < (?1, ?2) ",
            $of_scope,
            " ORDER BY t.last_message_at DESC, t.id DESC LIMIT ?3"
        )
    };
}

/// Reads at most `limit` of each kind, however much has failed.
pub(super) fn page(
    connection: &Connection,
    scope: Option<&Scope>,
    before: Option<(Timestamp, Uuid)>,
    limit: u32,
) -> Result<Vec<FailedWork>> {
    let (at, id) = before.map_or((i64::MAX, [u8::MAX; 16]), |(at, id)| (microseconds(at), id.into_bytes()));
    let mut found: Vec<FailedWork> = Vec::new();
    match scope {
        None => {
            let place = params![at, id, limit];
            let mut sessions = connection.prepare_cached(failed_sessions!(""))?;
            let mut turns = connection.prepare_cached(failed_turns!(""))?;
            for session in sessions.query_map(place, rows::session)? {
                found.push(FailedWork::Session(session?));
            }
            for turn in turns.query_map(place, rows::turn)? {
                found.push(FailedWork::Turn(turn?));
            }
        }
        Some(scope) => {
            let Some(scope) = scopes::number(connection, scope)? else { return Ok(Vec::new()) };
            let place = params![at, id, limit, scope];
            let mut sessions = connection.prepare_cached(failed_sessions!("AND c.scope = ?4"))?;
            let mut turns = connection.prepare_cached(failed_turns!("AND t.scope = ?4"))?;
            for session in sessions.query_map(place, rows::session)? {
                found.push(FailedWork::Session(session?));
            }
            for turn in turns.query_map(place, rows::turn)? {
                found.push(FailedWork::Turn(turn?));
            }
        }
    }
    found.sort_by_key(|work| Reverse(work.place()));
    found.truncate(limit as usize);
    Ok(found)
}
