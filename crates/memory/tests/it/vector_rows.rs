//! Stored vectors without a database: the only port that the vector index reads.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use memory::Scope;
use memory::ports::{Corpus, StoreError, StoredVector, VectorIndexStore};

use crate::home::FINGERPRINT;

/// Tests choose the numbers of the rows, which a database assigns itself.
#[derive(Default)]
pub(crate) struct VectorRows(Mutex<Data>);

#[derive(Default)]
struct Data {
    last_revision: i64,
    rows: Vec<(Scope, Corpus, StoredVector)>,
}

impl Data {
    fn push(&mut self, scope: &Scope, corpus: Corpus, seq: i64, vector: &[f32], readability: f32) {
        self.last_revision += 1;
        let stored = StoredVector { seq, revision: self.last_revision, vector: vector.to_vec(), readability };
        self.rows.push((scope.clone(), corpus, stored));
    }
}

impl VectorRows {
    fn data(&self) -> MutexGuard<'_, Data> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a row's vector and replaces an older one.
    pub(crate) fn put(&self, scope: &Scope, corpus: Corpus, seq: i64, vector: &[f32], readability: f32) {
        let mut data = self.data();
        data.rows.retain(|(_, of, stored)| *of != corpus || stored.seq != seq);
        data.push(scope, corpus, seq, vector, readability);
    }

    /// Writes the first vectors of these rows, in this order.
    pub(crate) fn put_each(&self, scope: &Scope, seqs: impl Iterator<Item = i64>, vector: &[f32]) {
        let mut data = self.data();
        seqs.for_each(|seq| data.push(scope, Corpus::Messages, seq, vector, 1.0));
    }

    pub(crate) fn delete(&self, seq: i64) {
        self.data().rows.retain(|(_, _, stored)| stored.seq != seq);
    }

    fn select(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
        is_wanted: impl Fn(&StoredVector) -> bool,
    ) -> Vec<StoredVector> {
        let data = self.data();
        let of_scope =
            data.rows.iter().filter(|row| fingerprint == FINGERPRINT && (&row.0, row.1) == (scope, corpus));
        of_scope.map(|(_, _, stored)| stored).filter(|stored| is_wanted(stored)).cloned().collect()
    }
}

#[async_trait]
impl VectorIndexStore for VectorRows {
    async fn last_revision(&self, scope: &Scope, corpus: Corpus, model: &str) -> Result<i64, StoreError> {
        Ok(self.select(scope, corpus, model, |_| true).last().map_or(0, |stored| stored.revision))
    }

    async fn newest_vectors(
        &self,
        scope: &Scope,
        corpus: Corpus,
        model: &str,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<StoredVector>, StoreError> {
        let is_older = |stored: &StoredVector| before.is_none_or(|before| stored.seq < before);
        let mut found = self.select(scope, corpus, model, is_older);
        found.sort_unstable_by_key(|stored| std::cmp::Reverse(stored.seq));
        found.truncate(limit as usize);
        Ok(found)
    }

    async fn vectors_after(
        &self,
        scope: &Scope,
        corpus: Corpus,
        model: &str,
        after: i64,
        limit: u32,
    ) -> Result<Vec<StoredVector>, StoreError> {
        let mut found = self.select(scope, corpus, model, |stored| stored.revision > after);
        found.truncate(limit as usize);
        Ok(found)
    }

    async fn vectors_numbered(
        &self,
        scope: &Scope,
        corpus: Corpus,
        model: &str,
        seqs: &[i64],
    ) -> Result<Vec<StoredVector>, StoreError> {
        Ok(self.select(scope, corpus, model, |stored| seqs.contains(&stored.seq)))
    }
}
