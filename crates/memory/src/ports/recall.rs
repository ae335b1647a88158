//! What recall asks on its way, many questions in one read. A storage that can't join them answers with the single ones.

use async_trait::async_trait;
use jiff::Timestamp;

use super::edge_walk::{EdgeReach, EdgeWalk};
use super::store::{Corpus, CorpusSize, FillingEdge, NodeStore, PhraseHits, StoreError, StoredVector};
use crate::nodes::{EventTime, Node, NodeKind, RelationalTag, Subject};
use crate::scope::Scope;
use crate::text::Phrase;

/// Which nodes of one kind are asked for by whom they are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeQuery {
    /// The kind.
    pub kind: NodeKind,
    /// The subjects.
    pub subjects: Vec<Subject>,
    /// At most this many.
    pub limit: u32,
}

/// As much of a node as decides whether the rest of it is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeOutline {
    /// Its number.
    pub seq: i64,
    /// Whether a person wants it always shown.
    pub pinned: bool,
    /// −10 to +10.
    pub emotional_impact: i8,
    /// When it happened or is due.
    pub event_time: Option<EventTime>,
    /// When it was written.
    pub created_at: Timestamp,
}

impl From<&Node> for NodeOutline {
    fn from(node: &Node) -> Self {
        Self {
            seq: node.seq,
            pinned: node.pinned,
            emotional_impact: node.emotional_impact,
            event_time: node.event_time,
            created_at: node.created_at,
        }
    }
}

/// Large reads on the hot path.
#[async_trait]
pub trait RecallStore: NodeStore {
    /// [`NodeStore::corpus_size`] and [`NodeStore::phrase_hits`] in one read.
    async fn look_phrases_up(
        &self,
        scope: &Scope,
        corpus: Corpus,
        phrases: &[Phrase],
        limit: u32,
    ) -> Result<(CorpusSize, Vec<PhraseHits>), StoreError> {
        let size = self.corpus_size(scope, corpus).await?;
        Ok((size, self.phrase_hits(scope, corpus, phrases, limit).await?))
    }
    /// [`NodeStore::nodes_about`] for each of these in one read, in order, as outlines.
    async fn outlines_about(
        &self,
        scope: &Scope,
        wanted: &[NodeQuery],
    ) -> Result<Vec<Vec<NodeOutline>>, StoreError> {
        let mut outlines = Vec::with_capacity(wanted.len());
        for NodeQuery { kind, subjects, limit } in wanted {
            let nodes = self.nodes_about(scope, *kind, subjects, *limit).await?;
            outlines.push(nodes.iter().map(NodeOutline::from).collect());
        }
        Ok(outlines)
    }

    /// Numbers of live, current events about the user that are identity-bearing, at most `limit` of the newest and as many
    /// of the oldest, each once, in no order. A storage answers it at any length of the past alike.
    async fn identity_events(&self, scope: &Scope, limit: u32) -> Result<Vec<i64>, StoreError> {
        let events = self.nodes_about(scope, NodeKind::Event, &[Subject::User], u32::MAX).await?;
        let bearing = |node: &&Node| node.relational_tags.contains(&RelationalTag::IdentityBearing);
        let mut seqs: Vec<i64> = events.iter().filter(bearing).map(|node| node.seq).collect();
        seqs.sort_unstable();
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        if seqs.len() > limit.saturating_mul(2) {
            seqs.drain(limit..seqs.len() - limit);
        }
        Ok(seqs)
    }
    /// Live edges around the nodes, as [`EdgeWalk`] follows them, in one read; each once, by its thought, then its event.
    async fn edges_around(
        &self,
        scope: &Scope,
        seqs: &[i64],
        reach: EdgeReach,
    ) -> Result<Vec<FillingEdge>, StoreError> {
        let mut walk = EdgeWalk::new(seqs, reach);
        while let Some(frontier) = walk.next_round() {
            walk.found(self.filling_edges(scope, &frontier, reach.edges_max).await?);
        }
        Ok(walk.into_edges())
    }
    /// The greatest revision of a vector of this scope, corpus and fingerprint; 0 without one.
    async fn last_revision(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
    ) -> Result<i64, StoreError>;
    /// Vectors of live rows, the newest rows (not revisions) first, at most `limit`; with `before`, only of rows with
    /// smaller numbers. How an index of the newest is filled without reading the whole past.
    async fn newest_vectors(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<StoredVector>, StoreError>;
}
