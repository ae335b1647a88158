//! Sessions, from open to closed. The two commits of consolidation are in `consolidation`.

mod consolidation;
pub(crate) mod reconciliation;
pub(crate) mod commits;
#[cfg(feature = "faults")]
pub(crate) mod recorded_commits;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::identifiers::{SessionId, TurnId};
use memory::ports::{NewMessage, SessionFilter, SessionStore, StoreError};
use memory::sessions::{CloseTrigger, Session, SessionStatus};

use crate::engine::sql::{self, Connection, OptionalExtension, Result, Row, params};
use crate::home_store::HomeStore;
use crate::rows::{
    self, StoredEnum, microseconds, round_to_microseconds, saved_memories_channel, session_columns,
};
use crate::scopes;

#[async_trait]
impl SessionStore for HomeStore {
    async fn end_quiet_sessions(
        &self,
        before: Timestamp,
        trigger: CloseTrigger,
    ) -> Result<Vec<Session>, StoreError> {
        self.write(move |unit| Ok(end_quiet(unit.connection, before, trigger)?)).await
    }

    async fn end_session(&self, id: SessionId, trigger: CloseTrigger) -> Result<Option<Session>, StoreError> {
        self.write(move |unit| {
            let open = by_id(unit.connection, id)?.filter(|session| session.status == SessionStatus::Open);
            Ok(open.map(|session| end_session(unit.connection, session, trigger)).transpose()?)
        })
        .await
    }

    async fn retry_session(&self, id: SessionId) -> Result<Option<Session>, StoreError> {
        self.write(move |unit| {
            let changed = unit
                .connection
                .prepare_cached(
                    "UPDATE sessions SET status = 'closing', attempts = 0, last_error = NULL, retry_at = NULL
                     WHERE id = ?1 AND status = 'failed'",
                )?
                .execute([id.0.into_bytes()])?;
            Ok(if changed == 0 { None } else { by_id(unit.connection, id)? })
        })
        .await
    }

    async fn session(&self, id: SessionId) -> Result<Option<Session>, StoreError> {
        self.read_statement(move |connection| Ok(by_id(connection, id)?)).await
    }

    async fn sessions(&self, filter: SessionFilter) -> Result<Vec<Session>, StoreError> {
        self.read(move |connection| Ok(list(connection, &filter)?)).await
    }
}

pub(crate) fn by_id(connection: &Connection, id: SessionId) -> Result<Option<Session>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            session_columns!(),
            " FROM sessions c JOIN scopes s ON s.number = c.scope WHERE c.id = ?1"
        ))?
        .query_row([id.0.into_bytes()], rows::session)
        .optional()
}

/// Query for the open session of channel ?2 in scope ?1.
const OPEN_SESSION: &str = concat!(
    "SELECT ",
    session_columns!(),
    " FROM sessions c JOIN scopes s ON s.number = c.scope
     WHERE c.scope = ?1 AND c.channel_id = ?2 AND c.status = 'open'"
);

pub(crate) fn open(connection: &Connection, scope: i64, channel_id: &str) -> Result<Option<Session>> {
    connection.prepare_cached(OPEN_SESSION)?.query_row(params![scope, channel_id], rows::session).optional()
}

/// The open sessions of channels, by the id of the scope and of the channel.
pub(crate) fn open_in_each(connection: &Connection, channels: Vec<(i64, &str)>) -> Result<Vec<Session>> {
    let open = connection.query_each(OPEN_SESSION, channels, rows::session)?;
    Ok(open.into_iter().flatten().collect())
}

/// The session of a turn, if open.
pub(crate) fn open_session_of_turn(
    connection: &Connection,
    scope: i64,
    turn: TurnId,
) -> Result<Option<Session>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            session_columns!(),
            " FROM turns t JOIN sessions c ON c.id = t.session_id
                 JOIN scopes s ON s.number = c.scope
             WHERE t.id = ?1 AND c.scope = ?2 AND c.status = 'open'"
        ))?
        .query_row(params![turn.0.into_bytes(), scope], rows::session)
        .optional()
}

