//! Vectors, as an index in memory reads them.

use async_trait::async_trait;

use crate::ports::{Corpus, StoreError};
use crate::scope::Scope;

/// A vector with its row number.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredVector {
    /// The message or node it belongs to, by its number.
    pub seq: i64,
    /// Number of this writing of the vector, from 1. Vectors are often written later than their rows and in another
    /// order, so they count by themselves: every write in a corpus, also a second one for the same row, takes a number
    /// above all that were ever given (SQLite: `AUTOINCREMENT`, and replacing a vector inserts a new row). Whoever has
    /// read up to a revision has missed nothing.
    pub revision: i64,
    pub vector: Vec<f32>,
    /// Share of the text that the model reads.
    pub readability: f32,
}

/// Source of the in-memory vector index: its first load, and its updates.
#[async_trait]
pub trait VectorIndexStore: Send + Sync {
    /// The greatest revision of a vector of this scope, corpus and fingerprint; 0 without one.
    async fn last_revision(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
    ) -> Result<i64, StoreError>;
    /// Vectors of live rows, the newest rows (not revisions) first, at most `limit`; with `before`, only of rows with
    /// smaller numbers. How an index of the newest is filled without reading the whole past.
    async fn newest_vectors(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<StoredVector>, StoreError>;
    /// Vectors of live rows whose [`StoredVector::revision`] is above `after` (0 for all), by ascending revision, at
    /// most `limit`; fewer than `limit` means there are no more. How an index is filled and kept in step: it asks
    /// before each search, so the answer "none" must come from an index on (scope, corpus, fingerprint, revision).
    async fn vectors_after(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
        after: i64,
        limit: u32,
    ) -> Result<Vec<StoredVector>, StoreError>;
    /// Exact vectors of those of these rows that are live, in no order. A row that is missing from the answer is taken
    /// for deleted, so deleted rows must never be given.
    async fn vectors_numbered(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
        seqs: &[i64],
    ) -> Result<Vec<StoredVector>, StoreError>;
}
