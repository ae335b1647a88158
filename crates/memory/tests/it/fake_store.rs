//! An in-memory store that answers what recall asks, and refuses the rest.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::civil::Date;
use memory::core_blocks::{CoreBlockLabel, CoreBlocks};
use memory::entities::{Entity, EntityKind, MergeStatus, fold_name};
use memory::identifiers::{EntityId, MessageId, NodeId, RejectedId, SessionId, TurnId};
use memory::ledger::{ModelCall, Receipt};
use memory::messages::{Message, Role, Turn};
use memory::mood::Mood;
use memory::nodes::{NewNode, Node, NodeKind, RejectedMemory, Subject};
use memory::ports::{
    AliasHit, Captured, CommitOutcome, Corpus, CorpusSize, Embedding, EntityStore, Evidential,
    ExtractionCommit, FailedAttempt, FillingEdge, IndexedMessage, IndexedNode, LedgerStore, MessageStore,
    NewMessage, NodeStore, PersonaRecord, PersonaStore, Phrase, PhraseHits, ReflectionCommit, SessionFilter,
    SessionStore, StoreError, StoredVector, TimelineItem, UserRecord,
};
use memory::sessions::{CloseTrigger, Session, SessionPolicy};
use memory::text::index_terms;
use memory::{PersonaId, Scope, UserId};
use uuid::Uuid;

/// The model that the fake's vectors are from.
pub(crate) const FINGERPRINT: &str = "fake";

#[derive(Default)]
struct Data {
    next: i64,
    messages: Vec<IndexedMessage>,
    nodes: Vec<(Scope, IndexedNode)>,
    vectors: Vec<(Scope, Corpus, StoredVector)>,
    edges: Vec<(Scope, FillingEdge)>,
    entities: Vec<(Scope, Entity)>,
    links: Vec<(Scope, i64, EntityId)>,
}

impl Data {
    fn number(&mut self) -> i64 {
        self.next += 1;
        self.next
    }

    fn rows(&self, scope: &Scope, corpus: Corpus) -> Box<dyn Iterator<Item = (i64, &str)> + '_> {
        let scope = scope.clone();
        match corpus {
            Corpus::Messages => Box::new(
                self.messages
                    .iter()
                    .filter(move |m| m.message.scope == scope)
                    .map(|m| (m.message.seq, m.terms.as_str())),
            ),
            Corpus::Nodes => Box::new(
                self.nodes
                    .iter()
                    .filter(move |(of, _)| *of == scope)
                    .map(|(_, n)| (n.node.seq, n.terms.as_str())),
            ),
        }
    }

    fn vectors<'a>(
        &'a self,
        scope: &'a Scope,
        corpus: Corpus,
        fingerprint: &str,
    ) -> impl Iterator<Item = &'a StoredVector> {
        let known = fingerprint == FINGERPRINT;
        self.vectors
            .iter()
            .filter(move |(of, in_corpus, _)| known && of == scope && *in_corpus == corpus)
            .map(|(_, _, stored)| stored)
    }
}

/// A store in memory. What is put in is numbered in the order of its coming.
#[derive(Default)]
pub(crate) struct FakeStore {
    data: Mutex<Data>,
}

impl FakeStore {
    fn data(&self) -> MutexGuard<'_, Data> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a node of the given kind; the rest is as empty as can be.
    pub(crate) fn add_node(&self, scope: &Scope, kind: NodeKind, text: &str, at: Timestamp) -> i64 {
        self.add(scope, Node { kind, description: text.to_owned(), created_at: at, ..blank_node() })
    }

    /// Adds a node as it is, but for its number and its id.
    pub(crate) fn add(&self, scope: &Scope, node: Node) -> i64 {
        let mut data = self.data();
        let seq = data.number();
        let node = Node { seq, id: NodeId(Uuid::from_u128(seq as u128)), ..node };
        let terms = index_terms(&node.description);
        data.nodes.push((scope.clone(), IndexedNode { node, terms, readability: None }));
        seq
    }

