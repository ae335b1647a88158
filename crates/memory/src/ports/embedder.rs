//! Port to embedding models.

use async_trait::async_trait;

/// The vector of a text, with the text's readability.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    /// Components of the vector, which has unit length.
    pub vector: Vec<f32>,
    /// Share of the text's characters that the model can read, 0 to 1.
    pub readability: f32,
}

/// Why a text got no vector. Recall then uses words only.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum EmbedError {
    /// There is no model.
    #[error(
        "no embedding model is available: {0}. Memories are found only by their words until there is one"
    )]
    Unavailable(String),
    /// The model was asked and failed.
    #[error("the embedding model failed: {0}")]
    Failed(String),
}

/// A model that embeds text. Passages and queries may be embedded differently, because some models were trained with
/// a prefix for each.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Number of components of each vector; 0 while the model is unknown.
    fn dimension(&self) -> usize;

    /// Identifies the model, its pooling, its prefixes and its dimension. Vectors with different fingerprints are
    /// never compared. Empty while the model is unknown: its files are missing, or its endpoint has not answered yet.
    /// After a successful call of any other method it is known and does not change.
    fn fingerprint(&self) -> &str;

    /// Embeds passages, in order. It may take its time, as queries do not wait for it.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError>;

    /// Embeds queries, in order.
    async fn embed_queries(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        self.embed(texts).await
    }

    /// Returns the fingerprint. If that is unknown, opens the model or asks its endpoint.
    async fn identify(&self) -> Result<String, EmbedError> {
        if self.fingerprint().is_empty() {
            self.embed(&[String::new()]).await?;
        }
        Ok(self.fingerprint().to_owned())
    }

    /// Added to [`crate::recall::RecallSettings::min_support`] for this model, because its cosines of matching texts
    /// differ from those of the model for which the bound was chosen. 0 if not measured.
    fn support_shift(&self) -> f64 {
        0.0
    }

    /// Describes how to open the same model after another has replaced it; `None` for a model that is not on this
    /// machine. It never contains a secret.
    fn source(&self) -> Option<String> {
        None
    }
}
