//! The queries of recall, each in one snapshot.

mod edge_walk;
mod search;

use async_trait::async_trait;
use futures_util::try_join;
use jiff::Timestamp;
use memory::Scope;
use memory::identifiers::{EntityId, NodeId};
use memory::nodes::{Node, NodeKind, Subject};
use memory::ports::{
    Corpus, CorpusSize, EdgeLimits, FillingEdge, IndexedMessage, IndexedNode, MessageOutline, NodeOutline,
    NodeQuery, Phrase, PhraseCounter, PhraseCounts, PhraseHits, RecallStore, RowSelection, SpanMessages,
    StoreError,
};

use crate::engine::sql::{Result, params};
use crate::home_store::HomeStore;
use crate::index::words::{self, RowsOfPhrase};
use crate::messages;
use crate::nodes::node_queries;
use crate::recall::edge_walk::EdgeWalk;
use crate::rows::{microseconds, to_json};

impl HomeStore {
    async fn look_up(
        &self,
        scope: &Scope,
        corpus: Corpus,
        phrases: &[Phrase],
        rows: RowsOfPhrase,
    ) -> Result<(CorpusSize, Vec<PhraseHits>), StoreError> {
        let phrases = phrases.to_vec();
        let nothing = (CorpusSize::default(), vec![words::no_hits(); phrases.len()]);
        let counting = self.frequencies.now();
        self.read_scope_or(scope, nothing, move |connection, scope| {
            Ok(words::look_up(connection, corpus, scope, &phrases, rows, &counting)?)
        })
        .await
    }
}

#[async_trait]
impl RecallStore for HomeStore {
    async fn phrase_hits(
        &self,
        scope: &Scope,
        corpus: Corpus,
        phrases: &[Phrase],
        limit: u32,
    ) -> Result<(CorpusSize, Vec<PhraseHits>), StoreError> {
        self.look_up(scope, corpus, phrases, RowsOfPhrase { newest: limit, all_up_to: 0 }).await
    }

    async fn phrase_rows(
        &self,
        scope: &Scope,
        corpus: Corpus,
        phrases: &[Phrase],
        limit: u32,
        all_up_to: u32,
    ) -> Result<(CorpusSize, Vec<PhraseHits>), StoreError> {
        let rows = RowsOfPhrase { newest: limit, all_up_to };
        if !self.is_on_server() || phrases.len() < 2 {
            return self.look_up(scope, corpus, phrases, rows).await;
        }
        // A server searches one phrase after another on a connection, and two at the same time on two.
        let (first, second) = phrases.split_at(phrases.len() / 2);
        let ((size, mut hits), (_, others)) =
            try_join!(self.look_up(scope, corpus, first, rows), self.look_up(scope, corpus, second, rows))?;
        hits.extend(others);
        Ok((size, hits))
    }

    async fn rows_holding(
        &self,
        scope: &Scope,
        corpus: Corpus,
        wanted: &[RowSelection],
    ) -> Result<Vec<Vec<i64>>, StoreError> {
        let (nothing, wanted) = (vec![Vec::new(); wanted.len()], wanted.to_vec());
        self.read_scope_or(scope, nothing, move |connection, scope| {
            Ok(words::rows_holding(connection, corpus, scope, &wanted)?)
        })
        .await
    }

    async fn phrase_counts(
        &self,
        scope: &Scope,
        corpus: Corpus,
        seqs: &[i64],
        phrases: &[Phrase],
    ) -> Result<Vec<PhraseCounts>, StoreError> {
        let (seqs, counters) = (seqs.to_vec(), phrases.iter().map(PhraseCounter::new).collect::<Vec<_>>());
        self.read_scope(scope, move |connection, scope| {
            Ok(search::phrase_counts(connection, scope, corpus, &seqs, &counters)?)
        })
        .await
    }

    async fn rows_beginning(
        &self,
        scope: &Scope,
        corpus: Corpus,
        phrase: &Phrase,
        limit: u32,
    ) -> Result<Vec<i64>, StoreError> {
        let phrase = phrase.clone();
        self.read_scope(scope, move |connection, scope| {
            Ok(words::rows_beginning(connection, corpus, scope, &phrase, limit)?)
        })
        .await
    }

