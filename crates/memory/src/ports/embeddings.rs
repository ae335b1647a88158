//! Port for storing vectors in the background.

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
    /// Describes how to open the model; see [`super::Embedder::source`].
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

/// Rows without vectors, and the change from one embedding model to another. Meanwhile a row may have vectors of both
/// models; it waits for one if its last vector is of the other model.
#[async_trait]
pub trait EmbeddingStore: Send + Sync {
    /// Messages without a vector of this fingerprint, newest first.
    async fn messages_without_vector(
        &self,
        fingerprint: &str,
        limit: u32,
    ) -> Result<Vec<Message>, StoreError>;
    /// Stores message vectors; those of deleted messages are skipped.
    async fn put_message_vectors(
        &self,
        fingerprint: &str,
        vectors: Vec<(MessageId, Embedding)>,
    ) -> Result<(), StoreError>;
    /// Nodes without a vector of this fingerprint.
    async fn nodes_without_vector(&self, fingerprint: &str, limit: u32) -> Result<Vec<Node>, StoreError>;
    /// Stores node vectors; those of deleted nodes are skipped.
    async fn put_node_vectors(
        &self,
        fingerprint: &str,
        vectors: Vec<(NodeId, Embedding)>,
    ) -> Result<(), StoreError>;
    /// Every model that ever had a vector here, in the order of their first use.
    async fn embedding_models(&self) -> Result<Vec<EmbeddingModel>, StoreError>;
    /// Stores how to open the model; replaces what was stored before.
    async fn note_embedding_model(&self, fingerprint: &str, source: Option<&str>) -> Result<(), StoreError>;
    /// Counts of rows with a vector of the model, over all scopes.
    async fn vector_coverage(&self, fingerprint: &str) -> Result<VectorCoverage, StoreError>;
    /// Scopes with a live row that has a vector of `previous` and none of `fingerprint` yet.
    async fn scopes_between_models(
        &self,
        fingerprint: &str,
        previous: &str,
    ) -> Result<Vec<Scope>, StoreError>;
    /// Reuses vectors of the model from before it was replaced, at most `limit` in each corpus. Returns their number;
    /// 0 when there are no more.
    async fn adopt_vectors(&self, fingerprint: &str, limit: u32) -> Result<u32, StoreError>;
    /// Removes vectors of other models from rows that have one of this model, at most `limit` in each corpus. Returns
    /// their number; 0 when there are no more.
    async fn remove_other_vectors(&self, fingerprint: &str, limit: u32) -> Result<u32, StoreError>;
}