    /// Adds a message to a session.
    pub(crate) fn add_message(
        &self,
        scope: &Scope,
        session: u128,
        role: Role,
        text: &str,
        at: Timestamp,
    ) -> i64 {
        let mut data = self.data();
        let seq = data.number();
        let message = Message {
            id: MessageId(Uuid::from_u128(seq as u128)),
            seq,
            scope: scope.clone(),
            session_id: SessionId(Uuid::from_u128(session)),
            turn_id: None,
            channel_id: "web".to_owned(),
            role,
            content: text.to_owned(),
            token_count: memory::text::estimate_tokens(text),
            day: Date::constant(2024, 1, 1),
            created_at: at,
            incomplete: false,
        };
        data.messages.push(IndexedMessage { message, terms: index_terms(text), readability: None });
        seq
    }

    /// Writes a vector of a row, in place of an older one.
    pub(crate) fn put_vector(
        &self,
        scope: &Scope,
        corpus: Corpus,
        seq: i64,
        vector: &[f32],
        readability: f32,
    ) {
        let mut data = self.data();
        let revision = data.number();
        data.vectors.retain(|(_, of, stored)| *of != corpus || stored.seq != seq);
        data.vectors.push((
            scope.clone(),
            corpus,
            StoredVector { seq, revision, vector: vector.to_vec(), readability },
        ));
        let readability = Some(readability);
        match corpus {
            Corpus::Nodes => {
                data.nodes
                    .iter_mut()
                    .filter(|(_, n)| n.node.seq == seq)
                    .for_each(|(_, n)| n.readability = readability);
            }
            Corpus::Messages => {
                data.messages
                    .iter_mut()
                    .filter(|m| m.message.seq == seq)
                    .for_each(|m| m.readability = readability);
            }
        }
    }

    /// Takes a row and its vector away.
    pub(crate) fn delete(&self, corpus: Corpus, seq: i64) {
        let mut data = self.data();
        data.vectors.retain(|(_, of, stored)| *of != corpus || stored.seq != seq);
        match corpus {
            Corpus::Nodes => data.nodes.retain(|(_, n)| n.node.seq != seq),
            Corpus::Messages => data.messages.retain(|m| m.message.seq != seq),
        }
    }

    /// Adds an evidence edge.
    pub(crate) fn add_edge(&self, scope: &Scope, thought_seq: i64, event_seq: i64, created_at: Timestamp) {
        self.data().edges.push((scope.clone(), FillingEdge { thought_seq, event_seq, created_at }));
    }

    /// Adds an entity with its names, the first of which is the canonical one, and links it to nodes.
    pub(crate) fn add_entity(&self, scope: &Scope, names: &[&str], nodes: &[i64]) {
        let mut data = self.data();
        let id = EntityId(Uuid::from_u128(data.number() as u128));
        let entity = Entity {
            id,
            canonical_name: names[0].to_owned(),
            kind: EntityKind::Other,
            description: None,
            owner_override: false,
            merge_status: MergeStatus::Confirmed,
            merge_target: None,
            aliases: names.iter().map(|&name| name.to_owned()).collect(),
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        data.entities.push((scope.clone(), entity));
        data.links.extend(nodes.iter().map(|&seq| (scope.clone(), seq, id)));
    }
}

/// A node with nothing in it.
pub(crate) fn blank_node() -> Node {
    Node {
        id: NodeId(Uuid::nil()),
        seq: 0,
        kind: NodeKind::Event,
        description: String::new(),
        emotional_impact: 0,
        emotion_tags: Vec::new(),
        relational_tags: Vec::new(),
        subject: Subject::User,
        event_time: None,
        source_session_id: None,
        mention_count: 1,
        superseded_by: None,
        pinned: false,
        access_count: 0,
        last_accessed_at: None,
        created_at: Timestamp::UNIX_EPOCH,
    }
}

/// A scope of a user of one persona.
pub(crate) fn scope(user: &str) -> Scope {
    Scope::new(PersonaId::new("echo").unwrap(), UserId::new(user).unwrap())
}

/// Runs a future that never really waits.
pub(crate) fn run<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(output) => output,
        std::task::Poll::Pending => panic!("the fake never waits"),
    }
}

