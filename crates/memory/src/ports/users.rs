//! Port for users.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::ports::StoreError;
use crate::scope::UserId;

/// A user as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct UserRecord {
    pub id: UserId,
    pub display_name: Option<String>,
    /// IANA time zone of the person.
    pub timezone: Option<String>,
}

/// A user in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownUser {
    pub id: UserId,
    pub display_name: Option<String>,
    /// IANA time zone of the person.
    pub timezone: Option<String>,
    /// Time at which the user was created.
    pub created_at: Timestamp,
    /// Accounts on other channels.
    pub identities: Vec<ExternalIdentity>,
}

/// The account of a user on a channel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExternalIdentity {
    pub channel_id: String,
    /// Name or number of the account; always text, as such numbers can be larger than a browser counts exactly.
    pub external_id: String,
}

/// The result of linking an account to a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindOutcome {
    /// The account is now this user's.
    Now,
    Before,
    /// The account belongs to another user; nothing was changed.
    ToAnother(UserId),
    /// No user has this id.
    NoUser,
}

/// Storage of users and their accounts on other channels.
#[async_trait]
pub trait UserStore: Send + Sync {
    /// Returns the user, and creates them if needed.
    async fn ensure_user(&self, id: &UserId, at: Timestamp) -> Result<UserRecord, StoreError>;
    /// The user as far as known; an unknown one has no name and no zone. Writes nothing.
    async fn known_user(&self, id: &UserId) -> Result<UserRecord, StoreError>;
    /// Sets the user's zone (an IANA name, checked by the caller).
    async fn set_user_timezone(&self, id: &UserId, timezone: Option<String>) -> Result<(), StoreError>;
    /// Users by id, those after `after`, at most `limit`.
    async fn users(&self, after: Option<&UserId>, limit: u32) -> Result<Vec<KnownUser>, StoreError>;
    async fn user(&self, id: &UserId) -> Result<Option<KnownUser>, StoreError>;
    /// Creates a user; false, with nothing written, if one with this id exists.
    async fn create_user(&self, user: KnownUser) -> Result<bool, StoreError>;
    /// Sets the user's name; `None` removes it. False if there is no such user.
    async fn name_user(&self, id: &UserId, name: Option<String>) -> Result<bool, StoreError>;
    /// Links an account to the user.
    async fn bind_identity(
        &self,
        user: &UserId,
        identity: ExternalIdentity,
        at: Timestamp,
    ) -> Result<BindOutcome, StoreError>;
    /// The user of an account.
    async fn user_of_identity(&self, identity: &ExternalIdentity) -> Result<Option<UserId>, StoreError>;
    /// Removes the link between an account and the user; false if there was none.
    async fn unbind_identity(&self, user: &UserId, identity: &ExternalIdentity) -> Result<bool, StoreError>;
}
