//! Sessions, from open to closed. The two commits of consolidation are in `consolidation`.

pub(crate) mod consolidation;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::{SessionId, TurnId};
use memory::ports::{
    CommitOutcome, ExtractionCommit, FailedAttempt, NewMessage, ReflectionCommit, SessionFilter,
    SessionStore, StoreError,
};
use memory::sessions::{CloseTrigger, Session, SessionStatus};
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use crate::engine::SqliteStore;
use crate::rows::{self, StoredEnum, as_stored, microseconds, session_columns};
use crate::scopes;

#[async_trait]
impl SessionStore for SqliteStore {
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
            Ok(open.map(|session| end(unit.connection, session, trigger)).transpose()?)
        })
        .await
    }

    async fn claim_closing_session(&self, now: Timestamp) -> Result<Option<Session>, StoreError> {
        self.write(move |unit| Ok(claim(unit.connection, now)?)).await
    }

    async fn release_claims(&self) -> Result<u32, StoreError> {
        self.write(|unit| {
            let released = unit
                .connection
                .prepare_cached("UPDATE sessions SET status = 'closing' WHERE status = 'consolidating'")?
                .execute([])?;
            Ok(u32::try_from(released).unwrap_or(u32::MAX))
        })
        .await
    }

    async fn commit_extraction(&self, commit: ExtractionCommit) -> Result<CommitOutcome, StoreError> {
        self.write(move |unit| consolidation::commit_extraction(unit, &commit)).await
    }

    async fn commit_reflection(&self, commit: ReflectionCommit) -> Result<CommitOutcome, StoreError> {
        self.write(move |unit| consolidation::commit_reflection(unit, &commit)).await
    }

    async fn finish_session(&self, id: SessionId, at: Timestamp) -> Result<Option<Session>, StoreError> {
        self.write(move |unit| {
            let changed = unit
                .connection
                .prepare_cached(
                    "UPDATE sessions SET status = 'closed', closed_at = ?2, retry_at = NULL
                     WHERE id = ?1 AND status = 'consolidating'",
                )?
                .execute(params![id.0.into_bytes(), microseconds(at)])?;
            Ok(if changed == 0 { None } else { by_id(unit.connection, id)? })
        })
        .await
    }

    async fn record_failure(&self, attempt: FailedAttempt) -> Result<Option<Session>, StoreError> {
        self.write(move |unit| Ok(record_failure(unit.connection, &attempt)?)).await
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
        self.read(move |connection| Ok(by_id(connection, id)?)).await
    }

    async fn sessions(&self, filter: SessionFilter) -> Result<Vec<Session>, StoreError> {
        self.read(move |connection| Ok(list(connection, &filter)?)).await
    }

    async fn summarised_sessions(&self, scope: &Scope, limit: u32) -> Result<Vec<Session>, StoreError> {
        self.read_scope(scope, move |connection, scope| {
            let mut statement = connection.prepare_cached(concat!(
                "SELECT ",
                session_columns!(),
                " FROM sessions c JOIN scopes s ON s.number = c.scope
                 WHERE c.scope = ?1 AND c.summary IS NOT NULL
                 ORDER BY c.first_message_at DESC, c.id DESC LIMIT ?2"
            ))?;
            let found = statement.query_map(params![scope, limit], rows::session)?.collect::<Result<_>>()?;
            Ok(found)
        })
        .await
    }

    async fn reflections_since(&self, scope: &Scope, since: Timestamp) -> Result<Vec<Timestamp>, StoreError> {
        self.read_scope(scope, move |connection, scope| {
            let mut statement = connection.prepare_cached(
                "SELECT created_at FROM reflections WHERE scope = ?1 AND created_at >= ?2 ORDER BY created_at DESC",
            )?;
            let times = statement.query_map(params![scope, microseconds(since)], |row| rows::time(row, 0))?;
            Ok(times.collect::<Result<_>>()?)
        })
        .await
    }

    async fn last_reflection(&self, scope: &Scope) -> Result<Option<Timestamp>, StoreError> {
        self.read_scope(scope, |connection, scope| {
            let mut statement = connection.prepare_cached(
                "SELECT created_at FROM reflections WHERE scope = ?1 ORDER BY created_at DESC LIMIT 1",
            )?;
            Ok(statement.query_row([scope], |row| rows::time(row, 0)).optional()?)
        })
        .await
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

/// The open session of a channel.
pub(crate) fn open(connection: &Connection, scope: i64, channel_id: &str) -> Result<Option<Session>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            session_columns!(),
            " FROM sessions c JOIN scopes s ON s.number = c.scope
             WHERE c.scope = ?1 AND c.channel_id = ?2 AND c.status = 'open'"
        ))?
        .query_row(params![scope, channel_id], rows::session)
        .optional()
}

