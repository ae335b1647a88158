//! Storage of tokens, logins and the audit log. Separate from [`Store`](super::Store), because no memory depends on
//! it.

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use super::StoreError;
use crate::access::{AuditEntry, Login, NamedToken};
use crate::identifiers::TurnId;
use crate::scope::UserId;

/// Entries of the audit log to store; the oldest are deleted. They cover a year of 270 a day.
pub const ACTS_MAX: i64 = 100_000;
/// Entries of one named token to store, so that it can't displace those of others.
pub const TOKEN_ACTS_MAX: i64 = 20_000;
/// Logins to store; beyond that the one unused for longest is removed.
pub const LOGINS_MAX: u32 = 256;
/// Period for which the turns of a token are stored. The limit is per day, and 48 hours contain a whole day in every
/// time zone.
pub const TOKEN_TURNS_RETENTION: SignedDuration = SignedDuration::from_hours(48);

/// Storage of named tokens, logins and the audit log.
#[async_trait]
pub trait AccessStore: Send + Sync {
    /// Stores a new token; false, with nothing written, if its name or prefix is taken.
    async fn add_token(&self, token: NamedToken) -> Result<bool, StoreError>;
    /// The token of this prefix.
    async fn token_of(&self, prefix: &str) -> Result<Option<NamedToken>, StoreError>;
    /// All tokens, by name.
    async fn tokens(&self) -> Result<Vec<NamedToken>, StoreError>;
    /// Removes a token and its logins; returns the token, or `None` if there is none with this name.
    async fn revoke_token(&self, name: &str) -> Result<Option<NamedToken>, StoreError>;
    /// Notes when tokens, identified by prefix, were used. Times earlier than the stored ones are ignored.
    async fn touch_tokens(&self, used: Vec<(String, Timestamp)>) -> Result<(), StoreError>;
    /// True if the token may write for this user: one that it created before, or a new one while it has fewer than
    /// `users_max`.
    async fn admit_user(&self, prefix: &str, user: &UserId, users_max: u32) -> Result<bool, StoreError>;
    /// Counts a reply that a token requested.
    async fn add_token_turn(&self, prefix: &str, at: Timestamp, turn: TurnId) -> Result<(), StoreError>;
    /// Use of a token since a time: number of turns, and their cost in US dollars as far as prices are known.
    async fn token_use(&self, prefix: &str, since: Timestamp) -> Result<(u64, f64), StoreError>;
    /// Adds a login. Expired ones are removed, and the oldest beyond [`LOGINS_MAX`].
    async fn add_login(&self, login: Login) -> Result<(), StoreError>;
    /// The login of this id.
    async fn login_of(&self, id: &str) -> Result<Option<Login>, StoreError>;
    /// All logins, the last seen first.
    async fn logins(&self) -> Result<Vec<Login>, StoreError>;
    /// Notes that a login was used; a time earlier than the stored one is ignored.
    async fn touch_login(&self, id: &str, at: Timestamp) -> Result<(), StoreError>;
    /// Ends the login with this id, or all; returns their number.
    async fn end_logins(&self, id: Option<&str>) -> Result<u64, StoreError>;
    /// Adds an entry to the audit log. The log has the last [`ACTS_MAX`], and of a named token the last
    /// [`TOKEN_ACTS_MAX`].
    async fn record_act(&self, act: AuditEntry) -> Result<(), StoreError>;
    /// Entries with their numbers, newest first; with `before`, only those with smaller numbers.
    async fn audit_entries(
        &self,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<(i64, AuditEntry)>, StoreError>;
}
