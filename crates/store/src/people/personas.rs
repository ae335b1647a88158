//! Personas: names, facts, pictures and voices.

use async_trait::async_trait;
use jiff::Timestamp;
use memory::core_blocks::{CoreBlockLabel, CoreBlocks};
use memory::facts::{Fact, Facts};
use memory::mood::{Mood, MoodShift};
use memory::ports::{
    Appearance, Avatar, FirstPersona, ListedPersona, PersonaRecord, PersonaStore, StoreError,
};
use memory::{PersonaId, Scope, UserId};

use crate::engine::failure::Failure;
use crate::engine::sql::{self, Connection, OptionalExtension, Result, Row, params};
use crate::home_store::HomeStore;
use crate::people::core_blocks::{self, Edit};
use crate::people::moods;
use crate::rows::{self, microseconds};

#[async_trait]
impl PersonaStore for HomeStore {
    async fn ensure_persona(
        &self,
        id: &PersonaId,
        name: &str,
        at: Timestamp,
    ) -> Result<PersonaRecord, StoreError> {
        let (id, name) = (id.clone(), name.to_owned());
        let known = id.clone();
        // Called in every turn and nearly always without a write, so a reader checks first.
        if let Some(record) =
            self.read_statement(move |connection| Ok(persona_record(connection, &known)?)).await?
        {
            return Ok(record);
        }
        self.write(move |unit| {
            insert_persona(unit.connection, &id, &name, at)?;
            persona_record(unit.connection, &id)?.ok_or_else(|| sql::Error::QueryReturnedNoRows.into())
        })
        .await
    }

    async fn create_persona(
        &self,
        scope: &Scope,
        first: FirstPersona,
        edited_by: &str,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let (scope, edited_by) = (scope.clone(), edited_by.to_owned());
        self.write(move |unit| {
            if !insert_persona(unit.connection, &scope.persona, &first.display_name, at)? {
                return Ok(false);
            }
            write_first(unit.connection, &scope, &first, &edited_by, at)
        })
        .await
    }

    async fn persona(&self, id: &PersonaId) -> Result<Option<PersonaRecord>, StoreError> {
        let id = id.clone();
        self.read_statement(move |connection| Ok(persona_record(connection, &id)?)).await
    }

