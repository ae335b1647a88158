//! Port for counts.

use async_trait::async_trait;

use crate::ports::StoreError;
use crate::scope::Scope;

/// Counts of stored rows and of waiting work.
#[async_trait]
pub trait StatusStore: Send + Sync {
    /// Counts of a scope: (core blocks, messages, events, thoughts).
    async fn scope_counts(&self, scope: &Scope) -> Result<[u64; 4], StoreError>;
    /// Counts of all scopes together.
    async fn total_counts(&self) -> Result<[u64; 4], StoreError>;
    /// Counts of waiting or failed work: (closing or consolidating sessions, failed sessions).
    async fn work_counts(&self) -> Result<[u64; 2], StoreError>;
}
