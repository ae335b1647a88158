//! Port for the in-memory vector index.

use async_trait::async_trait;

use crate::ports::{Corpus, StoreError};
use crate::scope::Scope;

/// A vector with its row number.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredVector {
    /// Number of the message or node.
    pub seq: i64,
    /// Number of this write of the vector, from 1. Vectors are often written later than their rows and in another
    /// order, so they have numbers of their own: every write in a corpus, also a second one for the same row, gets a
    /// number above all earlier ones (SQLite: `AUTOINCREMENT`, and replacing a vector inserts a new row). A reader
    /// that has read up to a revision has missed nothing.
    pub revision: i64,
    pub vector: Vec<f32>,
    /// Share of the text that the model can read.
    pub readability: f32,
}

/// Source of the in-memory vector index: its first load, and its updates.
#[async_trait]
pub trait VectorIndexStore: Send + Sync {
    /// The highest revision of a vector of this scope, corpus and fingerprint; 0 without one.
    async fn last_revision(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
    ) -> Result<i64, StoreError>;
    /// Vectors of live rows, the newest rows (not revisions) first, at most `limit`; with `before`, only of rows with
    /// smaller numbers. It fills an index of the newest rows without reading the whole past.
    async fn newest_vectors(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<StoredVector>, StoreError>;
    /// Vectors of live rows whose [`StoredVector::revision`] is above `after` (0 for all), by ascending revision, at
    /// most `limit`; fewer than `limit` means that there are no more. The in-memory index calls this before each
    /// search, so an empty answer must come from a database index on (scope, corpus, fingerprint, revision).
    async fn vectors_after(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
        after: i64,
        limit: u32,
    ) -> Result<Vec<StoredVector>, StoreError>;
    /// Exact vectors of those of these rows that are live, in no order. A missing row counts as deleted, so deleted
    /// rows must never be returned.
    async fn vectors_numbered(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
        seqs: &[i64],
    ) -> Result<Vec<StoredVector>, StoreError>;
}
