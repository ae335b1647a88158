//! The stage of every test: one persona, two users, simulated time and deterministic identifiers.

use std::time::Duration;

use jiff::civil::date;
use jiff::{SignedDuration, Timestamp};
use memory::identifiers::{EntityId, MessageId, NodeId, ReflectionId, SessionId, TurnId};
use memory::ledger::{ReplyReceipt, TokenUsage};
use memory::messages::{Message, Role};
use memory::nodes::{Evidence, NewNode, NodeKind, Subject};
use memory::ports::{
    CapturedMessage, Embedding, ExtractionCommit, IdGenerator, NewMessage, Phrase, ReflectionCommit, Store,
    StoreError,
};
use memory::sessions::{CloseTrigger, Session, SessionPolicy};
use memory::{PersonaId, Scope, UserId};
use uuid::Uuid;

use crate::SequentialIds;

/// The model of the nodes' vectors.
pub(super) const MODEL: &str = "word-hash-3";

pub(super) struct Stage<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) scope: Scope,
    pub(super) other: Scope,
    pub(super) policy: SessionPolicy,
    ids: SequentialIds,
}

/// A time of the story, in seconds after its start.
pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 20_000) + SignedDuration::from_secs(seconds)
}

pub(super) fn phrase(terms: &str) -> Phrase {
    Phrase(terms.split(' ').map(str::to_owned).collect())
}

pub(super) fn embedding(components: [f32; 3]) -> Embedding {
    Embedding { vector: components.to_vec(), readability: 0.75 }
}