    async fn rows_containing(
        &self,
        scope: &Scope,
        corpus: Corpus,
        folded: &str,
        rows: u32,
    ) -> Result<Vec<i64>, StoreError> {
        let folded = folded.to_owned();
        self.read_scope(scope, move |connection, scope| {
            Ok(search::rows_containing(connection, scope, corpus, &folded, rows)?)
        })
        .await
    }

    async fn message_outlines(&self, scope: &Scope, seqs: &[i64]) -> Result<Vec<MessageOutline>, StoreError> {
        let seqs = seqs.to_vec();
        self.read_scope_statement(scope, move |connection, scope| {
            Ok(messages::outlines::outlines_by_number(connection, scope, &seqs)?)
        })
        .await
    }

    async fn messages_within(
        &self,
        scope: &Scope,
        start: Timestamp,
        end: Timestamp,
        limit: u32,
    ) -> Result<SpanMessages, StoreError> {
        self.read_scope_or(scope, SpanMessages::All(Vec::new()), move |connection, scope| {
            Ok(messages::outlines::messages_within(connection, scope, start, end, limit)?)
        })
        .await
    }

    async fn nodes_numbered(&self, scope: &Scope, seqs: &[i64]) -> Result<Vec<IndexedNode>, StoreError> {
        let seqs = seqs.to_vec();
        self.read_scope(scope, move |connection, scope| {
            Ok(node_queries::nodes_by_number(connection, scope, &seqs)?)
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
        self.read_scope(scope, move |connection, scope| {
            Ok(node_queries::nodes_about(connection, scope, &wanted)?)
        })
        .await
    }

    async fn outlines_about(
        &self,
        scope: &Scope,
        wanted: &[NodeQuery],
    ) -> Result<Vec<Vec<NodeOutline>>, StoreError> {
        let (nothing, wanted) = (vec![Vec::new(); wanted.len()], wanted.to_vec());
        self.read_scope_or(scope, nothing, move |connection, scope| {
            Ok(node_queries::outlines(connection, scope, &wanted)?)
        })
        .await
    }

    async fn identity_events(&self, scope: &Scope, limit: u32) -> Result<Vec<i64>, StoreError> {
        self.read_scope(scope, move |connection, scope| {
            Ok(node_queries::identity_events(connection, scope, limit)?)
        })
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
            Ok(node_queries::numbers_linked_to_entities(connection, scope, &entities, limit)?)
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
            Ok(node_queries::nodes_within(connection, scope, start, end, limit)?)
        })
        .await
    }

    async fn edges_around(
        &self,
        scope: &Scope,
        seqs: &[i64],
        reach: EdgeLimits,
    ) -> Result<Vec<FillingEdge>, StoreError> {
        let mut walk = EdgeWalk::new(seqs, reach);
        self.read_scope(scope, move |connection, scope| {
            while let Some(frontier) = walk.next_round() {
                walk.follow_edges(node_queries::filling_edges(
                    connection,
                    scope,
                    &frontier,
                    reach.edges_max,
                )?);
            }
            Ok(walk.into_edges())
        })
        .await
    }

    async fn messages_numbered(
        &self,
        scope: &Scope,
        seqs: &[i64],
    ) -> Result<Vec<IndexedMessage>, StoreError> {
        let seqs = seqs.to_vec();
        self.read_scope_statement(scope, move |connection, scope| {
            Ok(messages::messages_by_number(connection, scope, &seqs)?)
        })
        .await
    }

    async fn neighbours(
        &self,
        scope: &Scope,
        seqs: &[i64],
        before: u32,
        after: u32,
    ) -> Result<Vec<(i64, Vec<IndexedMessage>)>, StoreError> {
        let seqs = seqs.to_vec();
        self.read_scope(scope, move |connection, scope| {
            Ok(messages::neighbours(connection, scope, &seqs, before, after)?)
        })
        .await
    }

    async fn count_node_recalls(&self, ids: &[NodeId], at: Timestamp) -> Result<(), StoreError> {
        let ids: Vec<String> = ids.iter().map(|id| id.0.simple().to_string()).collect();
        self.write_deferred(move |unit| {
            let mut statement = unit.connection.prepare_cached(
                "UPDATE concept_nodes SET access_count = access_count + 1, last_accessed_at = ?2
                 WHERE id IN (SELECT unhex(atom) FROM json_each(?1))",
            )?;
            statement.send(params![to_json(&ids)?, microseconds(at)])?;
            Ok(())
        })
        .await
    }
}