fn refused<T>() -> Result<T, StoreError> {
    Err(StoreError::Failed("recall has no business with this".to_owned()))
}

#[async_trait]
impl PersonaStore for FakeStore {
    async fn ensure_persona(
        &self,
        _id: &PersonaId,
        _name: &str,
        _at: Timestamp,
    ) -> Result<PersonaRecord, StoreError> {
        refused()
    }
    async fn ensure_user(&self, _id: &UserId, _at: Timestamp) -> Result<UserRecord, StoreError> {
        refused()
    }
    async fn personas(&self) -> Result<Vec<PersonaRecord>, StoreError> {
        refused()
    }
    async fn set_user_timezone(&self, _id: &UserId, _timezone: &str) -> Result<(), StoreError> {
        refused()
    }
    async fn rename_persona(&self, _id: &PersonaId, _name: &str) -> Result<(), StoreError> {
        refused()
    }
    async fn core_blocks(&self, _scope: &Scope) -> Result<CoreBlocks, StoreError> {
        refused()
    }
    async fn write_core_block(
        &self,
        _scope: &Scope,
        _label: CoreBlockLabel,
        _text: &str,
        _edited_by: &str,
        _at: Timestamp,
    ) -> Result<(), StoreError> {
        refused()
    }
    async fn mood(&self, _scope: &Scope) -> Result<Option<Mood>, StoreError> {
        refused()
    }
}

