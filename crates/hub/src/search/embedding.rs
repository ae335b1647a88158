//! Computes the vectors of memories.

use memory::Scope;
use memory::ports::{Embedder, Embedding};

use super::chunks::text_to_embed;
use crate::api::memories::{Purged, Rebuilt};
use crate::error::HubError;
use crate::ports::{ChunkCoverage, UnembeddedChunk};
use crate::service::{Caller, Hub};

/// Chunks to request at once. They are two batches, so that the second is ready when the first is done.
const PIECES_PER_REQUEST: u32 = 32;
/// Chunks to embed at once. A turn waits for the running batch, and chunks are longer than messages.
const PIECES_AT_ONCE: usize = 16;

impl Hub {
    /// Deletes the vectors of memories. They are computed again when they are needed.
    pub async fn memory_embedding_purge(&self, caller: &Caller) -> Result<Purged, HubError> {
        let purged = self.purge_vectors(&caller.scope).await?;
        Ok(Purged { purged, remaining: 0, message: format!("deleted the vectors of {purged} memories") })
    }

    /// Computes the vectors of memories again.
    pub async fn memory_embedding_rebuild(&self, caller: &Caller) -> Result<Rebuilt, HubError> {
        self.purge_vectors(&caller.scope).await?;
        self.embed_all(&caller.scope).await
    }

    async fn purge_vectors(&self, scope: &Scope) -> Result<u64, HubError> {
        let purged = self.shared_parts().parts.store.purge_chunk_vectors(scope).await?;
        self.drop_vectors(scope);
        Ok(purged)
    }

    /// Drops the vectors of a scope from memory; they are loaded again when needed.
    pub(crate) fn drop_vectors(&self, scope: &Scope) {
        self.shared_parts().vectors.drop_scope(scope);
        self.shared_parts().embedded.drop_scope(scope);
    }

    /// Scopes that have documents.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn scopes_with_documents(&self) -> Result<Vec<Scope>, HubError> {
        Ok(self.shared_parts().parts.store.hub_scopes().await?)
    }

    /// Number of chunks of all scopes that have vectors of this model.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn chunk_coverage(&self, fingerprint: &str) -> Result<ChunkCoverage, HubError> {
        Ok(self.shared_parts().parts.store.chunk_coverage(fingerprint).await?)
    }

    /// True if the embedding model failed in the last 30 seconds, so that no background work asks it.
    pub fn is_embedding_paused(&self) -> bool {
        self.shared_parts().embedded.is_resting(self.now())
    }

    /// Embeds every memory of the scope that has no vector.
    pub async fn embed_all(&self, scope: &Scope) -> Result<Rebuilt, HubError> {
        let store = &self.shared_parts().parts.store;
        if self.shared_parts().parts.embedder.is_none() {
            let total = store.embedded_memories(scope, "").await?.memories;
            let message = "no embedding model is available: memories are found only by words".to_owned();
            return Ok(Rebuilt { rebuilt: 0, failed: 0, total, message });
        }
        while self.embed_batch(scope).await? > 0 {}
        let known = store.embedded_memories(scope, &self.fingerprint()).await?;
        let (rebuilt, total) = (known.embedded, known.memories);
        let message = format!("{rebuilt} of {total} memories have vectors");
        Ok(Rebuilt { rebuilt, failed: total - rebuilt, total, message })
    }

    pub(super) fn fingerprint(&self) -> String {
        let embedder = self.shared_parts().parts.embedder.as_ref();
        embedder.map(|embedder| embedder.fingerprint().to_owned()).unwrap_or_default()
    }

    /// Embeds some of the chunks without vectors, the newest first, and returns their number.
    ///
    /// # Errors
    ///
    /// When the store fails. If the model fails, the result is 0: finished vectors are stored, and the other chunks
    /// are found by words until it works.
    pub async fn embed_batch(&self, scope: &Scope) -> Result<usize, HubError> {
        let Some(embedder) = self.shared_parts().parts.embedder.clone() else { return Ok(0) };
        let store = &self.shared_parts().parts.store;
        let fingerprint = embedder.fingerprint().to_owned();
        let known = self.shared_parts().embedded.get(scope, &fingerprint);
        let revision = store.hub_state(scope).await?.revision;
        if revision == known {
            return Ok(0);
        }
        // After a reset, revisions count from the start again.
        let after = if revision < known { 0 } else { known };
        let waiting = store.unembedded_chunks(scope, &fingerprint, after, PIECES_PER_REQUEST).await?;
        let (embedded, failure) = embed_until_failure(&*embedder, &waiting).await;
        if !waiting.is_empty() && self.shared_parts().embedded.note_outcome(failure.is_some(), self.now()) {
            match &failure {
                Some(error) => tracing::warn!(%error, "vectors could not be computed; memories are found \
                    only by words"),
                None => tracing::info!("vectors are being computed again"),
            }
        }
        let count = embedded.len();
        if count > 0 {
            store.put_chunk_vectors(&fingerprint, embedded).await?;
        }
        if count < waiting.len() {
            return Ok(0);
        }
        if count < PIECES_PER_REQUEST as usize {
            self.shared_parts().embedded.set(scope, &fingerprint, revision);
        }
        Ok(count)
    }
}

/// Vectors of the chunks up to the first failure of the model, and that failure.
async fn embed_until_failure(
    embedder: &dyn Embedder,
    waiting: &[UnembeddedChunk],
) -> (Vec<(i64, Embedding)>, Option<String>) {
    let mut vectors = Vec::with_capacity(waiting.len());
    for some in waiting.chunks(PIECES_AT_ONCE) {
        let texts: Vec<String> = some.iter().map(|piece| text_to_embed(&piece.name, &piece.text)).collect();
        match embedder.embed(&texts).await {
            Ok(embeddings) if embeddings.len() == texts.len() => {
                vectors.extend(some.iter().map(|piece| piece.number).zip(embeddings));
            }
            Ok(_) => return (vectors, Some("the embedding model returned too few vectors".to_owned())),
            Err(error) => return (vectors, Some(error.to_string())),
        }
    }
    (vectors, None)
}
