//! Options for opening a store.

use std::time::Duration;

/// Options for opening a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Maximum number of reading threads. The first one is started at once, others when they are needed.
    pub readers: usize,
    /// Time to wait for another process that holds the database.
    pub busy_timeout: Duration,
    /// Page cache of each connection, in KiB.
    pub cache_kib: u32,
    /// Time limit for an answer of a database server, for networks that drop everything silently.
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
