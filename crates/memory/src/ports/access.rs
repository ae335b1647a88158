//! Storage of tokens and of what was done with them. Apart from [`Store`](super::Store): no memory depends on it.

use async_trait::async_trait;
use jiff::Timestamp;

use super::StoreError;
use crate::access::{AuditEntry, NamedToken};

/// Acts that are kept; older ones give way.
pub const ACTS_MAX: i64 = 100_000;
/// Acts of one named token that are kept, so that it can't displace those of others.
pub const TOKEN_ACTS_MAX: i64 = 20_000;

/// Named tokens and the record of acts.
#[async_trait]
pub trait AccessStore: Send + Sync {
    /// Keeps a new token; false, with nothing written, if its name or prefix is taken.
    async fn add_token(&self, token: NamedToken) -> Result<bool, StoreError>;
    /// The token of this prefix.
    async fn token_of(&self, prefix: &str) -> Result<Option<NamedToken>, StoreError>;
    /// All tokens, by name.
    async fn tokens(&self) -> Result<Vec<NamedToken>, StoreError>;
    /// Forgets a token; gives it back, or none if there is none of this name.
    async fn revoke_token(&self, name: &str) -> Result<Option<NamedToken>, StoreError>;
    /// Notes that tokens were used, by prefix; earlier times than the stored ones change nothing.
    async fn touch_tokens(&self, used: Vec<(String, Timestamp)>) -> Result<(), StoreError>;
    /// Adds an act to the record, which holds the last [`ACTS_MAX`], and of a named token the last [`TOKEN_ACTS_MAX`].
    async fn record_act(&self, act: AuditEntry) -> Result<(), StoreError>;
    /// Acts with their numbers, newest first; with `before`, only those with smaller numbers.
    async fn acts(&self, before: Option<i64>, limit: u32) -> Result<Vec<(i64, AuditEntry)>, StoreError>;
}
