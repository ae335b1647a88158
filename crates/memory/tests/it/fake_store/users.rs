//! What recall never asks about people.

use memory::facts::{Fact, Facts};
use memory::ports::{Appearance, Avatar, BindOutcome, ExternalIdentity, KnownUser, PeopleStore};

use super::*;

#[async_trait]
impl PeopleStore for FakeStore {
    async fn create_persona(&self, _id: &PersonaId, _name: &str, _at: Timestamp) -> Result<bool, StoreError> {
        refused()
    }
    async fn facts(&self, _id: &PersonaId) -> Result<Facts, StoreError> {
        refused()
    }
    async fn write_facts(
        &self,
        _id: &PersonaId,
        _facts: Vec<(Fact, Option<String>)>,
    ) -> Result<bool, StoreError> {
        refused()
    }
    async fn appearance(&self, _id: &PersonaId) -> Result<Appearance, StoreError> {
        refused()
    }
    async fn enable_voice(&self, _id: &PersonaId, _enabled: bool) -> Result<(), StoreError> {
        refused()
    }
    async fn avatar(&self, _id: &PersonaId) -> Result<Option<Avatar>, StoreError> {
        refused()
    }
    async fn put_avatar(&self, _id: &PersonaId, _avatar: Avatar, _at: Timestamp) -> Result<(), StoreError> {
        refused()
    }
    async fn remove_avatar(&self, _id: &PersonaId) -> Result<bool, StoreError> {
        refused()
    }
    async fn users(&self, _after: Option<&UserId>, _limit: u32) -> Result<Vec<KnownUser>, StoreError> {
        refused()
    }
    async fn user(&self, _id: &UserId) -> Result<Option<KnownUser>, StoreError> {
        refused()
    }
    async fn create_user(&self, _user: KnownUser) -> Result<bool, StoreError> {
        refused()
    }
    async fn name_user(&self, _id: &UserId, _name: Option<String>) -> Result<bool, StoreError> {
        refused()
    }
    async fn bind_identity(
        &self,
        _user: &UserId,
        _identity: ExternalIdentity,
        _at: Timestamp,
    ) -> Result<BindOutcome, StoreError> {
        refused()
    }
    async fn user_of_identity(&self, _identity: &ExternalIdentity) -> Result<Option<UserId>, StoreError> {
        refused()
    }
    async fn unbind_identity(
        &self,
        _user: &UserId,
        _identity: &ExternalIdentity,
    ) -> Result<bool, StoreError> {
        refused()
    }
    async fn failed_turns(&self, _limit: u32) -> Result<Vec<Turn>, StoreError> {
        refused()
    }
}
