//! Costs, receipts, counts.

use async_trait::async_trait;
use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::{RejectedId, TurnId};
use memory::ledger::{ModelCall, Receipt};
use memory::nodes::NewNode;
use memory::ports::{CommitOutcome, LedgerStore, StoreError};
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::rows::{self, microseconds, to_json};
use super::{SqliteStore, consolidation, personas, scopes};

#[async_trait]
impl LedgerStore for SqliteStore {
    async fn record_call(&self, call: ModelCall) -> Result<(), StoreError> {
        self.write(move |unit| Ok(record_call(unit.connection, &call)?)).await
    }

    async fn receipt(&self, turn: TurnId) -> Result<Option<Receipt>, StoreError> {
        self.read(move |connection| {
            let mut statement =
                connection.prepare_cached("SELECT receipt FROM turn_traces WHERE turn_id = ?1")?;
            Ok(statement.query_row([turn.0.into_bytes()], |row| rows::json(row, 0)).optional()?)
        })
        .await
    }

    async fn counts(&self, scope: &Scope) -> Result<[u64; 4], StoreError> {
        let scope = scope.clone();
        self.read(move |connection| Ok(counts(connection, &scope)?)).await
    }

    async fn work_counts(&self) -> Result<[u64; 2], StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT (SELECT count(*) FROM sessions WHERE status IN ('closing', 'consolidating')),
                        (SELECT count(*) FROM sessions WHERE status = 'failed')",
            )?;
            Ok(statement.query_row([], |row| Ok([row.get(0)?, row.get(1)?]))?)
        })
        .await
    }

    async fn settle_rejected(
        &self,
        id: RejectedId,
        approved: Option<NewNode>,
        at: Timestamp,
    ) -> Result<CommitOutcome, StoreError> {
        self.write(move |unit| {
            consolidation::settle_rejected(unit, id, approved.as_ref().map(|node| (node, None)), at)
        })
        .await
    }
}

/// Keeps the receipt of a turn's reply, in place of that of an earlier one.
pub(super) fn keep_receipt(connection: &Connection, scope: i64, receipt: &Receipt) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO turn_traces (turn_id, scope, receipt, created_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (turn_id) DO UPDATE SET receipt = excluded.receipt, created_at = excluded.created_at",
        )?
        .execute(params![
            receipt.turn_id.0.into_bytes(),
            scope,
            to_json(receipt)?,
            microseconds(receipt.created_at)
        ])?;
    Ok(())
}

fn record_call(connection: &Connection, call: &ModelCall) -> Result<()> {
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    connection
        .prepare_cached(
            "INSERT INTO llm_calls (at, task, tier, provider, model, input_tokens, output_tokens, cached_tokens,
                 latency_ms, outcome, turn_id)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
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
        ])?;
    Ok(())
}

fn counts(connection: &Connection, scope: &Scope) -> Result<[u64; 4]> {
    let blocks = personas::core_blocks(connection, scope)?;
    let written =
        [&blocks.persona, &blocks.user, &blocks.style].into_iter().filter(|block| !block.is_empty()).count();
    let written = u64::try_from(written).unwrap_or(0);
    let Some(scope) = scopes::number(connection, scope)? else { return Ok([written, 0, 0, 0]) };
    let (messages, _) = scopes::counts(connection, scope)?;
    let mut of_kind = connection.prepare_cached(
        "SELECT count(*) FROM concept_nodes WHERE scope = ?1 AND type = ?2 AND deleted_at IS NULL",
    )?;
    let mut count = |kind: &str| of_kind.query_row(params![scope, kind], |row| row.get(0));
    Ok([written, messages, count("event")?, count("thought")?])
}
