//! L3 and L4: the questions that recall, consolidation and people ask about nodes.

pub(crate) mod new_nodes;
pub(crate) mod node_queries;
pub(crate) mod timeline;

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::{EntityId, NodeId};
use memory::nodes::{Node, NodeKind, RejectedMemory, Subject};
use memory::ports::{
    Corpus, CorpusSize, Embedding, EvidencedNode, FillingEdge, IndexedNode, NodeQuery, NodeStore, Phrase,
    PhraseHits, StoreError, StoredVector, TimelineItem,
};
use rusqlite::{OptionalExtension, Result, params};

use crate::engine::SqliteStore;
use crate::index::{vectors, words};
use crate::rows::{self, microseconds, node_columns};
use crate::scopes;

#[async_trait]
impl NodeStore for SqliteStore {
    async fn corpus_size(&self, scope: &Scope, corpus: Corpus) -> Result<CorpusSize, StoreError> {
        self.read_scope(scope, move |connection, scope| Ok(scopes::size(connection, scope, corpus)?)).await
    }

    async fn phrase_hits(
        &self,
        scope: &Scope,
        corpus: Corpus,
        phrases: &[Phrase],
        limit: u32,
    ) -> Result<Vec<PhraseHits>, StoreError> {
        let (scope, phrases) = (scope.clone(), phrases.to_vec());
        let frequencies = Arc::clone(&self.frequencies);
        self.read(move |connection| {
            let counting = frequencies.now();
            let Some(scope) = scopes::number(connection, &scope)? else {
                return Ok(vec![words::nowhere(); phrases.len()]);
            };
            Ok(words::look_up(connection, corpus, scope, &phrases, limit, &counting)?)
        })
        .await
    }

    async fn nodes_numbered(&self, scope: &Scope, seqs: &[i64]) -> Result<Vec<IndexedNode>, StoreError> {
        let seqs = seqs.to_vec();
        self.read_scope(scope, move |connection, scope| Ok(node_queries::numbered(connection, scope, &seqs)?))
            .await
    }

    async fn node(&self, id: NodeId) -> Result<Option<EvidencedNode>, StoreError> {
        self.read(move |connection| Ok(node_queries::by_id(connection, id)?)).await
    }

    async fn nodes_before(
        &self,
        scope: &Scope,
        kinds: &[NodeKind],
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Node>, StoreError> {
        let kinds: BTreeSet<NodeKind> = kinds.iter().copied().collect();
        self.read_scope(scope, move |connection, scope| {
            Ok(node_queries::before_number(connection, scope, &kinds, before, limit)?)
        })
        .await
    }

    async fn events_since(
        &self,
        scope: &Scope,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<Node>, StoreError> {
        self.read_scope(scope, move |connection, scope| {
            Ok(node_queries::events_since(connection, scope, since, limit)?)
        })
        .await
    }

    async fn nodes_about(
        &self,
        scope: &Scope,
        kind: NodeKind,
        subjects: &[Subject],
        limit: u32,
    ) -> Result<Vec<Node>, StoreError> {
        let wanted = NodeQuery { kind, subjects: subjects.to_vec(), limit };
        self.read_scope(scope, move |connection, scope| Ok(node_queries::about(connection, scope, &wanted)?))
            .await
    }

    async fn nodes_linked_to(
        &self,
        scope: &Scope,
        entities: &[EntityId],
        limit: u32,
    ) -> Result<Vec<i64>, StoreError> {
        let entities = entities.to_vec();
        self.read_scope(scope, move |connection, scope| {
            Ok(node_queries::linked_to(connection, scope, &entities, limit)?)
        })
        .await
    }

    async fn nodes_within(
        &self,
        scope: &Scope,
        start: Timestamp,
        end: Timestamp,
        limit: u32,
    ) -> Result<Vec<i64>, StoreError> {
        self.read_scope(scope, move |connection, scope| {
            Ok(node_queries::within(connection, scope, start, end, limit)?)
        })
        .await
    }

    async fn filling_edges(
        &self,
        scope: &Scope,
        seqs: &[i64],
        limit: u32,
    ) -> Result<Vec<FillingEdge>, StoreError> {
        let seqs = seqs.to_vec();
        self.read_scope(scope, move |connection, scope| {
            Ok(node_queries::filling_edges(connection, scope, &seqs, limit)?)
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
        let fingerprint = fingerprint.to_owned();
        self.read_scope(scope, move |connection, scope| {
            let Some(model) = vectors::model(connection, &fingerprint)? else { return Ok(Vec::new()) };
            Ok(vectors::after(connection, corpus, scope, model, after, limit)?)
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
        let (fingerprint, seqs) = (fingerprint.to_owned(), seqs.to_vec());
        self.read_scope(scope, move |connection, scope| {
            let Some(model) = vectors::model(connection, &fingerprint)? else { return Ok(Vec::new()) };
            Ok(vectors::numbered(connection, corpus, scope, model, &seqs)?)
        })
        .await
    }

    async fn touch_nodes(&self, ids: &[NodeId], at: Timestamp) -> Result<(), StoreError> {
        let ids = ids.to_vec();
        self.write(move |unit| {
            let mut statement = unit.connection.prepare_cached(
                "UPDATE concept_nodes SET access_count = access_count + 1, last_accessed_at = ?2 WHERE id = ?1",
            )?;
            for id in &ids {
                statement.execute(params![id.0.into_bytes(), microseconds(at)])?;
            }
            Ok(())
        })
        .await
    }

    async fn nodes_without_vector(&self, fingerprint: &str, limit: u32) -> Result<Vec<Node>, StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(concat!(
                "SELECT ",
                node_columns!(),
                " FROM concept_nodes n WHERE n.seq = ?1"
            ))?;
            let seqs = vectors::missing(connection, Corpus::Nodes, &fingerprint, limit)?;
            let nodes = seqs.into_iter().map(|seq| statement.query_row([seq], rows::node));
            Ok(nodes.collect::<Result<_>>()?)
        })
        .await
    }

    async fn put_node_vectors(
        &self,
        fingerprint: &str,
        embeddings: Vec<(NodeId, Embedding)>,
    ) -> Result<(), StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.write(move |unit| {
            let model = vectors::model_or_new(unit.connection, &fingerprint)?;
            let mut statement =
                unit.connection.prepare_cached("SELECT seq FROM concept_nodes WHERE id = ?1")?;
            for (id, embedding) in &embeddings {
                let seq: Option<i64> =
                    statement.query_row([id.0.into_bytes()], |row| row.get(0)).optional()?;
                if let Some(seq) = seq {
                    vectors::put(unit.connection, Corpus::Nodes, seq, model, embedding)?;
                }
            }
            Ok(())
        })
        .await
    }

    async fn rejected(&self, scope: &Scope, limit: u32) -> Result<Vec<RejectedMemory>, StoreError> {
        self.read_scope(scope, move |connection, scope| {
            let mut statement = connection.prepare_cached(
                "SELECT id, session_id, description, emotional_impact, evidence, reason, created_at, proposal
                 FROM rejected_memories WHERE scope = ?1 AND settled_at IS NULL
                 ORDER BY created_at DESC, id DESC LIMIT ?2",
            )?;
            let rejected = statement.query_map(params![scope, limit], rows::rejected_memory)?;
            Ok(rejected.collect::<Result<_>>()?)
        })
        .await
    }

    async fn timeline(
        &self,
        scope: &Scope,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<(Timestamp, TimelineItem)>, StoreError> {
        self.read_scope(scope, move |connection, scope| {
            Ok(timeline::timeline(connection, scope, before, limit)?)
        })
        .await
    }
}
