//! Consolidation without loops: a real store and a mock model with scripted answers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::tz::TimeZone;
use memory::Scope;
use memory::capture::{MessageInput, Recorder};
use memory::consolidate::{ConsolidateSettings, ConsolidationEvent, Consolidator, Participants};
use memory::entities::{Entity, EntityKind};
use memory::messages::Role;
use memory::nodes::{Node, NodeKind, RejectedMemory, Subject};
use memory::ports::{
    Clock, Embedder, EntityStore, Extraction, ExtractionInput, MentionedEntity, Mind, NodeStore,
    PersonaStore, ProposedEvent, ProposedQuote, ProposedThought, Reflection, SessionFilter, SessionStore,
    SlowCycle, StoreError, UserStore,
};
use memory::recall::{RecallRequest, RecallSettings, recall};
use memory::sessions::{CloseTrigger, Session, SessionPolicy};
use memory::vector_index::VectorIndex;
use store::{HomeStore, StoreOptions};
use tempfile::TempDir;
use testkit::{FixedMind, SequentialIds, SimulatedClock};

use crate::world::{scope, start};

pub(crate) struct Workshop {
    pub(crate) clock: SimulatedClock,
    pub(crate) store: Arc<HomeStore>,
    pub(crate) mind: FixedMind,
    pub(crate) settings: ConsolidateSettings,
    pub(crate) scope: Scope,
    pub(crate) formed: Arc<Mutex<Vec<ConsolidationEvent>>>,
    embedder: Option<Arc<dyn Embedder>>,
    index: VectorIndex,
    ids: SequentialIds,
    recall: RecallSettings,
    _folder: TempDir,
}

impl Workshop {
    /// Word search only, and a model without thoughts.
    pub(crate) async fn new() -> Self {
        Self::with(None).await
    }

    pub(crate) async fn with(embedder: Option<Arc<dyn Embedder>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store =
            Arc::new(HomeStore::open(&folder.path().join("home.db"), StoreOptions::default()).unwrap());
        let scope = scope("ann");
        store.ensure_persona(&scope.persona, "Echo", start()).await.unwrap();
        store.ensure_user(&scope.user, start()).await.unwrap();
        let mind = FixedMind::new();
        mind.reflect_with(|_| Ok(Reflection::default()));
        mind.think_with(|_| Ok(SlowCycle::default()));
        Self {
            clock: SimulatedClock::new(start()),
            store,
            mind,
            settings: ConsolidateSettings::default(),
            scope,
            formed: Arc::default(),
            embedder,
            index: VectorIndex::default(),
            ids: SequentialIds::new(1),
            recall: RecallSettings::default(),
            _folder: folder,
        }
    }

    /// An ended session with these messages.
    pub(crate) async fn session(&self, lines: &[(Role, &str)]) -> Session {
        let mut id = None;
        for (role, text) in lines {
            let line = MessageInput {
                id: None,
                scope: self.scope.clone(),
                channel_id: "web".to_owned(),
                turn_id: None,
                role: *role,
                content: (*text).to_owned(),
                incomplete: false,
                external_ref: None,
                channel_write: None,
            };
            let recorder = Recorder {
                store: &*self.store,
                clock: &self.clock,
                ids: &self.ids,
                policy: SessionPolicy::default(),
            };
            let captured = recorder.capture(line, &TimeZone::UTC, None).await.unwrap();
            id = Some(captured.message.session_id);
        }
        self.store.end_session(id.unwrap(), CloseTrigger::Explicit).await.unwrap().unwrap()
    }

    /// A session in which the user sends one message.
    pub(crate) async fn said(&self, text: &str) -> Session {
        self.session(&[(Role::User, text), (Role::Persona, "嗯")]).await
    }

    /// Consolidates one session as far as possible; returns whether there was one.
    pub(crate) async fn consolidate_one(&self) -> Result<bool, StoreError> {
        self.consolidate_with(&self.mind).await
    }

    pub(crate) async fn consolidate_with(&self, mind: &dyn Mind) -> Result<bool, StoreError> {
        let formed = |formed: ConsolidationEvent| self.formed.lock().unwrap().push(formed);
        let consolidator = Consolidator {
            store: &*self.store,
            mind,
            embedder: self.embedder.as_deref(),
            index: &self.index,
            clock: &self.clock,
            ids: &self.ids,
            settings: &self.settings,
            recall: &self.recall,
            formed: &formed,
        };
        let parties = |_| async { Ok(Participants { persona_name: "Echo".to_owned(), zone: TimeZone::UTC }) };
        consolidator.consolidate_next(parties).await
    }