#[async_trait]
impl MessageStore for FakeStore {
    async fn capture(
        &self,
        _message: NewMessage,
        _policy: SessionPolicy,
        _receipt: Option<Receipt>,
    ) -> Result<Captured, StoreError> {
        refused()
    }
    async fn fail_turn(&self, _id: TurnId, _reason: &str) -> Result<(), StoreError> {
        refused()
    }
    async fn reopen_turn(&self, _id: TurnId) -> Result<Option<Turn>, StoreError> {
        refused()
    }
    async fn pending_turns(&self) -> Result<Vec<Turn>, StoreError> {
        refused()
    }
    async fn turn(&self, _id: TurnId) -> Result<Option<Turn>, StoreError> {
        refused()
    }
    async fn turn_messages(&self, _id: TurnId) -> Result<Vec<Message>, StoreError> {
        refused()
    }
    async fn messages_before(
        &self,
        _scope: &Scope,
        _before: Option<i64>,
        _limit: u32,
    ) -> Result<Vec<Message>, StoreError> {
        refused()
    }
    async fn session_messages(&self, _id: SessionId) -> Result<Vec<Message>, StoreError> {
        refused()
    }
    async fn message(&self, _id: MessageId) -> Result<Option<Message>, StoreError> {
        refused()
    }
    async fn messages_numbered(
        &self,
        scope: &Scope,
        seqs: &[i64],
    ) -> Result<Vec<IndexedMessage>, StoreError> {
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
    ) -> Result<Vec<(i64, Vec<IndexedMessage>)>, StoreError> {
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
    async fn messages_without_vector(
        &self,
        _fingerprint: &str,
        _limit: u32,
    ) -> Result<Vec<Message>, StoreError> {
        refused()
    }
    async fn put_message_vectors(
        &self,
        _fingerprint: &str,
        _vectors: Vec<(MessageId, Embedding)>,
    ) -> Result<(), StoreError> {
        refused()
    }
}

#[async_trait]
impl SessionStore for FakeStore {
    async fn end_quiet_sessions(
        &self,
        _before: Timestamp,
        _trigger: CloseTrigger,
    ) -> Result<Vec<Session>, StoreError> {
        refused()
    }
    async fn end_session(
        &self,
        _id: SessionId,
        _trigger: CloseTrigger,
    ) -> Result<Option<Session>, StoreError> {
        refused()
    }
    async fn claim_closing_session(&self, _now: Timestamp) -> Result<Option<Session>, StoreError> {
        refused()
    }
    async fn release_claims(&self) -> Result<u32, StoreError> {
        refused()
    }
    async fn commit_extraction(&self, _commit: ExtractionCommit) -> Result<CommitOutcome, StoreError> {
        refused()
    }
    async fn commit_reflection(&self, _commit: ReflectionCommit) -> Result<CommitOutcome, StoreError> {
        refused()
    }
    async fn finish_session(&self, _id: SessionId, _at: Timestamp) -> Result<Option<Session>, StoreError> {
        refused()
    }
    async fn record_failure(&self, _attempt: FailedAttempt) -> Result<Option<Session>, StoreError> {
        refused()
    }
    async fn retry_session(&self, _id: SessionId) -> Result<Option<Session>, StoreError> {
        refused()
    }
    async fn session(&self, _id: SessionId) -> Result<Option<Session>, StoreError> {
        refused()
    }
    async fn sessions(&self, _filter: SessionFilter) -> Result<Vec<Session>, StoreError> {
        refused()
    }
    async fn summarised_sessions(&self, _scope: &Scope, _limit: u32) -> Result<Vec<Session>, StoreError> {
        Ok(Vec::new())
    }
    async fn reflections_since(
        &self,
        _scope: &Scope,
        _since: Timestamp,
    ) -> Result<Vec<Timestamp>, StoreError> {
        refused()
    }
    async fn last_reflection(&self, _scope: &Scope) -> Result<Option<Timestamp>, StoreError> {
        refused()
    }
}

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
        let data = self.data();
        let live = |(of, n): &&(Scope, IndexedNode)| {
            of == scope && n.node.superseded_by.is_none() && seqs.contains(&n.node.seq)
        };
        Ok(data.nodes.iter().filter(live).map(|(_, n)| n.clone()).collect())
    }
    async fn node(&self, _id: NodeId) -> Result<Option<Evidential>, StoreError> {
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
impl EntityStore for FakeStore {
    async fn entities_named(&self, scope: &Scope, folded: &[String]) -> Result<Vec<AliasHit>, StoreError> {
        let data = self.data();
        let of_scope = data.entities.iter().filter(|(of, _)| of == scope).map(|(_, entity)| entity);
        let hits = of_scope.flat_map(|entity| {
            let names = entity.aliases.iter().map(|alias| fold_name(alias));
            names
                .filter(|name| folded.contains(name))
                .map(|folded| AliasHit { folded, entity: entity.clone() })
        });
        Ok(hits.collect())
    }
    async fn entities(&self, _scope: &Scope, _limit: u32) -> Result<Vec<Entity>, StoreError> {
        refused()
    }
    async fn entities_of_nodes(&self, _nodes: &[NodeId]) -> Result<Vec<(NodeId, EntityId)>, StoreError> {
        refused()
    }
}

#[async_trait]
impl LedgerStore for FakeStore {
    async fn record_call(&self, _call: ModelCall) -> Result<(), StoreError> {
        refused()
    }
    async fn receipt(&self, _turn: TurnId) -> Result<Option<Receipt>, StoreError> {
        refused()
    }
    async fn counts(&self, _scope: &Scope) -> Result<[u64; 4], StoreError> {
        refused()
    }
    async fn work_counts(&self) -> Result<[u64; 2], StoreError> {
        refused()
    }
    async fn settle_rejected(
        &self,
        _id: RejectedId,
        _approved: Option<NewNode>,
        _at: Timestamp,
    ) -> Result<CommitOutcome, StoreError> {
        refused()
    }
}