/// The session of a turn, if it is open.
pub(crate) fn open_of_turn(connection: &Connection, scope: i64, turn: TurnId) -> Result<Option<Session>> {
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
    by_id(connection, first.session_id_if_new)?.ok_or(rusqlite::Error::QueryReturnedNoRows)
}

/// Counts one more message in.
pub(crate) fn extend(
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
        .execute(params![session.id.0.into_bytes(), tokens, microseconds(at)])?;
    Ok(Session {
        message_count: session.message_count + 1,
        total_tokens: session.total_tokens + u64::from(tokens),
        last_message_at: as_stored(at),
        ..session
    })
}

/// Ends an open session.
pub(crate) fn end(connection: &Connection, session: Session, trigger: CloseTrigger) -> Result<Session> {
    connection
        .prepare_cached("UPDATE sessions SET status = 'closing', close_trigger = ?2 WHERE id = ?1")?
        .execute(params![session.id.0.into_bytes(), trigger.as_str()])?;
    Ok(Session { status: SessionStatus::Closing, close_trigger: Some(trigger), ..session })
}

fn end_quiet(connection: &Connection, before: Timestamp, trigger: CloseTrigger) -> Result<Vec<Session>> {
    let quiet: Vec<Session> = connection
        .prepare_cached(concat!(
            "SELECT ",
            session_columns!(),
            " FROM sessions c JOIN scopes s ON s.number = c.scope
             WHERE c.status = 'open' AND c.last_message_at < ?1
               AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.session_id = c.id AND t.status = 'pending')
             ORDER BY c.first_message_at, c.id"
        ))?
        .query_map([microseconds(before)], rows::session)?
        .collect::<Result<_>>()?;
    quiet.into_iter().map(|session| end(connection, session, trigger)).collect()
}

fn claim(connection: &Connection, now: Timestamp) -> Result<Option<Session>> {
    let claimed: Option<[u8; 16]> = connection
        .prepare_cached(
            "UPDATE sessions SET status = 'consolidating'
             WHERE id = (SELECT id FROM sessions
                         WHERE status = 'closing' AND (retry_at IS NULL OR retry_at <= ?1)
                         ORDER BY first_message_at, id LIMIT 1)
             RETURNING id",
        )?
        .query_row([microseconds(now)], |row| row.get(0))
        .optional()?;
    claimed.map_or(Ok(None), |id| by_id(connection, SessionId(uuid::Uuid::from_bytes(id))))
}

fn record_failure(connection: &Connection, attempt: &FailedAttempt) -> Result<Option<Session>> {
    let status = if attempt.retry_at.is_some() { SessionStatus::Closing } else { SessionStatus::Failed };
    let changed = connection
        .prepare_cached(
            "UPDATE sessions SET status = ?2, attempts = attempts + 1, last_error = ?3, retry_at = ?4
             WHERE id = ?1 AND status = 'consolidating'",
        )?
        .execute(params![
            attempt.session_id.0.into_bytes(),
            status.as_str(),
            attempt.error,
            attempt.retry_at.map(microseconds),
        ])?;
    if changed == 0 { Ok(None) } else { by_id(connection, attempt.session_id) }
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
                "SELECT ", session_columns!(), " FROM sessions c JOIN scopes s ON s.number = c.scope
                 WHERE c.scope = ?1 AND (c.first_message_at, c.id) < (?2, ?3) AND (?4 IS NULL OR c.status = ?4)
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
             WHERE (c.first_message_at, c.id) < (?1, ?2) AND (?3 IS NULL OR c.status = ?3)
             ORDER BY c.first_message_at DESC, c.id DESC LIMIT ?4"
        ))?
        .query_map(params![before.0, before.1, status, filter.limit], session)?
        .collect()
}
