//! Nodes, their words, vectors and edges.

use super::*;

#[async_trait]
impl NodeStore for FakeStore {
    async fn corpus_size(&self, scope: &Scope, corpus: Corpus) -> Result<CorpusSize, StoreError> {
        Ok(CorpusSize { documents: self.data().rows(scope, corpus).count() as u64 })
    }
    async fn phrase_hits(
        &self,
        scope: &Scope,
        corpus: Corpus,
        phrases: &[Phrase],
        limit: u32,
    ) -> Result<Vec<PhraseHits>, StoreError> {
        let data = self.data();
        let of_phrase = |phrase: &Phrase| {
            let wanted = format!(" {} ", phrase.0.join(" "));
            let rows = data.rows(scope, corpus);
            let mut seqs: Vec<i64> = rows
                .filter(|(_, terms)| format!(" {terms} ").contains(&wanted))
                .map(|(seq, _)| seq)
                .collect();
            seqs.sort_unstable_by(|a, b| b.cmp(a));
            let document_frequency = seqs.len() as u64;
            seqs.truncate(limit as usize);
            PhraseHits { document_frequency, seqs }
        };
        Ok(phrases.iter().map(of_phrase).collect())
    }
    async fn nodes_numbered(&self, scope: &Scope, seqs: &[i64]) -> Result<Vec<IndexedNode>, StoreError> {
        self.nodes_loaded.fetch_add(seqs.len(), std::sync::atomic::Ordering::Relaxed);
        let data = self.data();
        let live = |(of, n): &&(Scope, IndexedNode)| {
            of == scope && n.node.superseded_by.is_none() && seqs.contains(&n.node.seq)
        };
        Ok(data.nodes.iter().filter(live).map(|(_, n)| n.clone()).collect())
    }
    async fn node(&self, _id: NodeId) -> Result<Option<EvidencedNode>, StoreError> {
        refused()
    }
    async fn nodes_before(
        &self,
        _scope: &Scope,
        _kinds: &[NodeKind],
        _before: Option<i64>,
        _limit: u32,
    ) -> Result<Vec<Node>, StoreError> {
        refused()
    }
    async fn events_since(
        &self,
        _scope: &Scope,
        _since: Timestamp,
        _limit: u32,
    ) -> Result<Vec<Node>, StoreError> {
        refused()
    }
    async fn nodes_about(
        &self,
        scope: &Scope,
        kind: NodeKind,
        subjects: &[Subject],
        limit: u32,
    ) -> Result<Vec<Node>, StoreError> {
        let data = self.data();
        let about = |(of, n): &&(Scope, IndexedNode)| {
            of == scope && n.node.kind == kind && subjects.contains(&n.node.subject)
        };
        Ok(data.nodes.iter().rev().filter(about).take(limit as usize).map(|(_, n)| n.node.clone()).collect())
    }
    async fn nodes_linked_to(
        &self,
        scope: &Scope,
        entities: &[EntityId],
        limit: u32,
    ) -> Result<Vec<i64>, StoreError> {
        let data = self.data();
        let linked = data.links.iter().filter(|(of, _, entity)| of == scope && entities.contains(entity));
        Ok(linked.map(|(_, seq, _)| *seq).take(limit as usize).collect())
    }
    async fn nodes_within(
        &self,
        scope: &Scope,
        start: Timestamp,
        end: Timestamp,
        limit: u32,
    ) -> Result<Vec<i64>, StoreError> {
        let data = self.data();
        let meets = |(of, n): &&(Scope, IndexedNode)| {
            let time = n.node.event_time;
            of == scope
                && time.is_some_and(|time| time.start <= end && time.end.unwrap_or(time.start) >= start)
        };
        Ok(data.nodes.iter().filter(meets).map(|(_, n)| n.node.seq).take(limit as usize).collect())
    }
    async fn filling_edges(
        &self,
        scope: &Scope,
        seqs: &[i64],
        limit: u32,
    ) -> Result<Vec<FillingEdge>, StoreError> {
        let data = self.data();
        let touches = |(of, edge): &&(Scope, FillingEdge)| {
            of == scope && (seqs.contains(&edge.thought_seq) || seqs.contains(&edge.event_seq))
        };
        Ok(data.edges.iter().filter(touches).map(|(_, edge)| *edge).take(limit as usize).collect())
    }
    async fn vectors_after(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
        after: i64,
        limit: u32,
    ) -> Result<Vec<StoredVector>, StoreError> {
        let data = self.data();
        let mut found: Vec<StoredVector> = data
            .vectors(scope, corpus, fingerprint)
            .filter(|stored| stored.revision > after)
            .take(limit as usize)
            .cloned()
            .collect();
        found.sort_unstable_by_key(|stored| stored.revision);
        Ok(found)
    }
    async fn vectors_numbered(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
        seqs: &[i64],
    ) -> Result<Vec<StoredVector>, StoreError> {
        let data = self.data();
        Ok(data.vectors(scope, corpus, fingerprint).filter(|v| seqs.contains(&v.seq)).cloned().collect())
    }
    async fn touch_nodes(&self, _ids: &[NodeId], _at: Timestamp) -> Result<(), StoreError> {
        refused()
    }
    async fn nodes_without_vector(&self, _fingerprint: &str, _limit: u32) -> Result<Vec<Node>, StoreError> {
        refused()
    }
    async fn put_node_vectors(
        &self,
        _fingerprint: &str,
        _vectors: Vec<(NodeId, Embedding)>,
    ) -> Result<(), StoreError> {
        refused()
    }
    async fn rejected(&self, _scope: &Scope, _limit: u32) -> Result<Vec<RejectedMemory>, StoreError> {
        refused()
    }
    async fn timeline(
        &self,
        _scope: &Scope,
        _before: Option<Timestamp>,
        _limit: u32,
    ) -> Result<Vec<(Timestamp, TimelineItem)>, StoreError> {
        refused()
    }
}

#[async_trait]
impl RecallStore for FakeStore {
    async fn last_revision(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
    ) -> Result<i64, StoreError> {
        Ok(self.data().vectors(scope, corpus, fingerprint).map(|stored| stored.revision).max().unwrap_or(0))
    }
    async fn newest_vectors(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<StoredVector>, StoreError> {
        let data = self.data();
        let older = |stored: &&StoredVector| before.is_none_or(|before| stored.seq < before);
        let mut found: Vec<&StoredVector> = data.vectors(scope, corpus, fingerprint).filter(older).collect();
        found.sort_unstable_by_key(|stored| std::cmp::Reverse(stored.seq));
        Ok(found.into_iter().take(limit as usize).cloned().collect())
    }
}
