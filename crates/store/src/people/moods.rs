//! Moods (L6) and their history.

use jiff::Timestamp;
use memory::identifiers::SessionId;
use memory::mood::{Mood, MoodShift};

use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::rows::{self, microseconds, to_json};

/// The last stored mood, however old.
pub(crate) fn current_mood(connection: &Connection, scope: i64) -> Result<Option<Mood>> {
    connection
        .prepare_cached(
            "SELECT episodic_state FROM mood_history WHERE scope = ?1 ORDER BY felt_at DESC, seq DESC LIMIT 1",
        )?
        .query_row([scope], |row| rows::read_json(row, 0))
        .optional()
}

/// Stores the mood after a session, replacing that of an earlier extraction of the session.
pub(crate) fn add(connection: &Connection, scope: i64, session: SessionId, mood: &Mood) -> Result<()> {
    let stored = Mood { updated_at: rows::round_to_microseconds(mood.updated_at), ..mood.clone() };
    let session = session.0.into_bytes();
    connection.prepare_cached("DELETE FROM mood_history WHERE session_id = ?1")?.execute([session])?;
    connection
        .prepare_cached(
            "INSERT INTO mood_history (scope, session_id, felt_at, episodic_state) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![scope, session, microseconds(stored.updated_at), to_json(&stored)?])?;
    Ok(())
}

/// Shifts since `from` and after the position `before` (time and number), newest first.
pub(crate) fn list_mood_shifts(
    connection: &Connection,
    scope: i64,
    from: Timestamp,
    before: Option<(Timestamp, i64)>,
    limit: u32,
) -> Result<Vec<MoodShift>> {
    let (end, seq) = before.map_or((i64::MAX, i64::MAX), |(at, seq)| (microseconds(at), seq));
    let mut statement = connection.prepare_cached(
        "SELECT seq, session_id, episodic_state FROM mood_history
         WHERE scope = ?1 AND felt_at >= ?2 AND (felt_at, seq) < (?3, ?4)
         ORDER BY felt_at DESC, seq DESC LIMIT ?5",
    )?;
    let read = |row: &Row<'_>| {
        Ok(MoodShift {
            seq: row.get(0)?,
            session_id: rows::optional_uuid(row, 1)?.map(SessionId),
            mood: rows::read_json(row, 2)?,
        })
    };
    statement.query_map(params![scope, microseconds(from), end, seq, limit], read)?.collect()
}
