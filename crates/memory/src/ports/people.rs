//! What is known of personas and users beyond their talk: facts, faces, names elsewhere; and turns that failed.

use async_trait::async_trait;
use jiff::Timestamp;

use super::StoreError;
use crate::facts::{Fact, Facts};
use crate::messages::Turn;
use crate::scope::{PersonaId, UserId};

/// A picture as it was uploaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Avatar {
    /// `png`, `jpg`, `webp` or `gif`.
    pub extension: String,
    /// The file.
    pub image: Vec<u8>,
}

/// What a persona has beside its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Appearance {
    /// Whether a person wants to hear it.
    pub voice_enabled: bool,
    /// The voice it would speak with, as its provider names it.
    pub voice_id: Option<String>,
    /// Whether it has a picture.
    pub has_avatar: bool,
}

/// A user as listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownUser {
    /// The id.
    pub id: UserId,
    /// How the person is called.
    pub display_name: Option<String>,
    /// IANA zone the person lives in.
    pub timezone: Option<String>,
    /// When the person was first heard of.
    pub created_at: Timestamp,
    /// Names on other channels.
    pub identities: Vec<ExternalIdentity>,
}

/// Who somebody is on a channel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExternalIdentity {
    /// The channel.
    pub channel_id: String,
    /// The name or number there; always text, as numbers of this kind are longer than what a browser counts exactly.
    pub external_id: String,
}

/// What became of binding an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindOutcome {
    /// It is this user's now.
    Now,
    /// It was already.
    Before,
    /// It is another user's; nothing was changed.
    ToAnother(UserId),
    /// There is no such user.
    NoUser,
}

/// Personas and users, as people keep them.
#[async_trait]
pub trait PeopleStore: Send + Sync {
    /// Makes a persona; false, with nothing written, if there is one of this id.
    async fn create_persona(&self, id: &PersonaId, name: &str, at: Timestamp) -> Result<bool, StoreError>;
    /// The persona's facts.
    async fn facts(&self, id: &PersonaId) -> Result<Facts, StoreError>;
    /// Writes these facts and leaves the others; false if there is no such persona.
    async fn write_facts(
        &self,
        id: &PersonaId,
        facts: Vec<(Fact, Option<String>)>,
    ) -> Result<bool, StoreError>;
    /// What the persona has beside its words.
    async fn appearance(&self, id: &PersonaId) -> Result<Appearance, StoreError>;
    /// Says whether a person wants to hear the persona.
    async fn enable_voice(&self, id: &PersonaId, enabled: bool) -> Result<(), StoreError>;
    /// The persona's picture.
    async fn avatar(&self, id: &PersonaId) -> Result<Option<Avatar>, StoreError>;
    /// Gives the persona this picture in place of another.
    async fn put_avatar(&self, id: &PersonaId, avatar: Avatar, at: Timestamp) -> Result<(), StoreError>;
    /// Takes the picture away; false if there was none.
    async fn remove_avatar(&self, id: &PersonaId) -> Result<bool, StoreError>;
    /// Users by id, those after `after`, at most `limit`.
    async fn users(&self, after: Option<&UserId>, limit: u32) -> Result<Vec<KnownUser>, StoreError>;
    /// One user.
    async fn user(&self, id: &UserId) -> Result<Option<KnownUser>, StoreError>;
    /// Makes a user; false, with nothing written, if there is one of this id.
    async fn create_user(&self, user: KnownUser) -> Result<bool, StoreError>;
    /// Names the user; no name takes it away. False if there is no such user.
    async fn name_user(&self, id: &UserId, name: Option<String>) -> Result<bool, StoreError>;
    /// Says that this identity is the user's.
    async fn bind_identity(
        &self,
        user: &UserId,
        identity: ExternalIdentity,
        at: Timestamp,
    ) -> Result<BindOutcome, StoreError>;
    /// The user whose identity this is.
    async fn user_of_identity(&self, identity: &ExternalIdentity) -> Result<Option<UserId>, StoreError>;
    /// Takes an identity from the user; false if it was not the user's.
    async fn unbind_identity(&self, user: &UserId, identity: &ExternalIdentity) -> Result<bool, StoreError>;
    /// Turns that got no reply and wait for a person, newest first.
    async fn failed_turns(&self, limit: u32) -> Result<Vec<Turn>, StoreError>;
}
