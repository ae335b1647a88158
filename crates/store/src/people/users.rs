//! Users and their accounts on other channels.

use async_trait::async_trait;
use jiff::Timestamp;
use memory::UserId;
use memory::ports::{BindOutcome, ExternalIdentity, KnownUser, StoreError, UserRecord, UserStore};

use crate::engine::sql::{self, Connection, OptionalExtension, Result, Row, params};
use crate::home_store::HomeStore;
use crate::rows::{self, microseconds, unreadable_column};

#[async_trait]
impl UserStore for HomeStore {
    async fn ensure_user(&self, id: &UserId, at: Timestamp) -> Result<UserRecord, StoreError> {
        let (id, known) = (id.clone(), id.clone());
        if let Some(record) =
            self.read_statement(move |connection| Ok(user_record(connection, &known)?)).await?
        {
            return Ok(record);
        }
        self.write(move |unit| {
            unit.connection
                .prepare_cached("INSERT INTO users (id, created_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
                .execute(params![id.as_str(), microseconds(at)])?;
            user_record(unit.connection, &id)?.ok_or_else(|| sql::Error::QueryReturnedNoRows.into())
        })
        .await
    }

    async fn known_user(&self, id: &UserId) -> Result<UserRecord, StoreError> {
        let (id, known) = (id.clone(), id.clone());
        let record = self.read_statement(move |connection| Ok(user_record(connection, &known)?)).await?;
        Ok(record.unwrap_or(UserRecord { id, display_name: None, timezone: None }))
    }

    async fn set_user_timezone(&self, id: &UserId, timezone: Option<String>) -> Result<(), StoreError> {
        let id = id.clone();
        self.write(move |unit| {
            unit.connection
                .prepare_cached("UPDATE users SET timezone = ?2 WHERE id = ?1")?
                .execute(params![id.as_str(), timezone])?;
            Ok(())
        })
        .await
    }

    async fn users(&self, after: Option<&UserId>, limit: u32) -> Result<Vec<KnownUser>, StoreError> {
        // Ids are never empty, so every one comes after the empty text.
        let after = after.map_or_else(String::new, |id| id.as_str().to_owned());
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT id, display_name, timezone, created_at FROM users WHERE id > ?1 ORDER BY id LIMIT ?2",
            )?;
            let users = statement.query_map(params![after, limit], |row| read_user(connection, row))?;
            Ok(users.collect::<Result<_>>()?)
        })
        .await
    }

    async fn user(&self, id: &UserId) -> Result<Option<KnownUser>, StoreError> {
        let id = id.clone();
        self.read(move |connection| {
            Ok(connection
                .prepare_cached("SELECT id, display_name, timezone, created_at FROM users WHERE id = ?1")?
                .query_row([id.as_str()], |row| read_user(connection, row))
                .optional()?)
        })
        .await
    }

    async fn create_user(&self, user: KnownUser) -> Result<bool, StoreError> {
        self.write(move |unit| {
            let made = unit
                .connection
                .prepare_cached(
                    "INSERT INTO users (id, display_name, timezone, created_at) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT DO NOTHING",
                )?
                .execute(params![
                    user.id.as_str(),
                    user.display_name,
                    user.timezone,
                    microseconds(user.created_at)
                ])?;
            Ok(made > 0)
        })
        .await
    }

    async fn name_user(&self, id: &UserId, name: Option<String>) -> Result<bool, StoreError> {
        let id = id.clone();
        self.write(move |unit| {
            let named = unit
                .connection
                .prepare_cached("UPDATE users SET display_name = ?2 WHERE id = ?1")?
                .execute(params![id.as_str(), name])?;
            Ok(named > 0)
        })
        .await
    }

    async fn bind_identity(
        &self,
        user: &UserId,
        identity: ExternalIdentity,
        at: Timestamp,
    ) -> Result<BindOutcome, StoreError> {
        let user = user.clone();
        self.write(move |unit| Ok(bind(unit.connection, &user, &identity, at)?)).await
    }

    async fn user_of_identity(&self, identity: &ExternalIdentity) -> Result<Option<UserId>, StoreError> {
        let identity = identity.clone();
        self.read_statement(move |connection| Ok(owner_of(connection, &identity)?)).await
    }

    async fn unbind_identity(&self, user: &UserId, identity: &ExternalIdentity) -> Result<bool, StoreError> {
        let (user, identity) = (user.clone(), identity.clone());
        self.write(move |unit| {
            let gone = unit
                .connection
                .prepare_cached(
                    "DELETE FROM external_identities WHERE channel_id = ?1 AND external_id = ?2 AND user_id = ?3",
                )?
                .execute([identity.channel_id.as_str(), &identity.external_id, user.as_str()])?;
            Ok(gone > 0)
        })
        .await
    }
}

fn read_user(connection: &Connection, row: &Row<'_>) -> Result<KnownUser> {
    let id: String = row.get(0)?;
    let identities = connection
        .prepare_cached(
            "SELECT channel_id, external_id FROM external_identities WHERE user_id = ?1 ORDER BY channel_id, external_id",
        )?
        .query_map([&id], |row| Ok(ExternalIdentity { channel_id: row.get(0)?, external_id: row.get(1)? }))?
        .collect::<Result<_>>()?;
    Ok(KnownUser {
        id: UserId::new(id).map_err(|error| unreadable_column(0, error))?,
        display_name: row.get(1)?,
        timezone: row.get(2)?,
        created_at: rows::time(row, 3)?,
        identities,
    })
}

fn owner_of(connection: &Connection, identity: &ExternalIdentity) -> Result<Option<UserId>> {
    connection
        .prepare_cached("SELECT user_id FROM external_identities WHERE channel_id = ?1 AND external_id = ?2")?
        .query_row([&identity.channel_id, &identity.external_id], |row| {
            UserId::new(row.get::<String>(0)?).map_err(|error| unreadable_column(0, error))
        })
        .optional()
}

fn bind(
    connection: &Connection,
    user: &UserId,
    identity: &ExternalIdentity,
    at: Timestamp,
) -> Result<BindOutcome> {
    match owner_of(connection, identity)? {
        Some(owner) if owner == *user => return Ok(BindOutcome::Before),
        Some(owner) => return Ok(BindOutcome::ToAnother(owner)),
        None => {}
    }
    let bound = connection
        .prepare_cached(
            "INSERT INTO external_identities (channel_id, external_id, user_id, created_at)
             SELECT ?1, ?2, id, ?4 FROM users WHERE id = ?3",
        )?
        .execute(params![identity.channel_id, identity.external_id, user.as_str(), microseconds(at)])?;
    Ok(if bound > 0 { BindOutcome::Now } else { BindOutcome::NoUser })
}

fn user_record(connection: &Connection, id: &UserId) -> Result<Option<UserRecord>> {
    let mut statement =
        connection.prepare_cached("SELECT display_name, timezone FROM users WHERE id = ?1")?;
    let record =
        |row: &Row<'_>| Ok(UserRecord { id: id.clone(), display_name: row.get(0)?, timezone: row.get(1)? });
    statement.query_row([id.as_str()], record).optional()
}
