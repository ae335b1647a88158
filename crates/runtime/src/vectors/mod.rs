//! Vectors in the background, and search for memories by words and meaning.

pub(crate) mod backfill;
pub(crate) mod changeover;
pub(crate) mod search;

use std::sync::Arc;

use hub::HubError;
use hub::ports::ChunkCoverage;
use memory::Scope;
use memory::ports::{Embedder, StoreError};

use crate::core::RuntimeCore;
use crate::hub_work::shared_self::SharedSelf;
use changeover::Changeover;

/// State of the vectors, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VectorState {
    /// Fingerprint of the model; `None` while it is unknown.
    pub model: Option<String>,
    /// Live messages and nodes.
    pub rows: u64,
    /// Number of rows with a vector of the model.
    pub with_vector: u64,
    /// Chunks of the shared self's documents.
    pub chunks: u64,
    /// Number of chunks with a vector of the model.
    pub chunks_with_vector: u64,
    /// Fingerprint of the model that is still used for scopes with incomplete vectors.
    pub serving_meanwhile: Option<String>,
    pub failure: Option<String>,
}

/// Provides the embedding model of each scope, and searches with it.
pub struct Vectors {
    core: Arc<RuntimeCore>,
    shared_self: Arc<SharedSelf>,
    changeover: Changeover,
}

impl Vectors {
    /// Creates the service. `previous` is the former embedding model.
    pub(crate) fn new(
        core: Arc<RuntimeCore>,
        shared_self: Arc<SharedSelf>,
        previous: Option<Arc<dyn Embedder>>,
    ) -> Arc<Self> {
        Arc::new(Self { core, shared_self, changeover: Changeover::new(previous) })
    }

    /// The model for searching the scope: the former one while vectors of the new one are missing.
    pub(crate) fn embedder_of(&self, scope: &Scope) -> Option<Arc<dyn Embedder>> {
        self.changeover.serving_model(scope).or_else(|| self.core.parts.embedder.clone())
    }

    /// State of the vectors; `None` without an embedder.
    ///
    /// # Errors
    ///
    /// When the store can't count.
    pub async fn state(&self) -> Result<Option<VectorState>, StoreError> {
        let Some(embedder) = self.core.embedder() else { return Ok(None) };
        let coverage = self.core.store().vector_coverage(embedder.fingerprint()).await?;
        let chunks = match self.shared_self.hub() {
            Some(hub) => match hub.chunk_coverage(embedder.fingerprint()).await {
                Ok(chunks) => chunks,
                Err(HubError::Store(error)) => return Err(error),
                Err(_) => ChunkCoverage::default(),
            },
            None => ChunkCoverage::default(),
        };
        let previous = self.changeover.previous_model();
        Ok(Some(VectorState {
            chunks: chunks.chunks,
            chunks_with_vector: chunks.with_vector,
            model: Some(embedder.fingerprint().to_owned()).filter(|fingerprint| !fingerprint.is_empty()),
            rows: coverage.rows,
            with_vector: coverage.with_vector,
            serving_meanwhile: previous.map(|previous| previous.fingerprint().to_owned()),
            failure: self.changeover.failure(),
        }))
    }

    /// Approximate memory of the vectors, in bytes.
    pub fn index_bytes(&self) -> usize {
        self.core.index().bytes()
    }
}
