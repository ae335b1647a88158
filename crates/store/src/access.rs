//! Storage of named tokens, logins and the audit log.

use async_trait::async_trait;
use jiff::Timestamp;
use memory::UserId;
use memory::access::{AuditEntry, LOGIN_LIFETIME, Login, NamedToken, OWNER};
use memory::identifiers::TurnId;
use memory::ports::{ACTS_MAX, AccessStore, LOGINS_MAX, StoreError, TOKEN_ACTS_MAX, TOKEN_TURNS_RETENTION};

use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::home_store::HomeStore;
use crate::rows::{self, microseconds, to_json, unreadable_column};

const TOKEN_COLUMNS: &str =
    "name, prefix, hash, scopes, user_id, created_at, last_used_at, expires_at, streams_max, users_max";
const LOGIN_COLUMNS: &str =
    "id, cookie_digest, page_key_digest, token, token_prefix, address, browser, created_at, last_seen_at";

/// Entries between two counts of a token's share of the log: counting reads the whole log.
const ACTS_BETWEEN_SHARE_COUNTS: i64 = 64;

#[async_trait]
impl AccessStore for HomeStore {
    async fn add_token(&self, token: NamedToken) -> Result<bool, StoreError> {
        self.write(move |unit| Ok(add_token(unit.connection, &token)?)).await
    }

    async fn token_of(&self, prefix: &str) -> Result<Option<NamedToken>, StoreError> {
        let prefix = prefix.to_owned();
        self.read_statement(move |connection| {
            let sql = format!("SELECT {TOKEN_COLUMNS} FROM access_tokens WHERE prefix = ?1");
            Ok(connection.prepare_cached(&sql)?.query_row([prefix], token).optional()?)
        })
        .await
    }

    async fn tokens(&self) -> Result<Vec<NamedToken>, StoreError> {
        self.read_statement(|connection| {
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
            let revoked = unit.connection.prepare_cached(&sql)?.query_row([&name], token).optional()?;
            if let Some(token) = &revoked {
                for table in
                    ["logins WHERE token_prefix", "token_users WHERE prefix", "token_turns WHERE prefix"]
                {
                    let sql = format!("DELETE FROM {table} = ?1");
                    unit.connection.prepare_cached(&sql)?.execute([&token.prefix])?;
                }
            }
            Ok(revoked)
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

    async fn admit_user(&self, prefix: &str, user: &UserId, users_max: u32) -> Result<bool, StoreError> {
        let (prefix, user) = (prefix.to_owned(), user.clone());
        self.write(move |unit| Ok(admit_user(unit.connection, &prefix, &user, users_max)?)).await
    }

    async fn add_token_turn(&self, prefix: &str, at: Timestamp, turn: TurnId) -> Result<(), StoreError> {
        let prefix = prefix.to_owned();
        self.write(move |unit| {
            let over = at.saturating_sub(TOKEN_TURNS_RETENTION).unwrap_or(Timestamp::MIN);
            unit.connection
                .prepare_cached("DELETE FROM token_turns WHERE prefix = ?1 AND at < ?2")?
                .execute(params![prefix, microseconds(over)])?;
            unit.connection
                .prepare_cached("INSERT INTO token_turns (prefix, at, turn_id) VALUES (?1, ?2, ?3)")?
                .execute(params![prefix, microseconds(at), turn.0.into_bytes()])?;
            Ok(())
        })
        .await
    }

    async fn token_use(&self, prefix: &str, since: Timestamp) -> Result<(u64, f64), StoreError> {
        let prefix = prefix.to_owned();
        self.read(move |connection| {
            let of_token = params![prefix, microseconds(since)];
            let turns: i64 = connection
                .prepare_cached("SELECT count(*) FROM token_turns WHERE prefix = ?1 AND at >= ?2")?
                .query_row(of_token, |row| row.get(0))?;
            let cost: Option<f64> = connection
                .prepare_cached(
                    "SELECT sum(cost_usd) FROM llm_calls WHERE at >= ?2 AND turn_id IN
                         (SELECT turn_id FROM token_turns WHERE prefix = ?1 AND at >= ?2)",
                )?
                .query_row(of_token, |row| row.get(0))?;
            Ok((u64::try_from(turns).unwrap_or_default(), cost.unwrap_or_default()))
        })
        .await
    }

    async fn add_login(&self, login: Login) -> Result<(), StoreError> {
        self.write(move |unit| Ok(add_login(unit.connection, &login)?)).await
    }

    async fn login_of(&self, id: &str) -> Result<Option<Login>, StoreError> {
        let id = id.to_owned();
        self.read_statement(move |connection| {
            let sql = format!("SELECT {LOGIN_COLUMNS} FROM logins WHERE id = ?1");
            Ok(connection.prepare_cached(&sql)?.query_row([id], read_login).optional()?)
        })
        .await
    }

    async fn logins(&self) -> Result<Vec<Login>, StoreError> {
        self.read_statement(|connection| {
            let sql = format!("SELECT {LOGIN_COLUMNS} FROM logins ORDER BY last_seen_at DESC, id");
            Ok(connection.prepare_cached(&sql)?.query_map([], read_login)?.collect::<Result<_>>()?)
        })
        .await
    }

    async fn touch_login(&self, id: &str, at: Timestamp) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.write(move |unit| {
            let sql = "UPDATE logins SET last_seen_at = ?2 WHERE id = ?1 AND last_seen_at < ?2";
            unit.connection.prepare_cached(sql)?.execute(params![id, microseconds(at)])?;
            Ok(())
        })
        .await
    }

    async fn end_logins(&self, id: Option<&str>) -> Result<u64, StoreError> {
        let id = id.map(str::to_owned);
        self.write(move |unit| {
            let ended = match &id {
                Some(id) => {
                    unit.connection.prepare_cached("DELETE FROM logins WHERE id = ?1")?.execute([id])?
                }
                None => unit.connection.prepare_cached("DELETE FROM logins")?.execute([])?,
            };
            Ok(ended as u64)
        })
        .await
    }

    async fn record_act(&self, act: AuditEntry) -> Result<(), StoreError> {
        self.write(move |unit| Ok(record_act(unit.connection, &act)?)).await
    }

    async fn audit_entries(
        &self,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<(i64, AuditEntry)>, StoreError> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT number, at, token, act, object, status FROM acts WHERE number < ?1
                 ORDER BY number DESC LIMIT ?2",
            )?;
            let acts = statement.query_map(params![before.unwrap_or(i64::MAX), limit], read_audit_entry)?;
            Ok(acts.collect::<Result<_>>()?)
        })
        .await
    }
}

