//! Storage of costs and receipts.

use async_trait::async_trait;
use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::{SessionId, TurnId};
use memory::ledger::{CallSum, ModelCall, ReplyReceipt, TokenUsage};
use memory::ports::{LedgerStore, StoreError};

use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::home_store::HomeStore;
use crate::rows::{self, microseconds, to_json};

macro_rules! call_columns {
    () => {
        "number, at, task, tier, provider, model, input_tokens, output_tokens, cached_tokens, latency_ms, outcome, \
         turn_id, session_id, prompt_hash, cost_usd"
    };
}

#[async_trait]
impl LedgerStore for HomeStore {
    async fn record_call(&self, call: ModelCall) -> Result<(), StoreError> {
        self.write_deferred(move |unit| Ok(record_call(unit.connection, &call)?)).await
    }

    async fn recent_calls(
        &self,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<(i64, ModelCall)>, StoreError> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(concat!(
                "SELECT ",
                call_columns!(),
                " FROM llm_calls WHERE number < ?1 ORDER BY number DESC LIMIT ?2"
            ))?;
            let before = before.unwrap_or(i64::MAX);
            let calls = statement.query_map(params![before, limit], read_call)?.collect::<Result<_>>()?;
            Ok(calls)
        })
        .await
    }

    async fn calls_of_session(&self, session: SessionId) -> Result<Vec<ModelCall>, StoreError> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(concat!(
                "SELECT ",
                call_columns!(),
                " FROM llm_calls WHERE session_id = ?1 ORDER BY number"
            ))?;
            let calls =
                statement.query_map([session.0.into_bytes()], |row| read_call(row).map(|(_, call)| call))?;
            Ok(calls.collect::<Result<_>>()?)
        })
        .await
    }

    async fn call_sums_since(&self, since: Timestamp) -> Result<Vec<CallSum>, StoreError> {
        self.read(move |connection| Ok(call_sums(connection, since)?)).await
    }

    async fn spent_since(&self, since: Timestamp) -> Result<f64, StoreError> {
        self.read_statement(move |connection| {
            let mut statement =
                connection.prepare_cached("SELECT total(cost_usd) FROM llm_calls WHERE at >= ?1")?;
            Ok(statement.query_row([microseconds(since)], |row| row.get(0))?)
        })
        .await
    }

    async fn receipt(&self, turn: TurnId) -> Result<Option<ReplyReceipt>, StoreError> {
        self.read_statement(move |connection| {
            let mut statement =
                connection.prepare_cached("SELECT receipt FROM turn_traces WHERE turn_id = ?1")?;
            Ok(statement.query_row([turn.0.into_bytes()], |row| rows::read_json(row, 0)).optional()?)
        })
        .await
    }

    async fn scope_of_receipt(&self, turn: TurnId) -> Result<Option<Scope>, StoreError> {
        self.read_statement(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT s.persona_id, s.user_id FROM turn_traces t JOIN scopes s ON s.number = t.scope
                 WHERE t.turn_id = ?1",
            )?;
            Ok(statement.query_row([turn.0.into_bytes()], |row| rows::scope(row, 0)).optional()?)
        })
        .await
    }
}

/// Stores the receipt of a turn's reply, replacing an earlier one.
pub(crate) fn keep_receipt(connection: &Connection, scope: i64, receipt: &ReplyReceipt) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO turn_traces (turn_id, scope, receipt, created_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (turn_id) DO UPDATE SET receipt = excluded.receipt, created_at = excluded.created_at",
        )?
        .send(params![
            receipt.turn_id.0.into_bytes(),
            scope,
            to_json(receipt)?,
            microseconds(receipt.created_at)
        ])
}

fn record_call(connection: &Connection, call: &ModelCall) -> Result<()> {
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    connection
        .prepare_cached(
            "INSERT INTO llm_calls (at, task, tier, provider, model, input_tokens, output_tokens, cached_tokens,
                 latency_ms, outcome, turn_id, session_id, prompt_hash, cost_usd)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .send(params![
            microseconds(call.at),
            call.task,
            call.tier,
            call.provider,
            call.model,
            whole(call.input_tokens),
            whole(call.output_tokens),
            whole(call.cached_tokens),
            whole(call.latency_ms),
            call.outcome,
            call.turn_id.map(|turn| turn.0.into_bytes()),
            call.session_id.map(|session| session.0.into_bytes()),
            call.prompt_hash,
            call.cost_usd,
        ])
}

fn read_call(row: &Row<'_>) -> Result<(i64, ModelCall)> {
    let call = ModelCall {
        at: rows::time(row, 1)?,
        task: row.get(2)?,
        tier: row.get(3)?,
        provider: row.get(4)?,
        model: row.get(5)?,
        input_tokens: row.get(6)?,
        output_tokens: row.get(7)?,
        cached_tokens: row.get(8)?,
        latency_ms: row.get(9)?,
        outcome: row.get(10)?,
        turn_id: rows::optional_uuid(row, 11)?.map(TurnId),
        session_id: rows::optional_uuid(row, 12)?.map(SessionId),
        prompt_hash: row.get(13)?,
        cost_usd: row.get(14)?,
    };
    Ok((row.get(0)?, call))
}

fn call_sums(connection: &Connection, since: Timestamp) -> Result<Vec<CallSum>> {
    // Tokens are summed as floating-point numbers, because the sum may exceed an integer.
    connection
        .prepare_cached(
            "SELECT at - at % 900000000 AS quarter, task, count(*), count(*) - count(cost_usd),
                    CAST(total(input_tokens) AS INTEGER), CAST(total(output_tokens) AS INTEGER),
                    CAST(total(cached_tokens) AS INTEGER), total(cost_usd)
             FROM llm_calls WHERE at >= ?1 GROUP BY quarter, task ORDER BY quarter, task",
        )?
        .query_map([microseconds(since)], |row| {
            Ok(CallSum {
                quarter: rows::time(row, 0)?,
                task: row.get(1)?,
                calls: row.get(2)?,
                unpriced_calls: row.get(3)?,
                usage: TokenUsage {
                    input_tokens: row.get(4)?,
                    output_tokens: row.get(5)?,
                    cached_tokens: row.get(6)?,
                },
                cost_usd: row.get(7)?,
            })
        })?
        .collect()
}
