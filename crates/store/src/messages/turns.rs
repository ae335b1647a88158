//! Turns, as stored between the user's messages and the reply.

use crate::engine::sql::{self, Connection, OptionalExtension, Result, params};
use crate::home_store::HomeStore;
use crate::messages::failed_work;
use crate::rows::{self, StoredEnum, message_columns, microseconds, turn_columns};
use async_trait::async_trait;
use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::{SessionId, TurnId};
use memory::messages::{Message, Turn, TurnStatus};
use memory::ports::{FailedWork, NewMessage, StoreError, TurnStore};
use uuid::Uuid;

#[async_trait]
impl TurnStore for HomeStore {
    async fn fail_turn(&self, id: TurnId, reason: &str) -> Result<(), StoreError> {
        let reason = reason.to_owned();
        self.write(move |unit| Ok(fail(unit.connection, id, &reason)?)).await
    }

    async fn reopen_turn(&self, id: TurnId) -> Result<Option<Turn>, StoreError> {
        self.write(move |unit| Ok(reopen(unit.connection, id)?)).await
    }

    async fn reopen_answered_turn(&self, id: TurnId) -> Result<Option<Turn>, StoreError> {
        self.write(move |unit| Ok(make_pending_again(unit.connection, id)?)).await
    }

    async fn pending_turns(&self) -> Result<Vec<Turn>, StoreError> {
        self.read_statement(|connection| Ok(pending_turns(connection)?)).await
    }

    async fn failed_work(
        &self,
        scope: Option<&Scope>,
        before: Option<(Timestamp, Uuid)>,
        limit: u32,
    ) -> Result<Vec<FailedWork>, StoreError> {
        let scope = scope.cloned();
        self.read(move |connection| Ok(failed_work::failed_page(connection, scope.as_ref(), before, limit)?))
            .await
    }

    async fn turn(&self, id: TurnId) -> Result<Option<Turn>, StoreError> {
        self.read_statement(move |connection| Ok(by_id(connection, id)?)).await
    }

    async fn turn_messages(&self, id: TurnId) -> Result<Vec<Message>, StoreError> {
        self.read_statement(move |connection| Ok(messages_of_turn(connection, id)?)).await
    }

    async fn turn_external_ref(&self, id: TurnId) -> Result<Option<String>, StoreError> {
        self.read_statement(move |connection| Ok(external_ref_of_turn(connection, id)?)).await
    }
}

/// Makes the turn of a user's message pending, whatever its state.
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
        .send(params![
            id.0.into_bytes(),
            scope,
            session.0.into_bytes(),
            new.channel_id,
            TurnStatus::Pending.as_str(),
            microseconds(new.created_at),
        ])
}

pub(crate) fn answer(connection: &Connection, id: TurnId) -> Result<()> {
    connection
        .prepare_cached("UPDATE turns SET status = 'answered', reason = NULL WHERE id = ?1")?
        .send([id.0.into_bytes()])
}

/// Ends the wait for a reply. A turn that already had a reply and waited for another keeps it.
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

/// Makes an answered turn pending again; its reply stays meanwhile.
pub(crate) fn make_pending_again(connection: &Connection, id: TurnId) -> Result<Option<Turn>> {
    let changed = connection
        .prepare_cached(
            "UPDATE turns SET status = 'pending', reason = NULL WHERE id = ?1 AND status = 'answered'",
        )?
        .execute([id.0.into_bytes()])?;
    if changed == 0 { Ok(None) } else { by_id(connection, id) }
}

pub(crate) fn pending_turns(connection: &Connection) -> Result<Vec<Turn>> {
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

fn messages_of_turn(connection: &Connection, id: TurnId) -> sql::Result<Vec<Message>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            message_columns!(),
            " FROM recall_messages m JOIN scopes s ON s.number = m.scope
             WHERE m.turn_id = ?1 AND m.deleted_at IS NULL ORDER BY m.seq"
        ))?
        .query_map([id.0.into_bytes()], rows::read_message)?
        .collect()
}

fn external_ref_of_turn(connection: &Connection, id: TurnId) -> sql::Result<Option<String>> {
    connection
        .prepare_cached(
            "SELECT external_ref FROM recall_messages
             WHERE turn_id = ?1 AND external_ref IS NOT NULL AND deleted_at IS NULL ORDER BY seq DESC LIMIT 1",
        )?
        .query_row([id.0.into_bytes()], |row| row.get(0))
        .optional()
}
