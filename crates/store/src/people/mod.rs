//! Facts, faces and names elsewhere.

pub(crate) mod personas;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::facts::{Fact, Facts};
use memory::messages::Turn;
use memory::ports::{Appearance, Avatar, BindOutcome, ExternalIdentity, KnownUser, PeopleStore, StoreError};
use memory::{PersonaId, UserId};
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use crate::engine::SqliteStore;
use crate::rows::{self, microseconds, turn_columns, unreadable};

#[async_trait]
impl PeopleStore for SqliteStore {
    async fn create_persona(&self, id: &PersonaId, name: &str, at: Timestamp) -> Result<bool, StoreError> {
        let (id, name) = (id.clone(), name.to_owned());
        self.write(move |unit| {
            let made = unit
                .connection
                .prepare_cached(
                    "INSERT INTO personas (id, display_name, created_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
                )?
                .execute(params![id.as_str(), name, microseconds(at)])?;
            Ok(made > 0)
        })
        .await
    }

    async fn facts(&self, id: &PersonaId) -> Result<Facts, StoreError> {
        let id = id.clone();
        self.read(move |connection| Ok(facts(connection, &id)?)).await
    }

    async fn write_facts(
        &self,
        id: &PersonaId,
        facts: Vec<(Fact, Option<String>)>,
    ) -> Result<bool, StoreError> {
        let id = id.clone();
        self.write(move |unit| {
            let known: bool = unit
                .connection
                .prepare_cached("SELECT EXISTS (SELECT 1 FROM personas WHERE id = ?1)")?
                .query_row([id.as_str()], |row| row.get(0))?;
            for (fact, value) in &facts {
                let statement = format!("UPDATE personas SET {} = ?2 WHERE id = ?1", fact.as_str());
                unit.connection.prepare_cached(&statement)?.execute(params![id.as_str(), value])?;
            }
            Ok(known)
        })
        .await
    }

    async fn appearance(&self, id: &PersonaId) -> Result<Appearance, StoreError> {
        let id = id.clone();
        self.read(move |connection| {
            let found = connection
                .prepare_cached(
                    "SELECT p.voice_enabled, p.voice_id, EXISTS (SELECT 1 FROM persona_avatars a WHERE a.persona_id = p.id)
                     FROM personas p WHERE p.id = ?1",
                )?
                .query_row([id.as_str()], |row| {
                    Ok(Appearance { voice_enabled: row.get(0)?, voice_id: row.get(1)?, has_avatar: row.get(2)? })
                })
                .optional()?;
            Ok(found.unwrap_or_default())
        })
        .await
    }

    async fn enable_voice(&self, id: &PersonaId, enabled: bool) -> Result<(), StoreError> {
        let id = id.clone();
        self.write(move |unit| {
            unit.connection
                .prepare_cached("UPDATE personas SET voice_enabled = ?2 WHERE id = ?1")?
                .execute(params![id.as_str(), enabled])?;
            Ok(())
        })
        .await
    }

    async fn avatar(&self, id: &PersonaId) -> Result<Option<Avatar>, StoreError> {
        let id = id.clone();
        self.read(move |connection| {
            let avatar = |row: &Row<'_>| Ok(Avatar { extension: row.get(0)?, image: row.get(1)? });
            Ok(connection
                .prepare_cached("SELECT extension, image FROM persona_avatars WHERE persona_id = ?1")?
                .query_row([id.as_str()], avatar)
                .optional()?)
        })
        .await
    }

    async fn put_avatar(&self, id: &PersonaId, avatar: Avatar, at: Timestamp) -> Result<(), StoreError> {
        let id = id.clone();
        self.write(move |unit| {
            unit.connection
                .prepare_cached(
                    "INSERT INTO persona_avatars (persona_id, extension, updated_at, image) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (persona_id) DO UPDATE SET
                         extension = excluded.extension, updated_at = excluded.updated_at, image = excluded.image",
                )?
                .execute(params![id.as_str(), avatar.extension, microseconds(at), avatar.image])?;
            Ok(())
        })
        .await
    }

    async fn remove_avatar(&self, id: &PersonaId) -> Result<bool, StoreError> {
        let id = id.clone();
        self.write(move |unit| {
            let gone = unit
                .connection
                .prepare_cached("DELETE FROM persona_avatars WHERE persona_id = ?1")?
                .execute([id.as_str()])?;
            Ok(gone > 0)
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
            let users = statement.query_map(params![after, limit], |row| user(connection, row))?;
            Ok(users.collect::<Result<_>>()?)
        })
        .await
    }

    async fn user(&self, id: &UserId) -> Result<Option<KnownUser>, StoreError> {
        let id = id.clone();
        self.read(move |connection| {
            Ok(connection
                .prepare_cached("SELECT id, display_name, timezone, created_at FROM users WHERE id = ?1")?
                .query_row([id.as_str()], |row| user(connection, row))
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
        self.read(move |connection| Ok(owner_of(connection, &identity)?)).await
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

    async fn failed_turns(&self, limit: u32) -> Result<Vec<Turn>, StoreError> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(concat!(
                "SELECT ",
                turn_columns!(),
                " FROM turns t JOIN scopes s ON s.number = t.scope
                 WHERE t.status = 'failed' ORDER BY t.last_message_at DESC, t.id DESC LIMIT ?1"
            ))?;
            let turns = statement.query_map([limit], rows::turn)?.collect::<Result<_>>()?;
            Ok(turns)
        })
        .await
    }
}

fn facts(connection: &Connection, id: &PersonaId) -> Result<Facts> {
    let columns = Fact::ALL.map(Fact::as_str).join(", ");
    let read = |row: &Row<'_>| {
        let mut facts = Facts::default();
        for (place, fact) in Fact::ALL.into_iter().enumerate() {
            facts.set(fact, row.get(place)?);
        }
        Ok(facts)
    };
    let found = connection
        .prepare_cached(&format!("SELECT {columns} FROM personas WHERE id = ?1"))?
        .query_row([id.as_str()], read)
        .optional()?;
    Ok(found.unwrap_or_default())
}

fn user(connection: &Connection, row: &Row<'_>) -> Result<KnownUser> {
    let id: String = row.get(0)?;
    let identities = connection
        .prepare_cached(
            "SELECT channel_id, external_id FROM external_identities WHERE user_id = ?1 ORDER BY channel_id, external_id",
        )?
        .query_map([&id], |row| Ok(ExternalIdentity { channel_id: row.get(0)?, external_id: row.get(1)? }))?
        .collect::<Result<_>>()?;
    Ok(KnownUser {
        id: UserId::new(id).map_err(|error| unreadable(0, error))?,
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
            UserId::new(row.get::<_, String>(0)?).map_err(|error| unreadable(0, error))
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
