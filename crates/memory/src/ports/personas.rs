//! What is stored of a persona.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::core_blocks::{CoreBlockLabel, CoreBlocks};
use crate::facts::{Fact, Facts};
use crate::mood::{Mood, MoodShift};
use crate::ports::StoreError;
use crate::scope::{PersonaId, Scope, UserId};

/// The persona as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct PersonaRecord {
    pub id: PersonaId,
    pub display_name: String,
    /// IANA zone it lives in.
    pub timezone: Option<String>,
}

/// Largest picture of a persona, in bytes. A photograph of a phone fits when it is cut to a square, and the row is read whole.
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
    /// The voice it would speak with, as its provider names it.
    pub voice_id: Option<String>,
    /// True if the persona has a picture.
    pub has_avatar: bool,
}

/// A persona in the list of personas.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedPersona {
    pub record: PersonaRecord,
    pub appearance: Appearance,
    /// True if one of its core blocks is written, or what it knows of the user who asks.
    pub is_written: bool,
}

/// A persona as onboarding writes it, all of it or nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FirstPersona {
    pub display_name: String,
    /// The persona's facts; those that are not listed stay.
    pub facts: Vec<(Fact, Option<String>)>,
    /// The persona's blocks; an empty one is not written.
    pub blocks: CoreBlocks,
}

/// Personas: names, facts, pictures, core blocks, moods.
#[async_trait]
pub trait PersonaStore: Send + Sync {
    /// The persona, created with this name if it is not there; an existing name stays.
    async fn ensure_persona(
        &self,
        id: &PersonaId,
        name: &str,
        at: Timestamp,
    ) -> Result<PersonaRecord, StoreError>;
    /// Creates a persona with its name, facts and blocks in one step; false, with nothing written, if there is one of this
    /// id. The user must be stored.
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
    /// Says whether a person wants to hear the persona.
    async fn enable_voice(&self, id: &PersonaId, enabled: bool) -> Result<(), StoreError>;
    /// Says with which voice the persona speaks, as its provider names it.
    async fn choose_voice(&self, id: &PersonaId, voice_id: &str) -> Result<(), StoreError>;
    async fn avatar(&self, id: &PersonaId) -> Result<Option<Avatar>, StoreError>;
    /// Gives the persona this picture in place of another.
    async fn put_avatar(&self, id: &PersonaId, avatar: Avatar, at: Timestamp) -> Result<(), StoreError>;
    /// Takes the picture away; false if there was none.
    async fn remove_avatar(&self, id: &PersonaId) -> Result<bool, StoreError>;
    /// The character card that the persona was made from, as JSON.
    async fn character_card(&self, id: &PersonaId) -> Result<Option<String>, StoreError>;
    async fn put_character_card(&self, id: &PersonaId, card: &str) -> Result<(), StoreError>;
    /// The three blocks; an unwritten one is empty.
    async fn core_blocks(&self, scope: &Scope) -> Result<CoreBlocks, StoreError>;
    /// Replaces one block (an empty text clears it) and keeps an audit row. Only for the acts of a person.
    async fn write_core_block(
        &self,
        scope: &Scope,
        label: CoreBlockLabel,
        text: &str,
        edited_by: &str,
        at: Timestamp,
    ) -> Result<(), StoreError>;
    /// Writes the first words of a persona in one step; false, with nothing written, if one of its blocks is written.
    /// Only for the acts of a person.
    async fn write_first_persona(
        &self,
        scope: &Scope,
        first: FirstPersona,
        edited_by: &str,
        at: Timestamp,
    ) -> Result<bool, StoreError>;
    /// The mood as last written, however old.
    async fn mood(&self, scope: &Scope) -> Result<Option<Mood>, StoreError>;
    /// Moods that sessions left since `from`, newest first, at most `limit`; with `before` (moment and number of a
    /// shift), only those behind it.
    async fn mood_history(
        &self,
        scope: &Scope,
        from: Timestamp,
        before: Option<(Timestamp, i64)>,
        limit: u32,
    ) -> Result<Vec<MoodShift>, StoreError>;
}
