//! Text to vector.

use async_trait::async_trait;

/// A text's place in the space of meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    /// Components; the whole has unit length.
    pub vector: Vec<f32>,
    /// Share of the text's characters that the model's vocabulary can read, 0 to 1.
    pub readability: f32,
}

/// Why there is no vector. The memory goes on with words alone.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum EmbedError {
    /// There is no model to ask.
    #[error(
        "no embedding model is at hand: {0}. Memory works on words alone until `echovessel model fetch` has run"
    )]
    Unavailable(String),
    /// The model was asked and failed.
    #[error("the embedding model failed: {0}")]
    Failed(String),
}

/// A model that embeds text.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Number of components of each vector.
    fn dimension(&self) -> usize;

    /// Names the model and its pooling. Vectors with another fingerprint are never compared.
    fn fingerprint(&self) -> &str;

    /// One embedding per text, in order.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError>;
}
