//! Nodes, entities, the indexes and consolidation in memory.

use memory::nodes::RelationalTag;
use memory::ports::*;

use super::*;

impl FakeStore {
    async fn corpus_size(&self, scope: &Scope, corpus: Corpus) -> Answer<CorpusSize> {
        Ok(CorpusSize { documents: self.data().rows(scope, corpus).count() as u64 })
    }

    async fn filling_edges(&self, scope: &Scope, seqs: &[i64], limit: u32) -> Answer<Vec<FillingEdge>> {
        let data = self.data();
        let touches = |(of, edge): &&(Scope, FillingEdge)| {
            of == scope && (seqs.contains(&edge.thought_seq) || seqs.contains(&edge.event_seq))
        };
        Ok(data.edges.iter().filter(touches).map(|(_, edge)| *edge).take(limit as usize).collect())
    }
}

type Answer<T> = Result<T, StoreError>;

#[async_trait]
impl NodeStore for FakeStore {
    async fn node(&self, _id: NodeId) -> Answer<Option<EvidencedNode>> {
        refused()
    }

    async fn nodes_before(
        &self,
        _scope: &Scope,
        _kinds: &[NodeKind],
        _before: Option<i64>,
        _limit: u32,
    ) -> Answer<Vec<Node>> {
        refused()
    }

    async fn node_page(&self, _scope: &Scope, _query: NodePageQuery) -> Answer<(Vec<Node>, u64)> {
        refused()
    }

    async fn node_origins(&self, _nodes: &[i64]) -> Answer<BTreeMap<i64, NodeOrigin>> {
        refused()
    }

    async fn said_at(&self, _nodes: &[i64]) -> Answer<BTreeMap<i64, Timestamp>> {
        refused()
    }

    async fn rejected(
        &self,
        _scope: &Scope,
        _before: Option<(Timestamp, RejectedId)>,
        _limit: u32,
    ) -> Answer<Vec<RejectedMemory>> {
        refused()
    }

    async fn timeline(
        &self,
        _scope: &Scope,
        _before: Option<Timestamp>,
        _limit: u32,
    ) -> Answer<Vec<(Timestamp, TimelineItem)>> {
        refused()
    }
}

#[async_trait]
impl EntityStore for FakeStore {
    async fn entities_named(&self, scope: &Scope, folded: &[String]) -> Answer<Vec<AliasHit>> {
        let data = self.data();
        let of_scope = data.entities.iter().filter(|(of, _)| of == scope).map(|(_, entity)| entity);
        let hits = of_scope.flat_map(|entity| {
            let names = entity.aliases.iter().map(|alias| fold_name(alias));
            names.filter(|name| folded.contains(name)).map(|folded| AliasHit {
                folded,
                entity: entity.clone(),
                named: entity.id,
            })
        });
        Ok(hits.collect())
    }

    async fn entity_page(
        &self,
        _scope: &Scope,
        _below: Option<EntityPlace>,
        _limit: u32,
    ) -> Answer<Vec<Entity>> {
        refused()
    }

    async fn entities(&self, _scope: &Scope, _limit: u32) -> Answer<Vec<Entity>> {
        refused()
    }

    async fn entity(&self, scope: &Scope, id: EntityId) -> Answer<Option<Entity>> {
        let data = self.data();
        let found = data.entities.iter().find(|(of, entity)| of == scope && entity.id == id);
        Ok(found.map(|(_, entity)| entity.clone()))
    }

    async fn entities_of_nodes(&self, _nodes: &[NodeId]) -> Answer<Vec<(NodeId, EntityId)>> {
        refused()
    }

    async fn entity_mentions(&self, _scope: &Scope, _ids: &[EntityId]) -> Answer<Vec<EntityMentions>> {
        refused()
    }

    async fn entities_in_doubt(
        &self,
        _scope: &Scope,
        _about: Option<&[EntityId]>,
        _limit: u32,
    ) -> Answer<Vec<(Entity, Entity)>> {
        Ok(Vec::new())
    }

    async fn entity_vectors(&self, _scope: &Scope, _fingerprint: &str) -> Answer<Vec<EntityVector>> {
        refused()
    }

    async fn create_entity(
        &self,
        _scope: &Scope,
        _entity: AuthoredEntity,
        _at: Timestamp,
    ) -> Answer<EntityChanged> {
        refused()
    }

    async fn change_entity(
        &self,
        _scope: &Scope,
        _id: EntityId,
        _change: EntityChange,
        _by: ChangedBy,
        _at: Timestamp,
    ) -> Answer<EntityChanged> {
        refused()
    }

    async fn undo_entity_change(&self, _scope: &Scope, _id: EntityId) -> Answer<EntityUndone> {
        refused()
    }

    async fn describe_entity(
        &self,
        _scope: &Scope,
        _id: EntityId,
        _description: &str,
        _at: Timestamp,
    ) -> Answer<Option<Entity>> {
        refused()
    }

