//! Facts that new memories bring: who is joined with what. A finder draws them, and each depends on the event that tells it.

use async_trait::async_trait;
use jiff::Timestamp;
use memory::Scope;
use memory::entities::EntityKind;
use memory::identifiers::{EntityId, NodeId, SessionId};
use memory::ports::StoreError;
use serde_json::Map;

use super::document_facts::{DocumentFacts, UnreadDocument};
use super::ports::{EdgeEnd, GraphWrite, GraphWritten, NewGraphEdge, NewGraphNode};
use super::service::Graph;

/// Types and labels of the two who talk. They are no entities: what they are called may change.
const USER: (&str, &str) = ("user", "user");
const PERSONA: (&str, &str) = ("self", "me");

/// An entity that an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownEntity {
    pub id: EntityId,
    pub name: String,
    pub aliases: Vec<String>,
    pub kind: EntityKind,
}

/// An event that the graph was not drawn from yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadEvent {
    /// The event; of a line of a document, the beginning of the line's digest.
    pub node: NodeId,
    /// The text of the event; of a line, without its bullet.
    pub description: String,
    /// Verbatim words that it depends on.
    pub quotes: Vec<String>,
}

/// A session whose events the graph was not drawn from yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadSession {
    pub scope: Scope,
    pub session: SessionId,
    pub persona: String,
    /// The name of the user, if it is known.
    pub user: Option<String>,
    /// Its unread events, the oldest first.
    pub events: Vec<UnreadEvent>,
    /// Entities that these are about.
    pub entities: Vec<KnownEntity>,
}

/// One end of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelationEnd {
    /// The person who talks with the persona.
    User,
    Persona,
    /// An entity that the memory knows.
    Entity(EntityId),
    /// Something that the event's words name.
    Named {
        /// Its name, as it stands there.
        label: String,
        /// The type of the node, as in the graph.
        node_type: String,
    },
}

/// A relation between two entities that an event states.
#[derive(Clone, Debug, PartialEq)]
pub struct Relation {
    pub from: RelationEnd,
    pub to: RelationEnd,
    /// The type of the relation, such as `lives_in`.
    pub relation: String,
    /// The event that it depends on.
    pub event: NodeId,
    /// The certainty of the relation, from 0 to 1.
    pub confidence: f64,
}

/// Facts that can't be had for now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RelationError(pub String);

/// Draws facts from events.
#[async_trait]
pub trait RelationExtractor: Send + Sync {
    /// Facts whose ends are known or stand in the words of their event; may be none.
    async fn extract_relations(&self, session: &UnreadSession) -> Result<Vec<Relation>, RelationError>;

    /// Names and relations that lines of a document tell; may be empty. Without a model, names that rules find.
    async fn extract_document(&self, document: &UnreadDocument) -> Result<DocumentFacts, RelationError>;

    /// True if it can find relations; where it can't, nothing is asked, and the events wait for one that can.
    fn can_find_facts(&self) -> bool;
}

/// The result of one step of extraction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtractionStep {
    /// There is nothing to do until then, or until there are new events.
    Nothing {
        /// Time at which what failed is tried again.
        retry_at: Option<Timestamp>,
    },
    /// A session's events were read, and so much is new.
    Read { nodes: usize, edges: usize },
    /// The session is tried again later.
    Failed { reason: String },
}

impl Graph {
    /// Draws the facts of the next session that waits, in one transaction with the note that it was read: after a crash it
    /// is asked about again, never twice.
    pub async fn extract_next(
        &self,
        finder: &dyn RelationExtractor,
        instance: &str,
    ) -> Result<ExtractionStep, StoreError> {
        let now = self.clock.now();
        let waiting = self.retries.waiting(now);
        let ready = self.store.unread_sessions(&waiting, 1).await?.pop();
        let Some(session) = ready else {
            return Ok(ExtractionStep::Nothing { retry_at: self.retries.next() });
        };
        let facts = match finder.extract_relations(&session).await {
            Ok(facts) => facts,
            Err(RelationError(reason)) => {
                self.retries.note(session.session, self.clock.now());
                return Ok(ExtractionStep::Failed { reason });
            }
        };
        let write =
            self.write_of_relations(&session.events, &|event| event.node.to_string(), facts, instance);
        let Some(written) = self.store.commit_facts(&session, write).await? else {
            self.retries.note(session.session, self.clock.now());
            return Ok(ExtractionStep::Failed {
                reason: "its memories changed while they were read".to_owned(),
            });
        };
        self.retries.forget(&session.session);
        self.step_of(&session.scope, written).await
    }

    /// Embeds what is new of a write, and counts it.
    pub(super) async fn step_of(
        &self,
        scope: &Scope,
        written: GraphWritten,
    ) -> Result<ExtractionStep, StoreError> {
        let fresh: Vec<_> =
            written.nodes.into_iter().filter(|node| node.is_new).map(|node| node.value).collect();
        if !fresh.is_empty() {
            self.embed_written(scope, &fresh).await?;
        }
        Ok(ExtractionStep::Read {
            nodes: fresh.len(),
            edges: written.edges.iter().filter(|edge| edge.is_new).count(),
        })
    }

    /// Builds the write for relations; `memory` names the memory that each event belongs to.
    pub(super) fn write_of_relations(
        &self,
        events: &[UnreadEvent],
        memory: &dyn Fn(&UnreadEvent) -> String,
        facts: Vec<Relation>,
        instance: &str,
    ) -> GraphWrite {
        let now = self.clock.now();
        let mut write =
            GraphWrite { nodes: Vec::new(), edges: Vec::new(), instance: instance.to_owned(), at: now };
        for fact in facts.into_iter().filter(|fact| fact.from != fact.to) {
            let Some(event) = events.iter().find(|event| event.node == fact.event) else { continue };
            let memory = memory(event);
            let from = self.end(fact.from, &memory, fact.confidence, &mut write);
            let to = self.end(fact.to, &memory, fact.confidence, &mut write);
            write.edges.push(NewGraphEdge {
                id: self.ids.next(now),
                from,
                to,
                edge_type: fact.relation,
                properties: Map::new(),
                weight: fact.confidence.clamp(0.0, 1.0),
                evidence: Some(event.description.clone()),
                source_memory_id: Some(memory),
                occurred_at: None,
                valid_until: None,
            });
        }
        write
    }

    /// The end of an edge; one that is no entity of the memory is written too, resting on the same event.
    fn end(&self, end: RelationEnd, memory: &str, confidence: f64, write: &mut GraphWrite) -> EdgeEnd {
        let (node_type, label) = match end {
            RelationEnd::Entity(id) => return EdgeEnd::Id(id.0),
            RelationEnd::User => (USER.0.to_owned(), USER.1.to_owned()),
            RelationEnd::Persona => (PERSONA.0.to_owned(), PERSONA.1.to_owned()),
            RelationEnd::Named { label, node_type } => (node_type, label),
        };
        write.nodes.push(NewGraphNode {
            id: self.ids.next(write.at),
            node_type,
            label: label.clone(),
            description: String::new(),
            properties: Map::new(),
            confidence: confidence.clamp(0.0, 1.0),
            source_memory_id: Some(memory.to_owned()),
            first_learned_at: None,
        });
        EdgeEnd::Label(label)
    }
}