impl<'a> Stage<'a> {
    /// Creates the persona `luna` and the users `ann` and `bob`.
    pub(super) async fn set(store: &'a dyn Store) -> Result<Stage<'a>, Box<dyn std::error::Error>> {
        let (persona, ann, bob) = (PersonaId::new("luna")?, UserId::new("ann")?, UserId::new("bob")?);
        store.ensure_persona(&persona, "Luna", at(0)).await?;
        store.ensure_user(&ann, at(0)).await?;
        store.ensure_user(&bob, at(0)).await?;
        Ok(Self {
            store,
            scope: Scope::new(persona.clone(), ann),
            other: Scope::new(persona, bob),
            policy: SessionPolicy { idle: Duration::from_secs(1_800), max_messages: 200, max_tokens: 20_000 },
            ids: SequentialIds::new(7),
        })
    }

    pub(super) fn id(&self) -> Uuid {
        self.ids.next(at(0))
    }

    /// A message of the user on the channel `web`; its terms are its words.
    pub(super) fn user_line(&self, content: &str, seconds: i64) -> NewMessage {
        NewMessage {
            id: MessageId(self.id()),
            session_id_if_new: SessionId(self.id()),
            scope: self.scope.clone(),
            channel_id: "web".to_owned(),
            turn_id: None,
            role: Role::User,
            speaker: None,
            content: content.to_owned(),
            token_count: 10,
            terms: content.to_owned(),
            day: date(2024, 10, 4),
            created_at: at(seconds),
            incomplete: false,
            external_ref: None,
            channel_write: None,
        }
    }

    /// A message of the persona.
    pub(super) fn reply(&self, content: &str, seconds: i64) -> NewMessage {
        NewMessage { role: Role::Persona, ..self.user_line(content, seconds) }
    }

    pub(super) async fn capture(&self, line: NewMessage) -> Result<CapturedMessage, StoreError> {
        self.store.capture(line, self.policy, None).await
    }

    pub(super) async fn say(&self, content: &str, seconds: i64) -> Result<Message, StoreError> {
        Ok(self.capture(self.user_line(content, seconds)).await?.message)
    }

    /// A message of the user, in a session that is claimed for consolidation.
    pub(super) async fn claimed_session(
        &self,
        content: &str,
        seconds: i64,
    ) -> Result<(Message, Session), Box<dyn std::error::Error>> {
        self.claim_session_of(self.user_line(content, seconds)).await
    }

    pub(super) async fn claim_session_of(
        &self,
        line: NewMessage,
    ) -> Result<(Message, Session), Box<dyn std::error::Error>> {
        let now = line.created_at;
        let message = self.capture(line).await?.message;
        self.store.end_session(message.session_id, CloseTrigger::Explicit).await?;
        let session = self.store.claim_closing_session(now).await?.ok_or("nothing could be claimed")?;
        Ok((message, session))
    }

    /// An event that quotes a whole message; its terms are its words.
    pub(super) fn event(&self, description: &str, message: &Message) -> NewNode {
        NewNode { evidence: vec![quote_all(message)], ..self.new_node(NodeKind::Event, description) }
    }

    /// A thought that cites events.
    pub(super) fn thought(&self, description: &str, events: &[NodeId]) -> NewNode {
        NewNode { filling: events.to_vec(), ..self.new_node(NodeKind::Thought, description) }
    }

    fn new_node(&self, kind: NodeKind, description: &str) -> NewNode {
        NewNode {
            id: NodeId(self.id()),
            kind,
            description: description.to_owned(),
            emotional_impact: 3,
            emotion_tags: Vec::new(),
            relational_tags: Vec::new(),
            subject: Subject::User,
            event_time: None,
            evidence: Vec::new(),
            filling: Vec::new(),
            terms: description.to_owned(),
            embedding: Some(embedding([1.0, 0.0, 0.0])),
        }
    }

    pub(super) fn extraction(
        &self,
        session: &Session,
        seconds: i64,
        nodes: Vec<NewNode>,
    ) -> ExtractionCommit {
        ExtractionCommit {
            nodes,
            fingerprint: Some(MODEL.to_owned()),
            ..ExtractionCommit::empty(session.id, session.scope.clone(), at(seconds))
        }
    }

    pub(super) fn reflection(
        &self,
        session: &Session,
        seconds: i64,
        thoughts: Vec<NewNode>,
    ) -> ReflectionCommit {
        ReflectionCommit {
            session_id: session.id,
            scope: session.scope.clone(),
            id: ReflectionId(self.id()),
            at: at(seconds),
            thoughts,
            fingerprint: Some(MODEL.to_owned()),
        }
    }

    /// Stores one event, from a session of its own.
    pub(super) async fn remember(
        &self,
        description: &str,
        seconds: i64,
    ) -> Result<NewNode, Box<dyn std::error::Error>> {
        let (message, session) = self.claimed_session(description, seconds).await?;
        let event = self.event(description, &message);
        self.store.commit_extraction(self.extraction(&session, seconds, vec![event.clone()])).await?;
        self.store.finish_session(session.id, at(seconds)).await?;
        Ok(event)
    }

    pub(super) async fn seq(&self, id: NodeId) -> Result<i64, Box<dyn std::error::Error>> {
        Ok(self.store.node(id).await?.ok_or("the node is not there")?.node.seq)
    }

    pub(super) fn entity_id(&self) -> EntityId {
        EntityId(self.id())
    }

    pub(super) fn turn_id(&self) -> TurnId {
        TurnId(self.id())
    }
}

/// A quote of a whole message.
pub(super) fn quote_all(message: &Message) -> Evidence {
    let end = u32::try_from(message.content.chars().count()).unwrap_or(u32::MAX);
    Evidence { message_id: message.id, quote: message.content.clone(), start: 0, end }
}

pub(super) fn receipt(turn_id: TurnId, seconds: i64) -> ReplyReceipt {
    ReplyReceipt {
        turn_id,
        created_at: at(seconds),
        model: "model".to_owned(),
        usage: TokenUsage { input_tokens: 100, output_tokens: 20, cached_tokens: 0 },
        prompt_hash: "digest".to_owned(),
        used: Vec::new(),
        documents: Vec::new(),
        conversation: 2,
        pinned: Vec::new(),
        cut: vec!["passages".to_owned()],
        held_back: Vec::new(),
    }
}
