//! Which models' vectors are stored, and how one model takes another's place.

use async_trait::async_trait;

use super::store::StoreError;
use crate::scope::Scope;

/// A model whose vectors are or were stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingModel {
    /// Its name; see [`super::Embedder::fingerprint`].
    pub fingerprint: String,
    /// How it can be opened again; see [`super::Embedder::source`].
    pub source: Option<String>,
    /// Vectors of it that are stored.
    pub vectors: u64,
}

/// How far the vectors of a model have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VectorCoverage {
    /// Live messages and nodes.
    pub rows: u64,
    /// Those that have a vector of the model.
    pub with_vector: u64,
}

/// The change from one embedding model to another. A row may have a vector of each meanwhile; which model's vector it
/// was given last is what [`super::MessageStore::messages_without_vector`] goes by.
#[async_trait]
pub trait VectorStore: Send + Sync {
    /// Every model that ever had a vector here, in the order of their coming.
    async fn embedding_models(&self) -> Result<Vec<EmbeddingModel>, StoreError>;
    /// Keeps how the model can be opened again, in place of what was kept before.
    async fn note_embedding_model(&self, fingerprint: &str, source: Option<&str>) -> Result<(), StoreError>;
    /// How far the model has come, over all scopes.
    async fn vector_coverage(&self, fingerprint: &str) -> Result<VectorCoverage, StoreError>;
    /// Scopes with a live row that has a vector of `previous` and none of `fingerprint` yet.
    async fn scopes_between_models(
        &self,
        fingerprint: &str,
        previous: &str,
    ) -> Result<Vec<Scope>, StoreError>;
    /// Takes up the vectors of the model that rows still have from before another model took its place, at most `limit`
    /// in each corpus. Gives the number taken up; 0 when there are no more.
    async fn adopt_vectors(&self, fingerprint: &str, limit: u32) -> Result<u32, StoreError>;
    /// Removes vectors of other models from rows that have one of this model, at most `limit` in each corpus. Gives the
    /// number removed; 0 when there are no more.
    async fn remove_other_vectors(&self, fingerprint: &str, limit: u32) -> Result<u32, StoreError>;
}
