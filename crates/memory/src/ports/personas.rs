//! Port for personas.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::core_blocks::{CoreBlockLabel, CoreBlocks};
use crate::facts::{Fact, Facts};
use crate::mood::{Mood, MoodShift};
use crate::ports::StoreError;
use crate::scope::{PersonaId, Scope, UserId};

/// A persona in the database.
#[derive(Clone, Debug, PartialEq)]
pub struct PersonaRecord {
    pub id: PersonaId,
    pub display_name: String,
    /// IANA time zone of the persona.
    pub timezone: Option<String>,
}

/// Maximum bytes of a persona's picture. A phone's photo fits once it is cut to a square, and the row is read whole.
pub const AVATAR_SIZE_MAX: usize = 4_194_304;

/// A picture as it was uploaded, of at most [`AVATAR_SIZE_MAX`] bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Avatar {
    /// `png`, `jpg`, `webp` or `gif`.
    pub extension: String,
    pub image: Vec<u8>,
}

/// Picture and voice of a persona.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Appearance {
    /// True if the persona's replies are spoken.
    pub voice_enabled: bool,
    /// The persona's voice, as its provider names it.
    pub voice_id: Option<String>,
    /// True if the persona has a picture.
    pub has_avatar: bool,
}

/// A persona in the list of personas.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedPersona {
    pub record: PersonaRecord,
    pub appearance: Appearance,
    /// True if one of its core blocks is written, or if the persona has one about the current user.
    pub is_written: bool,
}

/// A persona created by onboarding, completely or not at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FirstPersona {
    pub display_name: String,
    /// The persona's facts; facts that are not listed do not change.
    pub facts: Vec<(Fact, Option<String>)>,
    /// The persona's blocks; an empty one is not written.
    pub blocks: CoreBlocks,
}

/// Personas: names, facts, pictures, core blocks, moods.
#[async_trait]
pub trait PersonaStore: Send + Sync {
    /// Returns the persona, and creates it with this name if it does not exist; an existing name stays.
    async fn ensure_persona(
        &self,
        id: &PersonaId,
        name: &str,
        at: Timestamp,
    ) -> Result<PersonaRecord, StoreError>;
    /// Creates a persona with its name, facts and blocks in one step; false, with nothing written, if one with this
    /// id exists. The user must be stored.
    async fn create_persona(
        &self,
        scope: &Scope,
        first: FirstPersona,
        edited_by: &str,
        at: Timestamp,
    ) -> Result<bool, StoreError>;
    async fn persona(&self, id: &PersonaId) -> Result<Option<PersonaRecord>, StoreError>;
    /// All personas, by id. There may be ten thousand.
    async fn personas(&self) -> Result<Vec<PersonaRecord>, StoreError>;
    /// Personas by id, at most `limit`, those after `after`.
    async fn persona_page(
        &self,
        user: &UserId,
        after: Option<&PersonaId>,
        limit: u32,
    ) -> Result<Vec<ListedPersona>, StoreError>;
    async fn rename_persona(&self, id: &PersonaId, name: &str) -> Result<(), StoreError>;
    async fn persona_facts(&self, id: &PersonaId) -> Result<Facts, StoreError>;
    /// Writes these facts and leaves the others; false if there is no such persona.
    async fn write_facts(
        &self,
        id: &PersonaId,
        facts: Vec<(Fact, Option<String>)>,
    ) -> Result<bool, StoreError>;
    /// Picture and voice of the persona.
    async fn persona_appearance(&self, id: &PersonaId) -> Result<Appearance, StoreError>;
    /// Sets if the persona's replies are spoken.
    async fn enable_voice(&self, id: &PersonaId, enabled: bool) -> Result<(), StoreError>;
    /// Sets the persona's voice, as its provider names it.
    async fn choose_voice(&self, id: &PersonaId, voice_id: &str) -> Result<(), StoreError>;
    async fn avatar(&self, id: &PersonaId) -> Result<Option<Avatar>, StoreError>;
    /// Replaces the picture of the persona.
    async fn put_avatar(&self, id: &PersonaId, avatar: Avatar, at: Timestamp) -> Result<(), StoreError>;
    /// Removes the picture; false if there was none.
    async fn remove_avatar(&self, id: &PersonaId) -> Result<bool, StoreError>;
    /// The character card that the persona was made from, as JSON.
    async fn character_card(&self, id: &PersonaId) -> Result<Option<String>, StoreError>;
    async fn put_character_card(&self, id: &PersonaId, card: &str) -> Result<(), StoreError>;
    /// The three blocks; an unwritten one is empty.
    async fn core_blocks(&self, scope: &Scope) -> Result<CoreBlocks, StoreError>;
    /// Replaces one block (an empty text clears it) and stores an audit row. Only for actions of a person.
    async fn write_core_block(
        &self,
        scope: &Scope,
        label: CoreBlockLabel,
        text: &str,
        edited_by: &str,
        at: Timestamp,
    ) -> Result<(), StoreError>;
    /// Writes the first texts of a persona in one step; false, with nothing written, if one of its blocks is written.
    /// Only for actions of a person.
    async fn write_first_persona(
        &self,
        scope: &Scope,
        first: FirstPersona,
        edited_by: &str,
        at: Timestamp,
    ) -> Result<bool, StoreError>;
    /// The last stored mood, however old.
    async fn mood(&self, scope: &Scope) -> Result<Option<Mood>, StoreError>;
    /// Moods after sessions since `from`, newest first, at most `limit`; with `before` (time and number of a shift),
    /// only those after it in this order.
    async fn mood_history(
        &self,
        scope: &Scope,
        from: Timestamp,
        before: Option<(Timestamp, i64)>,
        limit: u32,
    ) -> Result<Vec<MoodShift>, StoreError>;
}