/// Opens a session with its first message.
pub(crate) fn begin(connection: &Connection, scope: i64, first: &NewMessage) -> Result<Session> {
    connection
        .prepare_cached(
            "INSERT INTO sessions (id, scope, channel_id, status, message_count, total_tokens, first_message_at,
                 last_message_at)
             VALUES (?1, ?2, ?3, 'open', 1, ?4, ?5, ?5)",
        )?
        .execute(params![
            first.session_id_if_new.0.into_bytes(),
            scope,
            first.channel_id,
            first.token_count,
            microseconds(first.created_at),
        ])?;
    by_id(connection, first.session_id_if_new)?.ok_or(sql::Error::QueryReturnedNoRows)
}

/// Adds a message to a session's counters.
pub(crate) fn count_message(
    connection: &Connection,
    session: Session,
    tokens: u32,
    at: Timestamp,
) -> Result<Session> {
    connection
        .prepare_cached(
            "UPDATE sessions SET message_count = message_count + 1, total_tokens = total_tokens + ?2,
                 last_message_at = ?3
             WHERE id = ?1",
        )?
        .send(params![session.id.0.into_bytes(), tokens, microseconds(at)])?;
    Ok(Session {
        message_count: session.message_count + 1,
        total_tokens: session.total_tokens + u64::from(tokens),
        last_message_at: round_to_microseconds(at),
        ..session
    })
}

/// Ends an open session.
pub(crate) fn end_session(
    connection: &Connection,
    session: Session,
    trigger: CloseTrigger,
) -> Result<Session> {
    connection
        .prepare_cached("UPDATE sessions SET status = 'closing', close_trigger = ?2 WHERE id = ?1")?
        .send(params![session.id.0.into_bytes(), trigger.as_str()])?;
    Ok(Session { status: SessionStatus::Closing, close_trigger: Some(trigger), ..session })
}

fn end_quiet(connection: &Connection, before: Timestamp, trigger: CloseTrigger) -> Result<Vec<Session>> {
    let quiet: Vec<Session> = connection
        .prepare_cached(concat!(
            "SELECT ",
            session_columns!(),
            " FROM sessions c JOIN scopes s ON s.number = c.scope
             WHERE c.status = 'open' AND c.import_run IS NULL AND c.last_message_at < ?1
               AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.session_id = c.id AND t.status = 'pending')
             ORDER BY c.first_message_at, c.id"
        ))?
        .query_map([microseconds(before)], rows::session)?
        .collect::<Result<_>>()?;
    quiet.into_iter().map(|session| end_session(connection, session, trigger)).collect()
}

fn list(connection: &Connection, filter: &SessionFilter) -> Result<Vec<Session>> {
    let before = match filter.before {
        Some(id) => match by_id(connection, id)? {
            Some(session) => (microseconds(session.first_message_at), session.id.0.into_bytes()),
            None => return Ok(Vec::new()),
        },
        None => (i64::MAX, [u8::MAX; 16]),
    };
    let status = filter.status.map(StoredEnum::as_str);
    let session = |row: &Row<'_>| rows::session(row);
    if let Some(scope) = &filter.scope {
        let Some(scope) = scopes::number(connection, scope)? else { return Ok(Vec::new()) };
        return connection
            .prepare_cached(concat!(
                "SELECT ",
                session_columns!(),
                " FROM sessions c JOIN scopes s ON s.number = c.scope
                 WHERE c.scope = ?1 AND c.channel_id <> ",
                saved_memories_channel!(),
                " AND (c.first_message_at, c.id) < (?2, ?3) AND (?4 IS NULL OR c.status = ?4)
                 ORDER BY c.first_message_at DESC, c.id DESC LIMIT ?5"
            ))?
            .query_map(params![scope, before.0, before.1, status, filter.limit], session)?
            .collect();
    }
    connection
        .prepare_cached(concat!(
            "SELECT ",
            session_columns!(),
            " FROM sessions c JOIN scopes s ON s.number = c.scope
             WHERE c.channel_id <> ",
            saved_memories_channel!(),
            " AND (c.first_message_at, c.id) < (?1, ?2) AND (?3 IS NULL OR c.status = ?3)
             ORDER BY c.first_message_at DESC, c.id DESC LIMIT ?4"
        ))?
        .query_map(params![before.0, before.1, status, filter.limit], session)?
        .collect()
}
