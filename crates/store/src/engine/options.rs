//! Options for opening a store.

use std::time::Duration;

/// Options for opening a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Threads that read, at least one.
    pub readers: usize,
    /// Time to wait for another process that holds the database.
    pub busy_timeout: Duration,
    /// Most memory that each connection caches pages in, in KiB.
    pub cache_kib: u32,
    /// Longest wait for an answer of a database server. A network that swallows everything says nothing.
    pub answer_limit: Duration,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            readers: 2,
            busy_timeout: Duration::from_secs(5),
            cache_kib: 8 * 1024,
            answer_limit: Duration::from_secs(60),
        }
    }
}
