//! Sessions in consolidation: claimed, closed or failed.

use async_trait::async_trait;
use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::{NodeId, SessionId};
use memory::nodes::Node;
use memory::ports::{
    CommitOutcome, ConsolidationStore, ExtractionCommit, FailedAttempt, ReflectionCommit, StoreError,
    UsedQuote,
};
use memory::sessions::{Session, SessionStatus};

use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use crate::home_store::HomeStore;
use crate::nodes::node_queries;
use crate::rows::{self, StoredEnum, microseconds, session_columns};
use crate::sessions::{self, commits};

#[async_trait]
impl ConsolidationStore for HomeStore {
    async fn claim_closing_session(&self, now: Timestamp) -> Result<Option<Session>, StoreError> {
        self.write(move |unit| Ok(claim_session(unit.connection, now)?)).await
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
        self.write(move |unit| commits::commit_extraction(unit, &commit)).await
    }

    async fn commit_reflection(&self, commit: ReflectionCommit) -> Result<CommitOutcome, StoreError> {
        self.write(move |unit| commits::commit_reflection(unit, &commit)).await
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
            Ok(if changed == 0 { None } else { sessions::by_id(unit.connection, id)? })
        })
        .await
    }

    async fn record_failure(&self, attempt: FailedAttempt) -> Result<Option<Session>, StoreError> {
        self.write(move |unit| Ok(record_failure(unit.connection, &attempt)?)).await
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

    async fn events_since(
        &self,
        scope: &Scope,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<Node>, StoreError> {
        self.read_scope(scope, move |connection, scope| {
            Ok(node_queries::events_since(connection, scope, since, limit)?)
        })
        .await
    }

    async fn remembered_of_session(&self, id: SessionId) -> Result<Vec<UsedQuote>, StoreError> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT e.quote, e.span_start, e.span_end, m.id, n.id, n.description
                 FROM recall_messages m JOIN node_evidence e ON e.message_seq = m.seq
                     JOIN concept_nodes n ON n.seq = e.node_seq
                 WHERE m.session_id = ?1 ORDER BY m.seq, e.span_start, n.seq",
            )?;
            let remembered = statement.query_map([id.0.into_bytes()], |row| {
                let (node_id, description) = (NodeId(rows::read_uuid(row, 4)?), row.get(5)?);
                Ok(UsedQuote { node_id, description, evidence: rows::evidence(row)? })
            })?;
            Ok(remembered.collect::<Result<_>>()?)
        })
        .await
    }
}

fn claim_session(connection: &Connection, now: Timestamp) -> Result<Option<Session>> {
    // Live sessions come first, then imported ones.
    for next in [
        "SELECT id FROM sessions
         WHERE import_run IS NULL AND status = 'closing' AND (retry_at IS NULL OR retry_at <= ?1)
         ORDER BY first_message_at, id LIMIT 1",
        "SELECT c.id FROM import_runs r JOIN sessions c ON c.import_run = r.number
         WHERE r.status = 'recorded' AND r.remembering = 'on'
           AND c.status = 'closing' AND (c.retry_at IS NULL OR c.retry_at <= ?1)
         ORDER BY c.first_message_at, c.id LIMIT 1",
    ] {
        let claimed: Option<[u8; 16]> = connection
            .prepare_cached(&format!(
                "UPDATE sessions SET status = 'consolidating' WHERE id = ({next}) RETURNING id"
            ))?
            .query_row([microseconds(now)], |row| row.get(0))
            .optional()?;
        if let Some(id) = claimed {
            return sessions::by_id(connection, SessionId(uuid::Uuid::from_bytes(id)));
        }
    }
    Ok(None)
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
    if changed == 0 { Ok(None) } else { sessions::by_id(connection, attempt.session_id) }
}
