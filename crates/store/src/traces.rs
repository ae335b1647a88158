//! Traces of replies and memories, stored for a limited time.

use async_trait::async_trait;
use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::{SessionId, TurnId};
use memory::ports::{PhaseTrace, StoreError, TraceStore, TurnSummary, TurnTrace};

use crate::engine::sql::{OptionalExtension, Result, Row, params};
use crate::home_store::HomeStore;
use crate::rows::{self, microseconds, to_json};

/// Columns for [`read_summary`]: `d` is `turn_details`, `t` is `turns`, `s` is `scopes`.
macro_rules! head_columns {
    () => {
        "d.turn_id, t.channel_id, d.started_at, d.finished_at, d.first_token_ms, d.input_tokens, d.output_tokens, \
         d.model, s.persona_id, s.user_id"
    };
}

/// Number of the first column after [`head_columns`].
const FIRST_COLUMN_AFTER_HEAD: usize = 10;

/// Query for the turns of a scope with a trace, after a position.
pub(crate) const TURN_TRACES: &str = concat!(
    "SELECT ",
    head_columns!(),
    " FROM turn_details d JOIN turns t ON t.id = d.turn_id JOIN scopes s ON s.number = d.scope
      WHERE d.scope = ?1 AND (d.started_at, d.turn_id) < (?2, ?3)
      ORDER BY d.started_at DESC, d.turn_id DESC LIMIT ?4"
);

#[async_trait]
impl TraceStore for HomeStore {
    async fn store_turn_trace(&self, trace: TurnTrace) -> Result<(), StoreError> {
        self.write_deferred(move |unit| {
            let (head, whole) = (&trace.head, |number: u64| i64::try_from(number).unwrap_or(i64::MAX));
            unit.connection
                .prepare_cached(
                    "INSERT INTO turn_details (turn_id, scope, started_at, finished_at, first_token_ms, input_tokens,
                         output_tokens, model, detail)
                     SELECT id, scope, ?2, ?3, ?4, ?5, ?6, ?7, ?8 FROM turns WHERE id = ?1
                     ON CONFLICT (turn_id) DO UPDATE SET
                         started_at = excluded.started_at, finished_at = excluded.finished_at,
                         first_token_ms = excluded.first_token_ms, input_tokens = excluded.input_tokens,
                         output_tokens = excluded.output_tokens, model = excluded.model, detail = excluded.detail",
                )?
                .send(params![
                    head.turn_id.0.into_bytes(),
                    microseconds(head.started_at),
                    head.finished_at.map(microseconds),
                    head.first_token_ms,
                    head.input_tokens.map(whole),
                    head.output_tokens.map(whole),
                    head.llm_model,
                    to_json(&trace.detail)?,
                ])?;
            Ok(())
        })
        .await
    }

    async fn turn_traces(
        &self,
        scope: &Scope,
        before: Option<(Timestamp, TurnId)>,
        limit: u32,
    ) -> Result<Vec<TurnSummary>, StoreError> {
        self.read_scope(scope, move |connection, scope| {
            let (at, id) = rows::place_of(before.map(|(at, TurnId(id))| (at, id)));
            let mut statement = connection.prepare_cached(TURN_TRACES)?;
            let heads =
                statement.query_map(params![scope, at, id, limit], read_summary)?.collect::<Result<_>>()?;
            Ok(heads)
        })
        .await
    }

    async fn turn_trace(&self, id: TurnId) -> Result<Option<TurnTrace>, StoreError> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(concat!(
                "SELECT ",
                head_columns!(),
                ", d.detail FROM turn_details d JOIN turns t ON t.id = d.turn_id JOIN scopes s ON s.number = d.scope
                 WHERE d.turn_id = ?1"
            ))?;
            let trace = |row: &Row<'_>| Ok(TurnTrace { head: read_summary(row)?, detail: rows::read_json(row, FIRST_COLUMN_AFTER_HEAD)? });
            Ok(statement.query_row([id.0.into_bytes()], trace).optional()?)
        })
        .await
    }

    async fn store_phase_trace(&self, session: SessionId, phase: PhaseTrace) -> Result<(), StoreError> {
        self.write(move |unit| {
            unit.connection
                .prepare_cached(
                    "INSERT INTO session_traces (session_id, phase, scope, detail, created_at)
                     SELECT id, ?2, scope, ?3, ?4 FROM sessions
                     WHERE id = ?1 AND status IN ('consolidating', 'closed')
                     ON CONFLICT (session_id, phase) DO UPDATE SET
                         detail = excluded.detail, created_at = excluded.created_at",
                )?
                .execute(params![
                    session.0.into_bytes(),
                    phase.phase.to_string(),
                    to_json(&phase.detail)?,
                    microseconds(phase.at)
                ])?;
            Ok(())
        })
        .await
    }

    async fn phases(&self, session: SessionId) -> Result<Vec<PhaseTrace>, StoreError> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT phase, detail, created_at FROM session_traces WHERE session_id = ?1 ORDER BY phase",
            )?;
            let phases = statement.query_map([session.0.into_bytes()], |row| {
                let phase: String = row.get(0)?;
                let phase = phase
                    .chars()
                    .next()
                    .ok_or_else(|| rows::unreadable_column(0, "a phase without a name"))?;
                Ok(PhaseTrace { phase, detail: rows::read_json(row, 1)?, at: rows::time(row, 2)? })
            })?;
            Ok(phases.collect::<Result<_>>()?)
        })
        .await
    }

    async fn drop_traces(&self, before: Timestamp) -> Result<u32, StoreError> {
        self.write(move |unit| {
            let mut dropped = 0;
            for statement in [
                "DELETE FROM turn_details WHERE started_at < ?1",
                "DELETE FROM session_traces WHERE created_at < ?1",
                "UPDATE slow_cycles SET transcript = NULL WHERE transcript IS NOT NULL AND created_at < ?1",
            ] {
                dropped += unit.connection.prepare_cached(statement)?.execute([microseconds(before)])?;
            }
            Ok(u32::try_from(dropped).unwrap_or(u32::MAX))
        })
        .await
    }
}

fn read_summary(row: &Row<'_>) -> Result<TurnSummary> {
    let (started_at, finished_at) = (rows::time(row, 2)?, rows::optional_time(row, 3)?);
    let duration = finished_at.map(|finished| finished.duration_since(started_at).as_millis());
    Ok(TurnSummary {
        turn_id: TurnId(rows::read_uuid(row, 0)?),
        channel_id: row.get(1)?,
        started_at,
        finished_at,
        duration_ms: duration.map(|duration| i64::try_from(duration).unwrap_or(i64::MAX)),
        first_token_ms: row.get(4)?,
        input_tokens: row.get(5)?,
        output_tokens: row.get(6)?,
        llm_model: row.get(7)?,
        scope: rows::scope(row, 8)?,
    })
}
