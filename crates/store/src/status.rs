//! Counts of stored rows and of waiting work.

use crate::engine::sql::{Connection, Result, params};
use crate::home_store::HomeStore;
use crate::people::core_blocks;
use crate::scopes;

use async_trait::async_trait;
use memory::Scope;
use memory::ports::{StatusStore, StoreError};
#[async_trait]
impl StatusStore for HomeStore {
    async fn scope_counts(&self, scope: &Scope) -> Result<[u64; 4], StoreError> {
        let scope = scope.clone();
        self.read(move |connection| Ok(count_rows(connection, &scope)?)).await
    }

    async fn total_counts(&self) -> Result<[u64; 4], StoreError> {
        self.read(|connection| Ok(total_counts(connection)?)).await
    }

    async fn work_counts(&self) -> Result<[u64; 2], StoreError> {
        self.read_statement(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT (SELECT count(*) FROM sessions WHERE status IN ('closing', 'consolidating')),
                        (SELECT count(*) FROM sessions WHERE status = 'failed')",
            )?;
            Ok(statement.query_row([], |row| Ok([row.get(0)?, row.get(1)?]))?)
        })
        .await
    }
}

fn count_rows(connection: &Connection, scope: &Scope) -> Result<[u64; 4]> {
    let blocks = core_blocks::read(connection, scope)?;
    let written =
        [&blocks.persona, &blocks.user, &blocks.style].into_iter().filter(|block| !block.is_empty()).count();
    let written = u64::try_from(written).unwrap_or(0);
    let Some(scope) = scopes::number(connection, scope)? else { return Ok([written, 0, 0, 0]) };
    let (messages, _) = scopes::live_row_counts(connection, scope)?;
    let mut of_kind = connection.prepare_cached(
        "SELECT count(*) FROM concept_nodes WHERE scope = ?1 AND type = ?2 AND deleted_at IS NULL",
    )?;
    let mut count = |kind: &str| of_kind.query_row(params![scope, kind], |row| row.get(0));
    Ok([written, messages, count("event")?, count("thought")?])
}

/// Counts by scope, so that the index is used.
fn total_counts(connection: &Connection) -> Result<[u64; 4]> {
    connection
        .prepare_cached(
            "SELECT (SELECT count(*) FROM core_blocks WHERE content <> ''),
                    coalesce(sum(message_count), 0),
                    coalesce(sum((SELECT count(*) FROM concept_nodes n
                                  WHERE n.scope = s.number AND n.type = 'event' AND n.deleted_at IS NULL)), 0),
                    coalesce(sum((SELECT count(*) FROM concept_nodes n
                                  WHERE n.scope = s.number AND n.type = 'thought' AND n.deleted_at IS NULL)), 0)
             FROM scopes s",
        )?
        .query_row([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))
}
