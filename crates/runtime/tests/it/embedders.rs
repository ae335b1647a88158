//! Embedders that are unusable, broken or slow in the ways that tests need.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use memory::ports::{EmbedError, Embedder, Embedding};

/// Embeds every text as the same vector: the cosine of any two is 1.
pub(crate) struct ConstantEmbedder {
    pub(crate) readability: f32,
}

#[async_trait]
impl Embedder for ConstantEmbedder {
    fn dimension(&self) -> usize {
        2
    }

    fn fingerprint(&self) -> &str {
        "constant-2"
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        Ok(texts.iter().map(|_| embedding(self.readability)).collect())
    }
}

/// Never answers for a text that begins with a word.
pub(crate) struct HangingEmbedder {
    pub(crate) word: &'static str,
}

#[async_trait]
impl Embedder for HangingEmbedder {
    fn dimension(&self) -> usize {
        2
    }

    fn fingerprint(&self) -> &str {
        "hanging-2"
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        if texts.iter().any(|text| text.starts_with(self.word)) {
            pending::<()>().await;
        }
        Ok(texts.iter().map(|_| embedding(1.0)).collect())
    }
}

/// The first answer has one vector too few.
#[derive(Default)]
pub(crate) struct StingyEmbedder {
    pub(crate) calls: AtomicUsize,
}

#[async_trait]
impl Embedder for StingyEmbedder {
    fn dimension(&self) -> usize {
        2
    }

    fn fingerprint(&self) -> &str {
        "stingy-2"
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        let missing = usize::from(self.calls.fetch_add(1, Ordering::SeqCst) == 0);
        Ok(texts.iter().skip(missing).map(|_| embedding(1.0)).collect())
    }
}

fn embedding(readability: f32) -> Embedding {
    Embedding { vector: vec![1.0, 0.0], readability }
}