    /// Consolidates every waiting session as far as possible.
    pub(crate) async fn consolidate(&self) {
        while self.consolidate_one().await.unwrap() {}
    }

    /// A session of one message from which the model extracts one event that quotes all of it.
    pub(crate) async fn remember(&self, text: &str, impact: i8) -> Node {
        self.said(text).await;
        let quoted = text.to_owned();
        self.mind.extract_with(move |input| {
            Ok(Extraction { events: vec![event(input, &quoted, &quoted, impact)], ..Extraction::default() })
        });
        self.consolidate().await;
        self.nodes(NodeKind::Event).await.pop().unwrap()
    }

    pub(crate) async fn nodes(&self, kind: NodeKind) -> Vec<Node> {
        let mut nodes = self.store.nodes_before(&self.scope, &[kind], None, 1_000).await.unwrap();
        nodes.reverse();
        nodes
    }

    pub(crate) async fn rejected(&self) -> Vec<RejectedMemory> {
        let mut rejected = self.store.rejected(&self.scope, None, 1_000).await.unwrap();
        rejected.reverse();
        rejected
    }

    pub(crate) async fn entities(&self) -> Vec<Entity> {
        let mut entities = self.store.entities(&self.scope, 1_000).await.unwrap();
        entities.sort_by_key(|entity| entity.id);
        entities
    }

    pub(crate) async fn now_stands(&self, session: &Session) -> Session {
        self.store.session(session.id).await.unwrap().unwrap()
    }

    pub(crate) async fn sessions(&self) -> Vec<Session> {
        let filter = SessionFilter { limit: 1_000, ..SessionFilter::default() };
        let mut sessions = self.store.sessions(filter).await.unwrap();
        sessions.reverse();
        sessions
    }

    pub(crate) fn clock_now(&self) -> jiff::Timestamp {
        memory::ports::Clock::now(&self.clock)
    }

    /// The nodes that a recall for a text returns, best first.
    pub(crate) async fn recalled(&self, text: &str) -> Vec<String> {
        let request = RecallRequest {
            scope: self.scope.clone(),
            text: text.to_owned(),
            now: self.clock.now(),
            zone: TimeZone::UTC,
            window: Vec::new(),
        };
        let embedder = self.embedder.as_deref();
        let recalled = recall(&*self.store, &self.index, embedder, &self.recall, request).await.unwrap();
        recalled.nodes.into_iter().map(|scored| scored.node.description).collect()
    }

    pub(crate) async fn pass(&self, duration: Duration) {
        self.clock.advance(duration).await;
    }
}

/// An event about the user that quotes these words of the message that contains them, or else of the first.
pub(crate) fn event(input: &ExtractionInput, description: &str, quote: &str, impact: i8) -> ProposedEvent {
    let holds = input.messages.iter().find(|message| message.content.contains(quote));
    let message = holds.or(input.messages.first()).unwrap();
    ProposedEvent {
        kind: NodeKind::Event,
        description: description.to_owned(),
        emotional_impact: impact,
        emotion_tags: Vec::new(),
        relational_tags: Vec::new(),
        subject: Subject::User,
        event_time: None,
        evidence: vec![ProposedQuote { message_id: message.id, quote: quote.to_owned() }],
        supersedes: Vec::new(),
        entities: Vec::new(),
    }
}

pub(crate) fn entity(name: &str, aliases: &[&str], kind: EntityKind) -> MentionedEntity {
    MentionedEntity {
        canonical_name: name.to_owned(),
        aliases: aliases.iter().map(|&alias| alias.to_owned()).collect(),
        kind,
    }
}

/// One thought that depends on these events.
pub(crate) fn thought(description: &str, events: &[&Node]) -> Reflection {
    let thought = ProposedThought {
        description: description.to_owned(),
        subject: Subject::User,
        emotional_impact: 2,
        filling: events.iter().map(|event| event.id).collect(),
    };
    Reflection { thoughts: vec![thought], notes: Vec::new() }
}
