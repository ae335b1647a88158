//! Named tokens and the record of acts.

use async_trait::async_trait;
use jiff::Timestamp;
use memory::UserId;
use memory::access::{AuditEntry, NamedToken, OWNER};
use memory::ports::{ACTS_MAX, AccessStore, StoreError, TOKEN_ACTS_MAX};

use crate::engine::SqliteStore;
use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::rows::{self, microseconds, to_json, unreadable};

const TOKEN_COLUMNS: &str =
    "name, prefix, hash, scopes, user_id, created_at, last_used_at, expires_at, streams_max";

/// The share of a token is looked at once in so many acts: counting it reads all of it.
const SHARES_LOOKED_AT_EVERY: i64 = 64;

#[async_trait]
impl AccessStore for SqliteStore {
    async fn add_token(&self, token: NamedToken) -> Result<bool, StoreError> {
        self.write(move |unit| Ok(add_token(unit.connection, &token)?)).await
    }

    async fn token_of(&self, prefix: &str) -> Result<Option<NamedToken>, StoreError> {
        let prefix = prefix.to_owned();
        self.read(move |connection| {
            let sql = format!("SELECT {TOKEN_COLUMNS} FROM access_tokens WHERE prefix = ?1");
            Ok(connection.prepare_cached(&sql)?.query_row([prefix], token).optional()?)
        })
        .await
    }

    async fn tokens(&self) -> Result<Vec<NamedToken>, StoreError> {
        self.read(|connection| {
            let sql = format!("SELECT {TOKEN_COLUMNS} FROM access_tokens ORDER BY name");
            let tokens = connection.prepare_cached(&sql)?.query_map([], token)?.collect::<Result<_>>()?;
            Ok(tokens)
        })
        .await
    }

    async fn revoke_token(&self, name: &str) -> Result<Option<NamedToken>, StoreError> {
        let name = name.to_owned();
        self.write(move |unit| {
            let sql = format!("DELETE FROM access_tokens WHERE name = ?1 RETURNING {TOKEN_COLUMNS}");
            Ok(unit.connection.prepare_cached(&sql)?.query_row([&name], token).optional()?)
        })
        .await
    }

    async fn touch_tokens(&self, used: Vec<(String, Timestamp)>) -> Result<(), StoreError> {
        self.write(move |unit| {
            let mut statement = unit.connection.prepare_cached(
                "UPDATE access_tokens SET last_used_at = ?2
                 WHERE prefix = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)",
            )?;
            for (prefix, at) in &used {
                statement.execute(params![prefix, microseconds(*at)])?;
            }
            Ok(())
        })
        .await
    }

    async fn record_act(&self, act: AuditEntry) -> Result<(), StoreError> {
        self.write(move |unit| Ok(record_act(unit.connection, &act)?)).await
    }

    async fn acts(&self, before: Option<i64>, limit: u32) -> Result<Vec<(i64, AuditEntry)>, StoreError> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT number, at, token, act, object, status FROM acts WHERE number < ?1
                 ORDER BY number DESC LIMIT ?2",
            )?;
            let acts = statement.query_map(params![before.unwrap_or(i64::MAX), limit], act)?;
            Ok(acts.collect::<Result<_>>()?)
        })
        .await
    }
}

fn add_token(connection: &Connection, token: &NamedToken) -> Result<bool> {
    let written = connection
        .prepare_cached(
            "INSERT INTO access_tokens (name, prefix, hash, scopes, user_id, created_at, last_used_at, expires_at, streams_max)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            token.name,
            token.prefix,
            token.hash,
            to_json(&token.scopes)?,
            token.user.as_ref().map(UserId::as_str),
            microseconds(token.created_at),
            token.last_used_at.map(microseconds),
            token.expires_at.map(microseconds),
            token.streams_max,
        ])?;
    Ok(written == 1)
}

fn record_act(connection: &Connection, act: &AuditEntry) -> Result<()> {
    let number = connection
        .prepare_cached("INSERT INTO acts (at, token, act, object, status) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .insert(params![microseconds(act.at), act.token, act.act, act.object, act.status])?;
    connection.prepare_cached("DELETE FROM acts WHERE number <= ?1")?.execute([number - ACTS_MAX])?;
    if act.token != OWNER && number % SHARES_LOOKED_AT_EVERY == 0 {
        connection
            .prepare_cached(
                "DELETE FROM acts WHERE token = ?1 AND number <=
                     (SELECT number FROM acts WHERE token = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)",
            )?
            .execute(params![act.token, TOKEN_ACTS_MAX])?;
    }
    Ok(())
}

fn token(row: &Row<'_>) -> Result<NamedToken> {
    let user: Option<String> = row.get(4)?;
    Ok(NamedToken {
        name: row.get(0)?,
        prefix: row.get(1)?,
        hash: row.get(2)?,
        scopes: rows::json(row, 3)?,
        user: user.map(UserId::new).transpose().map_err(|error| unreadable(4, error))?,
        created_at: rows::time(row, 5)?,
        last_used_at: rows::optional_time(row, 6)?,
        expires_at: rows::optional_time(row, 7)?,
        streams_max: row.get(8)?,
    })
}

fn act(row: &Row<'_>) -> Result<(i64, AuditEntry)> {
    let act = AuditEntry {
        at: rows::time(row, 1)?,
        token: row.get(2)?,
        act: row.get(3)?,
        object: row.get(4)?,
        status: row.get(5)?,
    };
    Ok((row.get(0)?, act))
}
