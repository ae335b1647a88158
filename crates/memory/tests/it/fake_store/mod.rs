//! An in-memory store with the methods that recall uses; the others fail.

mod forgetting;
mod people;
mod ports;
mod words;
mod talk;
mod thinking;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::civil::Date;
use memory::core_blocks::{CoreBlockLabel, CoreBlocks};
use memory::corrections::{
    Approval, Correction, NodeVersion, PendingRejection, ReplacedQuery, ReplacedValues, UndoneChange,
};
use memory::entities::{
    ChangedBy, Entity, EntityChange, EntityChanged, EntityKind, EntityUndone, MergeStatus, fold_name,
};
use memory::forget::{ThoughtPolicy, Withdrawal};
use memory::identifiers::{EntityId, MessageId, NodeId, RejectedId, SessionId, TurnId};
use memory::ledger::{CallSum, ModelCall, ReplyReceipt};
use memory::messages::{Message, Role, Turn};
use memory::mood::{Mood, MoodShift};
use memory::nodes::{NewNode, Node, NodeKind, RejectedMemory, Subject};
use memory::ports::{Corpus, FillingEdge, IndexedMessage, IndexedNode, StoreError, StoredVector};
use memory::sessions::{CloseTrigger, Session, SessionPolicy};
use memory::text::index_terms;
use memory::{PersonaId, Scope, UserId};
use uuid::Uuid;

/// The model of the fake's vectors.
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

/// A store in memory. Rows are numbered in the order in which they were added.
#[derive(Default)]
pub(crate) struct FakeStore {
    data: Mutex<Data>,
    /// Number of nodes that were fetched by number.
    pub(crate) nodes_loaded: std::sync::atomic::AtomicUsize,
}

impl FakeStore {
    fn data(&self) -> MutexGuard<'_, Data> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a node of the given kind; its other fields are empty.
    pub(crate) fn add_node(&self, scope: &Scope, kind: NodeKind, text: &str, at: Timestamp) -> i64 {
        self.add(scope, Node { kind, description: text.to_owned(), created_at: at, ..blank_node() })
    }

    /// Adds this node with a new number and id.
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
            speaker: None,
            model: None,
            content: text.to_owned(),
            token_count: memory::text::estimate_tokens(text),
            day: Date::constant(2024, 1, 1),
            created_at: at,
            incomplete: false,
        };
        data.messages.push(IndexedMessage { message, terms: index_terms(text), readability: None });
        seq
    }

    /// Writes a row's vector and replaces an older one.
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

    /// Writes the first vectors of many rows, in this order.
    pub(crate) fn put_vectors(
        &self,
        scope: &Scope,
        corpus: Corpus,
        seqs: impl Iterator<Item = i64>,
        vector: &[f32],
    ) {
        let mut data = self.data();
        for seq in seqs {
            let revision = data.number();
            let stored = StoredVector { seq, revision, vector: vector.to_vec(), readability: 1.0 };
            data.vectors.push((scope.clone(), corpus, stored));
        }
    }

    /// Removes a row and its vector.
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

/// A node without content.
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

/// The scope of a user of one persona.
pub(crate) fn scope(user: &str) -> Scope {
    Scope::new(PersonaId::new("echo").unwrap(), UserId::new(user).unwrap())
}

/// Runs a future that never waits.
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