    async fn entities_without_vector(
        &self,
        _fingerprint: &str,
        _limit: u32,
    ) -> Answer<Vec<UnembeddedEntity>> {
        refused()
    }

    async fn put_entity_vectors(
        &self,
        _fingerprint: &str,
        _vectors: Vec<(UnembeddedEntity, Embedding)>,
    ) -> Answer<()> {
        refused()
    }
}

#[async_trait]
impl VectorIndexStore for FakeStore {
    async fn last_revision(&self, scope: &Scope, corpus: Corpus, fingerprint: &str) -> Answer<i64> {
        Ok(self.data().vectors(scope, corpus, fingerprint).map(|stored| stored.revision).max().unwrap_or(0))
    }

    async fn newest_vectors(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
        before: Option<i64>,
        limit: u32,
    ) -> Answer<Vec<StoredVector>> {
        let data = self.data();
        let older = |stored: &&StoredVector| before.is_none_or(|before| stored.seq < before);
        let mut found: Vec<&StoredVector> = data.vectors(scope, corpus, fingerprint).filter(older).collect();
        found.sort_unstable_by_key(|stored| std::cmp::Reverse(stored.seq));
        Ok(found.into_iter().take(limit as usize).cloned().collect())
    }

    async fn vectors_after(
        &self,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
        after: i64,
        limit: u32,
    ) -> Answer<Vec<StoredVector>> {
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
    ) -> Answer<Vec<StoredVector>> {
        let data = self.data();
        Ok(data.vectors(scope, corpus, fingerprint).filter(|v| seqs.contains(&v.seq)).cloned().collect())
    }
}

#[async_trait]
impl ConsolidationStore for FakeStore {
    async fn claim_closing_session(&self, _now: Timestamp) -> Answer<Option<Session>> {
        refused()
    }

    async fn release_claims(&self) -> Answer<u32> {
        refused()
    }

    async fn commit_extraction(&self, _commit: ExtractionCommit) -> Answer<CommitOutcome> {
        refused()
    }

    async fn commit_reflection(&self, _commit: ReflectionCommit) -> Answer<CommitOutcome> {
        refused()
    }

    async fn finish_session(&self, _id: SessionId, _at: Timestamp) -> Answer<Option<Session>> {
        refused()
    }

    async fn record_failure(&self, _attempt: FailedAttempt) -> Answer<Option<Session>> {
        refused()
    }

    async fn summarised_sessions(&self, _scope: &Scope, _limit: u32) -> Answer<Vec<Session>> {
        Ok(Vec::new())
    }

    async fn reflections_since(&self, _scope: &Scope, _since: Timestamp) -> Answer<Vec<Timestamp>> {
        refused()
    }

    async fn last_reflection(&self, _scope: &Scope) -> Answer<Option<Timestamp>> {
        refused()
    }

    async fn events_since(&self, _scope: &Scope, _since: Timestamp, _limit: u32) -> Answer<Vec<Node>> {
        refused()
    }

    async fn remembered_of_session(&self, _id: SessionId) -> Answer<Vec<UsedQuote>> {
        refused()
    }
}

#[async_trait]
impl RecallStore for FakeStore {
    async fn phrase_hits(
        &self,
        scope: &Scope,
        corpus: Corpus,
        phrases: &[Phrase],
        limit: u32,
    ) -> Answer<(CorpusSize, Vec<PhraseHits>)> {
        let size = self.corpus_size(scope, corpus).await?;
        Ok((size, self.hits_of(scope, corpus, phrases, limit).await?))
    }

    async fn rows_holding(
        &self,
        scope: &Scope,
        corpus: Corpus,
        wanted: &[RowSelection],
    ) -> Answer<Vec<Vec<i64>>> {
        Ok(self.rows_named(scope, corpus, wanted))
    }

    async fn phrase_counts(
        &self,
        _: &Scope,
        _: Corpus,
        _: &[i64],
        _: &[Phrase],
    ) -> Answer<Vec<PhraseCounts>> {
        refused()
    }

    async fn rows_beginning(&self, _: &Scope, _: Corpus, _: &Phrase, _: u32) -> Answer<Vec<i64>> {
        refused()
    }

    async fn rows_containing(&self, _: &Scope, _: Corpus, _: &str, _: u32) -> Answer<Vec<i64>> {
        refused()
    }

    async fn message_outlines(&self, scope: &Scope, seqs: &[i64]) -> Answer<Vec<MessageOutline>> {
        let outline = |indexed: IndexedMessage| MessageOutline {
            seq: indexed.message.seq,
            token_count: indexed.message.token_count,
            created_at: indexed.message.created_at,
        };
        Ok(self.messages_numbered(scope, seqs).await?.into_iter().map(outline).collect())
    }

