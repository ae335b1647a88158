//! What recall asks on its way, each in one snapshot.

use std::sync::Arc;

use async_trait::async_trait;
use memory::Scope;
use memory::ports::{
    Corpus, CorpusSize, EdgeReach, EdgeWalk, FillingEdge, NodeOutline, NodeQuery, Phrase, PhraseHits,
    RecallStore, StoreError, StoredVector,
};
use rusqlite::Result;

use crate::engine::SqliteStore;
use crate::index::{vectors, words};
use crate::nodes::node_queries;
use crate::scopes;

#[async_trait]
impl RecallStore for SqliteStore {
    async fn look_phrases_up(
        &self,
        scope: &Scope,
        corpus: Corpus,
        phrases: &[Phrase],
        limit: u32,
    ) -> Result<(CorpusSize, Vec<PhraseHits>), StoreError> {
        let (scope, phrases) = (scope.clone(), phrases.to_vec());
        let frequencies = Arc::clone(&self.frequencies);
        self.read(move |connection| {
            let counting = frequencies.now();
            let Some(scope) = scopes::number(connection, &scope)? else {
                return Ok((CorpusSize::default(), vec![words::nowhere(); phrases.len()]));
            };
            let hits = words::look_up(connection, corpus, scope, &phrases, limit, &counting)?;
            Ok((scopes::size(connection, scope, corpus)?, hits))
        })
        .await
    }

    async fn outlines_about(
        &self,
        scope: &Scope,
        wanted: &[NodeQuery],
    ) -> Result<Vec<Vec<NodeOutline>>, StoreError> {
        let (scope, wanted) = (scope.clone(), wanted.to_vec());
        self.read(move |connection| {
            let Some(scope) = scopes::number(connection, &scope)? else {
                return Ok(vec![Vec::new(); wanted.len()]);
            };
            let outlines = wanted.iter().map(|about| node_queries::outlines(connection, scope, about));
            Ok(outlines.collect::<Result<_>>()?)
        })
        .await
    }

    async fn identity_events(&self, scope: &Scope, limit: u32) -> Result<Vec<i64>, StoreError> {
        self.read_scope(scope, move |connection, scope| {
            Ok(node_queries::identity_events(connection, scope, limit)?)
        })
        .await
    }

    async fn edges_around(
        &self,
        scope: &Scope,
        seqs: &[i64],
        reach: EdgeReach,
    ) -> Result<Vec<FillingEdge>, StoreError> {
        let mut walk = EdgeWalk::new(seqs, reach);
        self.read_scope(scope, move |connection, scope| {
            while let Some(frontier) = walk.next_round() {
                walk.found(node_queries::filling_edges(connection, scope, &frontier, reach.edges_max)?);
            }
            Ok(walk.into_edges())
        })
        .await
    }

    async fn last_revision(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
    ) -> Result<i64, StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.read_scope(scope, move |connection, scope| {
            let Some(model) = vectors::model(connection, &fingerprint)? else { return Ok(0) };
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
        let fingerprint = fingerprint.to_owned();
        self.read_scope(scope, move |connection, scope| {
            let Some(model) = vectors::model(connection, &fingerprint)? else { return Ok(Vec::new()) };
            Ok(vectors::newest(connection, corpus, scope, model, before, limit)?)
        })
        .await
    }
}
