//! Turns: what survives between the user's words and the reply.

use memory::identifiers::{SessionId, TurnId};
use memory::messages::{Turn, TurnStatus};
use memory::ports::NewMessage;
use rusqlite::{Connection, OptionalExtension, Result, params};

use crate::rows::{self, StoredEnum, microseconds, turn_columns};

/// Makes the turn of a user's message pending, whatever it was before.
pub(crate) fn await_reply(
    connection: &Connection,
    id: TurnId,
    scope: i64,
    session: SessionId,
    new: &NewMessage,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO turns (id, scope, session_id, channel_id, status, started_at, last_message_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
             ON CONFLICT (id) DO UPDATE SET
                 session_id = excluded.session_id, status = excluded.status,
                 last_message_at = excluded.last_message_at, reason = NULL",
        )?
        .execute(params![
            id.0.into_bytes(),
            scope,
            session.0.into_bytes(),
            new.channel_id,
            TurnStatus::Pending.as_str(),
            microseconds(new.created_at),
        ])?;
    Ok(())
}

pub(crate) fn answer(connection: &Connection, id: TurnId) -> Result<()> {
    connection
        .prepare_cached("UPDATE turns SET status = 'answered', reason = NULL WHERE id = ?1")?
        .execute([id.0.into_bytes()])?;
    Ok(())
}

/// Ends the wait for a reply. A turn that has one already, and was asked for another, keeps it.
pub(crate) fn fail(connection: &Connection, id: TurnId, reason: &str) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE turns SET reason = ?2,
                 status = CASE WHEN EXISTS (SELECT 1 FROM recall_messages m WHERE m.turn_id = turns.id
                                                AND m.role = 'persona' AND m.deleted_at IS NULL)
                               THEN 'answered' ELSE 'failed' END
             WHERE id = ?1 AND status = 'pending'",
        )?
        .execute(params![id.0.into_bytes(), reason])?;
    Ok(())
}

pub(crate) fn reopen(connection: &Connection, id: TurnId) -> Result<Option<Turn>> {
    let changed = connection
        .prepare_cached(
            "UPDATE turns SET status = 'pending', reason = NULL WHERE id = ?1 AND status = 'failed'",
        )?
        .execute([id.0.into_bytes()])?;
    if changed == 0 { Ok(None) } else { by_id(connection, id) }
}

/// Makes an answered turn pending again; its reply stays for now.
pub(crate) fn ask_again(connection: &Connection, id: TurnId) -> Result<Option<Turn>> {
    let changed = connection
        .prepare_cached(
            "UPDATE turns SET status = 'pending', reason = NULL WHERE id = ?1 AND status = 'answered'",
        )?
        .execute([id.0.into_bytes()])?;
    if changed == 0 { Ok(None) } else { by_id(connection, id) }
}

pub(crate) fn pending(connection: &Connection) -> Result<Vec<Turn>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            turn_columns!(),
            " FROM turns t JOIN scopes s ON s.number = t.scope
             WHERE t.status = 'pending' ORDER BY t.started_at, t.id"
        ))?
        .query_map([], rows::turn)?
        .collect()
}

pub(crate) fn by_id(connection: &Connection, id: TurnId) -> Result<Option<Turn>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            turn_columns!(),
            " FROM turns t JOIN scopes s ON s.number = t.scope WHERE t.id = ?1"
        ))?
        .query_row([id.0.into_bytes()], rows::turn)
        .optional()
}