    async fn message_span(
        &self,
        scope: &Scope,
        start: Timestamp,
        end: Timestamp,
    ) -> Answer<Option<(i64, i64)>> {
        let data = self.data();
        let within = |m: &&IndexedMessage| {
            m.message.scope == *scope && start <= m.message.created_at && m.message.created_at <= end
        };
        let seqs = || data.messages.iter().filter(within).map(|m| m.message.seq);
        Ok(seqs().min().zip(seqs().max()))
    }

    async fn nodes_numbered(&self, scope: &Scope, seqs: &[i64]) -> Answer<Vec<IndexedNode>> {
        self.nodes_loaded.fetch_add(seqs.len(), std::sync::atomic::Ordering::Relaxed);
        let data = self.data();
        let live = |(of, n): &&(Scope, IndexedNode)| {
            of == scope && n.node.superseded_by.is_none() && seqs.contains(&n.node.seq)
        };
        Ok(data.nodes.iter().filter(live).map(|(_, n)| n.clone()).collect())
    }

    async fn nodes_about(
        &self,
        scope: &Scope,
        kind: NodeKind,
        subjects: &[Subject],
        limit: u32,
    ) -> Answer<Vec<Node>> {
        let data = self.data();
        let about = |(of, n): &&(Scope, IndexedNode)| {
            of == scope && n.node.kind == kind && subjects.contains(&n.node.subject)
        };
        Ok(data.nodes.iter().rev().filter(about).take(limit as usize).map(|(_, n)| n.node.clone()).collect())
    }

    async fn outlines_about(&self, scope: &Scope, wanted: &[NodeQuery]) -> Answer<Vec<Vec<NodeOutline>>> {
        let mut outlines = Vec::with_capacity(wanted.len());
        for NodeQuery { kind, subjects, limit } in wanted {
            let nodes = self.nodes_about(scope, *kind, subjects, *limit).await?;
            outlines.push(nodes.iter().map(NodeOutline::from).collect());
        }
        Ok(outlines)
    }

    async fn identity_events(&self, scope: &Scope, _limit: u32) -> Answer<Vec<i64>> {
        let events = self.nodes_about(scope, NodeKind::Event, &[Subject::User], u32::MAX).await?;
        let bearing = |node: &&Node| node.relational_tags.contains(&RelationalTag::IdentityBearing);
        Ok(events.iter().filter(bearing).map(|node| node.seq).collect())
    }

    async fn nodes_linked_to(&self, scope: &Scope, entities: &[EntityId], limit: u32) -> Answer<Vec<i64>> {
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
    ) -> Answer<Vec<i64>> {
        let data = self.data();
        let meets = |(of, n): &&(Scope, IndexedNode)| {
            let time = n.node.event_time;
            of == scope
                && time.is_some_and(|time| time.start <= end && time.end.unwrap_or(time.start) >= start)
        };
        Ok(data.nodes.iter().filter(meets).map(|(_, n)| n.node.seq).take(limit as usize).collect())
    }

    async fn edges_around(&self, scope: &Scope, seqs: &[i64], reach: EdgeLimits) -> Answer<Vec<FillingEdge>> {
        let (mut seqs, mut edges) = (seqs.to_vec(), Vec::new());
        for _ in 0..reach.rounds {
            edges = self.filling_edges(scope, &seqs, reach.edges_max).await?;
            seqs.extend(edges.iter().flat_map(|edge| [edge.thought_seq, edge.event_seq]));
            seqs.sort_unstable();
            seqs.dedup();
        }
        Ok(edges)
    }

    async fn messages_numbered(&self, scope: &Scope, seqs: &[i64]) -> Answer<Vec<IndexedMessage>> {
        let data = self.data();
        let found =
            data.messages.iter().filter(|m| m.message.scope == *scope && seqs.contains(&m.message.seq));
        Ok(found.cloned().collect())
    }

    async fn neighbours(
        &self,
        scope: &Scope,
        seqs: &[i64],
        before: u32,
        after: u32,
    ) -> Answer<Vec<(i64, Vec<IndexedMessage>)>> {
        let data = self.data();
        let around = |seq: i64| {
            let hit = data.messages.iter().find(|m| m.message.scope == *scope && m.message.seq == seq)?;
            let session = hit.message.session_id;
            let session: Vec<_> = data.messages.iter().filter(|m| m.message.session_id == session).collect();
            let at = session.iter().position(|m| m.message.seq == seq)?;
            let range = at.saturating_sub(before as usize)..session.len().min(at + 1 + after as usize);
            Some((seq, session[range].iter().map(|&m| m.clone()).collect()))
        };
        Ok(seqs.iter().filter_map(|&seq| around(seq)).collect())
    }

    async fn count_node_recalls(&self, _ids: &[NodeId], _at: Timestamp) -> Answer<()> {
        refused()
    }
}