    async fn personas(&self) -> Result<Vec<PersonaRecord>, StoreError> {
        self.read_statement(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT id, display_name, timezone FROM personas ORDER BY id")?;
            let personas = statement.query_map([], read_persona)?.collect::<Result<_>>()?;
            Ok(personas)
        })
        .await
    }

    async fn persona_page(
        &self,
        user: &UserId,
        after: Option<&PersonaId>,
        limit: u32,
    ) -> Result<Vec<ListedPersona>, StoreError> {
        // Ids are never empty, so every one comes after the empty text.
        let after = after.map_or_else(String::new, |id| id.as_str().to_owned());
        let user = user.clone();
        self.read_statement(move |connection| {
            let mut page = connection.prepare_cached(
                "SELECT p.id, p.display_name, p.timezone, p.voice_enabled, p.voice_id,
                     EXISTS (SELECT 1 FROM persona_avatars a WHERE a.persona_id = p.id),
                     EXISTS (SELECT 1 FROM core_blocks b
                             WHERE b.persona_id = p.id AND b.user_id IS NULL AND b.content <> '')
                         OR EXISTS (SELECT 1 FROM core_blocks b
                                    WHERE b.persona_id = p.id AND b.user_id = ?3 AND b.content <> '')
                 FROM personas p WHERE p.id > ?1 ORDER BY p.id LIMIT ?2",
            )?;
            let listed = page.query_map(params![after, limit, user.as_str()], |row| {
                Ok(ListedPersona {
                    record: read_persona(row)?,
                    appearance: Appearance {
                        voice_enabled: row.get(3)?,
                        voice_id: row.get(4)?,
                        has_avatar: row.get(5)?,
                    },
                    is_written: row.get(6)?,
                })
            })?;
            Ok(listed.collect::<Result<_>>()?)
        })
        .await
    }

    async fn rename_persona(&self, id: &PersonaId, name: &str) -> Result<(), StoreError> {
        let (id, name) = (id.clone(), name.to_owned());
        self.write(move |unit| {
            unit.connection
                .prepare_cached("UPDATE personas SET display_name = ?2 WHERE id = ?1")?
                .execute([id.as_str(), &name])?;
            Ok(())
        })
        .await
    }

    async fn persona_facts(&self, id: &PersonaId) -> Result<Facts, StoreError> {
        let id = id.clone();
        self.read(move |connection| Ok(read_facts(connection, &id)?)).await
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
            set_facts(unit.connection, &id, &facts)?;
            Ok(known)
        })
        .await
    }

    async fn persona_appearance(&self, id: &PersonaId) -> Result<Appearance, StoreError> {
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

    async fn choose_voice(&self, id: &PersonaId, voice_id: &str) -> Result<(), StoreError> {
        let (id, voice_id) = (id.clone(), voice_id.to_owned());
        self.write(move |unit| {
            unit.connection
                .prepare_cached("UPDATE personas SET voice_id = ?2 WHERE id = ?1")?
                .execute(params![id.as_str(), voice_id])?;
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

    async fn character_card(&self, id: &PersonaId) -> Result<Option<String>, StoreError> {
        let id = id.clone();
        self.read(move |connection| {
            let card = connection
                .prepare_cached("SELECT character_card FROM personas WHERE id = ?1")?
                .query_row([id.as_str()], |row| row.get::<Option<String>>(0))
                .optional()?;
            Ok(card.flatten())
        })
        .await
    }

    async fn put_character_card(&self, id: &PersonaId, card: &str) -> Result<(), StoreError> {
        let (id, card) = (id.clone(), card.to_owned());
        self.write(move |unit| {
            unit.connection
                .prepare_cached("UPDATE personas SET character_card = ?2 WHERE id = ?1")?
                .execute(params![id.as_str(), card])?;
            Ok(())
        })
        .await
    }

    async fn core_blocks(&self, scope: &Scope) -> Result<CoreBlocks, StoreError> {
        let scope = scope.clone();
        self.read_statement(move |connection| Ok(core_blocks::read(connection, &scope)?)).await
    }

    async fn write_core_block(
        &self,
        scope: &Scope,
        label: CoreBlockLabel,
        text: &str,
        edited_by: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let edit =
            Edit { scope: scope.clone(), label, text: text.to_owned(), edited_by: edited_by.to_owned(), at };
        self.write(move |unit| {
            core_blocks::write(unit.connection, &edit)?;
            let Edit { scope, label, text, edited_by, at } = &edit;
            Ok(crate::hub::follow_core_block(unit.connection, scope, *label, text, edited_by, *at)?)
        })
        .await
    }

    async fn write_first_persona(
        &self,
        scope: &Scope,
        first: FirstPersona,
        edited_by: &str,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let (scope, edited_by) = (scope.clone(), edited_by.to_owned());
        self.write(move |unit| write_first(unit.connection, &scope, &first, &edited_by, at)).await
    }

    async fn mood(&self, scope: &Scope) -> Result<Option<Mood>, StoreError> {
        self.read_scope_statement(scope, |connection, scope| Ok(moods::current_mood(connection, scope)?))
            .await
    }

    async fn mood_history(
        &self,
        scope: &Scope,
        from: Timestamp,
        before: Option<(Timestamp, i64)>,
        limit: u32,
    ) -> Result<Vec<MoodShift>, StoreError> {
        self.read_scope(scope, move |connection, scope| {
            Ok(moods::list_mood_shifts(connection, scope, from, before, limit)?)
        })
        .await
    }
}

/// Inserts a persona and removes its stored character card; false, with nothing written, if one with this id exists.
fn insert_persona(connection: &Connection, id: &PersonaId, name: &str, at: Timestamp) -> Result<bool> {
    let inserted = connection
        .prepare_cached(
            "INSERT INTO personas (id, display_name, created_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        )?
        .execute(params![id.as_str(), name, microseconds(at)])?;
    Ok(inserted > 0)
}

fn set_facts(connection: &Connection, id: &PersonaId, facts: &[(Fact, Option<String>)]) -> Result<()> {
    for (fact, value) in facts {
        let statement = format!("UPDATE personas SET {} = ?2 WHERE id = ?1", fact.as_str());
        connection.prepare_cached(&statement)?.execute(params![id.as_str(), value])?;
    }
    Ok(())
}

fn write_first(
    connection: &Connection,
    scope: &Scope,
    first: &FirstPersona,
    edited_by: &str,
    at: Timestamp,
) -> Result<bool, Failure> {
    if core_blocks::read(connection, scope)? != CoreBlocks::default() {
        return Ok(false);
    }
    set_facts(connection, &scope.persona, &first.facts)?;
    let CoreBlocks { persona, user, style } = &first.blocks;
    for (label, text) in
        [(CoreBlockLabel::Persona, persona), (CoreBlockLabel::User, user), (CoreBlockLabel::Style, style)]
    {
        if text.is_empty() {
            continue;
        }
        let (text, edited_by) = (text.clone(), edited_by.to_owned());
        let edit = Edit { scope: scope.clone(), label, text, edited_by, at };
        core_blocks::write(connection, &edit)?;
        crate::hub::follow_core_block(connection, scope, label, &edit.text, &edit.edited_by, at)?;
    }
    connection
        .prepare_cached("UPDATE personas SET display_name = ?2 WHERE id = ?1")?
        .execute([scope.persona.as_str(), &first.display_name])?;
    Ok(true)
}

fn persona_record(connection: &Connection, id: &PersonaId) -> Result<Option<PersonaRecord>> {
    let mut statement =
        connection.prepare_cached("SELECT id, display_name, timezone FROM personas WHERE id = ?1")?;
    statement.query_row([id.as_str()], read_persona).optional()
}

fn read_persona(row: &Row<'_>) -> Result<PersonaRecord> {
    let id = PersonaId::new(row.get::<String>(0)?).map_err(|error| rows::unreadable_column(0, error))?;
    Ok(PersonaRecord { id, display_name: row.get(1)?, timezone: row.get(2)? })
}

fn read_facts(connection: &Connection, id: &PersonaId) -> Result<Facts> {
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
