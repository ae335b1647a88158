//! A home in a temporary SQLite file, filled as the program fills one: by captured messages and by extractions.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use jiff::Timestamp;
use jiff::civil::Date;
use memory::entities::{EntityKind, fold_name};
use memory::identifiers::{EntityId, MessageId, NodeId, SessionId};
use memory::messages::{Message, Role};
use memory::nodes::{Evidence, NewNode, Node, NodeKind, Subject};
use memory::ports::{
    CaptureStore, ConsolidationStore, Corpus, CorrectionStore, Embedding, EmbeddingStore, ExtractionCommit,
    NewEntity, NewMessage, NodeStore, PersonaStore, SessionStore, UserStore,
};
use memory::sessions::{CloseTrigger, SessionPolicy};
use memory::text::{estimate_tokens, index_terms};
use memory::{PersonaId, Scope, UserId};
use store::{HomeStore, StoreOptions};
use tempfile::TempDir;
use uuid::Uuid;

/// The model of the vectors.
pub(crate) const FINGERPRINT: &str = "test model";

/// A message that nothing finds. Each node has one as its evidence.
const EVIDENCE: &str = "·";

/// Rows are numbered in the order in which they are added.
pub(crate) struct Home {
    pub(crate) store: HomeStore,
    ids: AtomicU64,
    scopes: Mutex<HashSet<Scope>>,
    ids_by_seq: Mutex<HashMap<(Corpus, i64), Uuid>>,
    _folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let store = HomeStore::open(&folder.path().join("home.db"), StoreOptions::default()).unwrap();
        Self {
            store,
            ids: AtomicU64::new(1),
            scopes: Mutex::default(),
            ids_by_seq: Mutex::default(),
            _folder: folder,
        }
    }

    /// One home for all cases of a property, each in scopes of its own: creating the tables takes longer than most cases.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: LazyLock<Home> = LazyLock::new(Home::new);
        &SHARED
    }

    /// The scope of a user who has nothing in this home yet.
    pub(crate) fn new_scope(&self) -> Scope {
        scope(&format!("user-{}", self.new_id().simple()))
    }

    /// Adds a message of the user or the persona to the session with this number, whatever its time.
    pub(crate) fn add_message(
        &self,
        scope: &Scope,
        session: u128,
        role: Role,
        text: &str,
        at: Timestamp,
    ) -> i64 {
        let channel = format!("session {session}");
        run(async {
            self.ensure(scope).await;
            self.capture(self.new_message(scope, &channel, role, text, at)).await.seq
        })
    }

    /// Adds messages of the user on one channel, where half an hour of silence begins another session.
    pub(crate) fn add_user_messages(&self, scope: &Scope, messages: &[(Timestamp, &str)]) -> Vec<i64> {
        run(async {
            self.ensure(scope).await;
            let new = |(at, text): &(Timestamp, &str)| self.new_message(scope, "web", Role::User, text, *at);
            let stored = join_all(messages.iter().map(new).map(|message| self.capture(message))).await;
            stored.into_iter().map(|message| message.seq).collect()
        })
    }

    /// Adds a node whose other fields are empty.
    pub(crate) fn add_node(&self, scope: &Scope, kind: NodeKind, text: &str, at: Timestamp) -> i64 {
        self.add(scope, Node { kind, description: text.to_owned(), created_at: at, ..blank_node() })
    }

    /// Adds this node with a new number and id.
    pub(crate) fn add(&self, scope: &Scope, node: Node) -> i64 {
        self.add_nodes(scope, vec![node], &[])[0]
    }

    /// Adds nodes that were written together, at the time of the first; each cites these events.
    pub(crate) fn add_nodes(&self, scope: &Scope, nodes: Vec<Node>, cited: &[i64]) -> Vec<i64> {
        let at = nodes[0].created_at;
        let cited: Vec<NodeId> = cited.iter().map(|&seq| NodeId(self.id_of(Corpus::Nodes, seq))).collect();
        let new = |node: &Node| NewNode {
            id: NodeId(self.new_id()),
            terms: index_terms(&node.description),
            filling: cited.clone(),
            ..NewNode::from_node(node)
        };
        let new: Vec<NewNode> = nodes.iter().map(new).collect();
        let ids: Vec<NodeId> = new.iter().map(|node| node.id).collect();
        run(async {
            self.extract(scope, at, |commit| commit.nodes = new).await;
            let mut seqs = Vec::with_capacity(ids.len());
            for (id, node) in ids.into_iter().zip(nodes) {
                if node.pinned {
                    self.store.pin_node(id, true).await.unwrap();
                }
                let seq = self.store.node(id).await.unwrap().unwrap().node.seq;
                self.ids_by_seq().insert((Corpus::Nodes, seq), id.0);
                seqs.push(seq);
            }
            seqs
        })
    }

    /// Adds an entity with its names, the first of which is the canonical one, and links it to nodes.
    pub(crate) fn add_entity(&self, scope: &Scope, names: &[&str], nodes: &[i64]) {
        let id = EntityId(self.new_id());
        let aliases = names.iter().map(|&name| (id, name.to_owned(), fold_name(name))).collect();
        let links = nodes.iter().map(|&seq| (NodeId(self.id_of(Corpus::Nodes, seq)), id)).collect();
        let entity = NewEntity::settled(id, names[0], EntityKind::Other);
        run(self.extract(scope, Timestamp::UNIX_EPOCH, |commit| {
            commit.entities = vec![entity];
            (commit.aliases, commit.links) = (aliases, links);
        }));
    }

    /// Writes a row's vector and replaces an older one.
    pub(crate) fn put_vector(&self, corpus: Corpus, seq: i64, vector: &[f32], readability: f32) {
        let id = self.id_of(corpus, seq);
        let embedding = Embedding { vector: vector.to_vec(), readability };
        let written = match corpus {
            Corpus::Nodes => run(self.store.put_node_vectors(FINGERPRINT, vec![(NodeId(id), embedding)])),
            Corpus::Messages => {
                run(self.store.put_message_vectors(FINGERPRINT, vec![(MessageId(id), embedding)]))
            }
        };
        written.unwrap();
    }

    /// Commits what one extraction found, in a session of its own.
    async fn extract(&self, scope: &Scope, at: Timestamp, fill: impl FnOnce(&mut ExtractionCommit)) {
        self.ensure(scope).await;
        let channel = format!("extraction {}", self.new_id());
        let evidence = self.capture(self.new_message(scope, &channel, Role::User, EVIDENCE, at)).await;
        let session = evidence.session_id;
        self.store.end_session(session, CloseTrigger::Explicit).await.unwrap();
        let claimed = self.store.claim_closing_session(at).await.unwrap().unwrap();
        assert_eq!(claimed.id, session);
        let mut commit = ExtractionCommit::empty(session, scope.clone(), at);
        fill(&mut commit);
        for node in &mut commit.nodes {
            let quote = EVIDENCE.to_owned();
            node.evidence = vec![Evidence { message_id: evidence.id, quote, start: 0, end: 1 }];
        }
        self.store.commit_extraction(commit).await.unwrap();
    }

    /// Adds the persona and the user, which messages need, if they are new.
    async fn ensure(&self, scope: &Scope) {
        let is_new = self.scopes.lock().unwrap_or_else(PoisonError::into_inner).insert(scope.clone());
        if is_new {
            self.store.ensure_persona(&scope.persona, "Echo", Timestamp::UNIX_EPOCH).await.unwrap();
            self.store.ensure_user(&scope.user, Timestamp::UNIX_EPOCH).await.unwrap();
        }
    }

    async fn capture(&self, message: NewMessage) -> Message {
        let idle = if message.channel_id == "web" { SessionPolicy::default().idle } else { Duration::MAX };
        let policy = SessionPolicy { idle, ..SessionPolicy::default() };
        let message = self.store.capture(message, policy, None).await.unwrap().message;
        self.ids_by_seq().insert((Corpus::Messages, message.seq), message.id.0);
        message
    }

    fn new_message(
        &self,
        scope: &Scope,
        channel: &str,
        role: Role,
        text: &str,
        created_at: Timestamp,
    ) -> NewMessage {
        NewMessage {
            id: MessageId(self.new_id()),
            session_id_if_new: SessionId(self.new_id()),
            scope: scope.clone(),
            channel_id: channel.to_owned(),
            turn_id: None,
            role,
            speaker: None,
            content: text.to_owned(),
            token_count: estimate_tokens(text),
            terms: index_terms(text),
            day: Date::constant(2024, 1, 1),
            created_at,
            incomplete: false,
            external_ref: None,
            channel_write: None,
        }
    }

    fn new_id(&self) -> Uuid {
        Uuid::from_u128(self.ids.fetch_add(1, Ordering::Relaxed).into())
    }

    fn id_of(&self, corpus: Corpus, seq: i64) -> Uuid {
        self.ids_by_seq()[&(corpus, seq)]
    }

    fn ids_by_seq(&self) -> MutexGuard<'_, HashMap<(Corpus, i64), Uuid>> {
        self.ids_by_seq.lock().unwrap_or_else(PoisonError::into_inner)
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

pub(crate) fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
