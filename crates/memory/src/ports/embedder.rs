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

/// The reason why a text got no vector. Recall then works by words alone.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum EmbedError {
    /// There is no model to ask.
    #[error("no embedding model is available: {0}. Memory works on words alone until there is one")]
    Unavailable(String),
    /// The model was asked and failed.
    #[error("the embedding model failed: {0}")]
    Failed(String),
}

/// A model that embeds text. Texts to be found and texts to look for may be embedded differently: some models were
/// trained with another prefix for each.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Number of components of each vector; 0 while the model is not known.
    fn dimension(&self) -> usize;

    /// Names the model, its pooling, its prefixes and its dimension. Vectors with another fingerprint are never compared.
    /// Empty while the model is not known: it is not there yet, or its endpoint has not answered yet. After a successful
    /// call of any other method it is known, and stays the same.
    fn fingerprint(&self) -> &str;

    /// One embedding per text that is to be found later, in order. May take its time: a query does not wait for it.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError>;

    /// One embedding per text that is looked for, in order.
    async fn embed_queries(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        self.embed(texts).await
    }

    /// The fingerprint; opens the model or asks its endpoint where that is needed to know it.
    async fn identify(&self) -> Result<String, EmbedError> {
        if self.fingerprint().is_empty() {
            self.embed(&[String::new()]).await?;
        }
        Ok(self.fingerprint().to_owned())
    }

    /// Added to [`crate::recall::RecallSettings::min_support`] for this model, because its cosines of matching texts are
    /// higher or lower than those of the model for which the bound was chosen. Measured; 0 if it was not.
    fn support_shift(&self) -> f64 {
        0.0
    }

    /// Describes how the same model can be opened again after another has replaced it; none for a model that is not on this
    /// machine. It never holds a secret.
    fn source(&self) -> Option<String> {
        None
    }
}
