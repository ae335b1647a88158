//! Vectors of chunks in memory, for recently searched scopes.

use std::collections::HashMap;
use std::sync::Arc;

use memory::Scope;
use memory::ports::StoreError;
use memory::vector_index::Matrix;
use parking_lot::{Mutex, RwLock};

use crate::ports::HubStore;

/// Maximum memory for all scopes together, in bytes: about 150,000 chunks. The least recently searched scope is
/// dropped first. A scope above the limit stays while it is the last one searched.
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// Vectors per page. A page is 3 MB; other reads run between two pages.
const VECTORS_AT_ONCE: u32 = 2_000;

/// The vectors of one scope by one model.
#[derive(Debug, Default)]
struct ScopeVectors {
    matrix: Matrix,
    /// Number of the newest stored vector that is in the cache.
    stored: i64,
}

/// A cached scope, with the time of its last use.
#[derive(Debug, Default)]
struct CacheEntry {
    held: Arc<RwLock<ScopeVectors>>,
    used: u64,
}

#[derive(Debug, Default)]
struct VectorCache {
    by_scope: HashMap<(Scope, String), CacheEntry>,
    uses: u64,
}

/// Cached vectors by scope and model, loaded from the store when needed.
#[derive(Debug, Default)]
pub(crate) struct ChunkVectorCache {
    /// Not locked while vectors are loaded. Each scope has its own lock for that, so that a large one delays no
    /// other.
    cache: Mutex<VectorCache>,
}

impl ChunkVectorCache {
    /// Numbers of the chunks nearest to any of the queries. Some may have been deleted since.
    pub(super) async fn nearest(
        &self,
        store: &dyn HubStore,
        scope: &Scope,
        fingerprint: &str,
        queries: &[&[f32]],
        wanted: usize,
    ) -> Result<Vec<i64>, StoreError> {
        let held = self.vectors_of_scope(scope, fingerprint);
        loop {
            let after = held.read().stored;
            let vectors = store.chunk_vectors(scope, fingerprint, after, VECTORS_AT_ONCE).await?;
            let is_last = vectors.len() < VECTORS_AT_ONCE as usize;
            if !vectors.is_empty() {
                let mut held = held.write();
                for vector in vectors {
                    held.matrix.insert(vector.piece, &vector.vector);
                    held.stored = held.stored.max(vector.stored);
                }
            }
            if is_last {
                break;
            }
        }
        self.evict_until_fits((scope.clone(), fingerprint.to_owned()));
        let held = held.read();
        Ok(held.matrix.nearest_to_each(queries, wanted).concat())
    }

    pub(super) fn remove(&self, scope: &Scope, fingerprint: &str, pieces: impl Iterator<Item = i64>) {
        let held = self.vectors_of_scope(scope, fingerprint);
        let mut held = held.write();
        pieces.for_each(|piece| held.matrix.remove(piece));
    }

    pub(crate) fn clear(&self) {
        self.cache.lock().by_scope.clear();
    }

    pub(crate) fn drop_scope(&self, scope: &Scope) {
        self.cache.lock().by_scope.retain(|(held, _), _| held != scope);
    }

    fn vectors_of_scope(&self, scope: &Scope, fingerprint: &str) -> Arc<RwLock<ScopeVectors>> {
        let mut cache = self.cache.lock();
        cache.uses += 1;
        let now = cache.uses;
        let entry = cache.by_scope.entry((scope.clone(), fingerprint.to_owned())).or_default();
        entry.used = now;
        entry.held.clone()
    }

    fn evict_until_fits(&self, kept: (Scope, String)) {
        let mut cache = self.cache.lock();
        let bytes = |entry: &CacheEntry| entry.held.read().matrix.bytes();
        while cache.by_scope.values().map(bytes).sum::<usize>() > BYTES_MAX {
            let others = cache.by_scope.iter().filter(|(key, _)| **key != kept);
            let oldest = others.min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { return };
            cache.by_scope.remove(&oldest);
        }
    }
}
