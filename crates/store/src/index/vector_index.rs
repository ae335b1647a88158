//! The source of the in-memory vector index.

use std::sync::Arc;

use crate::home_store::HomeStore;
use crate::index::vectors;
use async_trait::async_trait;
use memory::Scope;
use memory::ports::{Corpus, StoreError, StoredVector, VectorIndexStore};
#[async_trait]
impl VectorIndexStore for HomeStore {
    async fn last_revision(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
    ) -> Result<i64, StoreError> {
        let (models, fingerprint) = (Arc::clone(&self.model_numbers), fingerprint.to_owned());
        self.read_scope(scope, move |connection, scope| {
            let Some(model) = models.number(connection, &fingerprint)? else { return Ok(0) };
            Ok(vectors::last_revision(connection, corpus, scope, model)?)
        })
        .await
    }

    async fn newest_vectors(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<StoredVector>, StoreError> {
        let (models, fingerprint) = (Arc::clone(&self.model_numbers), fingerprint.to_owned());
        self.read_scope(scope, move |connection, scope| {
            let Some(model) = models.number(connection, &fingerprint)? else { return Ok(Vec::new()) };
            Ok(vectors::newest_vectors(connection, corpus, scope, model, before, limit)?)
        })
        .await
    }

    async fn vectors_after(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
        after: i64,
        limit: u32,
    ) -> Result<Vec<StoredVector>, StoreError> {
        let (models, fingerprint) = (Arc::clone(&self.model_numbers), fingerprint.to_owned());
        self.read_scope(scope, move |connection, scope| {
            let Some(model) = models.number(connection, &fingerprint)? else { return Ok(Vec::new()) };
            Ok(vectors::vectors_after(connection, corpus, scope, model, after, limit)?)
        })
        .await
    }

    async fn vectors_numbered(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
        seqs: &[i64],
    ) -> Result<Vec<StoredVector>, StoreError> {
        let (models, fingerprint, seqs) =
            (Arc::clone(&self.model_numbers), fingerprint.to_owned(), seqs.to_vec());
        self.read_scope(scope, move |connection, scope| {
            let Some(model) = models.number(connection, &fingerprint)? else { return Ok(Vec::new()) };
            Ok(vectors::vectors_by_number(connection, corpus, scope, model, &seqs)?)
        })
        .await
    }
}