fn add_token(connection: &Connection, token: &NamedToken) -> Result<bool> {
    let written = connection
        .prepare_cached(
            "INSERT INTO access_tokens (name, prefix, hash, scopes, user_id, created_at, last_used_at, expires_at, streams_max,
                 users_max)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING",
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
            token.users_max,
        ])?;
    Ok(written == 1)
}

fn admit_user(connection: &Connection, prefix: &str, user: &UserId, users_max: u32) -> Result<bool> {
    let is_created = connection
        .prepare_cached("SELECT 1 FROM token_users WHERE prefix = ?1 AND user_id = ?2")?
        .exists(params![prefix, user.as_str()])?;
    if is_created {
        return Ok(true);
    }
    let created: i64 = connection
        .prepare_cached("SELECT count(*) FROM token_users WHERE prefix = ?1")?
        .query_row([prefix], |row| row.get(0))?;
    let has_room = created < i64::from(users_max);
    if has_room {
        connection
            .prepare_cached("INSERT INTO token_users (prefix, user_id) VALUES (?1, ?2)")?
            .execute(params![prefix, user.as_str()])?;
    }
    Ok(has_room)
}

fn add_login(connection: &Connection, login: &Login) -> Result<()> {
    let over = login.created_at.saturating_sub(LOGIN_LIFETIME).unwrap_or(Timestamp::MIN);
    connection
        .prepare_cached("DELETE FROM logins WHERE last_seen_at < ?1")?
        .execute(params![microseconds(over)])?;
    connection
        .prepare_cached(
            "DELETE FROM logins WHERE id IN (SELECT id FROM logins ORDER BY last_seen_at DESC, id LIMIT 1000 OFFSET ?1)",
        )?
        .execute(params![LOGINS_MAX - 1])?;
    connection
        .prepare_cached(
            "INSERT INTO logins (id, cookie_digest, page_key_digest, token, token_prefix, address, browser, created_at, last_seen_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            login.id,
            login.cookie_digest,
            login.page_key_digest,
            login.token,
            login.token_prefix,
            login.address,
            login.browser,
            microseconds(login.created_at),
            microseconds(login.last_seen_at),
        ])?;
    Ok(())
}

fn record_act(connection: &Connection, act: &AuditEntry) -> Result<()> {
    let number = connection
        .prepare_cached("INSERT INTO acts (at, token, act, object, status) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .insert(params![microseconds(act.at), act.token, act.act, act.object, act.status])?;
    connection.prepare_cached("DELETE FROM acts WHERE number <= ?1")?.execute([number - ACTS_MAX])?;
    if act.token != OWNER && number % ACTS_BETWEEN_SHARE_COUNTS == 0 {
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
        scopes: rows::read_json(row, 3)?,
        user: user.map(UserId::new).transpose().map_err(|error| unreadable_column(4, error))?,
        created_at: rows::time(row, 5)?,
        last_used_at: rows::optional_time(row, 6)?,
        expires_at: rows::optional_time(row, 7)?,
        streams_max: row.get(8)?,
        users_max: row.get(9)?,
    })
}

fn read_login(row: &Row<'_>) -> Result<Login> {
    Ok(Login {
        id: row.get(0)?,
        cookie_digest: row.get(1)?,
        page_key_digest: row.get(2)?,
        token: row.get(3)?,
        token_prefix: row.get(4)?,
        address: row.get(5)?,
        browser: row.get(6)?,
        created_at: rows::time(row, 7)?,
        last_seen_at: rows::time(row, 8)?,
    })
}

fn read_audit_entry(row: &Row<'_>) -> Result<(i64, AuditEntry)> {
    let act = AuditEntry {
        at: rows::time(row, 1)?,
        token: row.get(2)?,
        act: row.get(3)?,
        object: row.get(4)?,
        status: row.get(5)?,
    };
    Ok((row.get(0)?, act))
}
