//! What is stored of a user.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::ports::StoreError;
use crate::scope::UserId;

/// A user as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct UserRecord {
    pub id: UserId,
    pub display_name: Option<String>,
    /// IANA zone the person lives in.
    pub timezone: Option<String>,
}

/// A user as listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownUser {
    pub id: UserId,
    pub display_name: Option<String>,
    /// IANA zone the person lives in.
    pub timezone: Option<String>,
    /// Time at which the person was first heard of.
    pub created_at: Timestamp,
    /// Names on other channels.
    pub identities: Vec<ExternalIdentity>,
}

/// The account of a user on a channel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExternalIdentity {
    pub channel_id: String,
    /// The name or number there; always text, as numbers of this kind are longer than what a browser counts exactly.
    pub external_id: String,
}

/// The result of binding an account to a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindOutcome {
    /// The account is this user's now.
    Now,
    Before,
    /// The account is another user's; nothing was changed.
    ToAnother(UserId),
    /// No user has this id.
    NoUser,
}

/// Users and their names on other channels.
#[async_trait]
pub trait UserStore: Send + Sync {
    /// The user, created if not there.
    async fn ensure_user(&self, id: &UserId, at: Timestamp) -> Result<UserRecord, StoreError>;
    /// The user as far as known; one who is not there has no name and no zone. Writes nothing.
    async fn known_user(&self, id: &UserId) -> Result<UserRecord, StoreError>;
    /// Sets the user's zone (an IANA name, checked by the caller).
    async fn set_user_timezone(&self, id: &UserId, timezone: Option<String>) -> Result<(), StoreError>;
    /// Users by id, those after `after`, at most `limit`.
    async fn users(&self, after: Option<&UserId>, limit: u32) -> Result<Vec<KnownUser>, StoreError>;
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
}
