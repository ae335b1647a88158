//! Vectors, as the background embedding writes them.

use async_trait::async_trait;

use crate::identifiers::{MessageId, NodeId};
use crate::messages::Message;
use crate::nodes::Node;
use crate::ports::{Embedding, StoreError};
use crate::scope::Scope;

/// A model whose vectors are or were stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingModel {
    /// The model's name; see [`super::Embedder::fingerprint`].
    pub fingerprint: String,
    /// Describes how it can be opened again; see [`super::Embedder::source`].
    pub source: Option<String>,
    /// Number of stored vectors of the model.
    pub vectors: u64,
}

/// Counts of rows with and without a vector of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VectorCoverage {
    /// Live messages and nodes.
    pub rows: u64,
    /// Number of rows with a vector of the model.
    pub with_vector: u64,
}

/// Rows that wait for a vector, and the change from one embedding model to another. A row may have a vector of each meanwhile;
/// which model's vector it was given last decides whether it waits for one.
#[async_trait]
pub trait EmbeddingStore: Send + Sync {
    /// Messages without a vector of this fingerprint, newest first.
    async fn messages_without_vector(
        &self,
        fingerprint: &str,
        limit: u32,
    ) -> Result<Vec<Message>, StoreError>;
    /// Writes message vectors; a message that is gone meanwhile is passed over.
    async fn put_message_vectors(
        &self,
        fingerprint: &str,
        vectors: Vec<(MessageId, Embedding)>,
    ) -> Result<(), StoreError>;
    /// Nodes without a vector of this fingerprint.
    async fn nodes_without_vector(&self, fingerprint: &str, limit: u32) -> Result<Vec<Node>, StoreError>;
    /// Writes node vectors; a node that is gone meanwhile is passed over.
    async fn put_node_vectors(
        &self,
        fingerprint: &str,
        vectors: Vec<(NodeId, Embedding)>,
    ) -> Result<(), StoreError>;
    /// Every model that ever had a vector here, in the order of their coming.
    async fn embedding_models(&self) -> Result<Vec<EmbeddingModel>, StoreError>;
    /// Keeps how the model can be opened again, in place of what was kept before.
    async fn note_embedding_model(&self, fingerprint: &str, source: Option<&str>) -> Result<(), StoreError>;
    /// Counts of rows with a vector of the model, over all scopes.
    async fn vector_coverage(&self, fingerprint: &str) -> Result<VectorCoverage, StoreError>;
    /// Scopes with a live row that has a vector of `previous` and none of `fingerprint` yet.
    async fn scopes_between_models(
        &self,
        fingerprint: &str,
        previous: &str,
    ) -> Result<Vec<Scope>, StoreError>;
    /// Takes up the vectors of the model that rows still have from before another model took its place, at most `limit`
    /// in each corpus. Gives the number resumed; 0 when there are no more.
    async fn adopt_vectors(&self, fingerprint: &str, limit: u32) -> Result<u32, StoreError>;
    /// Removes vectors of other models from rows that have one of this model, at most `limit` in each corpus. Gives the
    /// number removed; 0 when there are no more.
    async fn remove_other_vectors(&self, fingerprint: &str, limit: u32) -> Result<u32, StoreError>;
}
